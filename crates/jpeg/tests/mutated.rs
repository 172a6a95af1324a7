//! Damaged files must be decoded or rejected. `tools/sanitizers.sh` runs more of them under
//! AddressSanitizer.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]
#![allow(clippy::disallowed_methods, reason = "tests allocate what they like")]

use headrace_jpeg::{Colours, DecodeOptions, Decoder, Density, EncodeOptions, Window, encode};

/// The default number of damaged files, which an environment variable overrides.
const DEFAULT_COUNT: u64 = 2000;
/// Larger images take too long.
const MOST_PIXELS: usize = 1 << 16;

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % limit as u64) as usize
    }
}

fn originals() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for (colours, size) in [(Colours::Grey, (37, 21)), (Colours::Rgb, (40, 33)), (Colours::Rgb, (8, 70))] {
        for (is_progressive, is_optimized, is_chroma_downsampled) in
            [(false, false, true), (false, true, false), (true, true, true)]
        {
            let options = EncodeOptions {
                quality: 80,
                is_progressive,
                is_optimized,
                is_chroma_downsampled,
                density: Density { unit: 1, x: 72, y: 72 },
                app1: b"Exif\0\0".to_vec(),
            };
            let num_bytes = size.0 * size.1 * colours.channels();
            let pixels: Vec<_> = (0..num_bytes).map(|index| (index * index / 7) as u8).collect();
            files.push(encode(&pixels, size.0, size.1, colours, &options).unwrap());
        }
    }
    files
}

/// Changes some bytes, or cuts, duplicates or removes a part.
fn damage(file: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(file.len());
        match random.below(6) {
            0 => file[at] ^= 1 << random.below(8),
            1 => file[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            2 => file[at] = random.below(256) as u8,
            3 => file.truncate(at.max(4)),
            4 => {
                let part = file[at..(at + random.below(64)).min(file.len())].to_vec();
                let to = random.below(file.len());
                file.splice(to..to, part);
            }
            _ => drop(file.drain(at..(at + random.below(16)).min(file.len()))),
        }
        if file.len() < 4 {
            file.extend([0xff, 0xd8, 0xff, 0xe0]);
        }
    }
}

/// Returns true if it is decoded.
fn decode(file: &[u8], random: &mut Random) -> bool {
    let Ok(decoder) = Decoder::new(file, 100) else { return false };
    if decoder.width() * decoder.height() > MOST_PIXELS {
        return false;
    }
    let window =
        Window { x: random.below(5), y: random.below(5), width: 1 + random.below(9), height: 1 + random.below(9) };
    let options = DecodeOptions {
        colours: [None, Some(Colours::Grey), Some(Colours::Rgb)][random.below(3)],
        ratio: 1 << random.below(4),
        is_fancy: random.below(2) == 0,
        is_accurate: random.below(2) == 0,
        is_raw: random.below(2) == 0,
        is_recovering: random.below(2) == 0,
        window: (random.below(3) == 0).then_some(window),
    };
    match decoder.decode(&options, |length| Some(vec![0; length])) {
        Ok(image) => {
            assert_eq!(image.pixels.len(), image.width * image.height * image.channels);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

#[test]
fn damaged_file_is_decoded_or_rejected() {
    let count_text = std::env::var("HEADRACE_MUTATIONS").ok();
    let count = count_text.map_or(DEFAULT_COUNT, |count| count.parse().unwrap());
    let originals = originals();
    let mut num_decoded = 0;
    for number in 0..count {
        let mut random = Random(number);
        let mut file = originals[random.below(originals.len())].clone();
        damage(&mut file, &mut random);
        num_decoded += u64::from(decode(&file, &mut random));
    }
    println!("{count} damaged files, {num_decoded} of them decoded");
    assert!(num_decoded > count / 20 && num_decoded < count, "{num_decoded} of {count}");
}
