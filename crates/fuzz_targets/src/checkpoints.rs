//! Target for checkpoints: positions from which pipelines are resumed, as stored in saved states.

use crate::file::File;
use crate::pipelines::run;
use headrace_engine::files::compression::Compression;
use headrace_pipeline::checkpoint::{Checkpoint, State};
use headrace_pipeline::formats::Lines;
use headrace_pipeline::index::IndexFiles;
use headrace_pipeline::nodes::cache::Store;
use headrace_pipeline::nodes::mixture::StopWhen;
use headrace_pipeline::nodes::shard::Even;
use headrace_pipeline::plan::{Blocks, Mix, PieceOptions, Plan, Shuffle, Step};
use headrace_pipeline::records::Codec;
use headrace_pipeline::tasks::size_estimate::SizeEstimate;
use std::sync::Arc;

/// The number of plans.
const NUM_PLANS: u8 = 16;
/// The maximum nesting depth of a checkpoint.
const MOST_DEPTH: usize = 6;
/// The number of lines in the file, with four bytes each.
const NUM_LINES: usize = 40;
/// The number of blocks to read after a checkpoint.
const MOST_BLOCKS: usize = 200;

/// `[plan, checkpoint...]`: resumes a pipeline from a checkpoint.
pub fn checkpoints(data: &[u8]) -> usize {
    let [plan, rest @ ..] = data else { return 0 };
    let Ok(file) = File::new(text().as_bytes()) else { return 0 };
    let checkpoint = checkpoint(&mut { rest }, 0);
    let _ = run(&plan_of(*plan, &file), &checkpoint, MOST_BLOCKS, drop);
    data.len()
}

fn text() -> String {
    (0..NUM_LINES).map(|number| format!("{number:03}\n")).collect()
}

/// Decodes a checkpoint. Any bytes encode one.
fn checkpoint(bytes: &mut &[u8], depth: usize) -> Checkpoint {
    let skip = number(bytes);
    let shape = byte(bytes);
    if shape & 1 == 0 || depth == MOST_DEPTH {
        return Checkpoint::default().advanced_by(skip);
    }
    let numbers = (0..shape >> 1 & 7).map(|_| number(bytes)).collect();
    let inputs = (0..shape >> 4 & 3).map(|_| checkpoint(bytes, depth + 1)).collect();
    let text = (shape >> 6 & 1 == 1).then(|| Arc::from("state"));
    Checkpoint::at(State { numbers, inputs, text }, skip)
}

/// Reads a number. A byte below 248 is the number itself; a larger one is followed by a number with
/// that many bytes.
fn number(bytes: &mut &[u8]) -> u64 {
    match byte(bytes) {
        first @ 248.. => (0..=first - 248).fold(0, |number, _| number << 8 | u64::from(byte(bytes))),
        small => small.into(),
    }
}

fn byte(bytes: &mut &[u8]) -> u8 {
    let Some((first, rest)) = bytes.split_first() else { return 0 };
    *bytes = rest;
    *first
}

/// Creates test plan `number`, which reads the lines of a file twice.
fn plan_of(number: u8, file: &File) -> Arc<Plan> {
    let lines = Arc::new(Lines { codec: Codec::Known(Compression::None), skips_blank: false });
    let files = Arc::new(Plan::Files(lines, [file.file_provenance(), file.file_provenance()].into()));
    let then = |input: &Arc<Plan>, step| Arc::new(Plan::Then(Arc::clone(input), step));
    let window = |input| then(input, Step::Window { size: 7, seed: 3 });
    let shuffled = |input: &Arc<Plan>| {
        let shuffle = Shuffle::new(3);
        Arc::new(Plan::Shuffled(Arc::clone(input), shuffle))
    };
    let epochs = |input| then(input, Step::Epochs(Some(2)));
    let both = || [Arc::clone(&files), window(&files)].into();
    let pieces = |input: &Arc<Plan>, num_open, shard, block_bytes: Option<u64>| {
        let blocks = |size| Arc::new(Blocks::new(size, Arc::default(), Arc::new(IndexFiles::none())));
        input.in_pieces(&PieceOptions { seed: Some(9), num_open, shard, blocks: block_bytes.map(blocks) })
    };
    match number % NUM_PLANS {
        0 => files,
        1 => window(&files),
        2 => epochs(&window(&files)),
        3 => epochs(&shuffled(&files)),
        4 => then(&epochs(&files), Step::Shard { index: 1, count: 3, even: Even::Uneven, lanes: None }),
        5 => Arc::new(Plan::Concat(both())),
        6 => Arc::new(Plan::Mix(both(), Mix::new(vec![1.0, 3.0], StopWhen::All, 5))),
        7 => then(&then(&files, Step::Skip(5)), Step::Take(50)),
        8 => epochs(&then(&files, Step::Cache(Arc::new(Store::default())))),
        9 => window(&then(&files, Step::SkipErrors(0))),
        10 => then(&epochs(&files), Step::Map(Arc::from([]), SizeEstimate::default())),
        11 => Arc::new(Plan::Zip(both(), false)),
        12 => window(&pieces(&files, 2, PieceOptions::ALL, None)),
        13 => epochs(&window(&pieces(&files, 3, PieceOptions::ALL, Some(30)))),
        14 => pieces(&then(&files, Step::SkipErrors(0)), 2, (1, 2), Some(50)),
        _ => window(&pieces(&Arc::new(Plan::Concat(both())), 3, (0, 2), Some(9))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipelines::run_with_checkpoints;
    use headrace_pipeline::blocks::block::Block;
    use headrace_pipeline::blocks::rows::Rows;

    /// Encodes a checkpoint for [`checkpoint`].
    fn written(checkpoint: &Checkpoint, bytes: &mut Vec<u8>) {
        write_number(checkpoint.skip(), bytes);
        let Some(state) = checkpoint.state() else { return bytes.push(0) };
        let [numbers, inputs] = [state.numbers.len(), state.inputs.len()].map(|length| length as u8);
        bytes.push(1 | numbers << 1 | inputs << 4 | u8::from(state.text.is_some()) << 6);
        state.numbers.iter().for_each(|number| write_number(*number, bytes));
        state.inputs.iter().for_each(|input| written(input, bytes));
    }

    fn write_number(number: u64, bytes: &mut Vec<u8>) {
        match number {
            0..248 => bytes.push(number as u8),
            _ => {
                bytes.push(255);
                bytes.extend(number.to_be_bytes());
            }
        }
    }

    /// Returns the lines that a plan returns after a checkpoint, and a checkpoint before each
    /// block.
    fn lines(plan: &Arc<Plan>, from: &Checkpoint) -> Vec<(Checkpoint, Vec<Vec<u8>>)> {
        let mut steps = Vec::new();
        run_with_checkpoints(plan, from, usize::MAX, |block, checkpoint| {
            steps.push((checkpoint, first_column(&block)))
        })
        .unwrap();
        steps
    }

    fn first_column(block: &Arc<Block>) -> Vec<Vec<u8>> {
        let rows = Rows::all(Arc::clone(block));
        rows.strings(0).unwrap().iter().map(|line| line.to_vec()).collect()
    }

    #[test]
    fn every_plan_resumes_from_its_own_encoded_checkpoints() {
        let file = File::new(text().as_bytes()).unwrap();
        for number in 0..NUM_PLANS {
            let steps = lines(&plan_of(number, &file), &Checkpoint::default());
            for (index, (from, _)) in steps.iter().enumerate() {
                let mut bytes = Vec::new();
                written(from, &mut bytes);
                assert_eq!(checkpoint(&mut { &bytes[..] }, 0), *from);
                let [all, rest] = [steps[index..].to_vec(), lines(&plan_of(number, &file), from)];
                let [all, rest] = [all, rest].map(|blocks| blocks.into_iter().flat_map(|(_, lines)| lines));
                assert!(all.eq(rest), "plan {number}, block {index}");
            }
        }
    }
}
