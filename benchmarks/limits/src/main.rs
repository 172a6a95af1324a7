//! The limits of a machine on the benchmarks' workloads: one loop for each, on all cores, which does the same with the
//! same bytes and nothing else. No queue, no graph, no Python.
//!
//! `headrace-limits TASK NUM_EPOCHS FILE...` prints a line of JSON, as every program of the benchmarks does. A directory
//! stands for all files in it.

mod batch;
mod examples;
mod images;
mod json;
mod lines;
mod memory;
mod numbers;
mod parquet_rows;
mod photos;
mod pool;
mod tar;

use std::path::Path;
use std::time::Instant;
use std::{env, fs, io, process, thread};

/// The result of a loop: the number of examples, and sums over them.
struct Tally {
    count: u64,
    sums: Vec<i64>,
}

impl Tally {
    /// The sum of those of all threads.
    fn all(tallies: &[Self]) -> Self {
        let num_sums = tallies[0].sums.len();
        Self {
            count: tallies.iter().map(|tally| tally.count).sum(),
            sums: (0..num_sums).map(|place| tallies.iter().map(|tally| tally.sums[place]).sum()).collect(),
        }
    }

    fn print(&self, seconds: f64) {
        println!("{{\"count\": {}, \"sums\": {:?}, \"seconds\": {seconds}}}", self.count, self.sums);
    }
}

/// A loop over what a directory holds, which is loaded before. Returns how long it took, too.
type InMemory = fn(&Path, usize) -> (Tally, f64);

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

fn read(name: impl AsRef<Path>, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    io::Read::read_to_end(&mut fs::File::open(name)?, buffer)?;
    Ok(())
}

/// Adds a file, or all files in a directory.
fn add_files(path: &Path, names: &mut Vec<String>) {
    match fs::read_dir(path) {
        Ok(entries) => {
            let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry of a directory").path()).collect();
            paths.sort();
            paths.iter().for_each(|path| add_files(path, names));
        }
        Err(_) => names.push(path.to_str().expect("a name in UTF-8").to_owned()),
    }
}

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let [_, task, num_epochs, files @ ..] = arguments.as_slice() else {
        eprintln!("usage: headrace-limits TASK NUM_EPOCHS FILE...");
        process::exit(2);
    };
    let num_epochs: usize = num_epochs.parse().expect("a number of epochs");
    let in_memory: Option<InMemory> = match task.as_str() {
        "arrays" => Some(memory::run_arrays),
        "tokens" => Some(memory::run_tokens),
        _ => None,
    };
    if let Some(run) = in_memory {
        let (tally, seconds) = run(Path::new(&files[0]), num_epochs);
        tally.print(seconds);
        return;
    }
    let body: fn(&Share) -> Tally = match task.as_str() {
        "examples" => examples::run,
        "images" => images::run,
        "augmented_images" => images::run_augmented,
        "json_lines" => json::run,
        "parquet_rows" => parquet_rows::run,
        "tar_photos" => tar::run,
        "augmented_photos" => photos::run_augmented,
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
    let num_threads = thread::available_parallelism().map_or(1, usize::from);
    let begin = Instant::now();
    let mut names = Vec::new();
    files.iter().for_each(|file| add_files(Path::new(file), &mut names));
    let all: Vec<&String> = (0..num_epochs).flat_map(|_| &names).collect();
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let threads: Vec<_> = (0..num_threads)
            .map(|number| {
                let files = all.iter().skip(number).step_by(num_threads).map(|&name| name.clone()).collect();
                scope.spawn(move || body(&Share { files, num_threads }))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread that does not panic")).collect()
    });
    Tally::all(&tallies).print(begin.elapsed().as_secs_f64());
}
