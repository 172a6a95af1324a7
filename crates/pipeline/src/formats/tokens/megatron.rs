//! The index that Megatron writes next to a token file.
//!
//! Source: `megatron/core/datasets/indexed_dataset.py` of Megatron-LM, version 1 of the index.

use super::numbers::Numbers;
use super::windows::DocumentEnds;
use crate::blocks::block::FileProvenance;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::positioned::Positioned;
use headrace_engine::tensor::dtype::DType;
use std::sync::Arc;

const MAGIC: &[u8] = b"MMIDIDX\0\0";
const OLD_MAGIC: &[u8] = b"TNTIDX\0\0";
/// The size of the header: magic bytes, version, dtype, the number of sequences, and the number of
/// entries for documents.
const HEADER_BYTES: u64 = 9 + 8 + 1 + 8 + 8;
const VERSION: u64 = 1;
const LENGTH_BYTES: u64 = 4;
const OFFSET_BYTES: u64 = 8;

/// The contents of an index, without its documents.
#[derive(Clone, Copy, Debug)]
pub struct MegatronHead {
    /// The type of a token.
    pub dtype: DType,
    /// The total size of the tokens in bytes.
    pub num_bytes: u64,
    num_sequences: u64,
    num_documents: u64,
}

impl MegatronHead {
    fn offsets_at(&self) -> u64 {
        HEADER_BYTES + LENGTH_BYTES * self.num_sequences
    }

    fn documents_at(&self) -> u64 {
        self.offsets_at() + OFFSET_BYTES * self.num_sequences
    }
}

/// Reads the beginning of an index and its last sequence, which determine the number of tokens.
/// Fails if the file is not an index or its size does not match its contents.
pub fn megatron_head(file: &Arc<FileProvenance>) -> Result<MegatronHead> {
    let (input, status) = file.begin_parts(None)?.wait()?;
    head(file, &input, status.len)
}

fn head(file: &Arc<FileProvenance>, input: &Positioned, len: u64) -> Result<MegatronHead> {
    let mut header = [0; HEADER_BYTES as usize];
    let start = &mut header[..HEADER_BYTES.min(len) as usize];
    let failed = |error| Error::io(file.name.text(), &error);
    input.read(start, 0).map_err(failed)?;
    if start.starts_with(OLD_MAGIC) {
        return Err(unfit(file, "the file is an index in the old format (TNTIDX), expected MMIDIDX. Convert it again"));
    }
    if !start.starts_with(MAGIC) {
        let text = "the file does not start with MMIDIDX, as Megatron indexes do. Rename it if it is not an index, or \
                    copy it again";
        return Err(unfit(file, text));
    }
    if start.len() < header.len() {
        return Err(unfit(file, &format!("the file has {len} bytes, expected at least {HEADER_BYTES}. Copy it again")));
    }
    let number = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let (version, code) = (number(9), header[17]);
    if version != VERSION {
        return Err(unfit(
            file,
            &format!("the file has version {version}, expected {VERSION}. Write it with a supported version"),
        ));
    }
    let dtype = match code {
        1 => DType::UInt8,
        2 => DType::Int8,
        3 => DType::Int16,
        4 => DType::Int32,
        5 => DType::Int64,
        8 => DType::UInt16,
        _ => {
            let text = format!(
                "the tokens have the type {code}, expected one of uint8 (1), int8 (2), int16 (3), int32 (4), int64 \
                 (5) and uint16 (8). Write integer tokens"
            );
            return Err(unfit(file, &text));
        }
    };
    let (num_sequences, num_documents) = (number(18), number(26));
    let of_sequences = num_sequences.checked_mul(LENGTH_BYTES + OFFSET_BYTES);
    let known_len = of_sequences
        .zip(num_documents.checked_mul(OFFSET_BYTES))
        .and_then(|(one, other)| one.checked_add(other)?.checked_add(HEADER_BYTES));
    // After the documents, each sequence may have a one-byte mode.
    let with_modes = known_len.and_then(|len| len.checked_add(num_sequences));
    if known_len != Some(len) && with_modes != Some(len) {
        let expected = known_len.map_or_else(|| "more than a file can have".to_owned(), |len| len.to_string());
        let text = format!(
            "the file has {len} bytes, expected {expected} for {num_sequences} sequences and {num_documents} document \
             entries. Copy it again"
        );
        return Err(unfit(file, &text));
    }
    let mut head = MegatronHead { dtype, num_bytes: 0, num_sequences, num_documents };
    if let Some(last) = num_sequences.checked_sub(1) {
        let (mut length, mut offset) = ([0; LENGTH_BYTES as usize], [0; OFFSET_BYTES as usize]);
        input.read(&mut length, HEADER_BYTES + LENGTH_BYTES * last).map_err(failed)?;
        input.read(&mut offset, head.offsets_at() + OFFSET_BYTES * last).map_err(failed)?;
        head.num_bytes = end(file, last, i32::from_le_bytes(length), i64::from_le_bytes(offset), dtype)?;
    }
    Ok(head)
}

/// Where a sequence ends, in bytes.
fn end(file: &FileProvenance, sequence: u64, length: i32, offset: i64, dtype: DType) -> Result<u64> {
    let end = u64::try_from(length).ok().zip(u64::try_from(offset).ok());
    end.and_then(|(length, offset)| offset.checked_add(length * dtype.size() as u64)).ok_or_else(|| {
        let text = format!("sequence {sequence} has {length} tokens at byte {offset}, but neither may be negative");
        unfit(file, &format!("{text}. Copy the file again"))
    })
}

/// Reads where the documents end in a file of `num_tokens` tokens.
pub fn documents(file: &Arc<FileProvenance>, dtype: DType, num_tokens: u64) -> Result<DocumentEnds> {
    let (input, status) = file.begin_parts(None)?.wait()?;
    let head = head(file, &input, status.len)?;
    let token_bytes = dtype.size() as u64;
    if head.dtype != dtype || head.num_bytes != num_tokens * token_bytes {
        return Err(unfit(
            file,
            "the index changed after the pipeline was planned. Finish writing the files before you \
                                read them",
        ));
    }
    let of = (file, &input);
    let mut lengths = Numbers::<4>::new(of, HEADER_BYTES, head.num_sequences);
    let mut offsets = Numbers::<8>::new(of, head.offsets_at(), head.num_sequences);
    let mut documents = Numbers::<8>::new(of, head.documents_at(), head.num_documents);
    let mut next_border = || documents.next().map(|border| border.map(i64::from_le_bytes));
    let mut ends = DocumentEnds::default();
    let (mut token, mut sequence, mut last) = (0, 0, None);
    while let Some(border) = next_border()? {
        let border = u64::try_from(border).ok().filter(|border| *border <= head.num_sequences && *border >= sequence);
        let Some(border) = border else {
            let text =
                format!("the documents are not in order: one begins before sequence {sequence}, or after the last one");
            return Err(unfit(file, &format!("{text}. Copy the file again")));
        };
        while sequence < border {
            let lost = || Error::internal("an index has fewer sequences than it claims");
            let length = i32::from_le_bytes(lengths.next()?.ok_or_else(lost)?);
            let offset = i64::from_le_bytes(offsets.next()?.ok_or_else(lost)?);
            let end = end(file, sequence, length, offset, dtype)?;
            if offset.cast_unsigned() != token * token_bytes {
                let text = format!("sequence {sequence} begins at byte {offset}, expected {}", token * token_bytes);
                return Err(unfit(
                    file,
                    &format!("{text}, the end of the previous sequence. Read it without documents"),
                ));
            }
            (token, sequence) = (end / token_bytes, sequence + 1);
        }
        ends.push(token)?;
        last = Some(border);
    }
    if last.unwrap_or(0) != head.num_sequences {
        let text = format!("the documents end with sequence {}, expected {}", last.unwrap_or(0), head.num_sequences);
        return Err(unfit(file, &format!("{text}. Read it without documents")));
    }
    Ok(ends)
}

fn unfit(file: &FileProvenance, text: &str) -> Error {
    Error::data_loss(format!("{}: {text}", file.name.text()))
}
