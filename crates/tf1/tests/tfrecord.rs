//! TFRecord files and readers: written records are read back, and each kind of damage has its
//! error.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]
#![allow(clippy::disallowed_methods, reason = "tests allocate what they like")]

use headrace_engine::error::{Code, Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::encoder::DeflateOptions;
use headrace_engine::files::name::FileName;
use headrace_engine::kernel::Tensors;
use headrace_engine::run::Run;
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::sync::parker::Parker;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tfrecord::TfRecordWriter;
use headrace_tf1::queue::{Order, Progress, Queue, QueueSpec};
use headrace_tf1::reader::{
    Answer, FixedLengthFormat, Format, OpenFile, Reader, Records, Request, TextLineFormat, TfRecordFormat,
};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A temporary directory for one test, removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("headrace-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn names(&self) -> Vec<String> {
        fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

const PLAIN: TfRecordFormat = TfRecordFormat { compression: Compression::None };

fn create(path: &str, compression: Compression) -> Result<TfRecordWriter> {
    TfRecordWriter::create(FileName::new(path.to_owned()), compression, DeflateOptions::default())
}

fn write(path: &str, records: &[impl AsRef<[u8]>]) {
    write_as(Compression::None, path, records);
}

fn write_as(compression: Compression, path: &str, records: &[impl AsRef<[u8]>]) {
    let mut writer = create(path, compression).unwrap();
    records.iter().for_each(|record| writer.write(record.as_ref()).unwrap());
    writer.finish().unwrap();
}

fn open(format: &dyn Format, path: &str) -> Result<OpenFile> {
    OpenFile::open(format, FileName::new(path.to_owned()), None)
}

fn read(path: &str) -> Result<Vec<Vec<u8>>> {
    read_as(&PLAIN, path)
}

fn read_as(format: &dyn Format, path: &str) -> Result<Vec<Vec<u8>>> {
    Ok(read_by(format, path, 1)?.values.iter().map(|value| value.to_vec()).collect())
}

fn read_by(format: &dyn Format, path: &str, limit: usize) -> Result<Records> {
    let mut file = open(format, path)?;
    let mut all = Records::default();
    let mut is_over = false;
    while !is_over {
        let mut records = Records::default();
        is_over = file.read(limit, true, &mut records)?;
        assert!(is_over || records.values.len() == limit);
        all.values.append(&mut records.values);
        all.keys.append(&mut records.keys);
    }
    Ok(all)
}

/// Writes "one", "two", "three", damages the bytes, and returns the error of reading them.
fn damage(change: impl Fn(&mut Vec<u8>)) -> Result<Vec<Vec<u8>>> {
    let directory = Directory::new();
    let path = directory.file("a.tfrecord");
    write(&path, &["one", "two", "three"]);
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
    read(&path)
}

fn text(error: &Error) -> &str {
    error.message().split_once("a.tfrecord: ").unwrap().1
}

#[test]
fn record_framing_matches_tensorflow() {
    let directory = Directory::new();
    let path = directory.file("a.tfrecord");
    write(&path, &["abc"]);
    let expected = [[3, 0, 0, 0, 0, 0, 0, 0].as_slice(), &[176, 153, 73, 14], b"abc", &[110, 87, 241, 33]].concat();
    assert_eq!(fs::read(&path).unwrap(), expected);
}

#[test]
fn flipped_bit_in_a_length_is_detected() {
    let error = damage(|bytes| bytes[19] ^= 1).unwrap_err();
    assert_eq!(error.code(), Code::DataLoss);
    assert!(text(&error).starts_with("corrupted record at 19 (record 1): the checksum of its length"), "{error}");
}

#[test]
fn flipped_bit_in_the_data_is_reported_past_the_header() {
    let error = damage(|bytes| bytes[31] ^= 1).unwrap_err();
    assert!(text(&error).starts_with("corrupted record at 31 (record 1): the checksum of its data"), "{error}");
}

#[test]
fn error_for_a_truncated_file_reports_the_expected_length() {
    let error = damage(|bytes| bytes.truncate(52)).unwrap_err();
    let expected = "truncated record at 38 (record 2): the header claims 5 bytes, past the end of the file (52 bytes). \
                    The file is cut short; copy it again.";
    assert_eq!(text(&error), expected);
}

#[test]
fn tail_shorter_than_a_header_ends_the_file_silently() {
    assert_eq!(damage(|bytes| bytes.truncate(45)).unwrap().len(), 2);
    assert_eq!(damage(|bytes| bytes.extend([0; 11])).unwrap().len(), 3);
}

#[test]
fn error_identifies_a_non_tfrecord_file() {
    let error = damage(|bytes| *bytes = b"id,name\n1,somebody\n".to_vec()).unwrap_err();
    assert!(text(&error).ends_with("is it a TFRecord file, and uncompressed? If it is, copy it again."), "{error}");
}

#[test]
fn huge_length_with_a_valid_checksum_allocates_nothing() {
    let error = damage(|bytes| {
        let length = u64::MAX.to_le_bytes();
        let checksum = crc32c::crc32c(&length).rotate_right(15).wrapping_add(0xa282_ead8);
        bytes[..8].copy_from_slice(&length);
        bytes[8..12].copy_from_slice(&checksum.to_le_bytes());
    })
    .unwrap_err();
    assert!(text(&error).starts_with("truncated record at 0 (record 0): the header claims 18446744073709551615 bytes"));
}

#[test]
fn damaged_file_raises_the_same_error_again() {
    let directory = Directory::new();
    let path = directory.file("a.tfrecord");
    fs::write(&path, [1; 40]).unwrap();
    let mut file = open(&PLAIN, &path).unwrap();
    let texts = [1, 2].map(|limit| {
        let result = file.read(limit, false, &mut Records::default());
        result.err().unwrap().message().to_owned()
    });
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn dropped_writer_leaves_nothing_behind() {
    let directory = Directory::new();
    let mut writer = create(&directory.file("a.tfrecord"), Compression::None).unwrap();
    writer.write(b"lost").unwrap();
    assert!(!Path::new(&directory.file("a.tfrecord")).exists());
    drop(writer);
    assert_eq!(directory.names(), Vec::<String>::new());
}

#[test]
fn file_is_replaced_only_when_its_successor_is_complete() {
    let directory = Directory::new();
    let path = directory.file("a.tfrecord");
    write(&path, &["old"]);
    let mut writer = create(&path, Compression::None).unwrap();
    writer.write(b"new").unwrap();
    assert_eq!(read(&path).unwrap(), [b"old"]);
    writer.flush().unwrap();
    writer.write(b"newer").unwrap();
    writer.flush().unwrap();
    assert_eq!(read(&path).unwrap(), [b"new".to_vec(), b"newer".to_vec()]);
    assert_eq!(directory.names(), ["a.tfrecord"]);
}

#[test]
fn flushed_records_are_readable_while_the_writer_is_open() {
    let directory = Directory::new();
    for compression in [Compression::None, Compression::Zlib, Compression::Gzip] {
        let path = directory.file("a.tfrecord");
        let mut writer = create(&path, compression).unwrap();
        writer.write(b"one").unwrap();
        writer.flush().unwrap();
        writer.write(b"two").unwrap();
        assert_eq!(read_as(&TfRecordFormat { compression }, &path).unwrap(), [b"one"]);
    }
}

#[test]
fn records_larger_than_a_block_are_read() {
    let directory = Directory::new();
    let path = directory.file("a");
    let records = [vec![1; 3_000_000], vec![2; 10], vec![3; 300_000]];
    for compression in [Compression::None, Compression::Zlib, Compression::Gzip] {
        write_as(compression, &path, &records);
        assert!(read_as(&TfRecordFormat { compression }, &path).unwrap() == records);
    }
    fs::write(&path, records.join(&b'\n')).unwrap();
    assert!(read_as(&TextLineFormat::new(0).unwrap(), &path).unwrap() == records);
    fs::write(&path, [5; 700_001]).unwrap();
    let format = FixedLengthFormat::new(300_000, 1, 0, 200_000, Compression::None).unwrap();
    assert_eq!(read_as(&format, &path).unwrap(), vec![vec![5; 300_000]; 3]);
}

#[test]
fn record_keeps_only_its_own_memory_alive() {
    let directory = Directory::new();
    let path = directory.file("a");
    fs::write(&path, "a line\n".repeat(100_000)).unwrap();
    let mut file = open(&TextLineFormat::new(0).unwrap(), &path).unwrap();
    let mut records = Records::default();
    file.read(2, false, &mut records).unwrap();
    let line = records.values.pop().unwrap();
    assert!(line.is_unique());
    assert_eq!(Vec::from(line).capacity(), "a line".len());
}

proptest! {
    #[test]
    fn lines_do_not_depend_on_the_number_read_at_once(
        lines in prop::collection::vec((0..700_usize, "\\r?\\n"), 0..20), end in "\\r?|x\\r?", limit in 1..30_usize
    ) {
        let directory = Directory::new();
        let path = directory.file("a");
        let text: String = lines.iter().map(|(length, end)| "-".repeat(*length) + end).collect();
        fs::write(&path, text + &end).unwrap();
        let lines = lines.into_iter().map(|(length, _)| "-".repeat(length));
        let lines: Vec<_> = lines.chain(end.contains('x').then(|| "x".to_owned())).collect();
        let records = read_by(&TextLineFormat::new(0).unwrap(), &path, limit).unwrap();
        prop_assert_eq!(&records.values[..], &lines[..]);
        let keys: Vec<_> = (1..=lines.len()).map(|number| format!("{path}:{number}")).collect();
        prop_assert_eq!(&records.keys[..], &keys[..]);
    }

    #[test]
    fn written_records_are_read_back(records: Vec<Vec<u8>>, gzip: Option<bool>) {
        let directory = Directory::new();
        let path = directory.file("a.tfrecord");
        let compression = match gzip {
            None => Compression::None,
            Some(false) => Compression::Zlib,
            Some(true) => Compression::Gzip,
        };
        write_as(compression, &path, &records);
        prop_assert_eq!(read_as(&TfRecordFormat { compression }, &path).unwrap(), records);
    }

    #[test]
    fn damage_causes_an_error_or_fewer_records(position in 0_usize..57, bit in 0_u8..8) {
        let records = damage(|bytes| bytes[position] ^= 1 << bit);
        prop_assert!(records.is_err(), "{records:?}");
    }
}

/// A reader of files whose names are in a closed queue.
struct Reading {
    reader: Arc<Reader>,
    names: Arc<Queue>,
}

impl Reading {
    fn new(paths: &[String]) -> Self {
        let spec = QueueSpec {
            name: "names".into(),
            order: Order::Fifo,
            capacity: None,
            dtypes: vec![DType::String],
            shapes: None,
        };
        let (names, parker) = (Queue::new(spec).unwrap(), Arc::new(Parker::new()));
        for path in paths {
            let rows = Tensors::from_iter([Tensor::string(path.clone().into_bytes())]);
            assert!(matches!(names.enqueue(rows, &parker), Ok(Progress::Done(_))));
        }
        assert!(matches!(names.close(false, &parker), Ok(Progress::Done(_))));
        Self { reader: Reader::new("reader", Box::new(PLAIN)), names }
    }

    fn ask(&self, request: Request) -> Result<Answer> {
        let cancellation = Cancellation::new();
        let run = Run::new(&cancellation);
        self.reader.call(request, &run).poll(&run).map(|answer| answer.expect("the reader waits"))
    }

    fn read(&self) -> Result<(String, String)> {
        match self.ask(Request::Read { queue: Arc::clone(&self.names), limit: 1, wants_keys: true })? {
            Answer::Records(mut records) => {
                let (key, value) = (records.keys.pop().unwrap(), records.values.pop().unwrap());
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                Ok((text(&key), text(&value)))
            }
            _ => panic!("a read answers with records"),
        }
    }

    fn count(&self, request: Request) -> i64 {
        match self.ask(request) {
            Ok(Answer::Count(count)) => count,
            _ => panic!("a count is expected"),
        }
    }
}

#[test]
fn reader_reads_all_files_and_then_fails_since_the_queue_is_closed() {
    let directory = Directory::new();
    let paths = [directory.file("a"), directory.file("empty"), directory.file("b")];
    write(&paths[0], &["1", "2"]);
    write(&paths[1], &[""; 0]);
    write(&paths[2], &["3"]);
    let reading = Reading::new(&paths);
    let key = |path: &str, offset| format!("{path}:{offset}");
    assert_eq!(reading.read().unwrap(), (key(&paths[0], 0), "1".into()));
    assert_eq!(reading.read().unwrap(), (key(&paths[0], 17), "2".into()));
    assert_eq!(reading.count(Request::NumWorkUnitsCompleted), 0);
    assert_eq!(reading.read().unwrap(), (key(&paths[2], 0), "3".into()));
    assert_eq!(reading.count(Request::NumWorkUnitsCompleted), 2);
    assert_eq!(reading.read().unwrap_err().code(), Code::OutOfRange);
    assert_eq!(reading.count(Request::NumRecordsProduced), 3);
}

#[test]
fn missing_file_fails_once_and_reading_continues_with_the_next() {
    let directory = Directory::new();
    let paths = [directory.file("missing"), directory.file("a")];
    write(&paths[1], &["1"]);
    let reading = Reading::new(&paths);
    let error = reading.read().unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().starts_with(&format!("{}; No such file or directory. Check", paths[0])), "{error}");
    assert_eq!(reading.read().unwrap().1, "1");
}

#[test]
fn directory_is_rejected() {
    let directory = Directory::new();
    let reading = Reading::new(&[directory.file("")]);
    let error = reading.read().unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(error.message().contains("; Is a directory"), "{error}");
}

#[test]
fn corrupt_file_fails_until_the_reader_is_reset() {
    let directory = Directory::new();
    let paths = [directory.file("bad"), directory.file("good")];
    fs::write(&paths[0], [7; 100]).unwrap();
    write(&paths[1], &["1"]);
    let reading = Reading::new(&paths);
    assert_eq!(reading.read().unwrap_err().code(), Code::DataLoss);
    assert_eq!(reading.read().unwrap_err().code(), Code::DataLoss);
    assert!(matches!(reading.ask(Request::Reset), Ok(Answer::Nothing)));
    assert_eq!(reading.read().unwrap().1, "1");
}

#[test]
fn read_up_to_stops_at_the_end_of_a_file() {
    let directory = Directory::new();
    let paths = [directory.file("a"), directory.file("b")];
    write(&paths[0], &["1", "2", "3"]);
    write(&paths[1], &["4"]);
    let reading = Reading::new(&paths);
    let read = |limit| match reading.ask(Request::Read { queue: Arc::clone(&reading.names), limit, wants_keys: false })
    {
        Ok(Answer::Records(records)) => records.values.len(),
        _ => panic!("records are expected"),
    };
    assert_eq!([read(2), read(2), read(2), read(0)], [2, 1, 1, 0]);
}
