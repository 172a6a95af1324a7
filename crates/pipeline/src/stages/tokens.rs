//! Converts windows of tokens to numeric arrays.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::Column;
use crate::blocks::rows::Rows;
use crate::formats::{DocumentEnds, Tokens};
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use std::sync::Arc;

/// A limit that no vocabulary reaches. Larger numbers mean that the file has a different dtype.
const MOST_TOKENS: u64 = 1 << 28;

/// Converts the bytes of windows to arrays.
pub struct TokenColumns {
    /// The positions of the windows.
    pub tokens: Arc<Tokens>,
    /// True if a column follows with the number of each token's document within its window,
    /// counting from 1.
    pub has_segments: bool,
    /// True if the files do not contain their dtype, so the numbers have to be checked.
    pub is_checked: bool,
}

impl Stage for TokenColumns {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let (dtype, length) = (self.tokens.dtype(), self.tokens.length());
        let shape = Shape::new(&[rows.len(), length]);
        let mut bytes: Vec<u8> = allocate::elements(dtype, &shape).room()?;
        for (block, row) in rows.iter() {
            let window = match block.columns.first() {
                Some(Column::Text(text)) => text.row(row),
                _ => return Err(Error::internal("a window of tokens is not bytes")),
            };
            if self.is_checked
                && let Some(token) = misread(window, dtype)
            {
                let at = block.row_provenance(row).map_or(String::new(), |origin| format!("{origin}: "));
                return Err(Error::invalid_argument(format!(
                    "{at}the token {token} (read as {dtype}) is out of range, expected 0 to {}. Set the dtype that \
                     the file was written with.",
                    MOST_TOKENS - 1
                )));
            }
            bytes.extend_from_slice(window);
        }
        let mut columns = vec![Column::Dense(Tensor::from_bytes(dtype, shape.clone(), bytes.into())?)];
        if self.has_segments {
            let mut segments = allocate::elements(DType::Int32, &shape).room()?;
            for (block, row) in rows.iter() {
                let unknown = || Error::internal("the position of a window is unknown");
                let origin = block.row_provenance(row).ok_or_else(unknown)?;
                let (start, documents) = self.tokens.position(&origin.file, origin.record)?;
                push_segments(start, length, documents.ok_or_else(unknown)?, &mut segments);
            }
            columns.push(Column::Dense(Tensor::from_values(shape, segments)?));
        }
        Block::new(columns, rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}

/// Finds the first token of a window that is too large for any vocabulary.
fn misread(window: &[u8], dtype: DType) -> Option<String> {
    match dtype {
        DType::Int8 => first(window, |bytes: [u8; 1]| i64::from(i8::from_le_bytes(bytes))),
        DType::Int16 => first(window, |bytes| i64::from(i16::from_le_bytes(bytes))),
        DType::Int32 => first(window, |bytes| i64::from(i32::from_le_bytes(bytes))),
        DType::UInt32 => first(window, |bytes| i64::from(u32::from_le_bytes(bytes))),
        DType::Int64 => first(window, i64::from_le_bytes),
        DType::UInt64 => first(window, |bytes| u64::from_le_bytes(bytes).cast_signed()),
        _ => None,
    }
}

fn first<const SIZE: usize>(window: &[u8], number: impl Fn([u8; SIZE]) -> i64) -> Option<String> {
    let (tokens, _) = window.as_chunks::<SIZE>();
    let is_misread = |token: &[u8; SIZE]| number(*token).cast_unsigned() >= MOST_TOKENS;
    // Checking all of them takes fewer steps than searching for one.
    let are_misread = tokens.iter().fold(false, |any, token| any | is_misread(token));
    are_misread.then(|| tokens.iter().find(|token| is_misread(token)).map(|token| number(*token).to_string()))?
}

/// Appends the document number of each token of a window, counting from 1.
fn push_segments(start: u64, length: usize, documents: &DocumentEnds, segments: &mut Vec<i32>) {
    let mut document = documents.document_of(start);
    let (mut left, mut token, mut segment) = (length, start, 1);
    while left > 0 {
        let end = documents.end_of(document + 1).saturating_sub(token);
        let is_last = document + 1 >= documents.len();
        let count = if is_last { left } else { usize::try_from(end).unwrap_or(usize::MAX).min(left) };
        segments.extend(std::iter::repeat_n(segment, count));
        (left, token) = (left - count, token + count as u64);
        (document, segment) = (document + 1, segment + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_start_at_document_boundaries() {
        let mut documents = DocumentEnds::default();
        [3, 4, 9].into_iter().for_each(|end| documents.push(end).unwrap());
        let segments = |start, length| {
            let mut segments = Vec::new();
            push_segments(start, length, &documents, &mut segments);
            segments
        };
        assert_eq!(segments(0, 5), [1, 1, 1, 2, 3]);
        assert_eq!(segments(2, 4), [1, 2, 3, 3]);
        assert_eq!(segments(3, 2), [1, 2]);
        assert_eq!(segments(5, 4), [1, 1, 1, 1]);
    }

    #[test]
    fn tokens_beyond_any_vocabulary_are_detected() {
        let bytes = |tokens: &[u16]| tokens.iter().copied().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        assert_eq!(misread(&bytes(&[1, 40_000]), DType::Int16), Some("-25536".to_owned()));
        assert_eq!(misread(&bytes(&[1, 2, 3, 5_000]), DType::UInt32), Some("327680003".to_owned()));
        assert_eq!(misread(&bytes(&[1, 2, 3, 0]), DType::UInt32), None);
        assert_eq!(misread(&bytes(&[1, 40_000]), DType::UInt16), None);
        assert_eq!(misread(&bytes(&[1, 2, 3, 65_535]), DType::Int64), Some((-281_462_091_677_695_i64).to_string()));
    }
}
