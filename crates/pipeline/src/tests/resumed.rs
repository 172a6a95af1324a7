//! Pipelines resumed at each of their checkpoints.

use super::*;
use crate::index::IndexFiles;
use crate::nodes::cache::Store;
use crate::nodes::groups::bucket::Buckets;
use crate::nodes::groups::sizes::Sizes;
use crate::nodes::mixture::StopWhen;
use crate::nodes::shard::Even;
use crate::plan::{Blocks, Mix, PieceOptions, Shuffle};

/// The rows after a checkpoint, each with its own checkpoint.
fn rows_from(plan: &Arc<Plan>, settings: Settings, limit_bytes: usize, from: &Checkpoint) -> Vec<(String, Checkpoint)> {
    let executor = Executor::new(plan.start(0, settings, 0, from).unwrap(), 0, Budget::new(limit_bytes), 3);
    let mut numbered = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..settings.num_threads).map(|_| scope.spawn(|| executor.work())).collect();
        executor.start();
        loop {
            match executor.next(PATIENCE).unwrap() {
                Output::Block(block, checkpoint) => {
                    let rows = strings(&block.columns[0]).into_iter().enumerate();
                    numbered.extend(rows.map(|(number, row)| (row, checkpoint.advanced_by(number as u64))));
                }
                Output::End => break,
                Output::SkipEvent(skip_event) => panic!("{skip_event:?}"),
                Output::LaneEnd(_) => panic!("a lane ended"),
                Output::Timeout => panic!("nothing came"),
            }
        }
        executor.close();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    numbered
}

/// Resumes the plan at some of its rows, and again at some of the rows that follow.
fn check(plan: &dyn Fn() -> Arc<Plan>) {
    let whole = rows_from(&plan(), Settings::new(2), usize::MAX, &Checkpoint::default());
    let rows = |steps: &[(String, Checkpoint)]| steps.iter().map(|(row, _)| row.clone()).collect::<Vec<_>>();
    let step = (whole.len() / 23).max(1);
    for number in (0..whole.len()).step_by(step).chain(whole.len().checked_sub(1)) {
        let again = rows_from(&plan(), Settings::new(1), 3_000_000, &whole[number].1);
        assert_eq!(rows(&again), rows(&whole[number..]), "from row {number}, {:?}", whole[number].1);
        let later = again.len() / 2;
        let twice = rows_from(&plan(), Settings::new(3), usize::MAX, &again[later].1);
        assert_eq!(rows(&twice), rows(&whole[number + later..]), "from row {later} after row {number}");
        let end = rows_from(
            &plan(),
            Settings::new(1),
            usize::MAX,
            &whole[number].1.advanced_by((whole.len() - number) as u64),
        );
        assert!(end.is_empty(), "after the end, from row {number}");
    }
}

fn then(input: Arc<Plan>, step: Step) -> Arc<Plan> {
    Arc::new(Plan::Then(input, step))
}

/// Keeps rows whose last letter is not `3`.
struct Filter;

impl Stage for Filter {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let block = rows.gather()?;
        let mut kept = Rows::new();
        let texts = strings(&block.columns[0]);
        (0..texts.len()).filter(|row| !texts[*row].ends_with('3')).for_each(|row| kept.push(&block, row, 1));
        Ok(kept)
    }
}

fn filtered(input: Arc<Plan>) -> Arc<Plan> {
    map(input, vec![Arc::new(Filter)])
}

#[test]
fn order_preserving_stages_resume() {
    let directory = Directory::new();
    let lines = || directory.lines(&[9000, 0, 7, 30_000, 1]);
    check(&|| map(lines(), vec![]));
    check(&|| filtered(lines()));
    check(&|| map(then(filtered(lines()), Step::Skip(1003)), vec![]));
    check(&|| map(then(filtered(lines()), Step::Take(20_003)), vec![]));
    for index in [0, 2, 6] {
        check(&|| map(then(lines(), Step::Shard { index, count: 7, even: Even::Uneven, lanes: None }), vec![]));
        check(&|| map(then(lines(), Step::Share { index, count: 7, run: 30 }), vec![]));
        let index_of_share = ShareIndex { index, count: 7 };
        let share = || map(then(filtered(lines()), Step::Share { index, count: 7, run: 30 }), vec![]);
        check(&|| batches_of_share(share(), 30, index_of_share));
    }
    check(&|| batches(filtered(lines()), 100));
    check(&|| map(batches(lines(), 100), vec![Arc::new(Unbatch)]));
    check(&|| batches(then(filtered(lines()), Step::Epochs(Some(3))), 1000));
    check(&|| then(batches(filtered(lines()), 1000), Step::Epochs(Some(3))));
}

#[test]
fn combined_pipelines_resume() {
    let (one, other) = (Directory::new(), Directory::new());
    let parts = || Arc::new([filtered(one.lines(&[3000])), other.lines(&[0, 1000])]);
    check(&|| batches(Arc::new(Plan::Concat(parts())), 70));
    for stop_when in [StopWhen::All, StopWhen::First] {
        let mix = || Mix::new(vec![3.0, 1.0], stop_when, 5);
        check(&|| map(then(Arc::new(Plan::Mix(parts(), mix())), Step::Epochs(Some(2))), vec![]));
    }
    check(&|| batches(Arc::new(Plan::Zip(parts(), false)), 70));
}

#[test]
fn shuffles_resume() {
    let (one, other) = (Directory::new(), Directory::new());
    for size in [1, 10, 700, 5000] {
        check(&|| batches(then(one.lines(&[4000, 37]), Step::Window { size, seed: 3 }), 10));
    }
    let window = |input, size| then(input, Step::Window { size, seed: 3 });
    check(&|| batches(window(window(filtered(one.lines(&[4000, 37])), 100), 50), 10));
    check(&|| batches(then(window(filtered(one.lines(&[4000, 37])), 100), Step::Epochs(Some(2))), 10));
    let both = || Arc::new(Plan::Concat(Arc::new([map(one.lines(&[3000, 7]), vec![]), other.lines(&[500])])));
    let shuffled = |input| Arc::new(Plan::Shuffled(input, Shuffle::new(3)));
    check(&|| batches(shuffled(both()), 10));
    check(&|| batches(then(shuffled(one.lines(&[3000, 7])), Step::Epochs(Some(2))), 10));
}

#[test]
fn pieces_resume() {
    let (one, other) = (Directory::new(), Directory::new());
    for (num_open, seed) in [(1, Some(5)), (2, Some(5)), (3, None), (16, Some(5))] {
        let options = &PieceOptions { seed, num_open, shard: PieceOptions::ALL, blocks: None };
        let files = || one.lines(&[400, 37, 0, 900, 1]);
        check(&|| batches(files().in_pieces(options), 10));
        for block_bytes in [30, 1000] {
            // Each plan writes the files again, so their borders are new too.
            let blocks = || Some(Arc::new(Blocks::new(block_bytes, Arc::default(), Arc::new(IndexFiles::none()))));
            let pieces = || filtered(files()).in_pieces(&PieceOptions { blocks: blocks(), ..options.clone() });
            check(&|| batches(then(pieces(), Step::Window { size: 100, seed: 3 }), 10));
        }
        check(&|| batches(then(filtered(files()).in_pieces(options), Step::Window { size: 100, seed: 3 }), 10));
        let parts = || Arc::new([filtered(files()), then(other.lines(&[30, 500]), Step::Take(200))]);
        check(&|| then(batches(Arc::new(Plan::Concat(parts())).in_pieces(options), 10), Step::Epochs(Some(2))));
    }
}

#[test]
fn buckets_resume() {
    let directory = Directory::new();
    for (size, max_elements) in [(Some(7), None), (None, Some(900)), (Some(300), None)] {
        let buckets = || Buckets {
            column: 0,
            boundaries: vec![3, 4, 5],
            size,
            max_elements,
            pads_to_boundary: false,
            drops_remainder: false,
        };
        let collate = || Collate {
            names: vec!["text".to_owned()],
            is_of_batches: false,
            pad_to: None,
            padding: None,
            layouts: vec![],
        };
        let bucketed = || {
            let lines = filtered(directory.lines(&[4000, 12, 3000]));
            map(then(lines, Step::Bucket(Arc::new(buckets()))), vec![Arc::new(collate())])
        };
        check(&bucketed);
        // These move batches; a block may have any number of them.
        for step in [
            Step::Skip(3),
            Step::Take(20),
            Step::Shard { index: 1, count: 2, even: Even::Uneven, lanes: None },
            Step::Shard { index: 2, count: 4, even: Even::Drop, lanes: None },
            Step::Shard { index: 3, count: 4, even: Even::Pad, lanes: None },
            Step::Window { size: 5, seed: 7 },
            Step::Epochs(Some(2)),
        ] {
            check(&|| map(then(bucketed(), step.clone()), vec![]));
            check(&|| map(then(then(bucketed(), step.clone()), Step::Skip(4)), vec![]));
        }
    }
}

#[test]
fn full_and_partial_caches_resume() {
    let directory = Directory::new();
    let lines = || filtered(directory.lines(&[3000, 7]));
    let cached =
        |store: &Arc<Store>| batches(then(then(lines(), Step::Cache(Arc::clone(store))), Step::Epochs(Some(3))), 10);
    check(&|| cached(&Arc::new(Store::default())));
    let store = Arc::new(Store::default());
    check(&|| cached(&store));
    assert!(store.get().is_some());
}

#[test]
fn different_number_of_shards_continues_in_the_same_order() {
    let directory = Directory::new();
    let plan = |index, count| {
        let window = then(directory.lines(&[960]), Step::Window { size: 50, seed: 3 });
        let shard =
            then(then(window, Step::Epochs(Some(2))), Step::Shard { index, count, even: Even::Uneven, lanes: None });
        map(
            then(shard, Step::Batch { sizes: Sizes::constant(12), drops_remainder: false, share: ShareIndex::ALL }),
            vec![],
        )
    };
    let all = |index, count, from: &Checkpoint| rows_from(&plan(index, count), Settings::new(2), usize::MAX, from);
    let one = all(0, 1, &Checkpoint::default());
    for (index, taken, count) in [(0, 120, 2), (3, 120, 8), (2, 120, 3), (1, 0, 5), (3, 468, 2)] {
        let (_, checkpoint) = &all(index, 4, &Checkpoint::default())[taken];
        let mut parts: Vec<_> = (0..count).map(|index| all(index, count, checkpoint).into_iter()).collect();
        let mut rows = Vec::new();
        'all: loop {
            for part in &mut parts {
                let Some((row, _)) = part.next() else { break 'all };
                rows.push(row);
            }
        }
        let expected: Vec<_> = one[4 * taken..].iter().map(|(row, _)| row.clone()).collect();
        assert_eq!(rows, expected, "{count} shards after {taken} rows");
    }
    let (_, checkpoint) = &all(1, 4, &Checkpoint::default())[12];
    let error = plan(0, 5).start(0, Settings::new(1), 0, checkpoint).err().unwrap();
    assert!(error.message().contains("it was saved with 4 shards after 48 examples"), "{error}");
}

#[test]
fn checkpoints_of_other_plans_never_panic() {
    let directory = Directory::new();
    let plan = batches(then(directory.lines(&[40]), Step::Window { size: 5, seed: 3 }), 10);
    for checkpoint in [
        Checkpoint::new([1], []),
        Checkpoint::new([1, 2, 3], [Checkpoint::default()]),
        Checkpoint::new([1, 10], [Checkpoint::new([1, 1, 0, 0, 9], [Checkpoint::default()])]),
        Checkpoint::new([1, 10], [Checkpoint::new([9, 9, 4, 9, 0], [Checkpoint::default()])]),
        Checkpoint::new([1, 10], [Checkpoint::new([0, 0, 0, 0, 0], [Checkpoint::new([7, 0, 0], [])])]),
    ] {
        let error = plan.start(0, Settings::new(1), 0, &checkpoint).err().unwrap();
        assert!(error.message().starts_with("it was saved by a different pipeline"), "{error}");
    }
}
