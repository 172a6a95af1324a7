//! Reads files as pipelines do.

use headrace_engine::error::{Error, Result};
use headrace_pipeline::blocks::block::{Block, FileProvenance};
use headrace_pipeline::blocks::column::Column;
use headrace_pipeline::blocks::rows::Rows;
use headrace_pipeline::budget::Budget;
use headrace_pipeline::checkpoint::Checkpoint;
use headrace_pipeline::execution::executor::{Executor, Output};
use headrace_pipeline::plan::{Plan, Settings, Shuffle};
use headrace_pipeline::records::{Format, RecordPosition};
use headrace_pipeline::stages::Stage;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// A longer wait counts as a hang.
const PATIENCE: Duration = Duration::from_secs(10);

/// The records of a file, in any order. It needs no memory per record, which would count as the
/// parser's.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Records {
    count: u64,
    /// The sum of the records' hashes.
    sum: u64,
}

impl Records {
    /// Adds the first component of each row.
    fn add(&mut self, block: &Block) {
        for row in 0..block.num_rows() {
            let mut hasher = DefaultHasher::new();
            match &block.columns[0] {
                Column::Text(text) => text.row(row).hash(&mut hasher),
                column => format!("{:?}", column.row(row)).hash(&mut hasher),
            }
            self.count += 1;
            self.sum = self.sum.wrapping_add(hasher.finish());
        }
    }
}

/// The records of a file, and an error if there was one.
pub type ReadRecords = (Records, Option<Error>);

/// Reads a file from start to end, continuing after errors, and passes its blocks to a stage.
pub fn read(format: &dyn Format, file: &Arc<FileProvenance>, stage: Option<&dyn Stage>) -> ReadRecords {
    let (mut records, mut first_error) = (Records::default(), None);
    let mut scan = match format.open(file, RecordPosition::default()) {
        Ok(scan) => scan,
        Err(error) => return (records, Some(error)),
    };
    let budget = Budget::new(usize::MAX);
    loop {
        match scan.next(budget.charge(0)) {
            Ok(None) => break,
            Ok(Some(block)) => {
                records.add(&block);
                if let Some(stage) = stage {
                    use_up(stage.apply(Rows::all(block)));
                }
            }
            Err(error) => {
                first_error.get_or_insert(error);
                if !scan.go_on() {
                    break;
                }
            }
        }
    }
    (records, first_error)
}

/// Reads all results of a stage.
fn use_up(rows: Result<Rows>) {
    let Ok(block) = rows.and_then(|rows| rows.gather()) else { return };
    for column in &block.columns {
        let _ = (0..block.num_rows()).try_for_each(|row| column.row(row).map(drop));
    }
}

/// Reads a file with a full shuffle, which reads each record separately.
pub fn shuffled(format: Arc<dyn Format>, file: &Arc<FileProvenance>) -> ReadRecords {
    shuffled_by(Shuffle::new(3), format, file)
}

/// Like [`shuffled`], with a specific shuffle.
pub fn shuffled_by(shuffle: Shuffle, format: Arc<dyn Format>, file: &Arc<FileProvenance>) -> ReadRecords {
    let files = Arc::new(Plan::Files(format, [Arc::clone(file)].into()));
    let (mut records, mut error) = (Records::default(), None);
    let result = run(&Arc::new(Plan::Shuffled(files, shuffle)), &Checkpoint::default(), usize::MAX, |block| {
        records.add(&block);
    });
    if let Err(failure) = result {
        error = Some(failure);
    }
    (records, error)
}

/// Runs a pipeline with one worker from a checkpoint on, for at most `most` blocks.
pub fn run(plan: &Arc<Plan>, from: &Checkpoint, most: usize, mut each: impl FnMut(Arc<Block>)) -> Result<()> {
    run_with_checkpoints(plan, from, most, |block, _| each(block))
}

/// Like [`run`], but also returns the checkpoint of each block.
pub fn run_with_checkpoints(
    plan: &Arc<Plan>,
    from: &Checkpoint,
    most: usize,
    mut each: impl FnMut(Arc<Block>, Checkpoint),
) -> Result<()> {
    let budget = Budget::new(usize::MAX);
    let root = plan.start(0, Settings::new(1), 0, from)?;
    let executor = Executor::new(root, 0, budget, 3);
    thread::scope(|scope| {
        let worker = scope.spawn(|| executor.work());
        executor.start();
        let next = || match executor.next(PATIENCE) {
            Ok(Output::Block(block, checkpoint)) => Some(Ok((block, checkpoint))),
            Ok(Output::SkipEvent(_) | Output::LaneEnd(_) | Output::End) => None,
            Ok(Output::Timeout) => {
                executor.close();
                panic!("nothing arrived for {PATIENCE:?}")
            }
            Err(error) => Some(Err(error)),
        };
        let mut result = Ok(());
        for _ in 0..most {
            match next() {
                None => break,
                Some(Ok((block, checkpoint))) => each(block, checkpoint),
                Some(Err(error)) => {
                    result = Err(error);
                    break;
                }
            }
        }
        executor.close();
        // The scope ends slightly before its threads, which looks like a leak.
        let _ = worker.join();
        result
    })
}
