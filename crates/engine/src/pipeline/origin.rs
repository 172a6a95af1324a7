//! Where rows come from: for messages, and as the key of what is drawn at random for a row.

use super::rows::Rows;
use crate::error::Result;
use crate::files::input::Input;
use crate::files::name::FileName;
use crate::files::positioned;
use crate::files::storage::{self, Ahead, Cache, OpeningStream, Status};
use crate::philox::Philox;
use crate::reader::Numbering;
use crate::sync::Mutex;
use crate::tensor::allocate;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A file that rows were read from, or another source of rows, in one pass over it.
#[derive(Clone, Debug)]
pub struct FileOrigin {
    /// Its path; empty for what has no name, such as the batches of a pipeline.
    pub name: FileName,
    /// How errors count its records.
    pub numbering: Numbering,
    /// Its number among the files of the source.
    pub number: u64,
    /// The pass in which it is read.
    pub pass: Pass,
    /// Of a table: where the columns are in its records. Set by whoever opens it.
    pub layout: OnceLock<Arc<Layout>>,
    /// Finds where its records begin, if somebody may want to know.
    pub locate: Option<Arc<dyn Locate>>,
    /// Of a remote file: where parts of it are kept, if somewhere.
    pub cache: Option<Arc<Cache>>,
    /// Of a remote file: what has begun to open it.
    pub begun: Arc<Begun>,
}

/// A remote file that is being opened, if it is.
#[derive(Default)]
pub struct Begun(Mutex<Option<OpeningStream>>);

impl Begun {
    /// Whether the file that is being opened can be read at once. True if none is.
    pub fn is_ready(&self) -> bool {
        self.0.lock().as_mut().is_none_or(|opening| opening.is_ready())
    }
}

impl fmt::Debug for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Begun")
    }
}

/// Finds where records begin that were read before.
pub trait Locate: fmt::Debug + Send + Sync {
    /// The offset of the first byte of a record in its uncompressed file, with what frames it. May read the file again;
    /// `None` if it is not as it was.
    fn offset(&self, file: &Arc<FileOrigin>, record: u64) -> Option<u64>;
}

/// Where the wanted columns are among the fields of a record.
#[derive(Debug)]
pub struct Layout {
    /// The names of the columns; none for files without a header.
    pub names: Arc<[String]>,
    /// The number of each field that is wanted and the number of its column, in the order of the fields.
    pub fields: Vec<(usize, usize)>,
    /// How many fields a record has.
    pub num_fields: usize,
}

/// One pass over a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// The epoch, from 0.
    pub number: u64,
    /// Differs between pipelines that were put together, by `concat` for example; 0 where there is only one.
    pub branch: u64,
}

impl FileOrigin {
    /// File number `number` of a source.
    pub fn new(name: FileName, numbering: Numbering, number: u64) -> Self {
        Self {
            name,
            numbering,
            number,
            pass: Pass::default(),
            layout: OnceLock::new(),
            locate: None,
            cache: None,
            begun: Arc::default(),
        }
    }

    /// The same file, opened anew.
    pub fn reopened(&self) -> Arc<Self> {
        Arc::new(Self { layout: OnceLock::new(), begun: Arc::default(), ..self.clone() })
    }

    /// The same file; if it is remote, parts of it are kept in `cache`.
    pub fn cached(&self, cache: &Arc<Cache>) -> Arc<Self> {
        Arc::new(Self { cache: Some(Arc::clone(cache)), ..self.clone() })
    }

    /// Begins to open a remote file, and to read up to so many bytes of it. What is opened next is that. Does not wait.
    pub fn begin(&self, num_bytes: usize) {
        if let Some(url) = self.name.url()
            && let Ok(storage) = storage::storage()
        {
            let ahead = Ahead { num_bytes, is_eager: true, cache: self.cache.clone() };
            *self.begun.0.lock() = Some(storage.begin(url, &ahead));
        }
    }

    /// Opens the file to read it from its beginning to its end. Goes on with what [`FileOrigin::begin`] has begun.
    pub fn open(&self) -> Result<(Input, Status)> {
        let begun = self.begun.0.lock().take();
        match begun {
            Some(begun) => begun.wait().map(Input::of_stream).map_err(|error| self.name.not_opened(&error)),
            None => self.name.open(),
        }
    }

    /// Begins to open the file to read parts of it. A remote file that is `known` is not looked at before.
    pub fn begin_parts(&self, known: Option<&Status>) -> Result<positioned::Begun<'_>> {
        positioned::Begun::new(&self.name, self.cache.as_ref(), known)
    }

    /// The same file, whose records have their columns at these places.
    pub fn laid_out(&self, layout: &Arc<Layout>) -> Arc<Self> {
        Arc::new(Self { layout: OnceLock::from(Arc::clone(layout)), ..self.clone() })
    }

    /// The same file, whose records are found by `locate`.
    pub fn located(&self, locate: Arc<dyn Locate>) -> Arc<Self> {
        Arc::new(Self { locate: Some(locate), ..self.clone() })
    }

    /// What has no files: rows called `word` in messages, counted from 0.
    pub fn unnamed(word: &'static str, pass: Pass) -> Arc<Self> {
        let numbering = Numbering { word, first: 0 };
        Arc::new(Self { pass, ..Self::new(FileName::new(""), numbering, 0) })
    }

    /// The same file in another pass. Pipelines that were put together before stay apart.
    pub fn in_pass(self: &Arc<Self>, pass: Pass) -> Arc<Self> {
        let branch = match self.pass.branch {
            0 => pass.branch,
            branch => mix(pass.branch, branch),
        };
        match self.pass == pass {
            true => Arc::clone(self),
            false => Arc::new(Self { pass: Pass { branch, ..pass }, ..Self::clone(self) }),
        }
    }
}

/// Where the rows of a block come from. A row costs nothing in a run and 16 bytes elsewhere.
#[derive(Clone, Debug)]
pub enum Origins {
    /// Nothing is known.
    Unknown,
    /// Consecutive records of one file; the number is that of the first.
    Run(Arc<FileOrigin>, u64),
    /// Any records of these files.
    Each(Arc<[Arc<FileOrigin>]>, Arc<Records>),
    /// Those of other rows; nothing was copied yet.
    Of(Arc<Pending>),
}

/// Rows that have the same origins. Most origins are never asked for, so they are put together when one is.
#[derive(Debug)]
pub struct Pending {
    rows: Rows,
    origins: OnceLock<Origins>,
}

impl Pending {
    fn origins(&self) -> &Origins {
        self.origins.get_or_init(|| self.rows.origins())
    }
}

/// The record of each of some rows.
#[derive(Debug, Default)]
pub struct Records {
    /// The place of the file in the list of files, and the number of the record in it.
    records: Vec<(u32, u64)>,
    /// Which of the rows made of its record each row is; empty if each is the record itself.
    subs: Vec<u64>,
}

/// Origins in the making.
#[derive(Debug, Default)]
pub struct Gathered {
    files: Vec<Arc<FileOrigin>>,
    rows: Records,
}

/// The record that a row was read from.
#[derive(Clone, Debug)]
pub struct RowOrigin {
    /// The file.
    pub file: Arc<FileOrigin>,
    /// From 0.
    pub record: u64,
    /// 0 for the record itself. What a `flat_map` makes of one record has different numbers.
    pub sub: u64,
}

impl fmt::Display for RowOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.file.numbering.of(self.record);
        match self.file.name.bytes().is_empty() {
            true => write!(f, "{record}"),
            false => write!(f, "{}: {record}", self.file.name.text()),
        }
    }
}

/// What tells a row from all others of all passes. It is the same for any number of threads and any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The pass.
    pub pass: Pass,
    /// The number of the file among those of its source.
    pub file: u64,
    /// The number of the record in the file.
    pub record: u64,
    /// 0 for the record itself; other numbers for rows that were made of it.
    pub sub: u64,
}

impl Place {
    /// Numbers that no two places share: the epoch, the record, and (folded into one) the file and the branch, and what
    /// was made of the record.
    pub fn words(&self) -> [u64; 4] {
        let file = match self.pass.branch {
            0 => self.file,
            branch => mix(branch, self.file),
        };
        [self.pass.number, self.record, file, self.sub]
    }

    /// One number for the place; other places have others, but for chance.
    pub fn key(&self) -> u64 {
        self.words().into_iter().fold(0, mix)
    }

    /// The random draws for this row that belong to `seed`.
    pub fn random(&self, seed: u64) -> Philox {
        Philox::of_row(seed, self.key())
    }
}

/// A number for a pair of numbers; other pairs have others, but for chance.
///
/// Source: the finalizer of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA
/// 2014).
pub fn mix(one: u64, other: u64) -> u64 {
    let mut mixed = (one ^ other.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

impl RowOrigin {
    /// The offset of the first byte of the record in its uncompressed file, with what frames it, if that can be found.
    pub fn offset_bytes(&self) -> Option<u64> {
        self.file.locate.as_ref().and_then(|locate| locate.offset(&self.file, self.record))
    }

    /// The same record in another pass.
    pub fn in_pass(self, pass: Pass) -> Self {
        Self { file: self.file.in_pass(pass), ..self }
    }

    /// The place of the row.
    pub fn place(&self) -> Place {
        Place { pass: self.file.pass, file: self.file.number, record: self.record, sub: self.sub }
    }
}

impl Origins {
    /// The records of these numbers of one file.
    pub fn records(file: &Arc<FileOrigin>, records: impl Iterator<Item = u64>) -> Self {
        let records = records.map(|record| (0, record)).collect();
        Self::Each(Arc::new([Arc::clone(file)]), Arc::new(Records { records, subs: Vec::new() }))
    }

    /// Those of these rows, put together when they are asked for. Meanwhile the blocks of the rows stay alive.
    pub fn of(rows: Rows) -> Self {
        Self::Of(Arc::new(Pending { rows, origins: OnceLock::new() }))
    }

    /// The same, without other rows that stay alive for them.
    pub fn settled(self) -> Self {
        match self {
            Self::Of(pending) => pending.origins().clone(),
            settled => settled,
        }
    }

    /// How much memory they take.
    pub fn held_bytes(&self) -> usize {
        match self {
            Self::Unknown | Self::Run(..) => 0,
            Self::Each(files, rows) => {
                let subs = rows.subs.capacity() * size_of::<u64>();
                size_of_val(&**files) + rows.records.capacity() * size_of::<(u32, u64)>() + subs
            }
            Self::Of(pending) => pending.origins.get().map_or(0, Self::held_bytes),
        }
    }

    /// The origin of row `row`, if that is known.
    pub fn get(&self, row: usize) -> Option<RowOrigin> {
        match self {
            Self::Unknown => None,
            Self::Run(file, first) => Some(RowOrigin { file: Arc::clone(file), record: first + row as u64, sub: 0 }),
            Self::Each(files, rows) => {
                let (file, record) = *rows.records.get(row)?;
                let sub = rows.subs.get(row).copied().unwrap_or(0);
                Some(RowOrigin { file: Arc::clone(&files[file as usize]), record, sub })
            }
            Self::Of(pending) => pending.origins().get(row),
        }
    }

    /// The file of row `row`, if that is known.
    pub fn file(&self, row: usize) -> Option<&Arc<FileOrigin>> {
        match self {
            Self::Unknown => None,
            Self::Run(file, _) => Some(file),
            Self::Each(files, rows) => rows.records.get(row).and_then(|(file, _)| files.get(*file as usize)),
            Self::Of(pending) => pending.origins().file(row),
        }
    }

    /// The same records in another pass.
    pub fn in_pass(&self, pass: Pass) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Run(file, first) => Self::Run(file.in_pass(pass), *first),
            Self::Each(files, rows) => {
                Self::Each(files.iter().map(|file| file.in_pass(pass)).collect(), Arc::clone(rows))
            }
            Self::Of(pending) => pending.origins().in_pass(pass),
        }
    }

    /// Rows that were made of these: row `i` is number `subs[i]` of those made of row `rows[i]`.
    pub fn made_of(&self, rows: impl Iterator<Item = (usize, u64)>) -> Self {
        let mut made = Gathered::default();
        for (row, sub) in rows {
            let Some(origin) = self.get(row) else { return Self::Unknown };
            let file = made.file(&origin.file);
            made.rows.records.push((file, origin.record));
            made.rows.subs.push(mix(origin.sub, sub + 1));
        }
        made.finish()
    }
}

impl Gathered {
    /// No origins, with room for those of so many rows if there is memory for them.
    pub fn with_room(num_rows: usize) -> Self {
        let records = allocate::room(num_rows).unwrap_or_default();
        Self { files: Vec::new(), rows: Records { records, subs: Vec::new() } }
    }

    /// How many of the files that came last are looked at for the next row.
    const REMEMBERED: usize = 8;

    /// The origins of all rows that were added.
    pub fn finish(self) -> Origins {
        Origins::Each(self.files.into(), Arc::new(self.rows))
    }

    /// The place of a file in the list.
    fn file(&mut self, file: &Arc<FileOrigin>) -> u32 {
        let num_files = self.files.len();
        let mut last = self.files.iter().enumerate().rev().take(Self::REMEMBERED);
        match last.find(|(_, other)| Arc::ptr_eq(other, file)) {
            Some((number, _)) => number as u32,
            None => {
                self.files.push(Arc::clone(file));
                num_files as u32
            }
        }
    }

    /// Adds one record.
    pub fn push_record(&mut self, file: &Arc<FileOrigin>, record: u64) {
        let file = self.file(file);
        self.rows.records.push((file, record));
    }

    /// Adds rows `start..start + length` of a block. False if their origins are not known.
    pub fn push(&mut self, origins: &Origins, start: usize, length: usize) -> bool {
        match origins {
            Origins::Unknown => return false,
            Origins::Of(pending) => return self.push(pending.origins(), start, length),
            Origins::Run(file, first) => {
                let (file, first) = (self.file(file), first + start as u64);
                self.rows.records.extend((first..first + length as u64).map(|record| (file, record)));
            }
            Origins::Each(files, rows) => {
                let range = start..start + length;
                if !rows.subs.is_empty() {
                    self.rows.fill_subs();
                    self.rows.subs.extend_from_slice(&rows.subs[range.clone()]);
                }
                for (file, record) in &rows.records[range] {
                    let file = self.file(&files[*file as usize]);
                    self.rows.records.push((file, *record));
                }
            }
        }
        if !self.rows.subs.is_empty() {
            self.rows.fill_subs();
        }
        true
    }
}

impl Records {
    /// Says that the rows behind those with a number are records themselves.
    fn fill_subs(&mut self) {
        let missing = self.records.len() - self.subs.len();
        self.subs.extend(std::iter::repeat_n(0, missing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(number: u64) -> Arc<FileOrigin> {
        Arc::new(FileOrigin::new(FileName::new("f"), Numbering::RECORDS, number))
    }

    #[test]
    fn rows_of_several_files_keep_their_records() {
        let (one, other) = (Origins::Run(file(0), 10), Origins::Run(file(1), 20));
        let mut each = Gathered::default();
        assert!(each.push(&one, 2, 2) && each.push(&other, 0, 1) && each.push(&one, 0, 1));
        assert!(!each.push(&Origins::Unknown, 0, 1));
        let origins = each.finish();
        let mut again = Gathered::default();
        assert!(again.push(&origins, 1, 3));
        let again = again.finish();
        let of = |origins: &Origins, row| origins.get(row).map(|origin| (origin.file.number, origin.record));
        assert_eq!([of(&again, 0), of(&again, 1), of(&again, 2)], [Some((0, 13)), Some((1, 20)), Some((0, 10))]);
        assert_eq!(of(&again, 3), None);
    }

    #[test]
    fn what_is_made_of_a_row_has_a_place_of_its_own() {
        let run = Origins::Run(file(0), 10);
        let made = run.made_of([(0, 0), (0, 1), (3, 0)].into_iter());
        let twice = made.made_of([(0, 0), (1, 0), (1, 1)].into_iter());
        let mut each = Gathered::default();
        assert!(each.push(&run, 0, 2) && each.push(&made, 0, 3) && each.push(&twice, 0, 3) && each.push(&run, 2, 1));
        let all = each.finish();
        let places: Vec<_> = (0..9).map(|row| all.get(row).unwrap().place().words()).collect();
        let records: Vec<_> = places.iter().map(|words| words[1]).collect();
        assert_eq!(records, [10, 11, 10, 10, 13, 10, 10, 10, 12]);
        assert_eq!([places[0][3], places[1][3], places[8][3]], [0; 3]);
        assert!((0..9).all(|row| !places[..row].contains(&places[row])), "{places:?}");
    }

    #[test]
    fn draws_differ_between_rows_passes_and_branches_and_are_the_same_again() {
        let draw = |origins: &Origins, row| origins.get(row).unwrap().place().random(7).next_u32();
        let run = Origins::Run(file(0), 10);
        let passes = [(0, 0), (1, 0), (0, 1)].map(|(number, branch)| run.in_pass(Pass { number, branch }));
        let draws: Vec<_> = passes.iter().flat_map(|origins| [draw(origins, 0), draw(origins, 1)]).collect();
        assert!((0..6).all(|index| !draws[..index].contains(&draws[index])), "{draws:?}");
        assert_eq!(draw(&Origins::records(&file(0), [10].into_iter()), 0), draws[0]);
    }
}
