//! Encodes numbers, strings and lists as little-endian bytes.

use bytes::Bytes;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::tensor::allocate::{self, Refusal};

/// The elements of tensors begin at a multiple of this many bytes.
pub const ALIGNMENT: usize = 64;

/// Adds a number.
pub fn put(output: &mut Vec<u8>, number: u64) {
    output.extend_from_slice(&number.to_le_bytes());
}

/// Appends the length of a string, then the string.
pub fn put_string(output: &mut Vec<u8>, string: &[u8]) {
    put(output, string.len() as u64);
    output.extend_from_slice(string);
}

/// Appends the length of a list of numbers, then the numbers.
pub fn put_all(output: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = u64>) {
    put(output, numbers.len() as u64);
    numbers.for_each(|number| put(output, number));
}

/// Decodes bytes from beginning to end.
pub struct Input {
    bytes: Bytes,
    at: usize,
    /// The error, if decoding failed for lack of memory.
    shortage: Option<Error>,
}

impl Input {
    /// Creates an input that reads all of `bytes`.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes, at: 0, shortage: None }
    }

    /// Returns the decoded value, or `None` if the bytes are damaged. Fails if there was not enough
    /// memory.
    pub fn outcome<T>(self, decoded: Option<T>) -> Result<Option<T>> {
        match self.shortage {
            Some(error) if decoded.is_none() => Err(error),
            _ => Ok(decoded),
        }
    }

    /// Unwraps a result. An error is kept for [`Input::outcome`].
    pub fn noted<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.shortage = Some(error).filter(|error| error.code() == Code::ResourceExhausted)).ok()
    }

    fn allocated<T>(&mut self, memory: std::result::Result<T, Refusal>) -> Option<T> {
        self.noted(memory.map_err(|refusal| refusal.at("a block of examples")))
    }

    /// Allocates an empty list for `count` items, which must fit into the remaining bytes.
    pub fn room<T>(&mut self, count: usize) -> Option<Vec<T>> {
        self.allocated(allocate::room(count))
    }

    /// Decodes a list of `count` items. The list grows as the items are decoded.
    pub fn list<T>(&mut self, count: usize, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        for _ in 0..count {
            self.allocated(allocate::grow(&mut items, 1))?;
            items.push(item(self)?);
        }
        Some(items)
    }

    /// True if nothing is left.
    pub fn is_over(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next bytes.
    pub fn take(&mut self, count: usize) -> Option<Bytes> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len())?;
        Some(self.bytes.slice(std::mem::replace(&mut self.at, end)..end))
    }

    /// Skips the bytes before the elements of a tensor.
    pub fn align(&mut self) -> Option<()> {
        self.take(self.at.next_multiple_of(ALIGNMENT) - self.at).map(drop)
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte
    }

    /// A bool, which is 0 or 1.
    pub fn flag(&mut self) -> Option<bool> {
        self.byte().filter(|byte| *byte <= 1).map(|byte| byte == 1)
    }

    /// The next number.
    pub fn number(&mut self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..self.at.checked_add(8)?)?;
        self.at += 8;
        bytes.try_into().ok().map(u64::from_le_bytes)
    }

    /// The next number, as a size.
    pub fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// Reads a number of items. Fails if that many items of at least `least_bytes` each cannot fit
    /// into the remaining bytes.
    pub fn count(&mut self, least_bytes: usize) -> Option<usize> {
        let count = self.size()?;
        self.holds(count, least_bytes).then_some(count)
    }

    /// Returns true if `count` items of at least `least_bytes` each fit into the remaining bytes.
    pub fn holds(&self, count: usize, least_bytes: usize) -> bool {
        count.checked_mul(least_bytes).is_some_and(|num_bytes| num_bytes <= self.bytes.len() - self.at)
    }

    /// A list of numbers.
    pub fn numbers(&mut self) -> Option<Vec<usize>> {
        let count = self.count(8)?;
        let mut numbers = self.room(count)?;
        for _ in 0..count {
            numbers.push(self.size()?);
        }
        Some(numbers)
    }

    /// A list of ascending numbers.
    pub fn ends(&mut self) -> Option<Vec<usize>> {
        self.numbers().filter(|ends| ends.is_sorted())
    }

    /// A string with its length.
    pub fn string(&mut self) -> Option<Bytes> {
        let length = self.size()?;
        self.take(length)
    }

    /// A string of UTF-8.
    pub fn text(&mut self) -> Option<String> {
        String::from_utf8(self.string()?.to_vec()).ok()
    }
}
