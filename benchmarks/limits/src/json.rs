//! JSON lines: two of four keys are read, shuffled and batched.

use crate::lines::{Batch, for_each_line};
use crate::pool::random;
use crate::{Share, Tally};
use memchr::memchr;
use std::mem;

const BATCH_SIZE: usize = 256;
const NUM_WAITING: usize = 10_000;

pub fn run(share: &Share) -> Tally {
    let capacity = NUM_WAITING / share.num_threads;
    // Each slot keeps its memory for later texts.
    let mut pool: Vec<(i64, Vec<u8>)> = Vec::with_capacity(capacity);
    let mut state = 0x2545_f491;
    let mut texts = Batch::new(BATCH_SIZE);
    let mut ids = Vec::with_capacity(BATCH_SIZE);
    let mut sums = vec![0; 3];
    let mut add = |id: i64, text: &[u8]| {
        ids.push(id);
        texts.add(text);
        if ids.len() == BATCH_SIZE {
            add_ids(&mem::replace(&mut ids, Vec::with_capacity(BATCH_SIZE)), &mut sums);
        }
    };
    share.for_each_file(|bytes| {
        for_each_line(bytes, |line| {
            let (id, text) = keys_of(line);
            if pool.len() < capacity {
                pool.push((id, text.to_vec()));
            } else {
                let place = &mut pool[random(&mut state, capacity)];
                add(place.0, &place.1);
                place.0 = id;
                place.1.clear();
                place.1.extend_from_slice(text);
            }
        });
    });
    pool.iter().for_each(|(id, text)| add(*id, text));
    texts.finish();
    add_ids(&ids, &mut sums);
    sums[2] = texts.num_bytes;
    Tally { count: texts.count, sums }
}

fn add_ids(ids: &[i64], sums: &mut [i64]) {
    sums[0] += ids.iter().sum::<i64>();
    sums[1] += ids.iter().map(|id| id * id).sum::<i64>();
}

/// The values of "id" and "text" of an object of numbers and of strings without escapes.
fn keys_of(line: &[u8]) -> (i64, &[u8]) {
    let (mut id, mut text) = (0, &line[..0]);
    let mut rest = &line[1..];
    loop {
        let (key, value) = string(rest.trim_ascii_start());
        let value = value[1..].trim_ascii_start(); // skips the colon
        rest = match value[0] {
            b'"' => {
                let (found, rest) = string(value);
                if key == b"text" {
                    text = found;
                }
                rest
            }
            _ => {
                let length = value.iter().position(|byte| matches!(byte, b',' | b'}')).expect("the end of a number");
                if key == b"id" {
                    id = value[..length].iter().fold(0, |id, digit| 10 * id + i64::from(digit - b'0'));
                }
                &value[length..]
            }
        };
        match rest.trim_ascii_start() {
            [b',', others @ ..] => rest = others,
            _ => return (id, text),
        }
    }
}

/// The string at the beginning, and what is after it.
fn string(bytes: &[u8]) -> (&[u8], &[u8]) {
    let length = memchr(b'"', &bytes[1..]).expect("the end of a string");
    (&bytes[1..=length], &bytes[length + 2..])
}
