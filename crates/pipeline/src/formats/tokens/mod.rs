//! Token files, which contain numbers of a single dtype. Each record is a window of tokens.

mod datatrove;
mod megatron;
mod numbers;
mod windows;

pub use megatron::{MegatronHead, megatron_head};
pub use windows::{DocumentEnds, WindowSize, Windows};

use crate::blocks::block::FileProvenance;
use crate::blocks::column::Span;
use crate::formats::chunks::{CHUNK_BYTES, ChunkRecords, Chunks, Split};
use crate::records::{
    Codec, EqualRecords, FilePart, Format, HeaderScan, Offsets, RandomAccess, RecordPosition, Scan, ScanResult, Source,
};
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::tensor::dtype::DType;
use std::sync::Arc;

/// The file that stores where the documents of a token file end.
pub enum DocumentIndex {
    /// Written by Megatron.
    Megatron(Arc<FileProvenance>),
    /// Written by datatrove.
    Datatrove(Arc<FileProvenance>),
}

/// The tokens of a file.
pub struct TokenFile {
    /// The offset of the first token.
    pub first_byte: u64,
    /// The number of tokens.
    pub num_tokens: u64,
    /// The ends of its documents, if needed.
    pub documents: Option<DocumentEnds>,
}

impl TokenFile {
    /// Creates a token file. If there is a document index, reads the ends of the documents from it.
    pub fn new(first_byte: u64, num_tokens: u64, dtype: DType, index: Option<&DocumentIndex>) -> Result<Self> {
        let documents = match index {
            None => None,
            Some(DocumentIndex::Megatron(file)) => Some(megatron::documents(file, dtype, num_tokens)?),
            Some(DocumentIndex::Datatrove(file)) => Some(datatrove::documents(file, num_tokens)?),
        };
        Ok(Self { first_byte, num_tokens, documents })
    }
}

/// Windows of token files. Files are looked up by number.
pub struct Tokens {
    dtype: DType,
    size: WindowSize,
    files: Vec<File>,
}

struct File {
    /// The size of the file in bytes.
    end: u64,
    windows: Arc<Windows>,
    documents: Option<DocumentEnds>,
}

impl Tokens {
    /// Creates windows. If `splits`, no window crosses the end of a document.
    pub fn new(dtype: DType, size: WindowSize, files: Vec<TokenFile>, splits: bool) -> Result<Self> {
        let token_bytes = dtype.size() as u64;
        let file = |TokenFile { first_byte, num_tokens, documents }| {
            let split = documents.as_ref().filter(|_| splits);
            let windows = Arc::new(Windows::new(size, (first_byte, token_bytes), num_tokens, split)?);
            let documents = if splits { None } else { documents };
            Ok(File { end: first_byte + num_tokens * token_bytes, windows, documents })
        };
        Ok(Self { dtype, size, files: files.into_iter().map(file).collect::<Result<_>>()? })
    }

    /// The type of a token.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of tokens in a window.
    pub fn length(&self) -> usize {
        self.size.length as usize
    }

    /// The number of windows in each file.
    pub fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.files.iter().map(|file| file.windows.len())
    }

    /// The number of tokens after the last windows.
    pub fn left_out(&self) -> u64 {
        self.files.iter().map(|file| file.windows.left_out()).sum()
    }

    /// Returns the number of a window's first token, and the document ends of its file.
    pub fn position(&self, file: &FileProvenance, record: u64) -> Result<(u64, Option<&DocumentEnds>)> {
        let tokens = self.file(file)?;
        match record < tokens.windows.len() {
            true => Ok((tokens.windows.start(record), tokens.documents.as_ref())),
            false => Err(Error::internal(format!("{}: window {record} does not exist", file.name.text()))),
        }
    }

    fn file(&self, file: &FileProvenance) -> Result<&File> {
        let tokens = usize::try_from(file.number).ok().and_then(|number| self.files.get(number));
        tokens.ok_or_else(|| Error::internal(format!("{}: the token file is unknown", file.name.text())))
    }

    fn splitter(&self, file: &Arc<FileProvenance>) -> Result<Splitter> {
        Ok(Splitter { file: Arc::clone(file), windows: Arc::clone(&self.file(file)?.windows) })
    }
}

impl Format for Tokens {
    fn open(&self, file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>> {
        let splitter = self.splitter(file)?;
        let (count, first) = (splitter.windows.len(), at.record);
        let offset = |record| splitter.windows.offset(record);
        let mut input = Source::open(file, Codec::Known(Compression::None))?;
        if first >= count {
            return Ok(Box::new(Chunks::of_part(file, splitter, FilePart::new(input, at, at.offset_bytes))?));
        }
        let at = RecordPosition { offset_bytes: offset(first), record: first };
        let end = offset(count - 1) + 1;
        input.skip_to(file, at.offset_bytes)?;
        Ok(Box::new(Chunks::of_part(file, splitter, FilePart::new(input, at, end))?))
    }

    fn open_part(&self, file: &Arc<FileProvenance>, part: FilePart) -> Result<Box<dyn Scan>> {
        Ok(Box::new(Chunks::of_part(file, self.splitter(file)?, part)?))
    }

    fn block_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn offset(&self, file: &FileProvenance, record: u64) -> Option<u64> {
        let windows = &self.file(file).ok()?.windows;
        (record < windows.len()).then(|| windows.offset(record))
    }

    fn held_bytes(&self) -> usize {
        let documents = |file: &File| file.documents.as_ref().map_or(0, DocumentEnds::memory_bytes);
        self.files.iter().map(|file| file.windows.memory_bytes() + documents(file)).sum()
    }

    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        Some(self)
    }
}

impl RandomAccess for Tokens {
    fn codec(&self) -> Codec {
        Codec::Known(Compression::None)
    }

    /// Computes the offsets of the windows from the number of tokens.
    fn scan(&self, file: &Arc<FileProvenance>, input: &mut HeaderScan) -> Result<ScanResult> {
        let tokens = self.file(file)?;
        if input.len() < tokens.end {
            return Err(shorter(file, input.len(), tokens.end));
        }
        let windows: Arc<dyn EqualRecords> = Arc::<Windows>::clone(&tokens.windows);
        Ok(Offsets::Spread(windows).into())
    }

    fn unframe(&self, _file: &Arc<FileProvenance>, frame: &[u8], _at: RecordPosition) -> Result<Span> {
        Ok(Span { start: 0, length: frame.len() })
    }
}

fn shorter(file: &FileProvenance, is: u64, was: u64) -> Error {
    Error::data_loss(format!(
        "{}: the file has {is} bytes, but had {was} when the pipeline was planned. Finish writing the files before you \
         read them",
        file.name.text()
    ))
}

struct Splitter {
    file: Arc<FileProvenance>,
    windows: Arc<Windows>,
}

impl Split for Splitter {
    fn split(&mut self, chunk: &[u8], at: RecordPosition, is_last: bool) -> ChunkRecords {
        let (mut records, count) = (ChunkRecords::default(), self.windows.len());
        let length = self.windows.record_bytes() as usize;
        let mut record = at.record;
        // The position of the next window in the chunk, or beyond the chunk.
        let position = |record: u64| {
            let position = self.windows.offset(record).saturating_sub(at.offset_bytes);
            usize::try_from(position).unwrap_or(usize::MAX)
        };
        while record < count {
            let start = position(record);
            if chunk.len().saturating_sub(start) < length || start > chunk.len() {
                break;
            }
            records.spans.push(Span { start, length });
            record += 1;
        }
        records.used = if record < count { position(record).min(chunk.len()) } else { chunk.len() };
        if is_last && record < count {
            let is = at.offset_bytes + chunk.len() as u64;
            let was = self.windows.offset(count - 1) + length as u64;
            records.fault = Some(shorter(&self.file, is, was).into());
        }
        records
    }
}
