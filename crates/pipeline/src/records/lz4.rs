//! Decompresses consecutive LZ4 frames.
//!
//! Source: LZ4 Frame Format Description 1.6.4, including its legacy and skippable frames.
//! Dictionaries are not supported.

use headrace_engine::files::output::retried;
use headrace_engine::tensor::allocate;
use lz4_flex::block::decompress_into_with_dict;
use std::hash::Hasher;
use std::io::{self, ErrorKind, Read};
use twox_hash::XxHash32;

const MAGIC: u32 = 0x184d_2204;
const LEGACY_MAGIC: u32 = 0x184c_2102;
const LEGACY_BLOCK_BYTES: usize = 8 << 20;
/// The maximum compression ratio of an LZ4 block.
const MAX_RATIO: usize = 255;
/// Blocks may refer back this many bytes.
const WINDOW_BYTES: usize = 64 << 10;
const IS_UNCOMPRESSED: u32 = 1 << 31;

/// The first four bytes of a frame.
pub const MAGIC_BYTES: [u8; 4] = MAGIC.to_le_bytes();
/// The first four bytes of a frame as written by early versions of LZ4.
pub const LEGACY_MAGIC_BYTES: [u8; 4] = LEGACY_MAGIC.to_le_bytes();

/// Returns true for the first four bytes of a skippable frame. They are the same in LZ4 and
/// Zstandard.
pub fn is_skippable(magic: [u8; 4]) -> bool {
    u32::from_le_bytes(magic) & 0xffff_fff0 == 0x184d_2a50
}

/// The uncompressed bytes of all frames. If the input ends within a frame, reading fails with
/// `UnexpectedEof`.
pub struct Lz4<R> {
    input: R,
    /// `None` between frames.
    frame: Option<Frame>,
    has_begun: bool,
    compressed: Vec<u8>,
    /// The bytes of the current block. `num_read` of them have been returned.
    block: Vec<u8>,
    num_read: usize,
    /// The last bytes of previous blocks, if blocks may refer to them.
    window: Vec<u8>,
}

struct Frame {
    block_bytes: usize,
    is_linked: bool,
    is_legacy: bool,
    has_block_checksums: bool,
    checksum: Option<XxHash32>,
    content_bytes: Option<u64>,
    num_bytes: u64,
}

impl<R: Read> Lz4<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        let (compressed, block, window) = (Vec::new(), Vec::new(), Vec::new());
        Self { input, frame: None, has_begun: false, compressed, block, num_read: 0, window }
    }

    fn exact<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads the next four bytes. Returns `None` at the end of the input.
    fn word_or_end(&mut self) -> io::Result<Option<u32>> {
        let mut bytes = [0; 4];
        let count = retried(|| self.input.read(&mut bytes))?;
        if count == 0 {
            return Ok(None);
        }
        self.input.read_exact(&mut bytes[count..])?;
        Ok(Some(u32::from_le_bytes(bytes)))
    }

    /// Reads the header of the next frame. Returns false at the end of the input.
    fn begin_frame(&mut self) -> io::Result<bool> {
        match self.word_or_end()? {
            Some(magic) => self.begin_with(magic).map(|()| true),
            None if self.has_begun => Ok(false),
            None => Err(ErrorKind::UnexpectedEof.into()),
        }
    }

    fn begin_with(&mut self, magic: u32) -> io::Result<()> {
        self.has_begun = true;
        self.window.clear();
        self.frame = match magic {
            MAGIC => Some(self.header()?),
            LEGACY_MAGIC => Some(Frame {
                block_bytes: LEGACY_BLOCK_BYTES,
                is_linked: false,
                is_legacy: true,
                has_block_checksums: false,
                checksum: None,
                content_bytes: None,
                num_bytes: 0,
            }),
            _ if is_skippable(magic.to_le_bytes()) => {
                let length = u64::from(u32::from_le_bytes(self.exact()?));
                let skipped = io::copy(&mut self.input.by_ref().take(length), &mut io::sink())?;
                match skipped == length {
                    true => None,
                    false => return Err(ErrorKind::UnexpectedEof.into()),
                }
            }
            _ if self.frame.is_some() => return Err(damage("a block is larger than its frame allows")),
            _ => return Err(damage("this is not an LZ4 frame")),
        };
        Ok(())
    }

    fn header(&mut self) -> io::Result<Frame> {
        let [flags, sizes] = self.exact()?;
        let mut checksum = XxHash32::with_seed(0);
        checksum.write(&[flags, sizes]);
        let has = |bit: u8| flags & 1 << bit != 0;
        if flags >> 6 != 1 || has(1) || sizes & 0x8f != 0 || sizes >> 4 < 4 {
            return Err(damage("the header of a frame has an unknown version"));
        }
        let mut content_bytes = None;
        if has(3) {
            let bytes = self.exact::<8>()?;
            checksum.write(&bytes);
            content_bytes = Some(u64::from_le_bytes(bytes));
        }
        if has(0) {
            return Err(damage("a frame needs a dictionary"));
        }
        let [sum] = self.exact()?;
        if checksum.finish() >> 8 & 0xff != u64::from(sum) {
            return Err(damage("the checksum of a frame's header is wrong"));
        }
        Ok(Frame {
            block_bytes: 1 << (8 + 2 * (sizes >> 4)),
            is_linked: !has(5),
            is_legacy: false,
            has_block_checksums: has(4),
            checksum: has(2).then(|| XxHash32::with_seed(0)),
            content_bytes,
            num_bytes: 0,
        })
    }

    /// Reads the next block or the end of a frame. Returns false at the end of the input.
    fn advance(&mut self) -> io::Result<bool> {
        let Some(frame) = &self.frame else { return self.begin_frame() };
        let (is_legacy, block_bytes, has_checksum) = (frame.is_legacy, frame.block_bytes, frame.has_block_checksums);
        let size = match self.word_or_end()? {
            Some(size) => size,
            // A legacy frame ends with the input.
            None if is_legacy => {
                self.frame = None;
                return Ok(false);
            }
            None => return Err(ErrorKind::UnexpectedEof.into()),
        };
        if size == 0 && !is_legacy {
            return self.end_frame().map(|()| true);
        }
        let length = (size & !IS_UNCOMPRESSED) as usize;
        let most = if is_legacy { block_bytes + block_bytes / MAX_RATIO + 16 } else { block_bytes };
        if length > most || (is_legacy && size & IS_UNCOMPRESSED != 0) {
            // Another frame may follow a legacy frame.
            return match is_legacy {
                true => self.begin_with(size).map(|()| true),
                false => Err(damage("a block is larger than its frame allows")),
            };
        }
        self.compressed.clear();
        allocate::read_to_end(&mut self.input.by_ref().take(length as u64), &mut self.compressed).map_err(
            |unread| match unread {
                allocate::Unread::Failed(error) => error,
                allocate::Unread::Refused(refusal) => io::Error::other(refusal.at("a block of LZ4")),
            },
        )?;
        if self.compressed.len() < length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if has_checksum {
            let expected = u32::from_le_bytes(self.exact()?);
            let mut checksum = XxHash32::with_seed(0);
            checksum.write(&self.compressed);
            if checksum.finish() != u64::from(expected) {
                return Err(damage("the checksum of a block is wrong"));
            }
        }
        self.decompress(size & IS_UNCOMPRESSED != 0)?;
        Ok(true)
    }

    /// Decompresses a block.
    fn decompress(&mut self, is_stored: bool) -> io::Result<()> {
        let Some(frame) = &mut self.frame else { return Ok(()) };
        self.num_read = 0;
        if is_stored {
            std::mem::swap(&mut self.block, &mut self.compressed);
        } else {
            let most = frame.block_bytes.min(self.compressed.len().saturating_mul(MAX_RATIO));
            self.block.clear();
            let refused = |refusal: allocate::Refusal| io::Error::other(refusal.at("a block of LZ4"));
            self.block = allocate::zeros(most).map_err(refused)?;
            let length = decompress_into_with_dict(&self.compressed, &mut self.block, &self.window);
            let length = length.map_err(|_| damage("a block is damaged"))?;
            self.block.truncate(length);
        }
        frame.num_bytes += self.block.len() as u64;
        if let Some(checksum) = &mut frame.checksum {
            checksum.write(&self.block);
        }
        if frame.is_linked {
            let kept = self.window.len().min(WINDOW_BYTES.saturating_sub(self.block.len()));
            self.window.drain(..self.window.len() - kept);
            let added = &self.block[self.block.len().saturating_sub(WINDOW_BYTES)..];
            self.window.extend_from_slice(added);
        }
        Ok(())
    }

    fn end_frame(&mut self) -> io::Result<()> {
        let Some(frame) = self.frame.take() else { return Ok(()) };
        if let Some(checksum) = frame.checksum
            && checksum.finish() != u64::from(u32::from_le_bytes(self.exact()?))
        {
            return Err(damage("the checksum of a frame is wrong"));
        }
        match frame.content_bytes {
            Some(expected) if expected != frame.num_bytes => {
                Err(damage(&format!("a frame has {} bytes, but its header claims {expected}", frame.num_bytes)))
            }
            _ => Ok(()),
        }
    }
}

#[cold]
fn damage(text: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("LZ4: {text}"))
}

impl<R: Read> Read for Lz4<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let rest = &self.block[self.num_read..];
            if !rest.is_empty() || buffer.is_empty() {
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                self.num_read += count;
                return Ok(count);
            }
            if !self.advance()? {
                return Ok(0);
            }
        }
    }
}
