//! The provenance of rows, which is used in messages and as the key of random draws.

use crate::blocks::file_provenance::FileProvenance;
use crate::blocks::row_id::{Pass, RowId};
use headrace_engine::error::Result;
use headrace_engine::philox::mix;
use headrace_engine::tensor::allocate;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The provenance of the rows of a block. It takes no memory per row for consecutive records, 4
/// bytes if the records are close together in one file, and 16 bytes otherwise.
#[derive(Clone, Debug)]
pub enum Provenance {
    /// Unknown.
    Unknown,
    /// Consecutive records of one file, starting at this number.
    Run(Arc<FileProvenance>, u64),
    /// Records of one file, stored as distances from this number.
    Near(Arc<FileProvenance>, u64, Arc<[u32]>),
    /// Any records of these files.
    Each(Arc<[Arc<FileProvenance>]>, Arc<Records>),
    /// The provenance of other rows, not copied yet.
    Of(Arc<Deferred>),
}

/// Rows whose provenance is known.
pub trait HasProvenance: fmt::Debug + Send + Sync {
    /// Returns the provenance of the rows.
    fn provenance(&self) -> Provenance;
}

/// Provenance that is rarely needed and therefore computed on request from other rows.
#[derive(Debug)]
pub struct Deferred {
    rows: Box<dyn HasProvenance>,
    provenance: OnceLock<Provenance>,
}

impl Deferred {
    fn provenance(&self) -> &Provenance {
        self.provenance.get_or_init(|| self.rows.provenance())
    }
}

/// The record of each row.
#[derive(Debug, Default)]
pub struct Records {
    /// For each row, the index of its file in the list of files, and its record number.
    records: Vec<(u32, u64)>,
    /// For each row, its number among the rows built from the same record. Empty if every row is a
    /// record itself.
    subs: Vec<u64>,
}

/// A provenance under construction.
#[derive(Debug, Default)]
pub struct ProvenanceBuilder {
    files: Vec<Arc<FileProvenance>>,
    rows: Records,
}

/// The record that a row was read from.
#[derive(Clone, Debug)]
pub struct RowProvenance {
    /// The file of the record.
    pub file: Arc<FileProvenance>,
    /// The record number, counting from 0 or from the position at which the file starts counting;
    /// see [`RowProvenance::record_number`].
    pub record: u64,
    /// 0 for the record itself. Rows that a `flat_map` creates from one record have different
    /// numbers.
    pub sub: u64,
}

impl fmt::Display for RowProvenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.file.record_name(self.record);
        match self.file.name.bytes().is_empty() {
            true => write!(f, "{record}"),
            false => write!(f, "{}: {record}", self.file.name.text()),
        }
    }
}

impl RowProvenance {
    /// Returns the record's offset, including its framing, in the uncompressed file, if it can be
    /// determined.
    pub fn offset_bytes(&self) -> Option<u64> {
        self.file.locate.as_ref().and_then(|locate| locate.offset(&self.file, self.record))
    }

    /// The same record in another pass.
    pub fn in_pass(self, pass: Pass) -> Self {
        Self { file: self.file.in_pass(pass), ..self }
    }

    /// The number of the record in its file, from 0. May read the file.
    pub fn record_number(&self) -> Result<u64> {
        self.file.record_number(self.record)
    }

    /// The unique identity of the row. May read the file.
    pub fn row_id(&self) -> Result<RowId> {
        let record = self.record_number()?;
        Ok(RowId { pass: self.file.pass, file: self.file.number, record, sub: self.sub })
    }
}

impl Provenance {
    /// Creates the provenance of these records of one file.
    pub fn records(file: &Arc<FileProvenance>, records: impl Iterator<Item = u64>) -> Self {
        let records = records.map(|record| (0, record)).collect();
        Self::Each(Arc::new([Arc::clone(file)]), Arc::new(Records { records, subs: Vec::new() }))
    }

    /// Creates the provenance of rows from several files. Each item of `records` is a file index
    /// and a record number. `subs` numbers the rows built from the same record; it is empty if all
    /// rows are records.
    pub fn of_rows(files: Vec<Arc<FileProvenance>>, records: Vec<(u32, u64)>, subs: Vec<u64>) -> Self {
        Self::Each(files.into(), Arc::new(Records { records, subs }))
    }

    /// Refers to the provenance of other rows, which is computed on request. Until then the blocks
    /// of those rows stay alive.
    pub fn of(rows: impl HasProvenance + 'static) -> Self {
        Self::Of(Arc::new(Deferred { rows: Box::new(rows), provenance: OnceLock::new() }))
    }

    /// Computes the provenance now, so that it no longer keeps other rows alive.
    pub fn settled(self) -> Self {
        match self {
            Self::Of(deferred) => deferred.provenance().clone(),
            settled => settled,
        }
    }

    /// The memory that it uses.
    pub fn held_bytes(&self) -> usize {
        match self {
            Self::Unknown | Self::Run(..) => 0,
            Self::Near(_, _, distances) => size_of_val(&**distances),
            Self::Each(files, rows) => {
                let subs = rows.subs.capacity() * size_of::<u64>();
                size_of_val(&**files) + rows.records.capacity() * size_of::<(u32, u64)>() + subs
            }
            Self::Of(deferred) => deferred.provenance.get().map_or(0, Self::held_bytes),
        }
    }

    /// The provenance of row `row`, if known.
    pub fn get(&self, row: usize) -> Option<RowProvenance> {
        match self {
            Self::Unknown => None,
            Self::Run(file, first) => {
                Some(RowProvenance { file: Arc::clone(file), record: first + row as u64, sub: 0 })
            }
            Self::Near(file, first, distances) => {
                let record = first + u64::from(*distances.get(row)?);
                Some(RowProvenance { file: Arc::clone(file), record, sub: 0 })
            }
            Self::Each(files, rows) => {
                let (file, record) = *rows.records.get(row)?;
                let sub = rows.subs.get(row).copied().unwrap_or(0);
                Some(RowProvenance { file: Arc::clone(&files[file as usize]), record, sub })
            }
            Self::Of(deferred) => deferred.provenance().get(row),
        }
    }

    /// The file, the record number, and the index within the record of row `row`, if known.
    pub fn identity(&self, row: usize) -> Option<(&Arc<FileProvenance>, u64, u64)> {
        match self {
            Self::Unknown => None,
            Self::Run(file, first) => Some((file, first + row as u64, 0)),
            Self::Of(deferred) => deferred.provenance().identity(row),
            Self::Near(..) | Self::Each(..) => {
                let (file, record, sub) = self.record(row)?;
                Some((self.files()?.get(file)?, record, sub))
            }
        }
    }

    /// The files that [`Provenance::record`] refers to, unless all rows are consecutive records.
    pub fn files(&self) -> Option<&[Arc<FileProvenance>]> {
        match self {
            Self::Near(file, ..) => Some(std::slice::from_ref(file)),
            Self::Each(files, _) => Some(files),
            Self::Of(deferred) => deferred.provenance().files(),
            Self::Unknown | Self::Run(..) => None,
        }
    }

    /// The index of the file of row `row` in [`Provenance::files`], the record number, and the index
    /// within the record.
    pub fn record(&self, row: usize) -> Option<(usize, u64, u64)> {
        match self {
            Self::Near(_, first, distances) => Some((0, first + u64::from(*distances.get(row)?), 0)),
            Self::Each(_, rows) => {
                let (file, record) = *rows.records.get(row)?;
                Some((file as usize, record, rows.subs.get(row).copied().unwrap_or(0)))
            }
            Self::Of(deferred) => deferred.provenance().record(row),
            Self::Unknown | Self::Run(..) => None,
        }
    }

    /// For each of these rows, the index of its file in [`Provenance::files`] and its record number,
    /// if they are stored like this and every row is a record itself.
    pub fn plain_records(&self, rows: Range<usize>) -> Option<&[(u32, u64)]> {
        match self {
            Self::Each(_, of_rows) if of_rows.subs.is_empty() => of_rows.records.get(rows),
            Self::Of(deferred) => deferred.provenance().plain_records(rows),
            _ => None,
        }
    }

    /// If all rows from `row` on are consecutive records, returns the file and the number of the
    /// first one.
    pub fn run_from(&self, row: usize) -> Option<(&Arc<FileProvenance>, u64)> {
        match self {
            Self::Run(file, first) => Some((file, first + row as u64)),
            Self::Of(deferred) => deferred.provenance().run_from(row),
            Self::Unknown | Self::Near(..) | Self::Each(..) => None,
        }
    }

    /// The file of row `row`, if known.
    pub fn file(&self, row: usize) -> Option<&Arc<FileProvenance>> {
        match self {
            Self::Unknown => None,
            Self::Run(file, _) => Some(file),
            Self::Near(file, _, distances) => (row < distances.len()).then_some(file),
            Self::Each(files, rows) => rows.records.get(row).and_then(|(file, _)| files.get(*file as usize)),
            Self::Of(deferred) => deferred.provenance().file(row),
        }
    }

    /// The same records in another pass.
    pub fn in_pass(&self, pass: Pass) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Run(file, first) => Self::Run(file.in_pass(pass), *first),
            Self::Near(file, first, distances) => Self::Near(file.in_pass(pass), *first, Arc::clone(distances)),
            Self::Each(files, rows) => {
                Self::Each(files.iter().map(|file| file.in_pass(pass)).collect(), Arc::clone(rows))
            }
            Self::Of(deferred) => deferred.provenance().in_pass(pass),
        }
    }

    /// The same records, marked as repeating other rows.
    pub fn repeated(&self) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Run(file, first) => Self::Run(file.repeated(), *first),
            Self::Near(file, first, distances) => Self::Near(file.repeated(), *first, Arc::clone(distances)),
            Self::Each(files, rows) => Self::Each(files.iter().map(|file| file.repeated()).collect(), Arc::clone(rows)),
            Self::Of(deferred) => deferred.provenance().repeated(),
        }
    }

    /// The same records, with the position of each row among the rows built from its record.
    pub fn with_subs(&self, subs: &[u64]) -> Self {
        let mut builder = ProvenanceBuilder::with_room(subs.len());
        for (row, sub) in subs.iter().enumerate() {
            let Some(row_provenance) = self.get(row) else { return Self::Unknown };
            builder.push_row(&RowProvenance { sub: *sub, ..row_provenance });
        }
        builder.finish()
    }

    /// Returns the provenance of rows built from these: row `i` is number `subs[i]` among the rows
    /// built from row `rows[i]`.
    pub fn made_of(&self, rows: impl Iterator<Item = (usize, u64)>) -> Self {
        let mut builder = ProvenanceBuilder::default();
        for (row, sub) in rows {
            let Some(row_provenance) = self.get(row) else { return Self::Unknown };
            let file = builder.file(&row_provenance.file);
            builder.rows.records.push((file, row_provenance.record));
            builder.rows.subs.push(mix(row_provenance.sub, sub + 1));
        }
        builder.finish()
    }
}

impl ProvenanceBuilder {
    /// Starts an empty provenance with room for `num_rows` rows, if there is enough memory.
    pub fn with_room(num_rows: usize) -> Self {
        let records = allocate::room(num_rows).unwrap_or_default();
        Self { files: Vec::new(), rows: Records { records, subs: Vec::new() } }
    }

    /// How many recent files to search for the next row's file.
    const REMEMBERED: usize = 8;

    /// Returns the provenance of all added rows.
    pub fn finish(self) -> Provenance {
        self.near().unwrap_or_else(|| Provenance::Each(self.files.into(), Arc::new(self.rows)))
    }

    /// Returns a compact provenance if all rows are nearby records of one file.
    fn near(&self) -> Option<Provenance> {
        let [file] = &self.files[..] else { return None };
        let Records { records, subs } = &self.rows;
        let first = records.iter().map(|(_, record)| *record).min().filter(|_| subs.is_empty())?;
        let distances = records.iter().map(|(_, record)| u32::try_from(record - first).ok());
        Some(Provenance::Near(Arc::clone(file), first, distances.collect::<Option<_>>()?))
    }

    /// Returns the index of a file in the list, adding it if necessary.
    fn file(&mut self, file: &Arc<FileProvenance>) -> u32 {
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
    pub fn push_record(&mut self, file: &Arc<FileProvenance>, record: u64) {
        let file = self.file(file);
        self.rows.records.push((file, record));
    }

    /// Adds one row.
    pub fn push_row(&mut self, row: &RowProvenance) {
        self.push_record(&row.file, row.record);
        if row.sub != 0 || !self.rows.subs.is_empty() {
            self.rows.fill_subs();
            self.rows.subs.pop();
            self.rows.subs.push(row.sub);
        }
    }

    /// Adds rows `start..start + length` of a block. Returns false if their provenance is unknown.
    pub fn push(&mut self, provenance: &Provenance, start: usize, length: usize) -> bool {
        match provenance {
            Provenance::Unknown => return false,
            Provenance::Of(deferred) => return self.push(deferred.provenance(), start, length),
            Provenance::Run(file, first) => {
                let (file, first) = (self.file(file), first + start as u64);
                self.rows.records.extend((first..first + length as u64).map(|record| (file, record)));
            }
            Provenance::Near(file, first, distances) => {
                let file = self.file(file);
                let records = distances[start..start + length].iter().map(|distance| first + u64::from(*distance));
                self.rows.records.extend(records.map(|record| (file, record)));
            }
            Provenance::Each(files, rows) => {
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
    /// Fills up `subs` for rows that are records themselves.
    fn fill_subs(&mut self) {
        let missing = self.records.len() - self.subs.len();
        self.subs.extend(std::iter::repeat_n(0, missing));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_engine::files::name::FileName;
    use headrace_engine::numbering::Numbering;

    fn file(number: u64) -> Arc<FileProvenance> {
        Arc::new(FileProvenance::new(FileName::new("f"), Numbering::RECORDS, number))
    }

    #[test]
    fn rows_of_several_files_keep_their_records() {
        let (one, other) = (Provenance::Run(file(0), 10), Provenance::Run(file(1), 20));
        let mut each = ProvenanceBuilder::default();
        assert!(each.push(&one, 2, 2) && each.push(&other, 0, 1) && each.push(&one, 0, 1));
        assert!(!each.push(&Provenance::Unknown, 0, 1));
        let provenance = each.finish();
        let mut again = ProvenanceBuilder::default();
        assert!(again.push(&provenance, 1, 3));
        let again = again.finish();
        let of = |provenance: &Provenance, row| {
            provenance.get(row).map(|row_provenance| (row_provenance.file.number, row_provenance.record))
        };
        assert_eq!([of(&again, 0), of(&again, 1), of(&again, 2)], [Some((0, 13)), Some((1, 20)), Some((0, 10))]);
        assert_eq!(of(&again, 3), None);
    }

    #[test]
    fn records_of_one_file_use_little_memory() {
        let one = file(0);
        let run = Provenance::Run(Arc::clone(&one), 1 << 40);
        let mut builder = ProvenanceBuilder::default();
        assert!([7, 0, 5].iter().all(|row| builder.push(&run, *row, 2)));
        let near = builder.finish();
        assert_eq!(near.held_bytes(), 24);
        let records = |provenance: &Provenance| -> Vec<u64> {
            let rows = 0..6;
            let records: Vec<_> = rows.clone().map(|row| provenance.get(row).unwrap().record - (1 << 40)).collect();
            let identity =
                |row| provenance.identity(row).map(|(file, record, sub)| (file.number, record - (1 << 40), sub));
            assert!(rows.map(identity).eq(records.iter().map(|record| Some((0, *record, 0)))));
            records
        };
        assert_eq!(records(&near), [7, 8, 0, 1, 5, 6]);
        assert!(near.get(6).is_none() && near.identity(6).is_none() && near.file(6).is_none());
        assert!(near.run_from(0).is_none() && near.file(5).is_some());
        let pass = Pass { number: 3, ..Pass::default() };
        let passed = near.in_pass(pass).repeated();
        assert_eq!(records(&passed), records(&near));
        assert_eq!((passed.get(1).unwrap().file.pass, passed.file(1).unwrap().is_repeated), (pass, true));
        // Records that are far apart or in several files.
        for other in [Provenance::Run(Arc::clone(&one), 1), Provenance::Run(file(1), 1 << 40)] {
            let mut builder = ProvenanceBuilder::default();
            assert!(builder.push(&near, 1, 3) && builder.push(&other, 0, 1));
            let each = builder.finish();
            assert!(matches!(each, Provenance::Each(..)));
            assert_eq!(each.identity(0).unwrap().1, (1 << 40) + 8);
            assert_eq!(each.identity(3).unwrap().1, other.identity(0).unwrap().1);
        }
    }

    #[test]
    fn rows_derived_from_one_row_have_different_identities() {
        let run = Provenance::Run(file(0), 10);
        let expanded = run.made_of([(0, 0), (0, 1), (3, 0)].into_iter());
        let twice = expanded.made_of([(0, 0), (1, 0), (1, 1)].into_iter());
        let mut each = ProvenanceBuilder::default();
        assert!(
            each.push(&run, 0, 2) && each.push(&expanded, 0, 3) && each.push(&twice, 0, 3) && each.push(&run, 2, 1)
        );
        let all = each.finish();
        let positions: Vec<_> = (0..9).map(|row| all.get(row).unwrap().row_id().unwrap().words()).collect();
        let records: Vec<_> = positions.iter().map(|words| words[1]).collect();
        assert_eq!(records, [10, 11, 10, 10, 13, 10, 10, 10, 12]);
        assert_eq!([positions[0][3], positions[1][3], positions[8][3]], [0; 3]);
        assert!((0..9).all(|row| !positions[..row].contains(&positions[row])), "{positions:?}");
    }

    #[test]
    fn random_draws_differ_between_rows_passes_and_branches_and_are_repeatable() {
        let draw = |provenance: &Provenance, row| provenance.get(row).unwrap().row_id().unwrap().random(7).next_u32();
        let run = Provenance::Run(file(0), 10);
        let passes =
            [(0, 0), (1, 0), (0, 1)].map(|(number, branch)| run.in_pass(Pass { number, branch, ..Pass::default() }));
        let draws: Vec<_> = passes.iter().flat_map(|provenance| [draw(provenance, 0), draw(provenance, 1)]).collect();
        assert!((0..6).all(|index| !draws[..index].contains(&draws[index])), "{draws:?}");
        assert_eq!(draw(&Provenance::records(&file(0), [10].into_iter()), 0), draws[0]);
    }
}
