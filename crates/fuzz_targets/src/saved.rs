//! Targets for the saved states of readers, queues, variables, random generators, tables, staging
//! areas, barriers and record inputs.

use bytes::Bytes;
use headrace_engine::error::Result;
use headrace_engine::files::compression::Compression;
use headrace_engine::random_generator::RandomGenerator;
use headrace_engine::run::Run;
use headrace_engine::saved::{Chunks, Restore};
use headrace_engine::sparse::SparseTable;
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::{PartialShape, Shape};
use headrace_pipeline::nodes::disk_cache::encoding::{decoded, encoded};
use headrace_pipeline::nodes::disk_cache::entry::{Content, Entry};
use headrace_pipeline::nodes::disk_cache::formats::Formats;
use headrace_tf1::barrier::Barrier;
use headrace_tf1::lookup::Table;
use headrace_tf1::lookup::mutable::MutableTable;
use headrace_tf1::queue::{Order, Queue, QueueSpec};
use headrace_tf1::reader::{Reader, Request, TextLineFormat, TfRecordFormat};
use headrace_tf1::record_input::{RecordInput, RecordInputSpec};
use headrace_tf1::staging::StagingArea;
use headrace_tf1::variable::Variable;
use std::sync::Arc;

const ORDERS: [Order; 4] =
    [Order::Fifo, Order::Padding, Order::Priority, Order::Shuffle { min_after_dequeue: 2, seed: 7, seed2: 8 }];

/// `[resource, length of the first chunk, chunks...]`: restores the state of a resource from at
/// most two chunks.
pub fn saved(data: &[u8]) -> usize {
    let [resource, length, rest @ ..] = data else { return 0 };
    let (first, second) = rest.split_at(usize::from(*length).min(rest.len()));
    let chunks: Vec<_> = [first, second].into_iter().filter(|chunk| !chunk.is_empty()).collect();
    let chunks_of_state = || chunks.iter().map(|chunk| Ok(chunk.to_vec()));
    match resource % 15 {
        0 => restore_reader(rest),
        1 => {
            let reader = Reader::new("r", Box::new(TfRecordFormat { compression: Compression::None }));
            twice(reader.prepare(&mut chunks_of_state()), || reader.save());
        }
        kind @ 2..=5 => with_queue(kind.into(), &mut chunks_of_state()),
        6 => {
            let variable = Arc::new(Variable::new("v"));
            twice(variable.prepare(&mut chunks_of_state(), DType::Float32), || variable.save());
        }
        7 => {
            let generator = Arc::new(RandomGenerator::new(1, 2));
            twice(generator.prepare(&mut chunks_of_state()), || generator.save());
        }
        10 => {
            let table = Arc::new(Table::new(DType::String, DType::Int64).unwrap_or_else(|_| unreachable!()));
            twice(table.prepare(&mut chunks_of_state()), || table.save());
        }
        8 => {
            let table = Arc::new(SparseTable::new());
            twice(table.prepare(&mut chunks_of_state()), || table.save());
        }
        11 => {
            let area = StagingArea::new("a", Some(2), None);
            twice(area.prepare(&mut chunks_of_state()), || area.save());
        }
        12 => {
            let table = MutableTable::new(DType::String, DType::Float32, Shape::new(&[2]));
            let table = Arc::new(table.unwrap_or_else(|_| unreachable!()));
            twice(table.prepare(&mut chunks_of_state()), || table.save());
        }
        13 => {
            let shapes = [PartialShape::default(), PartialShape::new(vec![Some(2)])];
            let Ok(barrier) = Barrier::new("b", &[DType::Int32, DType::String], &shapes) else { return 0 };
            twice(barrier.prepare(&mut chunks_of_state()), || barrier.save());
        }
        14 => {
            let spec = RecordInputSpec {
                name: "r".to_owned(),
                pattern: "*".to_owned(),
                files: vec!["a".into(), "b".into()],
                compression: Compression::None,
                batch_size: 2,
                buffer_size: 2,
                parallelism: 2,
                shift_ratio: 0.0,
                seed: 1,
            };
            let Ok(input) = RecordInput::new(spec) else { return 0 };
            twice(input.prepare(&mut chunks_of_state()), || input.save());
        }
        _ => {
            let variable = Arc::new(Variable::new("v"));
            twice(variable.prepare(&mut chunks_of_state(), DType::String), || variable.save());
        }
    }
    data.len()
}

/// Checks that a restored state can be saved again.
fn twice(restore: Result<Restore>, save: impl Fn() -> Result<Chunks>) {
    let Ok(restore) = restore else { return };
    restore();
    let chunks = save().and_then(|chunks| chunks.collect::<Result<Vec<_>>>());
    assert!(chunks.is_ok(), "the restored state cannot be saved: {:?}", chunks.err());
}

fn with_queue(kind: usize, chunks_of_state: &mut dyn Iterator<Item = Result<Vec<u8>>>) {
    let order = ORDERS[kind - 2];
    let spec = QueueSpec {
        name: "q".to_owned(),
        order,
        capacity: Some(8),
        dtypes: vec![DType::Int64, DType::String, DType::Float32],
        shapes: Some(vec![PartialShape::default(), PartialShape::default(), PartialShape::new(vec![Some(2)])]),
    };
    if let Ok(queue) = Queue::new(spec) {
        twice(queue.prepare(chunks_of_state), || queue.save());
    }
}

/// Restores the state of a reader, in the form that its operation accepts.
fn restore_reader(state: &[u8]) {
    let cancellation = Cancellation::new();
    let run = Run::new(&cancellation);
    if let Ok(format) = TextLineFormat::new(0) {
        let reader = Reader::new("r", Box::new(format));
        let _ = reader.call(Request::RestoreState(state.to_vec().into()), &run).poll(&run);
        let _ = reader.call(Request::SerializeState, &run).poll(&run);
    }
}

/// The maximum number of a cache's rows whose chunks are read.
const MOST_ROWS: u64 = 256;

/// `[kind, bytes...]`: opens a cache file and reads the chunks of its first rows. If the kind is
/// odd, decodes a single block without a checksum instead, which must be the same after encoding
/// and decoding it again.
pub fn disk_cache(data: &[u8]) -> usize {
    let [kind, rest @ ..] = data else { return 0 };
    let bytes = Bytes::copy_from_slice(rest);
    if kind % 2 == 1 {
        if let Ok(Some(block)) = decoded(bytes, &Formats::none())
            && let Ok(again) = encoded(&block)
        {
            let second =
                decoded(again.clone().into(), &Formats::none()).map(|block| block.map(|block| encoded(&block)));
            assert!(matches!(second, Ok(Some(Ok(second))) if second == again));
        }
    } else if let Ok(Some(entry)) = Entry::of("f".into(), Content::Memory(bytes), Arc::default()) {
        for row in 0..entry.num_rows().min(MOST_ROWS) {
            let _ = entry.read_at(entry.chunk_of(row));
        }
    }
    data.len()
}
