//! Combined pipelines, full shuffles, and caches.

use super::*;
use crate::blocks::arrays::{Array, Arrays};
use crate::nodes::cache::Store;
use crate::nodes::groups::bucket::Buckets;
use crate::nodes::groups::sizes::Sizes;
use crate::nodes::mixture::StopWhen;
use crate::plan::{Mix, Shuffle};
use crate::stages::with_origin::WithOrigin;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    rows.sort();
    rows
}

fn shuffled(input: Arc<Plan>, seed: u64) -> Arc<Plan> {
    let plan = Plan::Shuffled(input, Shuffle::new(seed));
    map(Arc::new(plan), vec![])
}

#[test]
fn lines_of_all_files_are_shuffled() {
    let directory = Directory::new();
    let plan = shuffled(directory.lines(&LENGTHS), 3);
    let (first, second) = (result(&plan, 0), result(&plan, 1));
    assert_eq!(sorted(first.clone()), sorted(expected(&LENGTHS)));
    assert_eq!(sorted(second.clone()), sorted(expected(&LENGTHS)));
    assert_ne!(first, second);
    assert!(first[..1000].iter().any(|row| row.starts_with("3-39")), "a row from late in the files may come early");
}

/// Replaces the rows of a batch by one string: "whole" if they are all rows of a block.
struct SaysWhole;

impl Stage for SaysWhole {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let word = if rows.whole_block().is_some() { "whole" } else { "parts" };
        let text = Column::Each([Tensor::string(word)].into());
        Block::new(vec![text], 1, Provenance::Unknown).map(Rows::all)
    }

    fn is_row_wise(&self) -> bool {
        false
    }
}

#[test]
fn large_array_batches_are_blocks_except_across_passes() {
    let values = Tensor::copied(DType::UInt8, Shape::new(&[100, 2048]), &[7; 204_800]).unwrap();
    let arrays = Arc::new(Arrays::new(vec![Array::Contiguous(values)]).unwrap());
    let source = Arc::new(Plan::Indexed(arrays));
    let shuffled = Arc::new(Plan::Shuffled(Arc::clone(&source), Shuffle::new(3)));
    for input in [source, shuffled] {
        let passes = Arc::new(Plan::Then(input, Step::Epochs(Some(3))));
        let batch = Step::Batch { sizes: Sizes::constant(64), drops_remainder: false, share: ShareIndex::ALL };
        let plan = map(Arc::new(Plan::Then(passes, batch)), vec![Arc::new(SaysWhole)]);
        assert_eq!(result(&plan, 0), ["whole", "parts", "whole", "parts", "whole"]);
    }
}

#[test]
fn combined_parts_with_different_stages_are_shuffled_together() {
    let (one, other) = (Directory::new(), Directory::new());
    let batched = map(map(one.lines(&[3000, 7]), vec![]), vec![]);
    let both = Arc::new(Plan::Concat(Arc::new([batched, other.lines(&[5000])])));
    let rows = result(&shuffled(both, 3), 0);
    assert_eq!(sorted(rows.clone()), sorted([expected(&[3000, 7]), expected(&[5000])].concat()));
    let twice = expected(&[3000]).into_iter().filter(|row| rows[..4000].contains(row)).count();
    assert!((2000..2999).contains(&twice), "{twice}");
}

#[test]
fn mix_keeps_the_order_of_each_part() {
    let (one, other) = (Directory::new(), Directory::new());
    let parts: Arc<[Arc<Plan>]> = Arc::new([one.lines(&[3000]), other.lines(&[0, 1000])]);
    let mix = |stop_when| Mix::new(vec![3.0, 1.0], stop_when, 5);
    let rows = result(&map(Arc::new(Plan::Mix(Arc::clone(&parts), mix(StopWhen::All))), vec![]), 0);
    let (first, second): (Vec<_>, Vec<_>) = rows.iter().cloned().partition(|row| row.starts_with("0-"));
    assert_eq!((first, second), (expected(&[3000]), expected(&[0, 1000])));
    let early = rows[..1000].iter().filter(|row| row.starts_with("0-")).count();
    assert!((680..820).contains(&early), "{early}");
    let rows_of_first = result(&map(Arc::new(Plan::Mix(parts, mix(StopWhen::First))), vec![]), 0);
    assert_eq!(rows_of_first, rows[..rows_of_first.len()]);
}

#[test]
fn zipped_rows_must_end_together() {
    let (one, other) = (Directory::new(), Directory::new());
    let zip = |is_strict| {
        let plan = Plan::Zip(Arc::new([one.lines(&[30_000]), other.lines(&[20_000])]), is_strict);
        map(Arc::new(plan), vec![])
    };
    assert_eq!(result(&zip(false), 0), expected(&[20_000]));
    for num_threads in [1, 8] {
        let (rows, error) = run(&zip(true), 0, num_threads, usize::MAX);
        assert_eq!(rows, expected(&[20_000]));
        let error = error.unwrap();
        assert!(error.message().contains("pipeline 1 ends after 20000 examples, pipeline 0 continues"), "{error}");
    }
}

#[test]
fn rows_of_similar_lengths_are_batched() {
    let directory = Directory::new();
    let lines = map(directory.lines(&[1200]), vec![]);
    // The rows `0-7`, `0-77`, `0-777` and `0-1000` have four different lengths.
    let buckets = |size, max_elements| Buckets {
        column: 0,
        boundaries: vec![3, 4, 5],
        size,
        max_elements,
        pads_to_boundary: false,
        drops_remainder: false,
    };
    let run = |buckets| {
        let plan = Arc::new(Plan::Then(Arc::clone(&lines), Step::Bucket(Arc::new(buckets))));
        let collate = Collate {
            names: vec!["text".to_owned()],
            is_of_batches: false,
            pad_to: None,
            padding: None,
            layouts: vec![],
        };
        result(&map(plan, vec![Arc::new(collate)]), 0)
    };
    let by_size = run(buckets(Some(100), None));
    let lengths = |batch: &String| batch.split(' ').map(str::len).collect::<Vec<_>>();
    assert!(by_size.iter().map(lengths).all(|lengths| lengths.iter().all(|length| *length == lengths[0])));
    assert_eq!(by_size.iter().map(|batch| lengths(batch).len()).sum::<usize>(), 1200);
    let by_elements = run(buckets(None, Some(12)));
    assert!(by_elements.iter().all(|batch| lengths(batch).iter().sum::<usize>() <= 12));
    assert_eq!(lengths(&by_elements[0]), [3; 4]);
}

#[test]
fn cache_replays_a_whole_pass() {
    let directory = Directory::new();
    let store = Arc::new(Store::default());
    let lines = map(directory.lines(&[3000, 7]), vec![]);
    let cached = Arc::new(Plan::Then(lines, Step::Cache(Arc::clone(&store))));
    let some = Arc::new(Plan::Then(Arc::clone(&cached), Step::Take(5)));
    let (settings, budget) = (Settings::new(2), Budget::new(usize::MAX));
    let (rows, _) = consume(&map(some, vec![]), 0, settings, &budget);
    assert_eq!((rows.len(), store.get().is_none()), (5, true));
    let epochs = Arc::new(Plan::Then(Arc::clone(&cached), Step::Epochs(Some(3))));
    let (rows, _) = consume(&map(epochs, vec![]), 0, settings, &budget);
    assert_eq!(rows, [(); 3].map(|()| expected(&[3000, 7])).concat());
    assert!(store.get().is_some() && budget.used_bytes() > 0);
    drop(directory);
    assert_eq!(sorted(run(&shuffled(cached, 3), 1, 2, usize::MAX).0), sorted(expected(&[3000, 7])));
}

#[test]
fn results_can_arrive_in_completion_order() {
    let directory = Directory::new();
    let plan = map(directory.lines(&LENGTHS), vec![]);
    for num_threads in [1, 2, 8] {
        let settings = Settings::new(num_threads).in_any_order(true);
        let (rows, error) = run_with(&plan, 0, settings, usize::MAX);
        assert!(error.is_none());
        assert_eq!(sorted(rows), sorted(expected(&LENGTHS)));
    }
}

#[test]
fn origin_of_a_row_is_a_component() {
    let directory = Directory::new();
    let plan = map(directory.lines(&[2, 3]), vec![Arc::new(WithOrigin(1))]);
    let budget = Budget::new(usize::MAX);
    let executor = Executor::new(plan.start(0, Settings::new(1), 0, &Checkpoint::default()).unwrap(), 0, budget, 3);
    let mut origins = Vec::new();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| executor.work());
        executor.start();
        while let Ok(Output::Block(block, _)) = executor.next(PATIENCE) {
            let records = block.columns[2].to_tensor().unwrap();
            origins.extend(strings(&block.columns[1]).into_iter().zip(records.values::<i64>().unwrap().to_vec()));
        }
        executor.close();
        worker.join().unwrap();
    });
    let names: Vec<_> = origins.iter().map(|(name, _)| name.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["0.txt", "0.txt", "1.txt", "1.txt", "1.txt"]);
    assert_eq!(origins.iter().map(|(_, record)| *record).collect::<Vec<_>>(), [0, 1, 0, 1, 2]);
}

/// Counts the tasks that ran.
struct Count(Arc<AtomicU64>);

impl Stage for Count {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        self.0.fetch_add(1, Ordering::Relaxed);
        match strings(&rows.gather()?.columns[0]).iter().any(|row| row == "0-0") {
            true => Err(Error::data_loss("damaged")),
            false => Ok(rows),
        }
    }
}

#[test]
fn pending_tasks_do_not_run_after_an_error() {
    let directory = Directory::new();
    let count = Arc::new(AtomicU64::new(0));
    let batch = Arc::new(Plan::Then(
        directory.lines(&[20_000]),
        Step::Batch { sizes: Sizes::constant(10), drops_remainder: false, share: ShareIndex::ALL },
    ));
    let plan = map(batch, vec![Arc::new(Count(Arc::clone(&count)))]);
    // With one worker, the tasks before the failing one wait after it.
    let (rows, error) = run(&plan, 0, 1, usize::MAX);
    assert!(rows.is_empty() && error.is_some());
    // The task itself, and its rows one by one up to the damaged one.
    assert_eq!(count.load(Ordering::Relaxed), 2);
}
