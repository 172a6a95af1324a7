//! Elements, the building blocks of Matroska and WebM files.
//!
//! Source: RFC 8794 (EBML).

use crate::damaged;
use crate::data::VideoData;
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use std::fmt::Display;

/// How many bytes to read at a time while skipping over pictures.
const WINDOW_BYTES: u64 = 4 << 10;
/// The longest header: a type of 4 bytes and a size of 8 bytes.
const HEADER_BYTES: u64 = 12;

/// The header of an element.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its type.
    pub id: u32,
    /// Where its header begins in the file.
    pub offset: u64,
    /// Where its content begins.
    pub start: u64,
    /// Where its content ends, or `None` if the file doesn't store it.
    pub end: Option<u64>,
}

impl Element {
    /// The error for a damaged element.
    pub fn damaged(&self, text: impl Display) -> Error {
        damaged(format_args!("the element {:#x} at byte {} {text}", self.id, self.offset))
    }
}

/// Reads elements from any position of a file.
pub struct Reader<'a> {
    data: &'a VideoData,
    window: Bytes,
    window_start: u64,
}

impl<'a> Reader<'a> {
    /// Reads this file.
    pub fn new(data: &'a VideoData) -> Self {
        Self { data, window: Bytes::new(), window_start: 0 }
    }

    /// The length of the file.
    pub fn num_bytes(&self) -> u64 {
        self.data.num_bytes()
    }

    /// Reads up to `count` bytes, and fewer only at the end of the file.
    pub fn peek(&mut self, offset: u64, count: u64) -> Result<Bytes> {
        let end = self.num_bytes().min(offset.saturating_add(count)).max(offset);
        let is_inside = offset >= self.window_start && end <= self.window_start + self.window.len() as u64;
        if !is_inside {
            let window_end = self.num_bytes().min(offset.saturating_add(WINDOW_BYTES.max(count))).max(offset);
            self.window = if offset < window_end { self.data.read(offset..window_end)? } else { Bytes::new() };
            self.window_start = offset;
        }
        let start = (offset - self.window_start) as usize;
        Ok(self.window.slice(start..start + (end - offset) as usize))
    }

    /// Reads the header of an element.
    pub fn element(&mut self, offset: u64) -> Result<Element> {
        let bytes = self.peek(offset, HEADER_BYTES)?;
        let broken = || damaged(format_args!("the element at byte {offset} has an invalid type or size"));
        let id_bytes = bytes.first().map_or(9, |first| first.leading_zeros() as usize + 1);
        if id_bytes > 4 || bytes.len() < id_bytes {
            return Err(broken());
        }
        let id = bytes[..id_bytes].iter().fold(0, |id, byte| id << 8 | u32::from(*byte));
        let (size, size_bytes) = number(&bytes[id_bytes..]).ok_or_else(broken)?;
        let start = offset + (id_bytes + size_bytes) as u64;
        Ok(Element { id, offset, start, end: size.map(|size| start.saturating_add(size)) })
    }

    /// Reads the content of a small element, such as the description of a track.
    pub fn content(&mut self, element: &Element) -> Result<Bytes> {
        match element.end {
            Some(end) if end <= self.num_bytes() => self.data.read(element.start..end),
            _ => Err(element.damaged("ends past the end of the file")),
        }
    }

    /// Reads a number.
    pub fn unsigned(&mut self, element: &Element) -> Result<u64> {
        let content = self.content(element)?;
        if content.len() > 8 {
            return Err(element.damaged(format_args!("has {} bytes, expected a number", content.len())));
        }
        Ok(content.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// Reads the headers of the elements in another one.
    pub fn children(&mut self, parent: &Element) -> Result<Vec<Element>> {
        let end = parent.end.unwrap_or(u64::MAX).min(self.num_bytes());
        let mut children = Vec::new();
        let mut offset = parent.start;
        while offset < end {
            let child = self.element(offset)?;
            offset = child.end.filter(|child_end| *child_end <= end).ok_or_else(|| {
                let text = format!("contains an element at byte {offset} whose size is wrong");
                parent.damaged(text)
            })?;
            children.push(child);
        }
        Ok(children)
    }
}

/// Parses a number of variable length, and returns how many bytes it takes. The number is `None` if
/// all of its bits are 1.
pub fn number(bytes: &[u8]) -> Option<(Option<u64>, usize)> {
    let first = *bytes.first()?;
    let count = first.leading_zeros() as usize + 1;
    if count > 8 {
        return None;
    }
    let rest = bytes.get(1..count)?;
    let bits = 7 * count as u32;
    let start = u64::from(first) & (0xff >> count);
    let value = rest.iter().fold(start, |value, byte| value << 8 | u64::from(*byte));
    Some(((value != (1 << bits) - 1).then_some(value), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_to_eight_bytes() {
        assert_eq!(number(&[0x82]), Some((Some(2), 1)));
        assert_eq!(number(&[0x40, 0x02]), Some((Some(2), 2)));
        assert_eq!(number(&[0x01, 0, 0, 0, 0, 0, 0, 5]), Some((Some(5), 8)));
        assert_eq!(number(&[0xff]), Some((None, 1)));
        assert_eq!(number(&[0x01, 255, 255, 255, 255, 255, 255, 255]), Some((None, 8)));
        assert_eq!((number(&[]), number(&[0]), number(&[0x40])), (None, None, None));
    }
}
