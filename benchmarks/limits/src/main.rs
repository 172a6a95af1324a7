//! The limits of a machine on the benchmarks' workloads: one loop for each, on all cores, which does the same with the
//! same bytes and nothing else. No queue, no graph, no Python.
//!
//! `headrace-limits TASK NUM_EPOCHS FILE...` prints a line of JSON, as every program of the benchmarks does.

mod batch;
mod examples;
mod images;
mod lines;
mod numbers;
mod photos;
mod pool;

use std::time::Instant;
use std::{env, fs, io, process, thread};

/// The result of a loop: the number of examples, and sums over them.
struct Tally {
    count: u64,
    sums: Vec<i64>,
}

/// The work of one thread.
struct Share {
    files: Vec<String>,
    num_threads: usize,
}

impl Share {
    /// Calls `body` with the contents of each file; the buffer is reused.
    fn for_each_file(&self, mut body: impl FnMut(&[u8])) {
        let mut buffer = Vec::new();
        for name in &self.files {
            if let Err(error) = read(name, &mut buffer) {
                eprintln!("{name}: {error}");
                process::exit(1);
            }
            body(&buffer);
        }
    }
}

fn read(name: &str, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    io::Read::read_to_end(&mut fs::File::open(name)?, buffer)?;
    Ok(())
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let [_, task, num_epochs, files @ ..] = arguments.as_slice() else {
        eprintln!("usage: headrace-limits TASK NUM_EPOCHS FILE...");
        process::exit(2);
    };
    let body: fn(&Share) -> Tally = match task.as_str() {
        "examples" => examples::run,
        "images" => images::run,
        "augmented_images" => images::run_augmented,
        "photos" => photos::run,
        "photos_half" => photos::run_half,
        "photos_decoded" => photos::decode_only,
        "numbers" => numbers::run,
        "lines" => lines::run,
        _ => {
            eprintln!("{task}: no such task");
            process::exit(2);
        }
    };
    let num_epochs: usize = num_epochs.parse().expect("a number of epochs");
    let num_threads = thread::available_parallelism().map_or(1, usize::from);
    let begin = Instant::now();
    let all: Vec<&String> = (0..num_epochs).flat_map(|_| files).collect();
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let threads: Vec<_> = (0..num_threads)
            .map(|number| {
                let files = all.iter().skip(number).step_by(num_threads).map(|&name| name.clone()).collect();
                scope.spawn(move || body(&Share { files, num_threads }))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread that does not panic")).collect()
    });
    let count: u64 = tallies.iter().map(|tally| tally.count).sum();
    let sums: Vec<i64> =
        (0..tallies[0].sums.len()).map(|place| tallies.iter().map(|tally| tally.sums[place]).sum()).collect();
    println!("{{\"count\": {count}, \"sums\": {sums:?}, \"seconds\": {}}}", begin.elapsed().as_secs_f64());
}
