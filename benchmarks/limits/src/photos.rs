//! A folder of JPEG photos: libjpeg-turbo decodes, a bilinear resize makes all of them equally large.

use crate::batch::Batches;
use crate::{Share, Tally};
use headrace_jpeg::{Colours, DecodeOptions, Decoder, Image};
use std::path::Path;

const SIZE: usize = 224;
const BATCH_SIZE: usize = 64;

/// Photos, decoded whole, (224, 224, 3).
pub fn run(share: &Share) -> Tally {
    run_scaled(share, 1)
}

/// As [`run`], but photos are decoded at half of their size.
pub fn run_half(share: &Share) -> Tally {
    run_scaled(share, 2)
}

/// Decoding alone.
pub fn decode_only(share: &Share) -> Tally {
    let mut tally = Tally { count: 0, sums: vec![0] };
    let mut names = share.files.iter();
    share.for_each_file(|bytes| {
        decode(bytes, 1);
        tally.count += 1;
        tally.sums[0] += label_of(names.next());
    });
    tally
}

fn run_scaled(share: &Share, ratio: u8) -> Tally {
    let mut images = Batches::<u8>::new(BATCH_SIZE, 3 * SIZE * SIZE);
    let mut tally = Tally { count: 0, sums: vec![0, 0] };
    let mut names = share.files.iter();
    let mut pixel_sum = 0;
    let mut add_images = |batch: &[u8]| {
        for image in batch.chunks_exact(3 * SIZE * SIZE) {
            for row in image.chunks_exact(3 * SIZE).skip(3).step_by(32) {
                let pixels = row.as_chunks::<3>().0.iter().skip(3).step_by(32);
                pixel_sum += pixels.flatten().map(|&x| i64::from(x)).sum::<i64>();
            }
        }
    };
    share.for_each_file(|bytes| {
        let image = decode(bytes, ratio);
        images.fill_row(|row| resize(&image, row), &mut add_images);
        tally.count += 1;
        tally.sums[0] += label_of(names.next());
    });
    images.flush(add_images);
    tally.sums[1] = pixel_sum;
    tally
}

fn decode(bytes: &[u8], ratio: u8) -> Image {
    let options = DecodeOptions {
        colours: Some(Colours::Rgb),
        ratio,
        is_fancy: true,
        is_accurate: false,
        is_recovering: false,
        window: None,
    };
    Decoder::new(bytes, 100)
        .and_then(|decoder| decoder.decode(&options, |length| Some(vec![0; length])))
        .expect("a JPEG")
}

/// The class of a photo is the name of its directory.
fn label_of(name: Option<&String>) -> i64 {
    let directory = name.and_then(|name| Path::new(name).parent()?.file_name()?.to_str());
    directory.and_then(|name| name.parse().ok()).expect("a number")
}

/// Bilinear with weights of 8 bits. Positions are as in TensorFlow 1: target (0, 0) lies on source (0, 0).
fn resize(image: &Image, target: &mut [u8]) {
    let columns = taps(image.width);
    let stride = 3 * image.width;
    let mut mixed = vec![0_u16; stride];
    for (row, tap) in target.chunks_exact_mut(3 * SIZE).zip(taps(image.height)) {
        let [upper, lower] = [tap.low, tap.high].map(|y| &image.pixels[y * stride..][..stride]);
        for ((value, &a), &b) in mixed.iter_mut().zip(upper).zip(lower) {
            *value = u16::from(a) * (256 - tap.weight) + u16::from(b) * tap.weight;
        }
        let source = mixed.as_chunks::<3>().0;
        for (pixel, tap) in row.as_chunks_mut::<3>().0.iter_mut().zip(&columns) {
            let (left, right) = (source[tap.low], source[tap.high]);
            for (value, (a, b)) in pixel.iter_mut().zip(left.into_iter().zip(right)) {
                let weight = u32::from(tap.weight);
                *value = ((u32::from(a) * (256 - weight) + u32::from(b) * weight) >> 16) as u8;
            }
        }
    }
}

/// The two source positions between which a target position lies, and its weight for the second.
struct Tap {
    low: usize,
    high: usize,
    weight: u16,
}

fn taps(length: usize) -> Vec<Tap> {
    let tap = |place| {
        let low = place * length / SIZE;
        let weight = (place * length % SIZE * 256 / SIZE) as u16;
        Tap { low, high: (low + 1).min(length - 1), weight }
    };
    (0..SIZE).map(tap).collect()
}
