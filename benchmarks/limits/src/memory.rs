//! What lies in memory, shuffled and batched: rows of two arrays, and windows of tokens.

use crate::pool::random;
use crate::{Tally, read};
use std::path::Path;
use std::time::Instant;
use std::{process, thread};

const WIDTH: usize = 256;
const FRACTION: f32 = 256.0;
const ROWS: usize = 128;

const LENGTH: usize = 2_049;
const TOKEN_BYTES: usize = 2;
const WINDOWS: usize = 16;

/// Gathers rows of features and labels, all in random order, an epoch a thread. Returns its seconds, too: the arrays
/// are loaded before.
pub fn run_arrays(home: &Path, num_epochs: usize) -> (Tally, f64) {
    let features: Vec<f32> = numbers(&home.join("features.npy"), f32::from_le_bytes);
    let labels: Vec<i64> = numbers(&home.join("labels.npy"), i64::from_le_bytes);
    run(labels.len(), ROWS, num_epochs, 3, |rows, sums| {
        let mut batch = (Vec::with_capacity(ROWS * WIDTH), Vec::with_capacity(ROWS));
        for &row in rows {
            batch.0.extend_from_slice(&features[row as usize * WIDTH..][..WIDTH]);
            batch.1.push(labels[row as usize]);
        }
        for (row, label) in batch.0.chunks_exact(WIDTH).zip(&batch.1) {
            let (first, last) = ((row[0] * FRACTION) as i64, (row[WIDTH - 1] * FRACTION) as i64);
            sums[0] += label;
            sums[1] += first + last;
            sums[2] += label * first;
        }
        batch
    })
}

/// Gathers windows of a file of tokens, all in random order, an epoch a thread. Returns its seconds, too.
pub fn run_tokens(home: &Path, num_epochs: usize) -> (Tally, f64) {
    let tokens = contents(&home.join("tokens.bin"));
    let num_windows = (tokens.len() / TOKEN_BYTES - 1) / (LENGTH - 1);
    run(num_windows, WINDOWS, num_epochs, 0, |windows, _| {
        let mut batch = Vec::with_capacity(WINDOWS * LENGTH * TOKEN_BYTES);
        for &window in windows {
            let begin = window as usize * (LENGTH - 1) * TOKEN_BYTES;
            batch.extend_from_slice(&tokens[begin..][..LENGTH * TOKEN_BYTES]);
        }
        batch
    })
}

/// Calls `gather` for the numbers of each batch, which makes it and adds to sums. A batch is kept until the next one is
/// there, as by a program.
fn run<B>(
    count: usize,
    batch_size: usize,
    num_epochs: usize,
    num_sums: usize,
    gather: impl Fn(&[u32], &mut [i64]) -> B + Sync,
) -> (Tally, f64) {
    let num_threads = thread::available_parallelism().map_or(1, usize::from);
    let begin = Instant::now();
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let threads: Vec<_> = (0..num_threads)
            .map(|number| {
                let gather = &gather;
                scope.spawn(move || {
                    let mut tally = Tally { count: 0, sums: vec![0; num_sums] };
                    let mut state = 0x2545_f491 + number as u64;
                    let mut kept = None;
                    for _ in (number..num_epochs).step_by(num_threads) {
                        let order = permutation(count, &mut state);
                        for batch in order.chunks(batch_size) {
                            kept = Some(gather(batch, &mut tally.sums));
                            tally.count += batch.len() as u64;
                        }
                    }
                    drop(kept);
                    tally
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread that does not panic")).collect()
    });
    let seconds = begin.elapsed().as_secs_f64();
    (Tally::all(&tallies), seconds)
}

/// Numbers below `count` in random order.
fn permutation(count: usize, state: &mut u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    for place in (1..count).rev() {
        order.swap(place, random(state, place + 1));
    }
    order
}

/// The numbers of a file of NumPy's.
fn numbers<const N: usize, T>(path: &Path, from: fn([u8; N]) -> T) -> Vec<T> {
    let bytes = contents(path);
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[10 + header..].chunks_exact(N).map(|number| from(number.try_into().expect("N bytes"))).collect()
}

fn contents(path: &Path) -> Vec<u8> {
    let mut buffer = Vec::new();
    if let Err(error) = read(path, &mut buffer) {
        eprintln!("{}: {error}", path.display());
        process::exit(1);
    }
    buffer
}
