//! Encodes the provenance of rows, checkpoints and skip events as bytes.

use crate::blocks::block::{FileProvenance, Pass, Provenance, RowProvenance};
use crate::blocks::file_provenance::{Before, KnownOffset, Layout, Locate};
use crate::blocks::row_id::Path;
use crate::checkpoint::{Checkpoint, State};
use crate::nodes::disk_cache::formats::{Formats, Offsets};
use crate::nodes::disk_cache::numbers::{Input, put, put_all, put_string};
use crate::records::RecordPosition;
use crate::skip_event::{PassProgress, SkipEvent, Skipped};
use headrace_engine::error::{Code, Error, Lost, Result};
use headrace_engine::files::name::FileName;
use headrace_engine::numbering::Numbering;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The terms for records in messages.
const WORDS: [&str; 10] =
    ["record", "line", "row", "sample", "window", "index", "example", "batch", "group", "packed row"];
/// The encoded size of a row: its file, its record and its number within the record.
const ROW_BYTES: usize = 24;
/// The maximum nesting depth of checkpoints.
const MOST_DEPTH: usize = 64;
/// The maximum depth of a path within combined pipelines.
const MOST_PATH_DEPTH: u32 = 1 << 16;

/// The number of records before a position in a file, counted when the row was cached.
#[derive(Debug)]
struct RecordsBefore {
    number: u64,
    num_records: u64,
}

impl Before for RecordsBefore {
    fn num_records(&self) -> Result<u64> {
        Ok(self.num_records)
    }

    fn number(&self) -> u64 {
        self.number
    }
}

/// Encodes the provenance of the rows of a block.
pub fn encode(output: &mut Vec<u8>, provenance: &Provenance, num_rows: usize) -> Result<()> {
    if num_rows > 0
        && let Some((file, first)) = provenance.run_from(0)
    {
        output.push(1);
        encode_file(output, file)?;
        encode_offsets(output, file, (first..).take(num_rows));
        put(output, first);
        return Ok(());
    }
    let mut files: Vec<&Arc<FileProvenance>> = Vec::new();
    let mut numbers = HashMap::new();
    let mut rows = Vec::new();
    for row in 0..num_rows {
        let Some((file, record, sub)) = provenance.identity(row) else {
            output.push(0);
            return Ok(());
        };
        let number = *numbers.entry(Arc::as_ptr(file)).or_insert(files.len());
        if number == files.len() {
            files.push(file);
        }
        rows.push([number as u64, record, sub]);
    }
    output.push(2);
    put(output, files.len() as u64);
    for (number, file) in files.iter().enumerate() {
        encode_file(output, file)?;
        encode_offsets(output, file, rows.iter().filter(|row| row[0] == number as u64).map(|row| row[1]));
    }
    rows.iter().flatten().for_each(|number| put(output, *number));
    Ok(())
}

/// Decodes the provenance of `num_rows` rows.
pub fn decode(input: &mut Input, num_rows: usize, formats: &Formats) -> Option<Provenance> {
    match input.byte()? {
        0 => Some(Provenance::Unknown),
        1 => Some(Provenance::Run(decode_located(input, formats)?, input.number()?)),
        2 => {
            let num_files = input.count(1)?;
            let files = input.list(num_files, |input| decode_located(input, formats))?;
            if !input.holds(num_rows, ROW_BYTES) {
                return None;
            }
            let (mut records, mut subs) = (input.room(num_rows)?, input.room(num_rows)?);
            for _ in 0..num_rows {
                let file = u32::try_from(input.number()?).ok().filter(|file| (*file as usize) < files.len())?;
                records.push((file, input.number()?));
                subs.push(input.number()?);
            }
            if subs.iter().all(|sub| *sub == 0) {
                subs.clear();
            }
            Some(Provenance::of_rows(files, records, subs))
        }
        _ => None,
    }
}

fn encode_file(output: &mut Vec<u8>, file: &FileProvenance) -> Result<()> {
    let word = WORDS.iter().position(|word| *word == file.numbering.word);
    let word =
        word.ok_or_else(|| Error::internal(format!("records named '{}' cannot be cached", file.numbering.word)))?;
    if file.made_of.is_some() {
        return Err(Error::internal("the records inside batches cannot be cached"));
    }
    put_string(output, &file.name.without_secrets());
    let (parts, depth) = file.pass.path.numbers();
    let pass = [file.pass.number, file.pass.branch, parts as u64, (parts >> u64::BITS) as u64, depth.into()];
    let numbers = [word as u64, file.numbering.first, file.number, file.part as u64];
    numbers.iter().chain(&pass).for_each(|number| put(output, *number));
    output.push(file.is_repeated.into());
    match file.layout.get() {
        None => output.push(0),
        Some(layout) => {
            output.push(1);
            put(output, layout.names.len() as u64);
            layout.names.iter().for_each(|name| put_string(output, name.as_bytes()));
            put_all(output, layout.fields.iter().map(|(at, _)| *at as u64));
            put_all(output, layout.fields.iter().map(|(_, column)| *column as u64));
            put(output, layout.num_fields as u64);
        }
    }
    match &file.parts {
        None => output.push(0),
        Some(parts) => {
            output.push(1);
            put_all(output, parts.iter().copied());
        }
    }
    match &file.before {
        None => output.push(0),
        Some(before) => {
            output.push(1);
            put(output, before.number());
            put(output, before.num_records()?);
        }
    }
    Ok(())
}

/// Encodes the known offsets of some records of a file.
fn encode_offsets(output: &mut Vec<u8>, file: &Arc<FileProvenance>, records: impl Iterator<Item = u64>) {
    let Some(locate) = &file.locate else { return output.push(0) };
    let mut records: Vec<_> = records.collect();
    records.sort_unstable();
    records.dedup();
    let first = records.first().and_then(|first| locate.known_offset(file, *first));
    if let Some(KnownOffset::From { record, offset_bytes }) = first {
        output.push(1);
        put(output, record);
        put(output, offset_bytes);
        return;
    }
    let offset = |record: u64| match locate.known_offset(file, record) {
        Some(KnownOffset::At(offset)) => Some([record, offset]),
        _ => None,
    };
    output.push(2);
    put_all(output, records.into_iter().filter_map(offset).flatten().collect::<Vec<_>>().into_iter());
}

/// Decodes a file and the known offsets of its records.
fn decode_located(input: &mut Input, formats: &Formats) -> Option<Arc<FileProvenance>> {
    let file = decode_file(input)?;
    let locate: Option<Arc<dyn Locate>> = match input.byte()? {
        0 => None,
        1 => {
            let from = RecordPosition { record: input.number()?, offset_bytes: input.number()? };
            formats.locator(&file, from)
        }
        2 => {
            let numbers = input.numbers()?;
            let pair = |pair: &[usize; 2]| (pair[0] as u64, pair[1] as u64);
            let (pairs, rest) = numbers.as_chunks();
            let offsets: Vec<_> = pairs.iter().map(pair).collect();
            let is_sorted = rest.is_empty() && offsets.is_sorted_by_key(|(record, _)| *record);
            Some(is_sorted.then(|| Arc::new(Offsets(offsets)))?)
        }
        _ => return None,
    };
    Some(match locate {
        Some(locate) => file.with_locate(locate),
        None => file,
    })
}

fn decode_file(input: &mut Input) -> Option<Arc<FileProvenance>> {
    let name = FileName::new(input.string()?);
    let word = *WORDS.get(input.size()?)?;
    let numbering = Numbering { word, first: input.number()? };
    let (number, part) = (input.number()?, input.size()?);
    let (pass, branch) = (input.number()?, input.number()?);
    let parts = u128::from(input.number()?) | u128::from(input.number()?) << u64::BITS;
    let depth = u32::try_from(input.number()?).ok().filter(|depth| *depth <= MOST_PATH_DEPTH)?;
    let pass = Pass { number: pass, branch, path: Path::of_numbers(parts, depth) };
    let is_repeated = input.flag()?;
    let layout = match input.flag()? {
        true => OnceLock::from(Arc::new(decode_layout(input)?)),
        false => OnceLock::new(),
    };
    let parts = match input.flag()? {
        true => Some(input.numbers()?.into_iter().map(|count| count as u64).collect()),
        false => None,
    };
    let before: Option<Arc<dyn Before>> = match input.flag()? {
        true => Some(Arc::new(RecordsBefore { number: input.number()?, num_records: input.number()? })),
        false => None,
    };
    let file = FileProvenance::new(name, numbering, number);
    Some(Arc::new(FileProvenance { part, pass, is_repeated, layout, parts, before, ..file }))
}

fn decode_layout(input: &mut Input) -> Option<Layout> {
    let num_names = input.count(8)?;
    let names = input.list(num_names, Input::text)?;
    let (positions, columns) = (input.numbers()?, input.numbers()?);
    let fields = positions.iter().copied().zip(columns.iter().copied()).collect();
    let num_fields = input.size()?;
    (positions.len() == columns.len()).then(|| Layout { names: names.into(), fields, num_fields })
}

/// Adds a checkpoint.
pub fn encode_checkpoint(output: &mut Vec<u8>, checkpoint: &Checkpoint) {
    put(output, checkpoint.skip());
    let Some(state) = checkpoint.state() else { return output.push(0) };
    output.push(1);
    put_all(output, state.numbers.iter().copied());
    put(output, state.inputs.len() as u64);
    state.inputs.iter().for_each(|input| encode_checkpoint(output, input));
    output.push(state.text.is_some().into());
    if let Some(text) = &state.text {
        put_string(output, text.as_bytes());
    }
}

/// A checkpoint.
pub fn decode_checkpoint(input: &mut Input) -> Option<Checkpoint> {
    decode_nested(input, 0)
}

fn decode_nested(input: &mut Input, depth: usize) -> Option<Checkpoint> {
    let skip = input.number()?;
    if !input.flag()? {
        return Some(Checkpoint::default().advanced_by(skip));
    }
    if depth > MOST_DEPTH {
        return None;
    }
    let numbers = input.numbers()?.into_iter().map(|number| number as u64).collect();
    let num_inputs = input.count(9)?;
    let inputs = input.list(num_inputs, |input| decode_nested(input, depth + 1))?.into();
    let text = if input.flag()? { Some(input.text()?.into()) } else { None };
    Some(Checkpoint::at(State { numbers, inputs, text }, skip))
}

/// Returns true if the example would always be skipped for the same reason. That is the case for
/// bad data and failing functions, but not for errors of memory, the system or a connection.
fn is_lasting(error: &Error) -> bool {
    match error.code() {
        Code::InvalidArgument | Code::OutOfRange | Code::DataLoss | Code::Unimplemented | Code::FailedPrecondition => {
            !error.is_transient()
        }
        Code::Unknown => error.cause().is_some() && !error.is_transient(),
        _ => false,
    }
}

/// Encodes a skip event with its message but without its exception. Fails if the example might not
/// fail the next time.
pub fn encode_event(output: &mut Vec<u8>, event: &SkipEvent) -> Result<()> {
    match event {
        SkipEvent::PassEnd { skipper, rows } => {
            output.push(0);
            [*skipper as u64, rows.pass, rows.count].iter().for_each(|number| put(output, *number));
        }
        SkipEvent::Skipped(skipped) => {
            if !is_lasting(&skipped.error) {
                return Err(Error::failed_precondition(format!(
                    "an example was skipped because of a failure that may be temporary ({})",
                    skipped.error.message().trim_end_matches('.')
                )));
            }
            output.push(1);
            let [kind, count] = match skipped.lost {
                Lost::Records(count) => [1, count],
                Lost::Unknown => [0, 0],
            };
            let numbers = [
                skipped.skipper as u64,
                skipped.stage as u64,
                skipped.num_scanned,
                skipped.passed.pass,
                skipped.passed.count,
                kind,
                count,
                skipped.error.code() as u64,
            ];
            numbers.iter().for_each(|number| put(output, *number));
            put_string(output, skipped.error.message().as_bytes());
            output.push(skipped.ends_file.into());
            output.push(skipped.offset_bytes.is_some().into());
            put(output, skipped.offset_bytes.unwrap_or(0));
            output.push(skipped.place.is_some().into());
            put(output, skipped.place.unwrap_or(0));
            output.push(skipped.row_provenance.is_some().into());
            if let Some(row) = &skipped.row_provenance {
                encode_file(output, &row.file)?;
                put(output, row.record);
                put(output, row.sub);
            }
        }
    }
    Ok(())
}

/// A skip event.
pub fn decode_event(input: &mut Input) -> Option<SkipEvent> {
    if !input.flag()? {
        let skipper = input.size()?;
        return Some(SkipEvent::PassEnd {
            skipper,
            rows: PassProgress { pass: input.number()?, count: input.number()? },
        });
    }
    let (skipper, stage, num_scanned) = (input.size()?, input.size()?, input.number()?);
    let passed = PassProgress { pass: input.number()?, count: input.number()? };
    let lost = match (input.number()?, input.number()?) {
        (0, _) => Lost::Unknown,
        (_, count) => Lost::Records(count),
    };
    let code = code(input.number()?)?;
    let error = Error::new(code, input.text()?);
    let (ends_file, has_offset, offset) = (input.flag()?, input.flag()?, input.number()?);
    let (has_place, place) = (input.flag()?, input.number()?);
    let row_provenance = match input.flag()? {
        true => Some(RowProvenance { file: decode_file(input)?, record: input.number()?, sub: input.number()? }),
        false => None,
    };
    let offset_bytes = has_offset.then_some(offset);
    let place = has_place.then_some(place);
    let skipped =
        Skipped { skipper, stage, row_provenance, offset_bytes, error, ends_file, lost, num_scanned, passed, place };
    Some(skipped.into())
}

/// Returns the error code with this number.
fn code(number: u64) -> Option<Code> {
    [
        Code::Cancelled,
        Code::Unknown,
        Code::InvalidArgument,
        Code::DeadlineExceeded,
        Code::NotFound,
        Code::AlreadyExists,
        Code::PermissionDenied,
        Code::ResourceExhausted,
        Code::FailedPrecondition,
        Code::Aborted,
        Code::OutOfRange,
        Code::Unimplemented,
        Code::Internal,
        Code::Unavailable,
        Code::DataLoss,
        Code::Unauthenticated,
    ]
    .into_iter()
    .find(|code| *code as u64 == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> FileProvenance {
        let pass = Pass { number: 0, branch: 7, path: Path::default().part(3).part(1) };
        let file = FileProvenance::new(FileName::new("a\u{ff}"), Numbering { word: "line", first: 1 }, 5);
        let layout = Layout { names: ["x".to_owned()].into(), fields: vec![(1, 0)], num_fields: 3 };
        FileProvenance {
            part: 2,
            pass,
            is_repeated: true,
            layout: OnceLock::from(Arc::new(layout)),
            parts: Some([3, 4].into()),
            before: Some(Arc::new(RecordsBefore { number: 9, num_records: 11 })),
            ..file
        }
    }

    fn again(provenance: &Provenance, num_rows: usize) -> Provenance {
        let mut bytes = Vec::new();
        encode(&mut bytes, provenance, num_rows).unwrap();
        let mut input = Input::new(bytes.into());
        let decoded = decode(&mut input, num_rows, &Formats::none()).unwrap();
        assert!(input.is_over());
        decoded
    }

    #[test]
    fn rows_keep_their_files_records_and_identities() {
        let run = Provenance::Run(Arc::new(file()), 20);
        let expanded = run.made_of([(0, 0), (0, 1), (4, 0)].into_iter());
        for (provenance, num_rows) in [(run, 5), (expanded, 3)] {
            let again = again(&provenance, num_rows);
            for row in 0..num_rows {
                let (one, other) = (provenance.get(row).unwrap(), again.get(row).unwrap());
                assert_eq!(one.row_id().unwrap(), other.row_id().unwrap());
                assert_eq!(format!("{:?}", one.file), format!("{:?}", other.file));
                assert_eq!(one.to_string(), other.to_string());
            }
        }
        assert!(again(&Provenance::Unknown, 2).get(0).is_none());
    }

    #[test]
    fn checkpoints_and_skip_events_round_trip() {
        let checkpoint =
            Checkpoint::new([3, 9], [Checkpoint::of_text(Some("state".into())).advanced_by(4)]).advanced_by(2);
        let mut bytes = Vec::new();
        encode_checkpoint(&mut bytes, &checkpoint);
        assert_eq!(decode_checkpoint(&mut Input::new(bytes.into())).unwrap(), checkpoint);
        let error = Error::data_loss("damaged").with_lost(Lost::Records(3));
        let row = RowProvenance { file: Arc::new(file()), record: 4, sub: 0 };
        let events = [
            SkipEvent::PassEnd { skipper: 2, rows: PassProgress { pass: 1, count: 8 } },
            Skipped { offset_bytes: Some(7), place: Some(5), ..Skipped::row(3, 1, Some(row), error) }.into(),
        ];
        for event in &events {
            let mut bytes = Vec::new();
            encode_event(&mut bytes, event).unwrap();
            let again = decode_event(&mut Input::new(bytes.clone().into())).unwrap();
            let mut second = Vec::new();
            encode_event(&mut second, &again).unwrap();
            assert_eq!(second, bytes);
        }
    }

    #[test]
    fn event_keeps_the_exception_message_unless_the_failure_is_transient() {
        let with_cause = |error: Error| Skipped::row(0, 0, None, error.with_cause(Arc::new(()))).into();
        let error = || Error::new(Code::Unknown, "KeyError: 7");
        let mut bytes = Vec::new();
        encode_event(&mut bytes, &with_cause(error())).unwrap();
        let again = decode_event(&mut Input::new(bytes.into())).unwrap();
        let SkipEvent::Skipped(skipped) = again else { panic!("another event") };
        assert_eq!((skipped.error.code(), skipped.error.message()), (Code::Unknown, "KeyError: 7"));
        let exhausted = Error::new(Code::ResourceExhausted, "MemoryError: 7");
        let of_the_system = Skipped::row(0, 0, None, Error::new(Code::Unknown, "f; Input/output error: 7")).into();
        for event in [with_cause(error().transient()), with_cause(exhausted), of_the_system] {
            let refused = encode_event(&mut Vec::new(), &event).unwrap_err();
            assert!(refused.message().contains("may be temporary"), "{refused}");
            assert!(refused.message().ends_with(": 7)"), "{refused}");
        }
    }
}
