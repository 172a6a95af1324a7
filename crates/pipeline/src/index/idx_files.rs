//! Reads index files named `NAME.idx`, which other programs write for TFRecords and tar archives.
//!
//! Source: `tfrecord2idx` and `wds2idx` of NVIDIA DALI.

use super::sidecar::{self, Identity, Sidecar, Stamp};
use crate::records::ScanResult;
use headrace_engine::files::name::FileName;
use headrace_engine::tensor::allocate;
use std::path::PathBuf;

/// The size of a block of a tar archive.
const BLOCK_BYTES: u64 = 512;

/// Finds an index that another program created for a file. It must not be older than the file, and
/// its positions must be plausible.
pub fn find(name: &FileName, identity: &Identity, kind: &str) -> Option<(PathBuf, Sidecar)> {
    let read = match kind {
        "tfrecords" => records,
        "tar" => samples,
        _ => return None,
    };
    names(name).into_iter().find_map(|index| {
        let (mut input, status) = index.open().ok()?;
        let is_older = match (Identity::of(&status).map(|index| index.stamp), &identity.stamp) {
            (Some(Stamp::Modified { seconds, nanos }), Stamp::Modified { seconds: of, nanos: also }) => {
                (seconds, nanos) < (*of, *also)
            }
            // Some remote files have no known modification time. Implausible indexes are detected
            // anyway.
            _ => name.url().is_none(),
        };
        if is_older {
            return None;
        }
        let mut text = Vec::new();
        allocate::read_to_end(&mut input, &mut text).ok()?;
        let scan = read(str::from_utf8(&text).ok()?, identity.len)?;
        let mut bytes = Vec::new();
        sidecar::write(&mut bytes, kind, identity, &scan).ok()?;
        let path = index.url().map_or_else(|| index.path().into_owned(), PathBuf::from);
        Some((path, Sidecar::open(&bytes.into()).ok()?))
    })
}

/// The possible names of a file's index, for example `a.tar.idx` and `a.idx`.
fn names(name: &FileName) -> Vec<FileName> {
    let bytes = name.bytes();
    if name.url().is_some_and(|url| url.contains(['?', '#'])) {
        return Vec::new();
    }
    let begin = bytes.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let dot = bytes[begin..].iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 0);
    let stem = dot.map(|dot| &bytes[..begin + dot]);
    let named = |stem: &[u8]| FileName::new([stem, b".idx"].concat());
    std::iter::once(named(bytes)).chain(stem.map(named)).filter(|index| index.bytes() != bytes).collect()
}

/// Parses an index with a line "OFFSET SIZE" for each record of a file of `len` bytes. There must
/// be no gaps.
fn records(text: &str, len: u64) -> Option<ScanResult> {
    let mut scan = ScanResult::default();
    let mut at = 0_u64;
    for (line, number) in text.lines().zip(0..) {
        let (offset, size) = line.trim().split_once(' ')?;
        if offset.parse::<u64>().ok()? != at {
            return None;
        }
        scan.push(at, number).ok()?;
        at = at.checked_add(size.trim().parse().ok()?)?;
    }
    scan.offsets.push(at).ok()?;
    (at == len).then_some(scan)
}

/// Parses an index that begins with `v1.2 COUNT`. It has one line per sample, with the extension,
/// the offset, the size and (since version 1.2) the name of each file.
fn samples(text: &str, len: u64) -> Option<ScanResult> {
    let mut lines = text.lines();
    let (version, count) = lines.next()?.trim().split_once(' ')?;
    let width = match version {
        "v1.2" => 4,
        "v1.1" => 3,
        _ => return None,
    };
    let mut scan = ScanResult::default();
    let mut end = 0_u64;
    for (line, number) in lines.zip(0..) {
        let words: Vec<_> = line.split_whitespace().collect();
        if words.is_empty() || !words.len().is_multiple_of(width) {
            return None;
        }
        // The headers of a sample follow the data of the previous one.
        scan.push(end, number).ok()?;
        for file in words.chunks_exact(width) {
            let (offset, size): (u64, u64) = (file[1].parse().ok()?, file[2].parse().ok()?);
            if offset < end.checked_add(BLOCK_BYTES)? || !offset.is_multiple_of(BLOCK_BYTES) {
                return None;
            }
            end = offset.checked_add(size)?.checked_next_multiple_of(BLOCK_BYTES)?;
        }
    }
    scan.offsets.push(end).ok()?;
    (end <= len && scan.offsets.len() == count.trim().parse::<u64>().ok()?).then_some(scan)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(scan: Option<ScanResult>) -> Option<Vec<u64>> {
        let offsets = scan?.offsets;
        Some((0..=offsets.len()).map(|index| offsets.get(index)).collect())
    }

    #[test]
    fn record_positions_have_no_gaps_and_end_with_the_file() {
        assert_eq!(offsets(records("0 17\n17 20\n", 37)), Some(vec![0, 17, 37]));
        for text in
            ["0 17\n18 19\n", "0 17\n17 21\n", "0 17\n", "0 x\n", "1 36\n", "0\n", "0 17\n17 99999999999999999999"]
        {
            assert_eq!(offsets(records(text, 37)), None, "{text}");
        }
    }

    #[test]
    fn each_sample_begins_at_the_end_of_the_previous_one() {
        let text = "v1.2 2\njpg 512 700 a.jpg cls 2048 1 a.cls\njpg 3072 512 b.jpg\n";
        assert_eq!(offsets(samples(text, 5120)), Some(vec![0, 2560, 3584]));
        assert_eq!(offsets(samples("v1.1 1\njpg 512 1\n", 2048)), Some(vec![0, 1024]));
        for wrong in [
            text.replace("v1.2 2", "v1.2 3"),
            text.replace("v1.2", "v9"),
            text.replace("3072", "2560"),
            text.replace("3072", "3000"),
            text.replace(" b.jpg", ""),
            text.replace("512 b", "9999 b"),
            String::new(),
        ] {
            assert_eq!(offsets(samples(&wrong, 5120)), None, "{wrong}");
        }
    }

    #[test]
    fn index_name_is_the_file_name_with_or_without_its_extension() {
        let names_of = |name: &'static str| -> Vec<_> {
            names(&FileName::new(name)).iter().map(|name| String::from_utf8_lossy(name.bytes()).into_owned()).collect()
        };
        assert_eq!(names_of("d.x/a.tar"), ["d.x/a.tar.idx", "d.x/a.idx"]);
        assert_eq!(names_of("d.x/a"), ["d.x/a.idx"]);
        assert_eq!(names_of("d/.a"), ["d/.a.idx"]);
        assert_eq!(names_of("a.idx"), ["a.idx.idx"]);
        assert_eq!(names_of("s3://b/a.tar"), ["s3://b/a.tar.idx", "s3://b/a.idx"]);
        assert!(names_of("http://h/a?b=c.tar").is_empty());
    }
}
