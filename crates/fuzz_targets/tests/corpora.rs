//! Runs each target again on the inputs that fuzzers have saved; see `fuzz/README.md`.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use headrace_fuzz_targets::TARGETS;
use std::fs;
use std::path::{Path, PathBuf};

/// The maximum total size of all corpora in bytes.
const MOST_BYTES: u64 = 1 << 20;

fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

// The only test in this process that allocates a lot, because the memory of all threads is counted.
#[test]
fn every_saved_input_is_parsed_or_rejected() {
    for target in TARGETS {
        let files = files(&corpora().join(target.name));
        assert!(files.len() >= 10, "{}: {} files", target.name, files.len());
        for file in files {
            println!("{}", file.display());
            target.run(&fs::read(file).unwrap());
        }
    }
}

#[test]
fn corpora_are_small() {
    let sizes = files(&corpora())
        .into_iter()
        .flat_map(|directory| files(&directory))
        .map(|file| file.metadata().unwrap().len());
    let total: u64 = sizes.sum();
    assert!(total < MOST_BYTES, "{total} bytes");
}
