//! Opens files and decompresses them.

use crate::blocks::block::FileProvenance;
use crate::records::lz4::Lz4;
use crate::records::{Codec, MARK_BYTES, lz4};
use bzip2::read::MultiBzDecoder;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::{Compression, Inflate};
use headrace_engine::files::input::{Input, inner};
use headrace_engine::files::output::retried;
use headrace_engine::files::ranged::Ranged;
use headrace_engine::files::storage::Status;
use headrace_engine::tensor::allocate::{self, Unread};
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use std::io::{self, BufReader, Chain, Cursor, ErrorKind, Read, Seek, SeekFrom};

/// The memory limit of an xz decoder, the same as for Zstandard. The error for streams that need
/// more mentions it.
const WINDOW_BYTES: u64 = 128 << 20;
/// The memory that an xz decoder needs in addition to its window.
const BESIDES_BYTES: u64 = 1 << 20;

/// An open file. All of its members, frames or streams are read one after another, as command line
/// tools do.
pub struct Source {
    kind: Kind,
    /// The size of an uncompressed regular file when it was opened.
    len: Option<u64>,
}

/// The bytes read to detect the compression, followed by the rest.
type File = Chain<Cursor<Vec<u8>>, Input>;

enum Kind {
    Plain(File),
    /// Uncompressed, from a position on.
    Ranged(Ranged),
    Decoded(Box<Decoded<File>>),
}

/// A decoder. It reads its input to the end or fails.
enum Decoded<R: Read> {
    Inflate(Inflate<R>),
    Zstd(zstd::stream::read::Decoder<'static, BufReader<R>>),
    Bzip2(MultiBzDecoder<R>),
    Xz(XzDecoder<R>),
    Lz4(Lz4<BufReader<R>>),
}

impl<R: Read> Decoded<R> {
    /// Creates a decoder, or returns `None` for uncompressed input.
    fn new(codec: Codec, input: R) -> io::Result<std::result::Result<Self, R>> {
        Ok(Ok(match codec {
            Codec::ByContent | Codec::Known(Compression::None) => return Ok(Err(input)),
            Codec::Known(compression) => Self::Inflate(Inflate::whole(input, compression)),
            Codec::Zstd => Self::Zstd(zstd::stream::read::Decoder::new(input)?),
            Codec::Bzip2 => Self::Bzip2(MultiBzDecoder::new(input)),
            Codec::Xz => {
                let stream = Stream::new_stream_decoder(WINDOW_BYTES + BESIDES_BYTES, CONCATENATED)?;
                Self::Xz(XzDecoder::new_stream(input, stream))
            }
            Codec::Lz4 => Self::Lz4(Lz4::new(BufReader::new(input))),
        }))
    }

    fn remedy(&self, error: &io::Error) -> &'static str {
        match (error.kind(), self) {
            (ErrorKind::UnexpectedEof, _) => "The file is cut short; copy it again.",
            (_, Self::Inflate(inflate)) => inflate.remedy(),
            _ if error.to_string().contains("memory") => {
                "It was compressed with a window of more than 128 MiB; compress it again with a smaller one."
            }
            _ => "It is damaged, or has another compression; copy it again, or correct compression.",
        }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Inflate(inflate) => inflate.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
            Self::Bzip2(decoder) => decoder.read(buffer),
            Self::Xz(decoder) => decoder.read(buffer),
            Self::Lz4(decoder) => decoder.read(buffer),
        }
    }
}

/// Returns true if the first bytes of a file show that it is compressed.
pub fn is_compressed(file: &FileProvenance, codec: Codec) -> Result<bool> {
    Source::open(file, codec).map(|source| source.is_compressed())
}

/// Decompresses an input. The reader reaches the end of the input or returns an error. If the codec is detected from the
/// content, `input` must be at its beginning.
pub fn uncompressed<'a>(codec: Codec, input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut input = input;
    let mut start = Vec::new();
    let codec = match codec {
        Codec::ByContent => begin(&mut input, &mut start)?,
        codec => codec,
    };
    Ok(match Decoded::new(codec, Cursor::new(start).chain(input))? {
        Ok(decoded) => Box::new(decoded),
        Err(plain) => Box::new(plain),
    })
}

/// Reads the first bytes of an input and detects its compression. Skips skippable frames at the
/// beginning.
fn begin(input: &mut impl Read, start: &mut Vec<u8>) -> io::Result<Codec> {
    loop {
        read_start(input, start)?;
        let codec = Codec::of(&start[..start.len().min(MARK_BYTES)]);
        let Some((magic, length, rest)) = start
            .split_first_chunk::<4>()
            .and_then(|(magic, rest)| rest.split_first_chunk::<4>().map(|(length, rest)| (*magic, *length, rest)))
        else {
            return Ok(codec);
        };
        if !lz4::is_skippable(magic) || codec == Codec::Known(Compression::None) {
            return Ok(codec);
        }
        let length = u64::from(u32::from_le_bytes(length));
        let available = rest.len() as u64;
        if length > available {
            let missing = length - available;
            if io::copy(&mut input.take(missing), &mut io::sink())? < missing {
                return Err(io::Error::new(ErrorKind::UnexpectedEof, "a skippable frame ends too soon"));
            }
            start.clear();
        } else {
            start.drain(..8 + length as usize);
        }
    }
}

impl Source {
    /// Opens a file at its beginning.
    pub fn open(file: &FileProvenance, codec: Codec) -> Result<Self> {
        let (mut input, status) = file.open()?;
        let name = file.name.text();
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                Error::data_loss(format!("{name}: {error}. The file is cut short; copy it again."))
            }
            _ => Error::io(name, &error),
        };
        let mut start = Vec::new();
        if let Some(room) = input.len_of_small().map(|len| len.saturating_add(1)) {
            allocate::reserve(&mut start, room).map_err(|refusal| refusal.at(name))?;
            input.read_small(&mut start, room).map_err(failed)?;
        }
        let codec = match codec {
            Codec::ByContent => {
                read_start(&mut input, &mut start).map_err(failed)?;
                let codec = Codec::of_file(&start[..start.len().min(MARK_BYTES)], name)?;
                match start.first_chunk().is_some_and(|magic| lz4::is_skippable(*magic)) {
                    true => begin(&mut input, &mut start).map_err(failed)?,
                    false => codec,
                }
            }
            codec => codec,
        };
        let whole = Cursor::new(start).chain(input);
        Ok(match Decoded::new(codec, whole).map_err(failed)? {
            Ok(decoded) => Self { kind: Kind::Decoded(Box::new(decoded)), len: None },
            Err(plain) => Self { kind: Kind::Plain(plain), len: status.is_regular.then_some(status.len) },
        })
    }

    /// Opens an uncompressed local file at a position.
    pub fn at(file: &FileProvenance, offset: u64) -> Result<(Self, Status)> {
        let (mut input, status) = file.open()?;
        if status.is_regular {
            input.seek(SeekFrom::Start(offset)).map_err(|error| Error::io(file.name.text(), &error))?;
        }
        let len = status.is_regular.then_some(status.len);
        Ok((Self { kind: Kind::Plain(Cursor::default().chain(input)), len }, status))
    }

    /// Reads an uncompressed file from a position on.
    pub fn of_range(ranged: Ranged) -> Self {
        Self { kind: Kind::Ranged(ranged), len: None }
    }

    /// The error for a read that failed at this position.
    pub fn error(&self, file: &FileProvenance, error: &io::Error, at: &str) -> Error {
        let name = file.name.text();
        let is_damage = error.raw_os_error().is_none() && inner(error).is_none();
        match &self.kind {
            Kind::Decoded(decoded) if is_damage => {
                Error::data_loss(format!("{name}: {error} ({at}). {}", decoded.remedy(error)))
            }
            _ => Error::io(name, error).with_remedy(&format!("It failed at {at}.")),
        }
    }
}

impl Source {
    /// Returns true if the file's bytes differ from the bytes returned.
    pub fn is_compressed(&self) -> bool {
        matches!(self.kind, Kind::Decoded(_))
    }

    /// The number of bytes after `offset`, if the file is uncompressed and its size is known. It
    /// may have grown since it was opened.
    pub fn len_after(&self, offset: u64) -> Option<u64> {
        self.len.map(|len| len.saturating_sub(offset))
    }

    /// Moves to byte `offset` of the uncompressed data, counted from the beginning of the file.
    /// Fails if the data ends first.
    pub fn skip_to(&mut self, file: &FileProvenance, offset: u64) -> Result<()> {
        if offset == 0 {
            return Ok(());
        }
        let skipped = match &mut self.kind {
            Kind::Plain(plain) if plain.get_ref().1.can_seek() => {
                let (start, input) = plain.get_mut();
                *start = Cursor::default();
                let size = input.seek(SeekFrom::End(0));
                size.and_then(|size| input.seek(SeekFrom::Start(offset.min(size))))
            }
            Kind::Ranged(ranged) => Ok(ranged.seek(offset)),
            _ => io::copy(&mut self.by_ref().take(offset), &mut io::sink()),
        };
        let position = format!("byte {offset} of the data");
        match skipped.map_err(|error| self.error(file, &error, &position))? == offset {
            true => Ok(()),
            false => Err(Error::data_loss(format!(
                "{}: the file ends before {position}, which was already read. Resume with the original files.",
                file.name.text()
            ))),
        }
    }

    /// Takes the whole file if it was read while it was opened and has fewer than `count` bytes.
    pub fn take_whole(&mut self, count: usize) -> Option<Vec<u8>> {
        let Kind::Plain(file) = &mut self.kind else { return None };
        let (start, input) = file.get_mut();
        let is_whole = input.has_ended() && start.position() == 0 && start.get_ref().len() < count;
        is_whole.then(|| std::mem::take(start).into_inner())
    }

    /// Appends up to `count` bytes, and fewer only at the end of the file.
    pub fn read_more(&mut self, bytes: &mut Vec<u8>, count: usize) -> std::result::Result<(), Unread> {
        if let Kind::Plain(file) = &mut self.kind
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
        match &mut self.kind {
            Kind::Plain(file) => file.read(buffer),
            Kind::Ranged(ranged) => ranged.read(buffer),
            Kind::Decoded(decoded) => decoded.read(buffer),
        }
    }
}

/// Appends bytes until there are [`MARK_BYTES`], or the file ends.
fn read_start(input: &mut impl Read, start: &mut Vec<u8>) -> io::Result<()> {
    let mut checkpoint = [0; MARK_BYTES];
    while start.len() < MARK_BYTES {
        let missing = MARK_BYTES - start.len();
        match retried(|| input.read(&mut checkpoint[..missing]))? {
            0 => break,
            count => start.extend_from_slice(&checkpoint[..count]),
        }
    }
    Ok(())
}
