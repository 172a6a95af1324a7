//! Random access to the samples of tar archives. The bytes from a sample's first header up to the
//! next sample's first header form a small archive.

use crate::blocks::column::{Column, Span, Text};
use crate::blocks::file_provenance::FileProvenance;
use crate::blocks::provenance::Provenance;
use crate::formats::tar::Tar;
use crate::formats::tar::archive::Archive;
use crate::formats::tar::input::HeaderScanInput;
use crate::formats::tar::samples::Samples;
use crate::records::{Codec, HeaderScan, Offsets, RandomAccess, RecordPosition, ScanFault, ScanResult};
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

impl RandomAccess for Tar {
    fn codec(&self) -> Codec {
        self.codec
    }

    fn kind(&self) -> Option<String> {
        Some("tar".to_owned())
    }

    /// Blocks of zeros, and possibly other bytes, follow the last sample.
    fn ends_with_file(&self) -> bool {
        false
    }

    fn is_record(&self, _lead: &[u8], frame: &[u8], _is_last: bool) -> bool {
        // Its headers have checksums.
        frame.len() >= 512 && frame.len().is_multiple_of(512)
    }

    /// Only reads the headers. The files of a sample are checked when it is read.
    fn scan(&self, file: &Arc<FileProvenance>, input: &mut HeaderScan) -> Result<ScanResult> {
        let len = input.len();
        let mut archive = Archive::new(file, HeaderScanInput::new(input), 0);
        let mut offsets = Offsets::new();
        // The current sample: its key, and where it begins.
        let mut sample: Option<(Vec<u8>, u64)> = None;
        let (end, fault) = loop {
            match archive.next() {
                Ok(Some(member)) if sample.as_ref().is_some_and(|(key, _)| *key == member.key) => {}
                Ok(member) => {
                    if let Some((_, begin)) = &sample {
                        offsets.push(*begin)?;
                    }
                    let Some(member) = member else { break (archive.begin, None) };
                    sample = Some((member.key, archive.begin));
                }
                Err(error) => {
                    // The sample may have more files, so it is dropped. The other samples end where
                    // it begins.
                    let offset_bytes = sample.map_or(archive.begin, |(_, begin)| begin);
                    let at = RecordPosition { offset_bytes, record: offsets.num_pushed() };
                    break (offset_bytes, Some(ScanFault::end(at, error, len)));
                }
            }
        };
        offsets.push(end)?;
        Ok(ScanResult { faults: fault.into_iter().collect(), ..offsets.into() })
    }

    fn unframe(&self, _file: &Arc<FileProvenance>, frame: &[u8], _at: RecordPosition) -> Result<Span> {
        Ok(Span { start: 0, length: frame.len() })
    }

    fn columns(&self, records: Text, offsets: &[u64], provenance: &Provenance) -> Result<Vec<Column>> {
        let lost = || Error::internal("a sample from the scan is missing");
        let mut bytes = Vec::new();
        let mut columns: Vec<Vec<Span>> = (0..=self.extensions.len()).map(|_| Vec::new()).collect();
        for (row, (frame, offset)) in records.rows().zip(offsets).enumerate() {
            let row_provenance = provenance.get(row).ok_or_else(lost)?;
            let archive = Archive::new(&row_provenance.file, frame, *offset);
            let mut samples = Samples::new(archive, Arc::clone(&self.extensions), row_provenance.record);
            let spans = samples.read(&mut bytes)?.ok_or_else(lost)?;
            if !samples.is_over() {
                return Err(Error::failed_precondition(format!(
                    "{}: sample {} has files of a different sample, so the index does not belong to this archive. Delete it, \
                     and start again",
                    row_provenance.file.name.text(),
                    row_provenance.record
                )));
            }
            columns.iter_mut().zip(spans).for_each(|(column, span)| column.push(span));
        }
        let bytes = Bytes::from(bytes);
        Ok(columns.into_iter().map(|spans| Column::Text(Text::new(bytes.clone(), spans))).collect())
    }
}
