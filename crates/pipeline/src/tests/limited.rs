//! Nodes without free memory while outputs wait for the consumer.

use super::*;
use crate::blocks::rows::Rows;
use crate::node::{Context, Node, Poll};
use crate::plan::Shuffle;
use crate::tasks::meters::Meters;
use crate::tasks::task::{Outcome, Tasks};
use std::cell::Cell;

/// Nodes without any memory, and the tasks they have started.
struct Limited {
    root: Box<dyn Node>,
    tasks: Tasks,
    budget: Arc<Budget>,
    meters: Arc<Meters>,
}

impl Limited {
    fn new(plan: &Arc<Plan>) -> Self {
        let root = plan.start(0, Settings::new(2), 0, &Checkpoint::default()).unwrap();
        Self { root, tasks: Tasks::new(1), budget: Budget::new(0), meters: Arc::new(Meters::new(0)) }
    }

    fn pull(&mut self, is_stuck: bool) -> Poll {
        let (budget, meters, is_refused) = (&self.budget, &self.meters, Cell::new(false));
        let mut context = Context {
            tasks: &mut self.tasks,
            publish: &|_| (),
            has_started: false,
            budget,
            meters,
            is_starving: is_stuck,
            is_stuck,
            is_refused,
        };
        self.root.pull(&mut context).unwrap()
    }

    /// All rows. Polls nodes as if outputs were waiting for the consumer, and if they return
    /// nothing, once more as if none were waiting.
    fn drain(mut self) -> Vec<String> {
        let mut rows = Vec::new();
        loop {
            let mut poll = self.pull(false);
            // Uncharged work may be in progress.
            if matches!(poll, Poll::Pending) && self.tasks.is_empty() {
                poll = self.pull(true);
            }
            match poll {
                Poll::Ready(batch) => rows.extend(strings(&batch.gather().unwrap().columns[0])),
                Poll::Pending => {
                    assert!(!self.tasks.is_empty(), "nothing can continue");
                    while let Some(work) = self.tasks.pop() {
                        work();
                    }
                }
                Poll::SkipEvent(skip_event) => panic!("{skip_event:?}"),
                Poll::End => return rows,
            }
        }
    }
}

#[test]
fn rows_that_do_not_fit_while_outputs_wait_are_computed_later() {
    let directory = Directory::new();
    let lines = map(directory.lines(&LENGTHS), vec![]);
    assert_eq!(Limited::new(&lines).drain(), expected(&LENGTHS));
    let shuffle = Shuffle::new(3);
    let shuffled = map(Arc::new(Plan::Shuffled(directory.lines(&LENGTHS), shuffle)), vec![]);
    assert_eq!(Limited::new(&shuffled).drain(), result(&shuffled, 0));
    assert_eq!(Limited::new(&batches(lines, 1000)).drain().len(), 71);
}

#[test]
fn python_source_is_read_only_when_no_output_is_waiting() {
    let mut limited = Limited::new(&Arc::new(Plan::PythonSource(0)));
    assert!(matches!(limited.pull(false), Poll::Pending));
    assert!(limited.tasks.is_empty());
    assert!(matches!(limited.pull(true), Poll::Pending));
    assert_eq!(limited.tasks.num_python(0), 1);
}

#[test]
fn only_one_task_at_a_time_exceeds_the_memory_budget() {
    let inputs = [0, 1].map(|python_worker| Arc::new(Plan::PythonSource(python_worker)));
    let mut limited = Limited::new(&Arc::new(Plan::Zip(Arc::new(inputs), false)));
    limited.tasks = Tasks::new(2);
    let started = |limited: &Limited| [0, 1].map(|python_worker| limited.tasks.num_python(python_worker));
    assert!(matches!(limited.pull(true), Poll::Pending));
    assert_eq!(started(&limited), [1, 0]);
    // It is in progress.
    let task = limited.tasks.pop_python(0).unwrap();
    assert!(matches!(limited.pull(false), Poll::Pending));
    assert_eq!(started(&limited), [0, 0]);
    task.slot.set(Ok(Outcome::new(Rows::new(), None)));
    drop(task.charge);
    assert!(matches!(limited.pull(true), Poll::Pending));
    assert_eq!(started(&limited), [0, 1]);
}
