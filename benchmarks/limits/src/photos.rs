//! A folder of JPEG photos: libjpeg-turbo decodes, a bilinear resize makes all of them equally large.

use crate::batch::Batches;
use crate::pool::random;
use crate::{Share, Tally};
use headrace_jpeg::{Colours, DecodeOptions, Decoder, Image, Window};
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
        decode(bytes, 1, None);
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
        let image = decode(bytes, ratio, None);
        images.fill_row(|row| resize(&image, row), &mut add_images);
        tally.count += 1;
        tally.sums[0] += label_of(names.next());
    });
    images.flush(add_images);
    tally.sums[1] = pixel_sum;
    tally
}

/// A random part of each photo, decoded alone, resized, perhaps mirrored, and normalised to floats, (3, 224, 224).
pub fn run_augmented(share: &Share) -> Tally {
    let mut images = Batches::<f32>::new(BATCH_SIZE, 3 * SIZE * SIZE);
    let mut tally = Tally { count: 0, sums: vec![0, 0] };
    let mut names = share.files.iter();
    let mut state = 0x2545_f491;
    let tables = [0, 1, 2].map(|channel| normalised(MEAN[channel], DEVIATION[channel]));
    let mut small = vec![0; 3 * SIZE * SIZE];
    share.for_each_file(|bytes| {
        let decoder = Decoder::new(bytes, 100).expect("a JPEG");
        let part = part_of(decoder.width(), decoder.height(), &mut state);
        resize(&decode(bytes, 1, Some(part)), &mut small);
        let is_mirrored = random(&mut state, 2) == 1;
        let fill = |planes: &mut [f32]| {
            for (channel, plane) in planes.chunks_exact_mut(SIZE * SIZE).enumerate() {
                for (target, source) in plane.chunks_exact_mut(SIZE).zip(small.chunks_exact(3 * SIZE)) {
                    for (column, value) in target.iter_mut().enumerate() {
                        let column = if is_mirrored { SIZE - 1 - column } else { column };
                        *value = tables[channel][usize::from(source[3 * column + channel])];
                    }
                }
            }
        };
        // The pixels are random: nothing is summed.
        images.fill_row(fill, |batch| assert!(batch[0].is_finite()));
        tally.count += 1;
        let label = label_of(names.next());
        tally.sums[0] += label;
        tally.sums[1] += label * label;
    });
    tally
}

const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];

/// Each byte, normalised.
fn normalised(mean: f32, deviation: f32) -> Vec<f32> {
    (0..=255_u8).map(|value| (f32::from(value) / 255.0 - mean) / deviation).collect()
}

/// A random part, as torchvision's RandomResizedCrop draws.
fn part_of(width: usize, height: usize, state: &mut u64) -> Window {
    let mut uniform = |low: f64, high: f64| low + (high - low) * random(state, 1 << 30) as f64 / f64::from(1 << 30);
    for _ in 0..10 {
        let area = (width * height) as f64 * uniform(0.08, 1.0);
        let ratio = uniform(0.75_f64.ln(), (4.0_f64 / 3.0).ln()).exp();
        let (columns, rows) = ((area * ratio).sqrt().round() as usize, (area / ratio).sqrt().round() as usize);
        if (1..=width).contains(&columns) && (1..=height).contains(&rows) {
            let x = uniform(0.0, (width - columns + 1) as f64) as usize;
            let y = uniform(0.0, (height - rows + 1) as f64) as usize;
            return Window { x, y, width: columns, height: rows };
        }
    }
    Window { x: 0, y: 0, width, height }
}

/// Decodes a JPEG, scaled down, or a window of it.
pub fn decode(bytes: &[u8], ratio: u8, window: Option<Window>) -> Image {
    let options = DecodeOptions {
        colours: Some(Colours::Rgb),
        ratio,
        is_fancy: true,
        is_accurate: false,
        is_recovering: false,
        is_raw: false,
        window,
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
