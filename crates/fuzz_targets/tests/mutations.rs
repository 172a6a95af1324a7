//! Runs each target on modified inputs from its corpus: a few in the tests, or
//! `HEADRACE_MUTATIONS` per target; see `fuzz/README.md`.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use headrace_fuzz_targets::{TARGETS, Target};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

/// The number of modified inputs per target in the tests.
const NUM_INPUTS: u64 = 40;
/// A longer run counts as a finding.
const PATIENCE: Duration = Duration::from_secs(10);
/// The maximum length of an input in bytes.
const MOST_BYTES: usize = 8192;

/// Numbers that tend to break parsers.
const NUMBERS: [u64; 12] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];

/// Random numbers, which are always the same for a seed.
struct Random(u64);

impl Random {
    /// The next number from SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn files(target: &Target) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target.name);
    let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Returns an input with 1 to 8 changes.
fn changed(files: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut data = files[random.below(files.len())].clone();
    let num_changes = 1 << random.below(4);
    for _ in 0..num_changes {
        change(&mut data, files, random);
    }
    data.truncate(MOST_BYTES);
    data
}

fn change(data: &mut Vec<u8>, files: &[Vec<u8>], random: &mut Random) {
    let at = random.below(data.len());
    let most = 1 << random.below(8);
    let length = 1 + random.below(most);
    let end = data.len().min(at + length);
    match random.below(9) {
        0 | 1 => data.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
        2 => data.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.next() as u8),
        3 => {
            let number = NUMBERS[random.below(NUMBERS.len())].to_le_bytes();
            let length = 1 << random.below(4);
            let number = &number[..length];
            let is_big = random.below(2) == 1;
            let number: Vec<u8> = if is_big { number.iter().rev().copied().collect() } else { number.to_vec() };
            data.iter_mut().skip(at).zip(number).for_each(|(byte, new)| *byte = new);
        }
        4 => data
            .iter_mut()
            .skip(at)
            .take(1)
            .for_each(|byte| *byte = byte.wrapping_add(1 + 254 * (random.next() & 1) as u8)),
        5 => drop(data.drain(at..end)),
        6 => {
            let copy = data[at..end].to_vec();
            data.splice(at..at, copy);
        }
        7 => {
            let other = &files[random.below(files.len())];
            let from = random.below(other.len());
            let part = other[from..other.len().min(from + length)].to_vec();
            data.splice(at..if random.below(2) == 1 { end } else { at }, part);
        }
        _ => data.truncate(at),
    }
}

/// Runs a target on inputs. Fails with the bytes of the first finding.
fn run(target: &Target, num_inputs: u64, seed: u64) {
    let files = files(target);
    for number in 0..num_inputs {
        let data = changed(&files, &mut Random(seed.wrapping_add(number) << 20));
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| target.run(&data)));
        let place = || {
            let path = env::temp_dir().join(format!("headrace-{}-{seed}-{number}", target.name));
            fs::write(&path, &data).unwrap();
            format!("{}: the input {number} of the seed {seed} is in {}", target.name, path.display())
        };
        assert!(result.is_ok(), "{}", place());
        assert!(start.elapsed() < PATIENCE, "{}, and took {:?}", place(), start.elapsed());
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap())
}

// The only test in this process, because the memory of all threads is counted.
#[test]
fn mutated_inputs_are_parsed_or_rejected() {
    let chosen = env::var("HEADRACE_TARGET").ok();
    for target in TARGETS.iter().filter(|target| chosen.as_deref().is_none_or(|name| name == target.name)) {
        let start = Instant::now();
        let num_inputs = number("HEADRACE_MUTATIONS").unwrap_or(NUM_INPUTS);
        run(target, num_inputs, number("HEADRACE_SEED").unwrap_or(0));
        println!("{}: {num_inputs} inputs in {:?}", target.name, start.elapsed());
    }
}
