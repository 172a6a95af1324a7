//! Numbers, strings and lists as bytes, little-endian.

use bytes::Bytes;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::tensor::allocate::{self, Refusal};

/// Elements of tensors begin at a multiple of this many bytes.
pub const ALIGNMENT: usize = 64;

/// Adds a number.
pub fn put(output: &mut Vec<u8>, number: u64) {
    output.extend_from_slice(&number.to_le_bytes());
}

/// Adds a string with its length.
pub fn put_string(output: &mut Vec<u8>, string: &[u8]) {
    put(output, string.len() as u64);
    output.extend_from_slice(string);
}

/// Adds a list of numbers with its length.
pub fn put_all(output: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = u64>) {
    put(output, numbers.len() as u64);
    numbers.for_each(|number| put(output, number));
}

/// Bytes that are read from their beginning to their end.
pub struct Input {
    bytes: Bytes,
    at: usize,
    /// The reason why the bytes could not be decoded, if that is a lack of memory.
    shortage: Option<Error>,
}

impl Input {
    /// All of these bytes.
    pub fn new(bytes: Bytes) -> Self {
        Self { bytes, at: 0, shortage: None }
    }

    /// The decoded value; `None` if the bytes are damaged. Fails if there was not enough memory.
    pub fn outcome<T>(self, decoded: Option<T>) -> Result<Option<T>> {
        match self.shortage {
            Some(error) if decoded.is_none() => Err(error),
            _ => Ok(decoded),
        }
    }

    /// The value of a result; an error for lack of memory is kept for the outcome.
    pub fn noted<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.shortage = Some(error).filter(|error| error.code() == Code::ResourceExhausted)).ok()
    }

    fn allocated<T>(&mut self, memory: std::result::Result<T, Refusal>) -> Option<T> {
        self.noted(memory.map_err(|refusal| refusal.at("a block of examples")))
    }

    /// An empty list with room for this many items, which must fit into the rest.
    pub fn room<T>(&mut self, count: usize) -> Option<Vec<T>> {
        self.allocated(allocate::room(count))
    }

    /// A list of this many items, allocated as they are decoded.
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

    /// A count of items of at least `least_bytes` each, which must fit into the rest.
    pub fn count(&mut self, least_bytes: usize) -> Option<usize> {
        let count = self.size()?;
        self.holds(count, least_bytes).then_some(count)
    }

    /// True if this many items of at least `least_bytes` each fit into the rest.
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
