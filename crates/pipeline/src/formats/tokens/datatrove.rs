//! The index that datatrove writes next to a token file, with the ends of the documents.
//!
//! Source: `src/datatrove/pipeline/tokens/tokenizer.py` of datatrove.

use super::numbers::Numbers;
use super::windows::DocumentEnds;
use crate::blocks::block::FileProvenance;
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

const END_BYTES: u64 = 8;

/// Reads where the documents end in a file of `num_tokens` tokens.
pub fn documents(file: &Arc<FileProvenance>, num_tokens: u64) -> Result<DocumentEnds> {
    let (input, status) = file.begin_parts(None)?.wait()?;
    let unfit = |text: String| Error::data_loss(format!("{}: {text}. Copy the file again", file.name.text()));
    if !status.len.is_multiple_of(END_BYTES) {
        return Err(unfit(format!("the file has {} bytes, expected {END_BYTES} for each document", status.len)));
    }
    let mut numbers = Numbers::<8>::new((file, &input), 0, status.len / END_BYTES);
    let (mut ends, mut last, mut document) = (DocumentEnds::default(), 0, 0_u64);
    while let Some(end) = numbers.next()?.map(u64::from_le_bytes) {
        if end < last || end > num_tokens {
            return Err(unfit(format!(
                "document {document} ends at token {end}, expected at least {last}, the end of the previous document, \
                 and at most {num_tokens}, the number of tokens"
            )));
        }
        ends.push(end)?;
        (last, document) = (end, document + 1);
    }
    match last == num_tokens {
        true => Ok(ends),
        false => Err(unfit(format!("the documents end at token {last}, expected {num_tokens}, the number of tokens"))),
    }
}
