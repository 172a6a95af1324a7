//! The positions of token windows in a file, and the documents that tokens belong to.

use crate::records::{EqualRecords, Offsets};
use headrace_engine::error::Result;

/// The number of the token after each document in a file.
#[derive(Debug, Default)]
pub struct DocumentEnds(Offsets);

impl DocumentEnds {
    /// Adds the end of a document, which must not be less than the previous one. Documents without
    /// tokens are not counted.
    pub fn push(&mut self, end: u64) -> Result<()> {
        match end == self.end_of(self.len()) {
            true => Ok(()),
            false => self.0.push(end),
        }
    }

    /// The number of documents.
    pub fn len(&self) -> u64 {
        self.0.num_pushed()
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the first `count` documents end.
    pub fn end_of(&self, count: u64) -> u64 {
        count.checked_sub(1).map_or(0, |last| self.0.get(last))
    }

    /// The memory that this uses, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }

    /// The number of the document that contains token `token`, if there is one.
    pub fn document_of(&self, token: u64) -> u64 {
        last_from(self.len(), |document| self.end_of(document) <= token)
    }
}

/// The largest number below `end` that meets a condition, or 0 if there is none. All numbers after
/// it must fail the condition.
fn last_from(end: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut first, mut end) = (0, end);
    while first + 1 < end {
        let middle = first + (end - first) / 2;
        match holds(middle) {
            true => first = middle,
            false => end = middle,
        }
    }
    first
}

/// The size of windows and the distance between them, in tokens.
#[derive(Clone, Copy, Debug)]
pub struct WindowSize {
    /// The number of tokens in a window, at least 1.
    pub length: u64,
    /// The number of tokens from the start of one window to the start of the next, at least 1.
    pub stride: u64,
}

impl WindowSize {
    /// The number of windows in a run of tokens.
    fn count(self, num_tokens: u64) -> u64 {
        num_tokens.checked_sub(self.length).map_or(0, |rest| rest / self.stride + 1)
    }

    /// The number of tokens after the last window of a run.
    fn rest(self, num_tokens: u64) -> u64 {
        match self.count(num_tokens) {
            0 => num_tokens,
            count => num_tokens - (count - 1) * self.stride - self.length,
        }
    }
}

/// The windows of a file. If there are documents, no window crosses the end of one.
#[derive(Debug)]
pub struct Windows {
    size: WindowSize,
    /// The offset of the first token in its file, and the size of a token, both in bytes.
    first_byte: u64,
    token_bytes: u64,
    count: u64,
    left_out: u64,
    documents: Option<Runs>,
}

/// The documents that have windows.
#[derive(Debug, Default)]
struct Runs {
    /// The number of windows before each document.
    before: Offsets,
    /// The number of each document's first token.
    starts: Offsets,
}

impl Windows {
    /// The windows of a file with `num_tokens` tokens of `token_bytes` each. The first one begins
    /// at byte `first_byte`.
    pub fn new(
        size: WindowSize,
        (first_byte, token_bytes): (u64, u64),
        num_tokens: u64,
        documents: Option<&DocumentEnds>,
    ) -> Result<Self> {
        let mut windows = Self { size, first_byte, token_bytes, count: 0, left_out: 0, documents: None };
        let Some(ends) = documents else {
            (windows.count, windows.left_out) = (size.count(num_tokens), size.rest(num_tokens));
            return Ok(windows);
        };
        let mut runs = Runs::default();
        for document in 0..ends.len() {
            let start = ends.end_of(document);
            let num_tokens = ends.end_of(document + 1) - start;
            windows.left_out += size.rest(num_tokens);
            if size.count(num_tokens) > 0 {
                runs.before.push(windows.count)?;
                runs.starts.push(start)?;
                windows.count += size.count(num_tokens);
            }
        }
        windows.documents = Some(runs);
        Ok(windows)
    }

    /// The number of tokens after the last window of the file, or of each document.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The number of the first token of window `number`.
    pub fn start(&self, number: u64) -> u64 {
        let Some(runs) = &self.documents else { return number * self.size.stride };
        let run = last_from(runs.before.num_pushed(), |run| runs.before.get(run) <= number);
        runs.starts.get(run) + (number - runs.before.get(run)) * self.size.stride
    }
}

impl EqualRecords for Windows {
    fn len(&self) -> u64 {
        self.count
    }

    fn offset(&self, index: u64) -> u64 {
        self.first_byte + self.start(index) * self.token_bytes
    }

    fn record_bytes(&self) -> u64 {
        self.size.length * self.token_bytes
    }

    fn memory_bytes(&self) -> usize {
        self.documents.as_ref().map_or(0, |runs| runs.before.memory_bytes() + runs.starts.memory_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(num_tokens: u64, ends: &[u64], length: u64, stride: u64) -> (Vec<u64>, u64) {
        let mut documents = DocumentEnds::default();
        ends.iter().for_each(|end| documents.push(*end).unwrap());
        let documents = (!ends.is_empty()).then_some(&documents);
        let windows = Windows::new(WindowSize { length, stride }, (10, 2), num_tokens, documents).unwrap();
        assert!((0..windows.len()).all(|number| windows.offset(number) == 10 + 2 * windows.start(number)));
        ((0..windows.len()).map(|number| windows.start(number)).collect(), windows.left_out())
    }

    #[test]
    fn windows_are_consecutive_and_the_rest_is_counted() {
        assert_eq!(windows(10, &[], 4, 3), (vec![0, 3, 6], 0));
        assert_eq!(windows(12, &[], 4, 3), (vec![0, 3, 6], 2));
        assert_eq!(windows(12, &[], 4, 5), (vec![0, 5], 3));
        assert_eq!(windows(3, &[], 4, 3), (vec![], 3));
        assert_eq!(windows(0, &[], 4, 3), (vec![], 0));
    }

    #[test]
    fn no_window_crosses_a_document() {
        assert_eq!(windows(20, &[3, 3, 8, 9, 20], 4, 3), (vec![3, 9, 12, 15], 3 + 1 + 1 + 1));
        assert_eq!(windows(6, &[2, 4, 6], 4, 3), (vec![], 6));
    }

    #[test]
    fn token_belongs_to_the_document_that_ends_after_it() {
        let mut documents = DocumentEnds::default();
        [0, 3, 3, 8].into_iter().for_each(|end| documents.push(end).unwrap());
        assert_eq!(documents.len(), 2);
        let numbers: Vec<_> = (0..8).map(|token| documents.document_of(token)).collect();
        assert_eq!(numbers, [0, 0, 0, 1, 1, 1, 1, 1]);
    }
}
