//! Pictures and sounds that end where memory ends. The page after an encoded file cannot be read,
//! so a decoder that reads past the end is stopped by a signal.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use bytes::Bytes;
use headrace_fuzz_targets::{TARGETS, place_files};
use memmap2::{Mmap, MmapOptions};
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The targets for encoded pictures and sounds.
const MEDIA: [&str; 7] = ["jpeg", "png", "gif", "bmp", "webp", "tiff", "sound"];
/// A multiple of the page size on every machine.
const PAGE_BYTES: usize = 64 << 10;
/// The number of positions at which each file is cut, and at which a bit is flipped.
const NUM_CHANGES: usize = 6;

/// Memory with an unreadable page after its end: the pages of a file that ends with the bytes, and
/// one more page.
struct Guarded {
    pages: Mmap,
    range: Range<usize>,
}

impl Guarded {
    /// Copies some bytes to where readable memory ends.
    #[expect(unsafe_code, reason = "memory of a file")]
    fn of(bytes: &[u8]) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("headrace-guard-{}-{number}", std::process::id()));
        let end = bytes.len().next_multiple_of(PAGE_BYTES);
        let start = end - bytes.len();
        let mut content = vec![0; start];
        content.extend_from_slice(bytes);
        fs::write(&path, content).unwrap();
        let file = File::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        // SAFETY: Nobody changes the file, which has no name any more. The bytes after its end are
        // never read: the test exists to catch such reads, which end the process.
        let pages = unsafe { MmapOptions::new().len(end + PAGE_BYTES).map(&file) }.unwrap();
        Self { pages, range: start..end }
    }
}

impl AsRef<[u8]> for Guarded {
    fn as_ref(&self) -> &[u8] {
        &self.pages[self.range.clone()]
    }
}

/// The files of a target: a byte with options, followed by the encoded file.
fn files(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn decoders_do_not_read_past_the_end_of_a_file() {
    place_files(|bytes| Bytes::from_owner(Guarded::of(bytes)));
    // Weyl's sequence: evenly spread positions that are the same in each run.
    let mut step = 0_u32;
    let mut draw = |length: usize| {
        step = step.wrapping_add(0x9E37_79B9);
        ((u64::from(step) * length as u64) >> 32) as usize
    };
    let mut num_files = 0;
    for target in TARGETS.iter().filter(|target| MEDIA.contains(&target.name)) {
        for file in files(target.name) {
            target.parse(&file);
            for _ in 0..NUM_CHANGES {
                target.parse(&file[..draw(file.len())]);
                let mut changed = file.clone();
                let at = draw(8 * file.len());
                changed[at / 8] ^= 1 << (at % 8);
                target.parse(&changed);
            }
            num_files += 1;
        }
    }
    assert!(num_files >= 10 * MEDIA.len(), "{num_files} files");
}

#[test]
fn page_after_a_file_cannot_be_read() {
    let guarded = Guarded::of(b"whole");
    assert_eq!(guarded.as_ref(), b"whole");
    let end = guarded.as_ref().as_ptr_range().end as u64;
    let memory = File::open("/proc/self/mem").unwrap();
    let mut byte = [0];
    assert!(memory.read_at(&mut byte, end - 1).is_ok_and(|count| count == 1));
    assert!(memory.read_at(&mut byte, end).is_err());
}
