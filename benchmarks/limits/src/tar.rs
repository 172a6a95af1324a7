//! Tar files of small JPEGs and their labels: members are paired, shuffled, decoded and batched.

use crate::batch::Batches;
use crate::photos::decode;
use crate::pool::random;
use crate::{Share, Tally};

const SIDE: usize = 64;
const BATCH_SIZE: usize = 128;
const NUM_WAITING: usize = 1_000;
/// Size of a header, and what the size of a member is rounded up to.
const BLOCK: usize = 512;

pub fn run(share: &Share) -> Tally {
    let capacity = NUM_WAITING / share.num_threads;
    let mut pool: Vec<(Vec<u8>, i64)> = Vec::with_capacity(capacity);
    let mut state = 0x2545_f491;
    let mut pictures = Batches::<u8>::new(BATCH_SIZE, 3 * SIDE * SIDE);
    let mut tally = Tally { count: 0, sums: vec![0; 3] };
    let mut pixel_sum = 0;
    let mut add_pictures = |batch: &[u8]| {
        for picture in batch.chunks_exact(3 * SIDE * SIDE) {
            for row in picture.chunks_exact(3 * SIDE).skip(3).step_by(8) {
                let pixels = row.as_chunks::<3>().0.iter().skip(3).step_by(8);
                pixel_sum += pixels.flatten().map(|&x| i64::from(x)).sum::<i64>();
            }
        }
    };
    let mut add = |jpeg: &[u8], label: i64| {
        let image = decode(jpeg, 1, None);
        pictures.fill_row(|row| row.copy_from_slice(&image.pixels), &mut add_pictures);
        tally.count += 1;
        tally.sums[0] += label;
        tally.sums[1] += label * label;
    };
    share.for_each_file(|bytes| {
        for_each_pair(bytes, |jpeg, label| {
            if pool.len() < capacity {
                pool.push((jpeg.to_vec(), label));
            } else {
                let place = &mut pool[random(&mut state, capacity)];
                add(&place.0, place.1);
                place.0.clear();
                place.0.extend_from_slice(jpeg);
                place.1 = label;
            }
        });
    });
    pool.iter().for_each(|(jpeg, label)| add(jpeg, *label));
    pictures.flush(add_pictures);
    tally.sums[2] = pixel_sum;
    tally
}

/// Calls `body` with each picture and its label, which follow each other in the archive.
fn for_each_pair(mut bytes: &[u8], mut body: impl FnMut(&[u8], i64)) {
    let mut member = || {
        let (header, rest) = bytes.split_at_checked(BLOCK)?;
        let digits = header[124..136].iter().filter(|byte| byte.is_ascii_digit());
        let size = digits.fold(0, |size, digit| 8 * size + usize::from(digit - b'0'));
        bytes = rest.get(size.next_multiple_of(BLOCK)..)?;
        (header[0] != 0).then(|| &rest[..size])
    };
    while let (Some(jpeg), Some(label)) = (member(), member()) {
        body(jpeg, label.iter().fold(0, |label, digit| 10 * label + i64::from(digit - b'0')));
    }
}
