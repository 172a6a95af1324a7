//! A cache file with all rows of one pass.
//!
//! The file has a header, the chunks of rows (each at a multiple of 64 bytes), a table, and a
//! trailer. The table lists the groups of chunks with their checksums and checkpoints, and the skip
//! events. The trailer has the position and the checksum of the table. Opening the file checks the
//! header, the table and the trailer; reading a chunk checks the chunk. The file isn't
//! memory-mapped, because truncating a mapped file would crash the program.

use crate::blocks::block::Block;
use crate::blocks::rows::Rows;
use crate::budget::Charge;
use crate::checkpoint::Checkpoint;
use crate::nodes::disk_cache::encoding::{Chunk, decoded};
use crate::nodes::disk_cache::formats::Formats;
use crate::nodes::disk_cache::links::without_link;
use crate::nodes::disk_cache::numbers::{ALIGNMENT, Input, put};
use crate::nodes::disk_cache::provenance::{decode_checkpoint, decode_event, encode_checkpoint, encode_event};
use crate::skip_event::{SkipEvent, SkipEvents};
use bytes::Bytes;
use crc32c::crc32c;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::positioned::fill;
use headrace_engine::tensor::allocate;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: [u8; 8] = *b"\x89HRCACHE";
/// The version of the file format. Increase it with every change.
pub const VERSION: u64 = 2;
const HEADER_BYTES: usize = 16;
const TRAILER_BYTES: usize = 40;
/// The minimum size of a group in the table, in bytes: three numbers and two checkpoints.
const GROUP_BYTES: usize = 42;
/// The size of a chunk in the table, in bytes.
const CHUNK_BYTES: usize = 24;

/// Chunks that arrived together.
#[derive(Debug)]
struct Group {
    /// The offset of the first chunk.
    start: usize,
    /// The number after its last row.
    end: u64,
    checkpoint: Checkpoint,
    /// The checkpoint after its last row.
    rest: Checkpoint,
    chunks: Box<[ChunkHeader]>,
}

/// A chunk of a group. Each begins at the next multiple of 64 bytes after the previous one.
#[derive(Clone, Copy, Debug)]
struct ChunkHeader {
    num_bytes: usize,
    num_rows: u32,
    checksum: u32,
}

impl Group {
    /// Iterates over the chunks: the byte range of each, and the number of earlier rows in the
    /// group.
    fn chunks(&self) -> impl Iterator<Item = (Range<usize>, u64, ChunkHeader)> {
        let (mut start, mut row) = (self.start, 0);
        self.chunks.iter().map(move |chunk| {
            let (range, first) = (start..start + chunk.num_bytes, row);
            start = range.end.next_multiple_of(ALIGNMENT);
            row += u64::from(chunk.num_rows);
            (range, first, *chunk)
        })
    }
}

/// The table of a file that is being written.
#[derive(Debug, Default)]
pub struct Table {
    groups: Vec<Group>,
    skip_events: SkipEvents,
    length: usize,
}

/// A file with all rows of a pass.
pub struct Entry {
    path: PathBuf,
    content: Content,
    num_bytes: usize,
    groups: Vec<Group>,
    skip_events: SkipEvents,
    formats: Arc<Formats>,
}

/// The bytes of a file.
pub enum Content {
    /// An open file.
    File(File),
    /// Bytes in memory, for tests.
    Memory(Bytes),
}

impl Content {
    /// Reads a range of bytes. Fails with [`ErrorKind::UnexpectedEof`] if the file is too short.
    fn read(&self, range: Range<usize>) -> io::Result<Bytes> {
        match self {
            Self::Memory(bytes) if range.end <= bytes.len() => Ok(bytes.slice(range)),
            Self::Memory(_) => Err(ErrorKind::UnexpectedEof.into()),
            Self::File(file) => {
                let mut bytes = allocate::zeros(range.len()).map_err(|_| ErrorKind::OutOfMemory)?;
                fill(file, &mut bytes, range.start as u64)?;
                Ok(bytes.into())
            }
        }
    }

    fn num_bytes(&self) -> io::Result<usize> {
        match self {
            Self::Memory(bytes) => Ok(bytes.len()),
            Self::File(file) => usize::try_from(file.metadata()?.len()).map_err(|_| ErrorKind::FileTooLarge.into()),
        }
    }
}

/// The beginning of a file.
pub fn header() -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    put(&mut header, VERSION);
    header
}

impl Table {
    /// The table of a file with only a header.
    pub fn new() -> Self {
        Self { length: HEADER_BYTES, ..Self::default() }
    }

    /// The length of the file.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The number of rows.
    pub fn num_rows(&self) -> u64 {
        self.groups.last().map_or(0, |group| group.end)
    }

    /// Adds chunks with the checkpoints before their first row and after their last row. Returns
    /// the offset of each chunk.
    pub fn add(&mut self, chunks: &[Chunk], [checkpoint, rest]: [Checkpoint; 2]) -> Vec<usize> {
        let header = |chunk: &Chunk| {
            let Chunk { num_rows, bytes } = chunk;
            ChunkHeader { num_bytes: bytes.len(), num_rows: *num_rows, checksum: crc32c(bytes) }
        };
        let num_rows: u64 = chunks.iter().map(|chunk| u64::from(chunk.num_rows)).sum();
        let (start, end) = (self.length.next_multiple_of(ALIGNMENT), self.num_rows() + num_rows);
        let group = Group { start, end, checkpoint, rest, chunks: chunks.iter().map(header).collect() };
        let ranges: Vec<_> = group.chunks().map(|(range, ..)| range).collect();
        self.length = ranges.last().map_or(self.length, |range| range.end);
        self.groups.push(group);
        ranges.into_iter().map(|range| range.start).collect()
    }

    /// Adds a skip event after the groups added so far.
    pub fn add_event(&mut self, event: SkipEvent) {
        self.skip_events.push((self.groups.len(), event));
    }

    /// Returns the end of the file: the table and the trailer.
    pub fn finished(&self) -> Result<Vec<u8>> {
        let mut output = Vec::new();
        put(&mut output, self.groups.len() as u64);
        for group in &self.groups {
            [group.start as u64, group.end].iter().for_each(|number| put(&mut output, *number));
            put(&mut output, group.chunks.len() as u64);
            for ChunkHeader { num_bytes, num_rows, checksum } in &group.chunks {
                let numbers = [*num_bytes as u64, (*num_rows).into(), (*checksum).into()];
                numbers.iter().for_each(|number| put(&mut output, *number));
            }
            encode_checkpoint(&mut output, &group.checkpoint);
            encode_checkpoint(&mut output, &group.rest);
        }
        put(&mut output, self.skip_events.len() as u64);
        for (num_groups, event) in &self.skip_events {
            put(&mut output, *num_groups as u64);
            encode_event(&mut output, event)?;
        }
        let checksum = crc32c(&output);
        let mut trailer = Vec::new();
        [self.length as u64, output.len() as u64, checksum.into()].iter().for_each(|number| put(&mut trailer, *number));
        let checksum = crc32c(&trailer);
        put(&mut trailer, checksum.into());
        output.extend_from_slice(&trailer);
        output.extend_from_slice(&MAGIC);
        Ok(output)
    }
}

impl Entry {
    /// Opens a file. Fails with the kind `InvalidData` if it is damaged, and with `OutOfMemory` if
    /// there is not enough memory.
    pub fn open(path: &Path, formats: Arc<Formats>) -> io::Result<Self> {
        let content = Content::File(without_link(OpenOptions::new().read(true)).open(path)?);
        let damaged = || io::Error::new(ErrorKind::InvalidData, "damaged or cut short");
        Self::of(path.to_owned(), content, formats)?.ok_or_else(damaged)
    }

    /// Parses the content of a file. Returns `None` if it is damaged.
    pub fn of(path: PathBuf, content: Content, formats: Arc<Formats>) -> io::Result<Option<Self>> {
        let num_bytes = content.num_bytes()?;
        let Some(end) = num_bytes.checked_sub(TRAILER_BYTES).filter(|end| *end >= HEADER_BYTES) else {
            return Ok(None);
        };
        let (header_read, trailer) = (content.read(0..HEADER_BYTES)?, content.read(end..num_bytes)?);
        let Some(table) = table_range(&trailer, end).filter(|_| *header_read == header()) else { return Ok(None) };
        let (start, checksum) = (table.0.start, table.1);
        let table = content.read(table.0)?;
        if checksum != u64::from(crc32c(&table)) {
            return Ok(None);
        }
        let mut input = Input::new(table);
        let table = decoded_table(&mut input, start);
        let table = input.outcome(table).map_err(|_| ErrorKind::OutOfMemory)?;
        Ok(table.map(|(groups, skip_events)| Self { path, content, num_bytes, groups, skip_events, formats }))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of rows.
    pub fn num_rows(&self) -> u64 {
        self.groups.last().map_or(0, |group| group.end)
    }

    /// The number of groups.
    pub fn num_groups(&self) -> usize {
        self.groups.len()
    }

    /// The length of the file.
    pub fn num_bytes(&self) -> usize {
        self.num_bytes
    }

    /// The number of the group that has this row.
    pub fn group_of(&self, row: u64) -> usize {
        self.groups.partition_point(|group| group.end <= row)
    }

    /// The number of the first row of a group.
    pub fn first(&self, group: usize) -> u64 {
        group.checked_sub(1).map_or(0, |before| self.groups[before].end)
    }

    /// The size of a group's chunks in bytes.
    pub fn group_bytes(&self, group: usize) -> usize {
        self.groups[group].chunks.iter().map(|chunk| chunk.num_bytes).sum()
    }

    /// The checkpoint of the first row of a group, for the node before the cache.
    pub fn checkpoint(&self, group: usize) -> &Checkpoint {
        &self.groups[group].checkpoint
    }

    /// The checkpoint from which a group's rows, and the skip events before them, can be computed
    /// again.
    pub fn restart(&self, group: usize) -> Checkpoint {
        group.checked_sub(1).map_or_else(Checkpoint::default, |before| self.groups[before].rest.clone())
    }

    /// The skip events, each with the number of groups before it.
    pub fn skip_events(&self) -> &[(usize, SkipEvent)] {
        &self.skip_events
    }

    /// Reads the rows of a group and charges their blocks to the same budget as `charge`. Fails if
    /// the file is damaged or truncated, or if there is not enough memory.
    pub fn read(&self, group: usize, charge: &Charge, change: impl Fn(Block) -> Block) -> Result<Rows> {
        let mut rows = Rows::new();
        for (range, _, header) in self.groups[group].chunks() {
            let block = change(self.read_chunk(range, header)?);
            let charge = charge.another(block.held_bytes().max(header.num_bytes));
            rows.push(&Arc::new(block.charged(charge)), 0, header.num_rows as usize);
        }
        Ok(rows)
    }

    /// The position of the chunk that has a row: its group, and its number within the group.
    pub fn chunk_of(&self, row: u64) -> (usize, usize) {
        let group = self.group_of(row);
        let within = row - self.first(group);
        let behind =
            |(_, first, header): &(Range<usize>, u64, ChunkHeader)| first + u64::from(header.num_rows) > within;
        let chunk = self.groups[group].chunks().position(|span| behind(&span));
        (group, chunk.unwrap_or_default())
    }

    /// Reads the block at a position, and returns it with its first row number. Fails with
    /// `DataLoss` if it is damaged or truncated, and with `ResourceExhausted` if there is not
    /// enough memory.
    pub fn read_at(&self, (group, chunk): (usize, usize)) -> Result<(u64, Block)> {
        let header = self.groups[group].chunks().nth(chunk);
        let (range, first, header) = header.ok_or_else(|| Error::internal("cache: a chunk does not exist"))?;
        Ok((self.first(group) + first, self.read_chunk(range, header)?))
    }

    fn read_chunk(&self, range: Range<usize>, header: ChunkHeader) -> Result<Block> {
        let start = range.start;
        let damaged = || {
            Error::data_loss(format!(
                "cache: {}: the block at byte {start} is damaged or cut short. Iterate again to rebuild the file.",
                self.path.display(),
            ))
        };
        let bytes = match self.content.read(range) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(damaged()),
            Err(error) => return Err(Error::io(&self.path.display().to_string(), &error)),
        };
        if crc32c(&bytes) != header.checksum {
            return Err(damaged());
        }
        let block = decoded(bytes, &self.formats).map_err(|error| error.named(&self.path.display().to_string()))?;
        block.filter(|block| block.num_rows() == header.num_rows as usize).ok_or_else(damaged)
    }
}

/// Reads the position and the checksum of the table from the trailer at `end`.
fn table_range(trailer: &Bytes, end: usize) -> Option<(Range<usize>, u64)> {
    let mut input = Input::new(trailer.clone());
    let (start, length, checksum, own) = (input.size()?, input.size()?, input.number()?, input.number()?);
    let is_whole = trailer[32..] == MAGIC && own == u64::from(crc32c(&trailer[..24]));
    (is_whole && start >= HEADER_BYTES && start.checked_add(length)? == end).then_some((start..end, checksum))
}

/// Decodes the groups and the skip events of the table that begins at `start`.
fn decoded_table(input: &mut Input, start: usize) -> Option<(Vec<Group>, SkipEvents)> {
    let num_groups = input.count(GROUP_BYTES)?;
    let mut groups: Vec<Group> = input.room(num_groups)?;
    let mut rows = 0;
    for _ in 0..num_groups {
        let group = decoded_group(input)?;
        let num_rows: u64 = group.chunks.iter().map(|chunk| u64::from(chunk.num_rows)).sum();
        if num_rows == 0 || std::mem::replace(&mut rows, group.end).checked_add(num_rows)? != group.end {
            return None;
        }
        let mut at = group.start;
        for chunk in &group.chunks {
            at = at.checked_next_multiple_of(ALIGNMENT)?.checked_add(chunk.num_bytes).filter(|end| *end <= start)?;
        }
        groups.push(group);
    }
    let num_events = input.count(9)?;
    let mut skip_events: SkipEvents = Vec::new();
    for _ in 0..num_events {
        let at = input.size()?;
        if at > num_groups || skip_events.last().is_some_and(|(last, _)| *last > at) {
            return None;
        }
        skip_events.push((at, decode_event(input)?));
    }
    input.is_over().then_some((groups, skip_events))
}

fn decoded_group(input: &mut Input) -> Option<Group> {
    let (start, end) = (input.size()?, input.number()?);
    let num_chunks = input.count(CHUNK_BYTES)?;
    let mut chunks = input.room(num_chunks)?;
    for _ in 0..num_chunks {
        let num_bytes = input.size()?;
        let num_rows = u32::try_from(input.number()?).ok().filter(|num_rows| *num_rows > 0)?;
        chunks.push(ChunkHeader { num_bytes, num_rows, checksum: u32::try_from(input.number()?).ok()? });
    }
    let (checkpoint, rest) = (decode_checkpoint(input)?, decode_checkpoint(input)?);
    let is_aligned = start % ALIGNMENT == 0;
    is_aligned.then(|| Group { start, end, checkpoint, rest, chunks: chunks.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::block::Provenance;
    use crate::blocks::column::{Column, Text};
    use crate::budget::Budget;
    use crate::nodes::disk_cache::encoding::chunks;
    use crate::skip_event::PassProgress;

    fn block(words: &str) -> Block {
        let ends: Vec<_> = (1..=words.len()).collect();
        let text = Text::joined_of(Bytes::copy_from_slice(words.as_bytes()), &ends);
        Block::new(vec![Column::Text(text)], words.len(), Provenance::Unknown).unwrap()
    }

    fn file() -> Vec<u8> {
        let (mut table, mut file) = (Table::new(), header());
        for (number, words) in [["abc", "x"], ["de", "yz"]].iter().enumerate() {
            let chunks: Vec<_> = words.iter().flat_map(|words| chunks(&Rows::all(block(words))).unwrap()).collect();
            let starts = table.add(&chunks, [Checkpoint::new([number as u64], []), Checkpoint::default()]);
            for (start, chunk) in starts.iter().zip(&chunks) {
                file.extend_from_slice(&[0; ALIGNMENT][..start - file.len()]);
                file.extend_from_slice(&chunk.bytes);
            }
            table.add_event(SkipEvent::PassEnd { skipper: number, rows: PassProgress::default() });
        }
        assert_eq!(table.length(), file.len());
        file.extend_from_slice(&table.finished().unwrap());
        file
    }

    fn entry(bytes: Vec<u8>) -> Option<Entry> {
        Entry::of("f".into(), Content::Memory(bytes.into()), Arc::default()).unwrap()
    }

    fn words(block: &Block) -> String {
        let Column::Text(text) = &block.columns[0] else { panic!("no text") };
        text.rows().map(|row| str::from_utf8(row).unwrap()).collect()
    }

    fn rows(bytes: Vec<u8>) -> Option<String> {
        let (entry, budget) = (entry(bytes)?, Budget::new(1 << 20));
        let mut text = String::new();
        for group in 0..entry.num_groups() {
            let rows = entry.read(group, &budget.charge(0), |block| block).ok()?;
            text.push_str(&words(&*rows.gather().ok()?));
        }
        Some(text)
    }

    #[test]
    fn rows_events_and_checkpoints_round_trip_through_a_file() {
        let entry = entry(file()).unwrap();
        assert_eq!(rows(file()).unwrap(), "abcxdeyz");
        assert_eq!((entry.num_rows(), entry.num_groups(), entry.group_of(3), entry.group_of(4)), (8, 2, 0, 1));
        assert_eq!((entry.first(1), entry.group_of(8)), (4, 2));
        assert_eq!(*entry.checkpoint(1), Checkpoint::new([1], []));
        assert_eq!(entry.skip_events().iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn each_row_is_in_its_own_chunk() {
        let entry = entry(file()).unwrap();
        for (row, letter) in "abcxdeyz".chars().enumerate() {
            let (first, block) = entry.read_at(entry.chunk_of(row as u64)).unwrap();
            assert_eq!(words(&block).chars().nth(row - first as usize), Some(letter));
        }
    }

    #[test]
    fn every_changed_byte_and_every_truncation_is_detected() {
        let whole = file();
        for index in 0..whole.len() {
            let mut changed = whole.clone();
            changed[index] ^= 0x20;
            // The bytes between chunks have no meaning.
            assert!(rows(changed).is_none_or(|words| words == "abcxdeyz"), "changed at {index}");
            assert!(rows(whole[..index].to_vec()).is_none(), "cut at {index}");
        }
    }

    #[test]
    fn error_names_a_file_truncated_while_it_is_open() {
        let path = std::env::temp_dir().join(format!("headrace-cut-{}.hrcache", std::process::id()));
        std::fs::write(&path, file()).unwrap();
        let entry = Entry::open(&path, Arc::default()).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(70).unwrap();
        let error = entry.read_at((0, 0)).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(error.message().contains(&path.display().to_string()), "{error:?}");
        assert!(error.message().contains("damaged or cut short. Iterate again"), "{error:?}");
    }
}
