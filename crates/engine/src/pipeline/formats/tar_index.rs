//! The samples of tar archives one by one. The bytes from the first header of a sample to that of the next one are a small
//! archive.

use super::codec::Codec;
use super::format::Place;
use super::tar::{Archive, Tar};
use super::tar_input::Hopping;
use super::tar_samples::Samples;
use crate::error::{Error, Result};
use crate::pipeline::column::{Column, Span, Text};
use crate::pipeline::file_origin::FileOrigin;
use crate::pipeline::index::{Hops, Offsets, RandomAccess, ScanFault, Scanned};
use crate::pipeline::origin::Origins;
use bytes::Bytes;
use std::sync::Arc;

impl RandomAccess for Tar {
    fn codec(&self) -> Codec {
        self.codec
    }

    /// Goes from header to header; which files a sample has is looked at when it is read.
    fn scan(&self, file: &Arc<FileOrigin>, input: &mut Hops) -> Result<Scanned> {
        let len = input.len();
        let mut archive = Archive::new(file, Hopping::new(input), 0);
        let mut offsets = Offsets::new();
        // The sample whose files come next: its key, and where it begins.
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
                    // Nobody can tell whether that sample has more files: it is lost, and the others end where it begins.
                    let offset_bytes = sample.map_or(archive.begin, |(_, begin)| begin);
                    let at = Place { offset_bytes, record: offsets.num_pushed() };
                    break (offset_bytes, Some(ScanFault::end(at, error, len)));
                }
            }
        };
        offsets.push(end)?;
        Ok(Scanned { faults: fault.into_iter().collect(), ..offsets.into() })
    }

    fn unframe(&self, _file: &Arc<FileOrigin>, frame: &[u8], _at: Place) -> Result<Span> {
        Ok(Span { start: 0, length: frame.len() })
    }

    fn columns(&self, records: Text, offsets: &[u64], origins: &Origins) -> Result<Vec<Column>> {
        let lost = || Error::internal("a sample that was found before is not there");
        let mut bytes = Vec::new();
        let mut columns: Vec<Vec<Span>> = (0..=self.extensions.len()).map(|_| Vec::new()).collect();
        for (row, (frame, offset)) in records.rows().zip(offsets).enumerate() {
            let origin = origins.get(row).ok_or_else(lost)?;
            let archive = Archive::new(&origin.file, frame, *offset);
            let mut samples = Samples::new(archive, Arc::clone(&self.extensions), origin.record);
            let spans = samples.read(&mut bytes)?.ok_or_else(lost)?;
            columns.iter_mut().zip(spans).for_each(|(column, span)| column.push(span));
        }
        let bytes = Bytes::from(bytes);
        Ok(columns.into_iter().map(|spans| Column::Text(Text::new(bytes.clone(), spans))).collect())
    }
}
