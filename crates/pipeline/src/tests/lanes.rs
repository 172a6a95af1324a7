//! Lanes: the rows of several shards from one executor.

use super::*;
use crate::nodes::lanes::{AllLanes, Lanes};

/// The rows of each lane, and the lanes that have ended. Closes lane `closed` after its first rows.
fn rows_of_lanes(
    plan: &dyn Fn(Option<Arc<Lanes>>, u64) -> Arc<Plan>,
    from: &[Checkpoint],
    is_shared: bool,
    limit_bytes: usize,
    closed: Option<usize>,
) -> Vec<Vec<String>> {
    let lanes = Arc::new(Lanes::new((0..from.len() as u64).collect(), is_shared));
    let plan = plan(Some(Arc::clone(&lanes)), 0);
    let settings = Settings::new(2);
    let nodes = from.iter().enumerate().map(|(lane, first)| plan.start(0, settings.of_lane(lane), 0, first).unwrap());
    let root = Box::new(AllLanes::new(Arc::clone(&lanes), nodes.collect()));
    let budget = Budget::new(limit_bytes);
    let executor = Executor::new(root, 0, Arc::clone(&budget), 3);
    let mut rows: Vec<Vec<String>> = from.iter().map(|_| Vec::new()).collect();
    let mut ended = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(|| executor.work())).collect();
        executor.start();
        loop {
            match executor.next_of_lane(PATIENCE).unwrap() {
                (lane, Output::Block(block, _)) => {
                    rows[lane].extend(strings(&block.columns[0]));
                    if Some(lane) == closed {
                        lanes.close(lane);
                        executor.note_closed_lane();
                    }
                }
                (lane, Output::LaneEnd(error)) => {
                    assert!(error.is_none(), "{error:?}");
                    ended.push(lane);
                }
                (_, Output::End) => break,
                (_, Output::SkipEvent(skip_event)) => panic!("{skip_event:?}"),
                (_, Output::Timeout) => panic!("nothing came"),
            }
        }
        executor.close();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    drop(executor);
    assert_eq!(budget.used_bytes(), 0, "something is still charged");
    ended.sort_unstable();
    assert_eq!(ended, (0..from.len()).filter(|lane| Some(*lane) != closed).collect::<Vec<_>>());
    rows
}

fn shard(input: Arc<Plan>, even: Even, lanes: Option<Arc<Lanes>>, index: u64) -> Arc<Plan> {
    Arc::new(Plan::Then(input, Step::Shard { index, count: 3, even, lanes }))
}

fn then(input: Arc<Plan>, step: Step) -> Arc<Plan> {
    Arc::new(Plan::Then(input, step))
}

/// Returns the plan of a lane, or of a shard without lanes.
type PlanOfLane<'a> = &'a dyn Fn(Option<Arc<Lanes>>, u64) -> Arc<Plan>;

#[test]
fn lanes_return_the_rows_of_separate_shards() {
    let directory = Directory::new();
    let lines = directory.lines(&[70, 1, 0, 45]);
    for even in [Even::Uneven, Even::Drop, Even::Pad] {
        let window = || then(Arc::clone(&lines), Step::Window { size: 20, seed: 3 });
        let before = |lanes, index| shard(then(window(), Step::Epochs(Some(3))), even, lanes, index);
        let after = |lanes, index| then(shard(window(), even, lanes, index), Step::Epochs(Some(3)));
        let window_after =
            |lanes, index| then(shard(Arc::clone(&lines), even, lanes, index), Step::Window { size: 9, seed: 4 });
        let plans: [PlanOfLane; 3] = [&before, &after, &window_after];
        for (number, plan) in plans.into_iter().enumerate() {
            let expected: Vec<_> = (0..3).map(|index| result(&plan(None, index), 0)).collect();
            let from: [Checkpoint; 3] = std::array::from_fn(|_| Checkpoint::default());
            for (is_shared, limit_bytes) in [(true, usize::MAX), (true, 100_000), (false, usize::MAX)] {
                let rows = rows_of_lanes(plan, &from, is_shared, limit_bytes, None);
                assert_eq!(rows, expected, "plan {number}, {even:?}, shared: {is_shared}");
            }
            let rows = rows_of_lanes(plan, &from, true, usize::MAX, Some(1));
            assert_eq!([&rows[0], &rows[2]], [&expected[0], &expected[2]], "plan {number}, {even:?}");
        }
    }
}
