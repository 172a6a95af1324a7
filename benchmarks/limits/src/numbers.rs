//! CSV: lines of ten numbers and a label are parsed, shuffled and batched.

use crate::batch::Batches;
use crate::pool::Pool;
use crate::{Share, Tally};

const NUM_FEATURES: usize = 10;
const BATCH_SIZE: usize = 256;

pub fn run(share: &Share) -> Tally {
    let mut pool = Pool::new(NUM_FEATURES + 1, share.num_threads);
    let mut features = Batches::<f32>::new(BATCH_SIZE, NUM_FEATURES);
    let mut labels = Batches::<i32>::new(BATCH_SIZE, 1);
    let (mut count, mut sums) = (0, vec![0; 3]);
    let (mut label_sum, mut ends) = (0, [0.0; 2]);
    let mut add_labels = |batch: &[i32]| {
        count += batch.len() as u64;
        label_sum += batch.iter().map(|&label| i64::from(label)).sum::<i64>();
    };
    let mut add_features = |batch: &[f32]| {
        for row in batch.chunks_exact(NUM_FEATURES) {
            ends[0] += (f64::from(row[0]) * 1e6).round();
            ends[1] += (f64::from(row[9]) * 1e6).round();
        }
    };
    let mut emit = |row: &[f32]| {
        labels.fill_row(|target| target[0] = row[NUM_FEATURES] as i32, &mut add_labels);
        features.fill_row(|target| target.copy_from_slice(&row[..NUM_FEATURES]), &mut add_features);
    };
    let mut row = [0.0_f32; NUM_FEATURES + 1];
    share.for_each_file(|mut bytes| {
        while !bytes.is_empty() {
            for value in &mut row {
                let length;
                (*value, length) = fast_float2::parse_partial(bytes).expect("a number");
                bytes = &bytes[length + 1..]; // skips the comma or the end of the line
            }
            pool.swap(&row, &mut emit);
        }
    });
    pool.drain(&mut emit);
    labels.flush(add_labels);
    features.flush(add_features);
    sums.copy_from_slice(&[label_sum, ends[0] as i64, ends[1] as i64]);
    Tally { count, sums }
}
