//! CIFAR's binary files: records are shuffled, then turned into images, or cropped, mirrored and standardised.

use crate::batch::Batches;
use crate::pool::{Pool, random};
use crate::{Share, Tally};

const SIZE: usize = 32;
const PLANE: usize = SIZE * SIZE;
const RECORD: usize = 1 + 3 * PLANE;
const BATCH_SIZE: usize = 128;
const CROP: usize = 24;
const CROP_VALUES: usize = 3 * CROP * CROP;

/// Images as they are: uint8, (32, 32, 3).
pub fn run(share: &Share) -> Tally {
    let mut images = Batches::<u8>::new(BATCH_SIZE, 3 * PLANE);
    let mut middle = 0;
    let mut add_images = |batch: &[u8]| {
        let pixel = 3 * (16 * SIZE + 16);
        for image in batch.chunks_exact(3 * PLANE) {
            middle += image[pixel..pixel + 3].iter().map(|&x| i64::from(x)).sum::<i64>();
        }
    };
    let mut tally = shuffle(share, |planes| images.fill_row(|row| interleave(planes, row), &mut add_images));
    images.flush(add_images);
    tally.sums.push(middle);
    tally
}

/// Images for training: float32, (24, 24, 3).
pub fn run_augmented(share: &Share) -> Tally {
    let mut images = Batches::<f32>::new(BATCH_SIZE, CROP_VALUES);
    let mut state = 0x9e37_79b9;
    let tally = shuffle(share, |planes| images.fill_row(|row| augment(planes, row, &mut state), |_| ()));
    images.flush(|_| ());
    tally
}

/// Sends the planes of each record through the pool to `emit`; counts and sums the labels.
fn shuffle(share: &Share, mut emit: impl FnMut(&[u8])) -> Tally {
    let mut pool = Pool::new(RECORD, share.num_threads);
    let mut labels = Batches::<i32>::new(BATCH_SIZE, 1);
    let (mut count, mut sum, mut squares) = (0, 0, 0);
    let mut add_labels = |batch: &[i32]| {
        count += batch.len() as u64;
        for label in batch.iter().map(|&label| i64::from(label)) {
            sum += label;
            squares += label * label;
        }
    };
    let mut emit = |record: &[u8]| {
        labels.fill_row(|row| row[0] = record[0].into(), &mut add_labels);
        emit(&record[1..]);
    };
    share.for_each_file(|bytes| bytes.chunks_exact(RECORD).for_each(|record| pool.swap(record, &mut emit)));
    pool.drain(&mut emit);
    labels.flush(add_labels);
    Tally { count, sums: vec![sum, squares] }
}

fn interleave(planes: &[u8], row: &mut [u8]) {
    let (red, rest) = planes.split_at(PLANE);
    let (green, blue) = rest.split_at(PLANE);
    for (((target, &r), &g), &b) in row.as_chunks_mut::<3>().0.iter_mut().zip(red).zip(green).zip(blue) {
        *target = [r, g, b];
    }
}

fn augment(planes: &[u8], target: &mut [f32], state: &mut u64) {
    let (top, left) = (random(state, SIZE - CROP + 1), random(state, SIZE - CROP + 1));
    let is_mirrored = random(state, 2) == 1;
    let line = |plane: usize, y: usize| -> &[u8; CROP] {
        let start = plane * PLANE + (top + y) * SIZE + left;
        planes[start..][..CROP].try_into().expect("a line of the crop")
    };
    let (mut sum, mut squares) = (0_u32, 0_u32);
    for plane in 0..3 {
        for y in 0..CROP {
            for &value in line(plane, y) {
                sum += u32::from(value);
                squares += u32::from(value) * u32::from(value);
            }
        }
    }
    let count = CROP_VALUES as f32;
    let mean = sum as f32 / count;
    let variance = (squares as f32 / count - mean * mean).max(0.0);
    let scale = 1.0 / variance.sqrt().max(1.0 / count.sqrt());
    for (y, row) in target.chunks_exact_mut(3 * CROP).enumerate() {
        let [red, green, blue] = [0, 1, 2].map(|plane| line(plane, y).map(|value| (f32::from(value) - mean) * scale));
        let pixels = row.as_chunks_mut::<3>().0;
        for (x, pixel) in pixels.iter_mut().enumerate() {
            let x = if is_mirrored { CROP - 1 - x } else { x };
            *pixel = [red[x], green[x], blue[x]];
        }
    }
}
