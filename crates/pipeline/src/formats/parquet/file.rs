//! An open Parquet file and its footer.

use crate::blocks::file_provenance::FileProvenance;
use crate::formats::arrow::wide_integers;
use crate::formats::parquet::counts::{COPY_AGAIN, check_counts};
use crate::formats::parquet::list_layouts::in_three_levels;
use crate::formats::parquet::schema::{ROW_GROUPS, check_schema};
use crate::formats::parquet::thrift::Thrift;
use crate::records::Codec;
use bytes::Bytes;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::files::content::{START_BYTES, content_or_text};
use headrace_engine::files::input::inner;
use headrace_engine::files::positioned::Positioned;
use headrace_engine::files::storage::{Status, as_io, changed};
use headrace_engine::run::catch_library_panic;
use headrace_engine::tensor::allocate;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, BufReader, ErrorKind, Read};
use std::sync::Arc;

/// The number of bytes to read at a time for the header of a page.
const HEADER_BYTES: usize = 256;
/// The markers at the ends of Parquet files, with a plain and with an encrypted footer.
const MARKS: [&[u8; 4]; 2] = [b"PAR1", b"PARE"];
/// The minimum size of a file: two markers and the length of the footer.
const LEAST_BYTES: u64 = 12;
/// The size of the end of a file, after the footer: its length and a marker.
const END_BYTES: u64 = 8;
/// The headers of an empty list in Thrift's compact protocol: one without an element type, one for
/// structs.
const EMPTY_LIST: u8 = 0x00;
const EMPTY_LIST_OF_STRUCTS: u8 = 0x0c;
/// The number of bytes to read at once at the end of a remote file.
const FOOTER_BYTES: u64 = 64 * 1024;

/// A result of the `parquet` crate.
pub type Parsed<T> = std::result::Result<T, ParquetError>;

/// An open file that several readers share.
#[derive(Clone, Debug)]
pub struct OpenFile {
    file: Arc<Positioned>,
    status: Status,
    /// The end of a remote file, which was read in one request, and its offset.
    end: Option<(u64, Bytes)>,
}

impl OpenFile {
    /// Opens a file. If `status` is passed for a remote file, the storage is not queried for it.
    pub fn open(file: &FileProvenance, status: Option<&Status>) -> Result<Self> {
        let opened = file.begin_parts(status)?.wait().map_err(|error| match file.name.url() {
            Some(_) if error.code() == Code::InvalidArgument => Error::invalid_argument(format!(
                "{}: the storage serves only whole files, but tables need byte ranges. Copy the file to this machine.",
                file.name.text()
            )),
            _ => error,
        });
        let (positioned, status) = opened?;
        Ok(Self::new(positioned, status))
    }

    /// An open file.
    pub fn new(file: Positioned, status: Status) -> Self {
        Self { file: Arc::new(file), status, end: None }
    }

    /// Returns true if an additional read costs far more than a larger one.
    pub fn is_remote(&self) -> bool {
        self.file.is_remote()
    }

    /// The file itself.
    pub fn positioned(&self) -> &Positioned {
        &self.file
    }

    /// The status of the file when it was opened.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Reads a part of the file.
    pub fn read(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        if let Some((first, end)) = &self.end
            && let Some(start) = start.checked_sub(*first).and_then(|start| usize::try_from(start).ok())
            && let Some(bytes) = end.get(start..).and_then(|rest| rest.get(..length))
        {
            return allocate::copied(bytes).map(Into::into).map_err(|refusal| as_io(refusal.at("a footer")));
        }
        let bytes = allocate::zeros(length);
        let mut bytes = bytes.map_err(|refusal| as_io(refusal.at("a part of a file")))?;
        self.file.read(&mut bytes, start)?;
        Ok(bytes)
    }

    /// The footer.
    pub fn footer(&self, file: &FileProvenance) -> Result<ParquetMetaData> {
        let mut open = self.clone();
        if self.is_remote() {
            let start = self.status.len.saturating_sub(FOOTER_BYTES);
            let read = self.read(start, usize::try_from(self.status.len - start).unwrap_or(0));
            open.end = Some((start, read.map_err(|error| Error::io(file.name.text(), &error))?.into()));
        }
        open.check_marks(file)?;
        let unread = |error| failed(file, "cannot read the footer", &error);
        let bytes = with_kind_of_groups(open.footer_bytes().map_err(unread)?);
        let footer = guarded(|| ParquetMetaDataReader::decode_metadata(&bytes)).map_err(unread)?;
        check_schema(file, &bytes, footer.file_metadata().schema_descr())?;
        check_counts(file, &footer)?;
        guarded(|| in_three_levels(footer)).map_err(unread)
    }

    /// Reads the footer.
    pub fn footer_bytes(&self) -> Parsed<Bytes> {
        let past_the_end = || ParquetError::External(Box::new(io::Error::from(ErrorKind::UnexpectedEof)));
        let end = self.status.len.checked_sub(END_BYTES).ok_or_else(past_the_end)?;
        let length = self.get_bytes(end, 4)?;
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]);
        match end.checked_sub(length.into()) {
            Some(start) => self.get_bytes(start, length as usize),
            None => {
                Err(ParquetError::General(format!("it claims {length} bytes, but the file has {}", self.status.len)))
            }
        }
    }

    /// Fails unless the file has Parquet's markers at both ends.
    fn check_marks(&self, file: &FileProvenance) -> Result<()> {
        let name = file.name.text();
        let failed = |error: io::Error| Error::io(name, &error);
        let end = match self.status.len.checked_sub(4) {
            Some(start) => self.read(start, 4).map_err(failed)?,
            None => Vec::new(),
        };
        if end == MARKS[0] && self.is_remote() && self.status.len >= LEAST_BYTES {
            // This saves one request.
            return Ok(());
        }
        let start =
            self.read(0, usize::try_from(self.status.len).unwrap_or(usize::MAX).min(START_BYTES)).map_err(failed)?;
        let start = &start[..];
        let begins = MARKS.iter().any(|mark| start.starts_with(&mark[..]));
        if self.status.len < LEAST_BYTES || !begins {
            let what = match content_or_text(start).filter(|_| !begins) {
                Some(detected)
                    if Codec::of(start) != Codec::Known(headrace_engine::files::compression::Compression::None) =>
                {
                    format!("It is {detected}. Decompress it first.")
                }
                Some(detected) => format!("It is {detected}. {}", detected.remedy()),
                None => "Is it a Parquet file? If it is, copy it again.".to_owned(),
            };
            return Err(Error::invalid_argument(format!(
                "{name}: the file ({} bytes) does not start with the Parquet marker 'PAR1'. {what}",
                self.status.len
            )));
        }
        if end == MARKS[1] {
            return Err(Error::invalid_argument(format!(
                "{name}: the file is encrypted, expected a plain Parquet file. Decrypt it first: for example, read it with \
                 pyarrow and the keys, and write it again."
            )));
        }
        match end == MARKS[0] {
            true => Ok(()),
            false => Err(Error::data_loss(format!(
                "{name}: the file ({} bytes) does not end with the Parquet marker 'PAR1', so it is cut short. Copy it \
                 again.",
                self.status.len
            ))),
        }
    }
}

/// Sets the element type of an empty list of row groups to struct, which fastparquet omits.
fn with_kind_of_groups(footer: Bytes) -> Bytes {
    let mut thrift = Thrift::new(&footer);
    let is_found = thrift.find(ROW_GROUPS).is_some();
    let at = footer.len() - thrift.num_bytes();
    if !is_found || footer.get(at) != Some(&EMPTY_LIST) {
        return footer;
    }
    let mut bytes = footer.to_vec();
    bytes[at] = EMPTY_LIST_OF_STRUCTS;
    bytes.into()
}

/// Parses the footer with Arrow types, using the types that pyarrow recorded if there are any.
pub fn arrow_metadata(
    file: &FileProvenance,
    footer: Arc<ParquetMetaData>,
    options: ArrowReaderOptions,
) -> Result<ArrowReaderMetadata> {
    let metadata = guarded(|| ArrowReaderMetadata::try_new(Arc::clone(&footer), options));
    metadata.map_err(|error| {
        let mut pairs = footer.file_metadata().key_value_metadata().into_iter().flatten();
        let schema = pairs.find(|pair| pair.key == ARROW_SCHEMA_META_KEY).and_then(|pair| pair.value.as_deref());
        match schema.and_then(wide_integers::refusal_in_metadata) {
            Some(text) => Error::invalid_argument(format!("{}: {text}", file.name.text())),
            None => failed(file, "cannot read the schema", &error),
        }
    })
}

/// Calls a function of the `parquet` crate, which may panic if the data is damaged.
pub fn guarded<T>(read: impl FnOnce() -> Parsed<T>) -> Parsed<T> {
    // After an error, the data that `read` was modifying is no longer used.
    catch_library_panic(read)
        .unwrap_or_else(|text| Err(ParquetError::General(format!("a value is out of range ({text})"))))
}

/// The error for a failed read of a file, or of a part of it.
pub fn failed(file: &FileProvenance, what: &str, error: &ParquetError) -> Error {
    let name = file.name.text();
    let text = match error {
        ParquetError::External(cause) => match cause.downcast_ref::<io::Error>() {
            Some(error) if error.kind() == ErrorKind::UnexpectedEof => "part of it is past the end".to_owned(),
            Some(error) if error.raw_os_error().is_some() || inner(error).is_some() => return Error::io(name, error),
            _ => cause.to_string(),
        },
        ParquetError::NYI(text) => {
            return Error::invalid_argument(format!(
                "{name}: {what}: the file uses an unsupported feature ({text}). Rewrite it, for example with pyarrow."
            ));
        }
        ParquetError::General(text) | ParquetError::EOF(text) | ParquetError::ArrowError(text) => text.clone(),
        other => other.to_string(),
    };
    // Nested errors begin with their kinds.
    let text = ["Parquet argument error: ", "Parquet error: ", "External: "]
        .iter()
        .fold(&text[..], |text, kind| text.strip_prefix(kind).unwrap_or(text));
    Error::data_loss(format!("{name}: {what}: {text}. {COPY_AGAIN}"))
}

/// Fails if the file has changed since its footer was read.
pub fn check_unchanged(file: &FileProvenance, was: &Status, is: &Status) -> Result<()> {
    match was.len == is.len && was.version == is.version {
        true => Ok(()),
        false => {
            let text = format!("it has {} bytes, but had {} before", is.len, was.len);
            Err(changed(text).named(file.name.text()))
        }
    }
}

impl Length for OpenFile {
    fn len(&self) -> u64 {
        self.status.len
    }
}

/// For the footer.
impl ChunkReader for OpenFile {
    type T = BufReader<ReadFrom>;

    fn get_read(&self, start: u64) -> Parsed<Self::T> {
        let rest = ReadFrom { open: self.clone(), offset: start };
        Ok(BufReader::with_capacity(HEADER_BYTES, rest))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Parsed<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.status.len) {
            return Err(ParquetError::External(Box::new(io::Error::from(ErrorKind::UnexpectedEof))));
        }
        Ok(self.read(start, length)?.into())
    }
}

/// A file from some offset on.
pub struct ReadFrom {
    open: OpenFile,
    offset: u64,
}

impl Read for ReadFrom {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.open.status.len.saturating_sub(self.offset);
        let count = usize::try_from(rest).unwrap_or(usize::MAX).min(buffer.len());
        buffer[..count].copy_from_slice(&self.open.read(self.offset, count)?);
        self.offset += count as u64;
        Ok(count)
    }
}
