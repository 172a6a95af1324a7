//! A file as its uncompressed bytes.

use crate::error::{Error, Result};
use crate::files::compression::{Compression, Inflate};
use crate::files::input::{Input, inner};
use crate::files::output::retried;
use crate::pipeline::block::FileOrigin;
use crate::tensor::allocate::{self, Unread};
use bzip2::read::MultiBzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use std::io::{self, BufReader, Chain, Cursor, ErrorKind, Read, Seek, SeekFrom};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// As the first bytes of each file say.
    ByContent,
    /// All files in this way.
    Known(Compression),
    /// Zstandard frames (RFC 8878).
    Zstd,
    /// Streams of bzip2.
    Bzip2,
}

/// An open file. Of several members, frames or streams all are read, one after the other, as command line tools do.
pub struct Source(Kind);

/// What was read to find out how the file is compressed, and the rest.
type File = Chain<Cursor<Vec<u8>>, Input>;

enum Kind {
    Plain(File),
    Inflate(Box<Inflate<File>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<File>>>),
    Bzip2(Box<MultiBzDecoder<File>>),
}

impl Source {
    /// Opens a file at its beginning.
    pub fn open(file: &FileOrigin, codec: Codec) -> Result<Self> {
        let (mut input, _) = file.open()?;
        let failed = |error: io::Error| Error::io(file.name.text(), &error);
        let mut start = Vec::new();
        let codec = match codec {
            Codec::ByContent => {
                read_start(&mut input, &mut start).map_err(failed)?;
                Codec::of(&start)
            }
            codec => codec,
        };
        let whole = Cursor::new(start).chain(input);
        Ok(Self(match codec {
            Codec::ByContent | Codec::Known(Compression::None) => Kind::Plain(whole),
            Codec::Known(compression) => Kind::Inflate(Box::new(Inflate::new(whole, compression))),
            Codec::Zstd => Kind::Zstd(Box::new(zstd::stream::read::Decoder::new(whole).map_err(failed)?)),
            Codec::Bzip2 => Kind::Bzip2(Box::new(MultiBzDecoder::new(whole))),
        }))
    }

    /// The error for a read that has failed `at` this place.
    pub fn error(&self, file: &FileOrigin, error: &io::Error, at: &str) -> Error {
        let name = file.name.text();
        let is_damage = error.raw_os_error().is_none() && inner(error).is_none();
        match &self.0 {
            Kind::Inflate(_) | Kind::Zstd(_) | Kind::Bzip2(_) if is_damage => {
                let remedy = match (error.kind(), &self.0) {
                    (ErrorKind::UnexpectedEof, _) => "The file is cut short; copy it again.",
                    (_, Kind::Inflate(inflate)) => inflate.remedy(),
                    _ => "It is damaged, or compressed in another way; copy it again, or correct its compression.",
                };
                Error::data_loss(format!("{name}: {error} ({at}). {remedy}"))
            }
            _ => Error::io(name, error).with_remedy(&format!("It happened at {at}.")),
        }
    }
}

impl Source {
    /// Whether the bytes in the file are others than those that are read.
    pub fn is_compressed(&self) -> bool {
        !matches!(self.0, Kind::Plain(_))
    }

    /// Goes on at byte `offset` of the uncompressed data, from the beginning of the file. Fails if it ends before.
    pub fn skip_to(&mut self, file: &FileOrigin, offset: u64) -> Result<()> {
        if offset == 0 {
            return Ok(());
        }
        let skipped = match &mut self.0 {
            Kind::Plain(plain) if plain.get_ref().1.can_seek() => {
                let (start, input) = plain.get_mut();
                *start = Cursor::default();
                let size = input.seek(SeekFrom::End(0));
                size.and_then(|size| input.seek(SeekFrom::Start(offset.min(size))))
            }
            _ => io::copy(&mut self.by_ref().take(offset), &mut io::sink()),
        };
        let place = format!("byte {offset} of the data");
        match skipped.map_err(|error| self.error(file, &error, &place))? == offset {
            true => Ok(()),
            false => Err(Error::data_loss(format!(
                "{}: it ends before {place}, where it was read before. Resume with the files as they were.",
                file.name.text()
            ))),
        }
    }

    /// Reads up to `count` bytes, fewer only at the end, behind those that are there.
    pub fn read_more(&mut self, bytes: &mut Vec<u8>, count: usize) -> std::result::Result<(), Unread> {
        if let Kind::Plain(file) = &mut self.0
            && let (start, input) = file.get_mut()
            && start.position() == start.get_ref().len() as u64
            && bytes.capacity() - bytes.len() >= count
        {
            return input.read_full(bytes, count).map(drop).map_err(Unread::Failed);
        }
        allocate::read_to_end(&mut self.take(count as u64), bytes)
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Plain(file) => file.read(buffer),
            Kind::Inflate(inflate) => {
                let count = inflate.read(buffer)?;
                match count == 0 && !buffer.is_empty() && inflate.is_cut_short() {
                    true => Err(io::Error::new(ErrorKind::UnexpectedEof, "the compressed data end too soon")),
                    false => Ok(count),
                }
            }
            Kind::Zstd(decoder) => decoder.read(buffer),
            Kind::Bzip2(decoder) => decoder.read(buffer),
        }
    }
}

/// The longest mark of a compression, in bytes.
pub const MARK_BYTES: usize = 10;

impl Codec {
    /// How a file with this beginning is compressed. A zlib stream is known by its first two bytes as zlib itself writes them,
    /// but for its levels 2 to 5, whose bytes are the text `x^`.
    pub fn of(start: &[u8]) -> Self {
        match start {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Self::Bzip2,
            _ if Compression::guess(start) == Compression::Gzip => Self::Known(Compression::Gzip),
            _ if begins_zlib(start) => Self::Known(Compression::Zlib),
            _ => Self::Known(Compression::None),
        }
    }
}

fn begins_zlib(start: &[u8]) -> bool {
    // The length of a TFRecord may begin in the same way, but then it ends with zeros.
    let is_length = start.get(4..8) == Some(&[0; 4]);
    // Fewer bytes than were asked for are the whole file.
    let is_whole = start.len() < MARK_BYTES;
    let is_inflated = |start: &[u8]| {
        let done = Decompress::new(true).decompress(start, &mut [0; 64], FlushDecompress::None);
        done.is_ok_and(|status| !is_whole || status == Status::StreamEnd)
    };
    matches!(start, [0x78, 0x01 | 0x9c | 0xda, ..]) && !is_length && is_inflated(start)
}

/// Reads the first bytes of a file, fewer if it has not as many.
fn read_start(input: &mut Input, start: &mut Vec<u8>) -> io::Result<()> {
    let mut mark = [0; MARK_BYTES];
    while start.len() < MARK_BYTES {
        let missing = MARK_BYTES - start.len();
        match retried(|| input.read(&mut mark[..missing]))? {
            0 => break,
            count => start.extend_from_slice(&mark[..count]),
        }
    }
    Ok(())
}
