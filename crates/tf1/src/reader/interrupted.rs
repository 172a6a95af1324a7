//! Tests every format and compression with inputs that are interrupted and return a few bytes at
//! a time.

use super::block::{BlockFile, Stream};
use super::format::{Format, RecordFile};
use super::{FixedLengthFormat, TextLineFormat, TfRecordFormat};
use bytes::Bytes;
use headrace_engine::checksum::masked_crc32c;
use headrace_engine::error::Result;
use headrace_engine::files::compression::{Compression, Deflate};
use headrace_engine::files::encoder::DeflateOptions;
use headrace_engine::files::name::FileName;
use headrace_engine::files::whole::read_rest;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};

/// Returns bytes in pieces according to the plan, and is interrupted at each 0. After the plan,
/// returns the rest.
struct Interrupted {
    plan: VecDeque<u8>,
    data: io::Cursor<Vec<u8>>,
}

impl Read for Interrupted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.plan.pop_front() {
            Some(0) => return Err(ErrorKind::Interrupted.into()),
            planned => planned.map_or(buffer.len(), |count| buffer.len().min(usize::from(count))),
        };
        self.data.read(&mut buffer[..count])
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    FixedLength,
    TfRecord,
}

impl Kind {
    fn file(self, records: &[Vec<u8>]) -> Vec<u8> {
        match self {
            Self::Text => [b"header\n".to_vec(), records.join(&b'\n')].concat(),
            Self::FixedLength => [b"head".to_vec(), records.concat(), b"end".to_vec()].concat(),
            Self::TfRecord => records.iter().flat_map(|record| framed(record)).collect(),
        }
    }

    fn begin(self, stream: Stream, compression: Compression) -> Result<Box<dyn RecordFile>> {
        let block = |format: &dyn Format| {
            BlockFile::of_stream(&FileName::new("stream"), stream, compression, format.numbering())
        };
        match self {
            Self::Text => {
                let format = TextLineFormat::new(1)?;
                format.begin(block(&format), None)
            }
            Self::FixedLength => {
                let format = FixedLengthFormat::new(7, 4, 3, 5, compression)?;
                format.begin(block(&format), None)
            }
            Self::TfRecord => {
                let format = TfRecordFormat { compression };
                format.begin(block(&format), None)
            }
        }
    }

    fn read(self, data: &[u8], plan: &[u8], compression: Compression, limit: usize) -> Result<Vec<Bytes>> {
        let stream = Interrupted { plan: plan.iter().copied().collect(), data: io::Cursor::new(data.to_vec()) };
        let mut file = self.begin(Box::new(stream), compression)?;
        let mut records = Vec::new();
        while !file.next_up_to(records.len() as u64, limit, &mut |record| records.push(record.value))? {}
        Ok(records)
    }
}

fn framed(record: &[u8]) -> Vec<u8> {
    let length = (record.len() as u64).to_le_bytes();
    [&length[..], &masked_crc32c(&length).to_le_bytes(), record, &masked_crc32c(record).to_le_bytes()].concat()
}

fn compressed(data: &[u8], compression: Compression) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut output =
        Deflate::new(&mut bytes, compression, DeflateOptions { level: Some(1), ..DeflateOptions::default() }).unwrap();
    output.write_all(data).unwrap();
    output.finish().unwrap();
    drop(output);
    bytes
}

fn plans() -> impl Strategy<Value = Vec<u8>> {
    let whole_blocks = prop::collection::vec(prop::sample::select(vec![0, u8::MAX]), 0..30);
    prop_oneof![prop::collection::vec(0..3_u8, 0..1500), prop::collection::vec(any::<u8>(), 0..60), whole_blocks]
}

proptest! {
    #[test]
    fn signals_and_short_reads_do_not_change_records(
        plan in plans(),
        records in prop::collection::vec(prop::collection::vec(32..127_u8, 0..300), 0..8),
        kind in prop::sample::select(vec![Kind::Text, Kind::FixedLength, Kind::TfRecord]),
        compression in prop::sample::select(vec![Compression::None, Compression::Zlib, Compression::Gzip]),
        limit in 1..5_usize,
    ) {
        let data = compressed(&kind.file(&records), compression);
        let expected = kind.read(&data, &[], compression, 1).unwrap();
        if let Kind::TfRecord = kind {
            prop_assert_eq!(&expected, &records);
        }
        prop_assert_eq!(kind.read(&data, &plan, compression, limit).unwrap(), expected);
    }

    #[test]
    fn signals_and_short_reads_do_not_change_complete_files(plan in plans(), data: Vec<u8>) {
        let mut file = Interrupted { plan: plan.into(), data: io::Cursor::new(data.clone()) };
        prop_assert_eq!(read_rest(&FileName::new("file"), &mut file, 0).unwrap(), data);
    }
}

#[test]
fn signal_between_two_blocks_repeats_no_block() {
    let records: Vec<_> =
        (0..60_000_u32).map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes().to_vec()).collect();
    for compression in [Compression::None, Compression::Zlib, Compression::Gzip] {
        let data = compressed(&Kind::FixedLength.file(&records), compression);
        let expected = Kind::FixedLength.read(&data, &[], compression, 1).unwrap();
        let plan: Vec<_> = (0..2000).map(|call| if call % 3 == 2 { 0 } else { u8::MAX }).collect();
        assert!(Kind::FixedLength.read(&data, &plan, compression, 100).unwrap() == expected, "{compression:?}");
    }
}

#[test]
fn record_larger_than_every_block_survives_signals() {
    let records = [vec![7; 700_000], vec![8; 3]];
    for compression in [Compression::None, Compression::Zlib, Compression::Gzip] {
        let data = compressed(&Kind::TfRecord.file(&records), compression);
        let plan: Vec<_> = (0..5000).map(|call| if call % 2 == 1 { 0 } else { u8::MAX }).collect();
        assert!(Kind::TfRecord.read(&data, &plan, compression, 1).unwrap() == records, "{compression:?}");
    }
}
