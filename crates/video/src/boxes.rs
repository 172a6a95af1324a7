//! Boxes, the building blocks of MP4 and QuickTime files.
//!
//! Source: ISO/IEC 14496-12, section 4.2; QuickTime File Format Specification.

use crate::damaged;
use headrace_engine::error::{Error, Result};
use std::fmt::Display;

/// A box in memory.
#[derive(Clone, Copy, Debug)]
pub struct Mp4Box<'a> {
    /// The four letters of its type.
    pub kind: [u8; 4],
    /// The offset of its header in the file.
    pub offset: u64,
    /// Its content.
    pub body: &'a [u8],
    /// The offset of its content in the file.
    pub body_offset: u64,
}

/// The type and size of a box.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// The four letters of its type.
    pub kind: [u8; 4],
    /// The length of the header.
    pub header_bytes: u64,
    /// The length of the header and the content, or `None` if the box extends to the end.
    pub num_bytes: Option<u64>,
}

/// The longest header.
pub const HEADER_BYTES: u64 = 16;

impl Header {
    /// Parses the header at the start of `bytes`. Returns `None` if it is damaged.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (size, rest) = bytes.split_first_chunk()?;
        let (kind, rest) = rest.split_first_chunk()?;
        let (header_bytes, num_bytes) = match u32::from_be_bytes(*size) {
            0 => (8, None),
            1 => (16, Some(u64::from_be_bytes(*rest.first_chunk()?))),
            size => (8, Some(u64::from(size))),
        };
        let is_long_enough = num_bytes.is_none_or(|num_bytes| num_bytes >= header_bytes);
        is_long_enough.then_some(Self { kind: *kind, header_bytes, num_bytes })
    }
}

impl<'a> Mp4Box<'a> {
    /// The error for a damaged box.
    pub fn damaged(&self, text: impl Display) -> Error {
        damaged(format_args!("the '{}' box at byte {} {text}", self.kind.escape_ascii(), self.offset))
    }

    /// The fields of the content.
    pub fn fields(&self) -> Fields<'a> {
        Fields { of: *self, rest: self.body }
    }

    /// The fields after the version and the flags, which come first.
    pub fn versioned(&self) -> Result<(u8, u32, Fields<'a>)> {
        let mut fields = self.fields();
        let word = fields.u32()?;
        Ok(((word >> 24) as u8, word & 0xff_ffff, fields))
    }

    /// The boxes in the content.
    pub fn children(&self) -> Boxes<'a> {
        self.children_after(0)
    }

    /// The boxes in the content after the first `num_bytes`.
    pub fn children_after(&self, num_bytes: usize) -> Boxes<'a> {
        let rest = self.body.get(num_bytes..).unwrap_or_default();
        Boxes { parent: *self, rest, offset: self.body_offset + num_bytes as u64 }
    }

    /// The first box of a type in the content.
    pub fn find(&self, kind: &[u8; 4]) -> Result<Option<Self>> {
        self.children().find(|child| child.as_ref().map_or(true, |child| child.kind == *kind)).transpose()
    }

    /// The first box of a type, which must exist.
    pub fn need(&self, kind: &[u8; 4]) -> Result<Self> {
        self.find(kind)?.ok_or_else(|| self.damaged(format_args!("has no '{}' box", kind.escape_ascii())))
    }
}

/// The boxes in another one.
pub struct Boxes<'a> {
    parent: Mp4Box<'a>,
    rest: &'a [u8],
    offset: u64,
}

impl<'a> Iterator for Boxes<'a> {
    type Item = Result<Mp4Box<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        // QuickTime ends some lists of boxes with a four-byte zero.
        if self.rest.len() < 8 {
            return None;
        }
        let (offset, rest) = (self.offset, std::mem::take(&mut self.rest));
        let size = |header: Header| usize::try_from(header.num_bytes.unwrap_or(rest.len() as u64)).ok();
        let header = Header::parse(rest);
        let content = header.and_then(|header| Some((header, rest.split_at_checked(size(header)?)?)));
        let Some((Header { kind, header_bytes, .. }, (whole, after))) = content else {
            let text = format!("contains a box at byte {offset} whose size is wrong");
            return Some(Err(self.parent.damaged(text)));
        };
        self.rest = after;
        self.offset += whole.len() as u64;
        let body = &whole[header_bytes as usize..];
        Some(Ok(Mp4Box { kind, offset, body, body_offset: offset + header_bytes }))
    }
}

/// The rest of a box, as big-endian numbers.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    of: Mp4Box<'a>,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Reads `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| {
            let text = format!("has {} bytes, which are too few", self.of.body.len());
            self.of.damaged(text)
        })?;
        self.rest = rest;
        Ok(taken)
    }

    /// Reads `count` values of `size` bytes each.
    pub fn list(&mut self, count: u32, size: usize) -> Result<&'a [u8]> {
        self.take((count as usize).saturating_mul(size))
    }

    /// Reads a one-byte number.
    pub fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_be_bytes)
    }

    /// Reads a two-byte number.
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// Reads a four-byte number.
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Reads a signed four-byte number.
    pub fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// Reads an eight-byte number.
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// Reads an eight-byte number if `is_long`, and a four-byte number otherwise.
    pub fn u32_or_u64(&mut self, is_long: bool) -> Result<u64> {
        if is_long { self.u64() } else { self.u32().map(u64::from) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| Error::internal("a slice has the wrong length"))
    }
}
