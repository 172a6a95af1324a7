//! Ogg: pages, their checksums and order, and the packets inside them.
//!
//! Source: RFC 3533.

use super::{damaged, unsupported};
use crate::error::Result;
use crate::tensor::allocate;
use std::borrow::Cow;
use symphonia_core::checksum::Crc32;
use symphonia_core::io::Monitor;

const HEADER_BYTES: usize = 27;

/// A page whose checksum has not been verified.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Its position in the file.
    pub offset: usize,
    bytes: &'a [u8],
    lacing: &'a [u8],
    /// The codec's time at the end of the last packet that ends in this page, or `None` if no
    /// packet does.
    pub granule: Option<u64>,
    /// True if the page begins in the middle of a packet.
    pub is_continued: bool,
    is_first: bool,
    pub is_last: bool,
    serial: u32,
    number: u32,
}

impl<'a> Page<'a> {
    fn read(contents: &'a [u8], offset: usize) -> Result<Self> {
        let rest = &contents[offset..];
        if !rest.starts_with(b"OggS") {
            let mark = rest[..rest.len().min(4)].escape_ascii();
            return Err(damaged(format!(
                "Ogg: expected a page at byte {offset}, but found b'{mark}'; the file is damaged"
            )));
        }
        let cut = || damaged(format!("Ogg: the page at byte {offset} is incomplete; the file is cut short"));
        let head = rest.first_chunk::<HEADER_BYTES>().ok_or_else(cut)?;
        let lacing = rest.get(HEADER_BYTES..HEADER_BYTES + usize::from(head[26])).ok_or_else(cut)?;
        let body: usize = lacing.iter().map(|size| usize::from(*size)).sum();
        let bytes = rest.get(..HEADER_BYTES + lacing.len() + body).ok_or_else(cut)?;
        let number =
            |offset: usize| u32::from_le_bytes([head[offset], head[offset + 1], head[offset + 2], head[offset + 3]]);
        let granule = u64::from(number(10)) << 32 | u64::from(number(6));
        let [is_continued, is_first, is_last] = [1, 2, 4].map(|flag| head[5] & flag != 0);
        let granule = Some(granule).filter(|granule| *granule != u64::MAX);
        Ok(Self {
            offset,
            bytes,
            lacing,
            granule,
            is_continued,
            is_first,
            is_last,
            serial: number(14),
            number: number(18),
        })
    }

    /// Fails if the checksum is wrong.
    pub fn check(&self) -> Result<()> {
        let mut crc = Crc32::new(0);
        crc.process_buf_bytes(&self.bytes[..22]);
        crc.process_buf_bytes(&[0; 4]);
        crc.process_buf_bytes(&self.bytes[26..]);
        match self.bytes[22..26] == crc.crc().to_le_bytes() {
            true => Ok(()),
            false => {
                Err(damaged(format!("Ogg: the page at byte {} has a wrong checksum; the file is damaged", self.offset)))
            }
        }
    }

    /// Iterates over the parts of packets in the page, and whether a packet ends with each part.
    pub fn parts(&self) -> impl Iterator<Item = (&'a [u8], bool)> {
        let mut body = &self.bytes[HEADER_BYTES + self.lacing.len()..];
        let mut lacing = self.lacing;
        std::iter::from_fn(move || {
            let full = lacing.iter().take_while(|size| **size == 255).count();
            let (taken, has_end) = match lacing.get(full) {
                Some(size) => (full * 255 + usize::from(*size), true),
                None if full > 0 => (full * 255, false),
                None => return None,
            };
            lacing = lacing.get(full + 1..).unwrap_or_default();
            let (part, rest) = body.split_at(taken);
            body = rest;
            Some((part, has_end))
        })
    }
}

/// Returns all pages of a file with a single stream, in order. Fails if one is missing.
pub fn pages(contents: &[u8]) -> Result<Vec<Page<'_>>> {
    let mut pages: Vec<Page> = Vec::new();
    let mut offset = 0;
    while offset < contents.len() {
        let page = Page::read(contents, offset)?;
        if let Some(before) = pages.last() {
            if page.serial != before.serial || page.is_first {
                return Err(unsupported(format!("Ogg: a second stream begins at byte {offset}")));
            }
            if before.is_last || page.number != before.number.wrapping_add(1) {
                return Err(damaged(format!(
                    "Ogg: page {} at byte {offset} follows page {}; the file is damaged",
                    page.number, before.number
                )));
            }
        }
        offset += page.bytes.len();
        allocate::grow(&mut pages, 1).map_err(|refusal| refusal.at("pages of Ogg"))?;
        pages.push(page);
    }
    match (pages.first(), pages.last()) {
        (Some(first), _) if !first.is_first => {
            Err(damaged("Ogg: the first page is missing; the beginning of the file was cut off"))
        }
        (_, Some(last)) if !last.is_last => Err(damaged(format!(
            "Ogg: the last page ({}) is not the end of its stream; the file is cut short",
            last.number
        ))),
        _ => Ok(pages),
    }
}

/// Fails if the first packet does not belong to a codec that we decode. Returns true if it is Opus,
/// and false if it is Vorbis.
pub fn is_opus(pages: &[Page]) -> Result<bool> {
    let Some(first) = pages.first() else { return Ok(false) };
    first.check()?;
    let packet = first.parts().next().map_or(&[][..], |(packet, _)| packet);
    let name = match packet {
        _ if packet.starts_with(b"OpusHead") => return Ok(true),
        _ if packet.starts_with(b"\x01vorbis") => return Ok(false),
        _ if packet.starts_with(b"\x7fFLAC") => "FLAC",
        _ if packet.starts_with(b"Speex   ") => "Speex",
        _ if packet.starts_with(b"\x80theora") => "Theora, a video",
        _ if packet.starts_with(b"fishead") => "a Skeleton stream",
        _ => "unknown",
    };
    Err(unsupported(format!("Ogg: the codec is {name}")))
}

/// Removes the pages with the headers. Returns at least `count` headers, or fewer if the stream ends
/// before.
pub fn headers(pages: &mut Vec<Page>, count: usize) -> Result<Vec<Vec<u8>>> {
    let (mut packets, mut headers) = (Packets::default(), Vec::new());
    let mut num_pages = 0;
    while headers.len() < count
        && let Some(page) = pages.get(num_pages)
    {
        packets.of_page(page, |packet| {
            headers.push(packet.into_owned());
            Ok(())
        })?;
        num_pages += 1;
    }
    pages.drain(..num_pages);
    Ok(headers)
}

/// Assembles packets from the parts in pages.
#[derive(Default)]
pub struct Packets {
    /// The beginning of a packet that has not ended yet.
    begun: Option<Vec<u8>>,
}

impl Packets {
    /// Calls `take` for each packet that ends in a page. A packet that began before the first page
    /// is left out.
    pub fn of_page<'a>(&mut self, page: &Page<'a>, mut take: impl FnMut(Cow<'a, [u8]>) -> Result<()>) -> Result<()> {
        page.check()?;
        let mut is_continued = page.is_continued;
        if !is_continued && self.begun.take().is_some() {
            return Err(damaged(format!(
                "Ogg: the packet before byte {} does not end; the file is damaged",
                page.offset
            )));
        }
        for (part, has_end) in page.parts() {
            let packet = match (is_continued, self.begun.take()) {
                (true, None) => None,
                (true, Some(mut begun)) => {
                    allocate::append(&mut begun, part).map_err(|refusal| refusal.at("a packet of Ogg"))?;
                    Some(Cow::Owned(begun))
                }
                (false, _) => Some(Cow::Borrowed(part)),
            };
            is_continued = false;
            match packet {
                Some(packet) if has_end => take(packet)?,
                Some(packet) => {
                    let copy = match packet {
                        Cow::Owned(begun) => Ok(begun),
                        Cow::Borrowed(part) => {
                            let mut copy = Vec::new();
                            allocate::append(&mut copy, part).map(|()| copy)
                        }
                    };
                    self.begun = Some(copy.map_err(|refusal| refusal.at("a packet of Ogg"))?);
                }
                None => {}
            }
        }
        Ok(())
    }
}
