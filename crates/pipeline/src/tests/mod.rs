//! Whole pipelines, run with several numbers of threads.

use crate::blocks::block::{Block, FileProvenance, Provenance};
use crate::blocks::column::Column;
use crate::blocks::rows::Rows;
use crate::budget::Budget;
use crate::checkpoint::Checkpoint;
use crate::execution::executor::{Executor, Output};
use crate::formats::Lines;
use crate::node::{Context, Node, Poll};
use crate::nodes::groups::batch::ShareIndex;
use crate::nodes::groups::sizes::Sizes;
use crate::nodes::shard::Even;
use crate::plan::{Plan, Settings, Step};
use crate::records::Codec;
use crate::stages::Stage;
use crate::stages::collate::{Collate, Unbatch};
use crate::tasks::size_estimate::SizeEstimate;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::name::FileName;
use headrace_engine::numbering::Numbering;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

mod combined;
mod lanes;
mod limited;
mod resumed;

const PATIENCE: Duration = Duration::from_secs(20);

/// A temporary directory for one test, removed at its end.
struct Directory(std::path::PathBuf);

impl Directory {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("headrace-pipeline-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Files of lines `FILE-LINE`.
    fn lines(&self, lengths: &[usize]) -> Arc<Plan> {
        let file = |(index, length): (usize, &usize)| {
            let path = self.0.join(format!("{index}.txt"));
            let mut text = String::new();
            (0..*length).for_each(|line| writeln!(text, "{index}-{line}").unwrap());
            std::fs::write(&path, text).unwrap();
            let numbering = Numbering { word: "line", first: 1 };
            let name = FileName::new(path.to_str().unwrap().to_owned());
            Arc::new(FileProvenance::new(name, numbering, index as u64))
        };
        let files = lengths.iter().enumerate().map(file).collect();
        Arc::new(Plan::Files(Arc::new(Lines { codec: Codec::Known(Compression::None), skips_blank: false }), files))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn strings(column: &Column) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    match column {
        Column::Text(rows) => rows.rows().map(text).collect(),
        Column::Batches(batches) => batches.iter().map(|batch| strings(batch).join(" ")).collect(),
        other => other.to_tensor().unwrap().string_values().iter().map(|bytes| text(bytes)).collect(),
    }
}

/// All rows of a pass, and the error at its end.
fn run(plan: &Arc<Plan>, pass: u64, num_threads: usize, limit_bytes: usize) -> (Vec<String>, Option<Error>) {
    run_with(plan, pass, Settings::new(num_threads), limit_bytes)
}

fn run_with(plan: &Arc<Plan>, pass: u64, settings: Settings, limit_bytes: usize) -> (Vec<String>, Option<Error>) {
    let budget = Budget::new(limit_bytes);
    let consumed = consume(plan, pass, settings, &budget);
    assert_eq!(budget.used_bytes(), 0, "something is still charged");
    consumed
}

fn consume(plan: &Arc<Plan>, pass: u64, settings: Settings, budget: &Arc<Budget>) -> (Vec<String>, Option<Error>) {
    let root = plan.start(pass, settings, 0, &Checkpoint::default()).unwrap();
    let executor = Executor::new(root, 0, Arc::clone(budget), 3);
    let mut rows = Vec::new();
    let error = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..settings.num_threads).map(|_| scope.spawn(|| executor.work())).collect();
        executor.start();
        let error = loop {
            match executor.next(PATIENCE) {
                Ok(Output::Block(block, _)) => rows.extend(strings(&block.columns[0])),
                Ok(Output::End) => break None,
                Ok(Output::SkipEvent(skip_event)) => panic!("{skip_event:?}"),
                Ok(Output::LaneEnd(_)) => panic!("a lane ended"),
                Ok(Output::Timeout) => panic!("nothing came"),
                Err(error) => break Some(error),
            }
        };
        executor.close();
        // ThreadSanitizer sees threads end when they are joined, not when their scope ends.
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        error
    });
    (rows, error)
}

/// Like [`run`], for pipelines whose rows do not depend on how they are run.
fn result(plan: &Arc<Plan>, pass: u64) -> Vec<String> {
    let (rows, error) = run(plan, pass, 1, usize::MAX);
    assert!(error.is_none(), "{error:?}");
    for (num_threads, limit_bytes) in [(2, 1 << 20), (8, usize::MAX), (3, 100_000)] {
        let (again, error) = run(plan, pass, num_threads, limit_bytes);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(again, rows, "{num_threads} threads, {limit_bytes} bytes");
    }
    rows
}

/// Waits, while it is polled, for the task that it has started.
struct Waiting(bool);

impl Node for Waiting {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if std::mem::replace(&mut self.0, true) {
            return Ok(Poll::End);
        }
        let (says, hears) = std::sync::mpsc::channel();
        context.start(0, Box::new(move || says.send(()).unwrap()));
        hears.recv_timeout(PATIENCE).map_err(|_| Error::internal("the task was not begun"))?;
        Ok(Poll::Ready(Rows::all(Block::new(Vec::new(), 3, Provenance::Unknown)?)))
    }
}

#[test]
fn task_starts_while_nodes_are_still_polled() {
    let executor = Executor::new(Box::new(Waiting(false)), 0, Budget::new(usize::MAX), 3);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(|| executor.work())).collect();
        executor.start();
        let first = executor.next(PATIENCE).map(|output| match output {
            Output::Block(block, _) => block.num_rows(),
            _ => 0,
        });
        executor.close();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(first.unwrap(), 3);
    });
}

fn expected(lengths: &[usize]) -> Vec<String> {
    lengths
        .iter()
        .enumerate()
        .flat_map(|(file, length)| (0..*length).map(move |line| format!("{file}-{line}")))
        .collect()
}

fn batches(input: Arc<Plan>, size: usize) -> Arc<Plan> {
    batches_of_share(input, size, ShareIndex::ALL)
}

fn batches_of_share(input: Arc<Plan>, size: usize, share: ShareIndex) -> Arc<Plan> {
    let batch =
        Arc::new(Plan::Then(input, Step::Batch { sizes: Sizes::constant(size), drops_remainder: false, share }));
    let collate =
        Collate { names: vec!["text".to_owned()], is_of_batches: false, pad_to: None, padding: None, layouts: vec![] };
    map(batch, vec![Arc::new(collate)])
}

fn map(input: Arc<Plan>, stages: Vec<Arc<dyn Stage>>) -> Arc<Plan> {
    Arc::new(Plan::Then(input, Step::Map(stages.into(), SizeEstimate::default())))
}

const LENGTHS: [usize; 5] = [30_000, 0, 7, 40_000, 1];

#[test]
fn lines_are_in_file_order() {
    let directory = Directory::new();
    assert_eq!(result(&map(directory.lines(&LENGTHS), vec![]), 0), expected(&LENGTHS));
    assert_eq!(result(&map(directory.lines(&[]), vec![]), 0), expected(&[]));
}

#[test]
fn row_identities_are_unique_over_all_files() {
    let directory = Directory::new();
    let lines = directory.lines(&LENGTHS);
    let all = expected(&LENGTHS);
    let skipped = Arc::new(Plan::Then(Arc::clone(&lines), Step::Skip(30_003)));
    assert_eq!(result(&map(skipped, vec![]), 0), all[30_003..]);
    let taken = Arc::new(Plan::Then(Arc::clone(&lines), Step::Take(30_003)));
    assert_eq!(result(&map(taken, vec![]), 0), all[..30_003]);
    let shard = Arc::new(Plan::Then(lines, Step::Shard { index: 2, count: 7, even: Even::Uneven, lanes: None }));
    let expected: Vec<_> = all.iter().skip(2).step_by(7).cloned().collect();
    assert_eq!(result(&map(shard, vec![]), 0), expected);
}

#[test]
fn share_has_the_rows_of_every_nth_batch() {
    let directory = Directory::new();
    let all = expected(&LENGTHS);
    for (index, count, run) in [(0, 1, 9), (1, 3, 100), (2, 3, 1), (0, 2, 69_999)] {
        let share = Arc::new(Plan::Then(directory.lines(&LENGTHS), Step::Share { index, count, run }));
        let chunks = all.chunks(run as usize).skip(index as usize).step_by(count as usize);
        assert_eq!(result(&map(share, vec![]), 0), chunks.flatten().cloned().collect::<Vec<_>>());
    }
}

#[test]
fn batches_span_files_and_epochs() {
    let directory = Directory::new();
    let lines = directory.lines(&[5, 6]);
    let epochs = Arc::new(Plan::Then(Arc::clone(&lines), Step::Epochs(Some(2))));
    let twice = [expected(&[5, 6]), expected(&[5, 6])].concat();
    let batched: Vec<_> = twice.chunks(4).map(|rows| rows.join(" ")).collect();
    assert_eq!(result(&batches(epochs, 4), 0), batched);
    let whole: Vec<_> = expected(&[5, 6]).chunks(4).map(|rows| rows.join(" ")).collect();
    let epochs = Arc::new(Plan::Then(batches(lines, 4), Step::Epochs(Some(2))));
    assert_eq!(result(&epochs, 0), [whole.clone(), whole].concat());
    let back = map(batches(directory.lines(&[5, 6]), 4), vec![Arc::new(Unbatch)]);
    assert_eq!(result(&back, 0), expected(&[5, 6]));
}

#[test]
fn window_returns_each_row_once_in_a_shuffled_order() {
    let directory = Directory::new();
    let window = |size| Arc::new(Plan::Then(directory.lines(&LENGTHS), Step::Window { size, seed: 3 }));
    let mut first = result(&map(window(1000), vec![]), 0);
    let second = result(&map(window(1000), vec![]), 1);
    assert_ne!(first, second);
    // A row can come early by less than the window's size.
    for (position, row) in first.iter().enumerate() {
        let (file, line) = row.split_once('-').unwrap();
        let before: usize = LENGTHS[..file.parse::<usize>().unwrap()].iter().sum();
        assert!(before + line.parse::<usize>().unwrap() < position + 1000, "{row} at {position}");
    }
    first.sort();
    let mut all = expected(&LENGTHS);
    all.sort();
    assert_eq!(first, all);
    assert_eq!(result(&map(window(1), vec![]), 0), expected(&LENGTHS));
}

#[test]
fn error_for_an_oversized_window_names_the_required_memory() {
    let directory = Directory::new();
    let window = Arc::new(Plan::Then(directory.lines(&[200_000]), Step::Window { size: 150_000, seed: 3 }));
    let (rows, error) = run(&map(window, vec![]), 0, 2, 1 << 19);
    assert!(rows.is_empty());
    let error = error.unwrap();
    assert!(error.message().starts_with("shuffle(window=150000) needs about "), "{error}");
    assert!(error.message().contains("expected at most the 524288 of memory_bytes"), "{error}");
}

/// Fails at one row.
struct Fail(&'static str);

impl Stage for Fail {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let block: Arc<Block> = rows.gather()?;
        match strings(&block.columns[0]).iter().any(|row| row == self.0) {
            true => Err(Error::data_loss("damaged")),
            false => Ok(rows),
        }
    }
}

#[test]
fn error_follows_all_preceding_complete_batches() {
    let directory = Directory::new();
    let failing = map(directory.lines(&[20_000, 50]), vec![Arc::new(Fail("1-30"))]);
    for num_threads in [1, 2, 8] {
        let (rows, error) = run(&batches(Arc::clone(&failing), 1000), 0, num_threads, usize::MAX);
        assert_eq!(rows.len(), 20);
        assert_eq!(error.unwrap().message(), "damaged");
    }
}

#[test]
fn error_follows_the_same_rows_for_any_number_of_threads() {
    let directory = Directory::new();
    let failing = map(directory.lines(&[20_000, 50]), vec![Arc::new(Fail("1-30"))]);
    let window = Arc::new(Plan::Then(failing, Step::Window { size: 100, seed: 3 }));
    let plan = map(window, vec![]);
    for num_threads in [1, 2, 8] {
        let (rows, error) = run(&plan, 0, num_threads, usize::MAX);
        // Each row that came in beyond the window's size has let one out.
        assert_eq!(rows.len(), 20_030 - 99);
        assert_eq!(error.unwrap().message(), "damaged");
    }
}

#[test]
fn missing_file_is_an_error_after_the_preceding_files() {
    let directory = Directory::new();
    let lines = directory.lines(&[3, 4, 5]);
    std::fs::remove_file(directory.0.join("1.txt")).unwrap();
    let (rows, error) = run(&map(lines, vec![]), 0, 2, usize::MAX);
    assert_eq!(rows, expected(&[3]));
    let error = error.unwrap();
    assert!(error.message().contains("1.txt; No such file or directory"), "{error}");
}
