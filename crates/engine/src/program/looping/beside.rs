//! Runs iterations on several threads, for loops whose result does not depend on their order.

use super::{Rounds, Running};
use crate::error::{Error, Result};
use crate::order;
use crate::program::{Program, Repeated};
use crate::run::{Run, catch_panic};
use crate::tensor::Tensor;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The minimum total duration for which starting threads is worthwhile.
const WORTH: Duration = Duration::from_millis(1);

/// The rows of one iteration, or its error.
type IterationResult = (usize, Result<Vec<Tensor>>);

/// Runs all iterations of a loop, if it takes long enough and several threads are allowed.
/// Otherwise runs none or only the first few.
pub(super) fn run_all(running: &mut Running, run: &Run) -> Result<()> {
    let of = Arc::clone(&running.of);
    let (Rounds::Rows { is_pure: true, is_reversed: false, begins_with_carried: false }, 0) =
        (&of.rounds, of.num_carried)
    else {
        return Ok(());
    };
    let (num_rounds, num_threads) = (running.num_rounds.unwrap_or(0), of.max_threads.min(num_processors()));
    if num_rounds < 2 || num_threads < 2 || run.is_unoptimised() || of.body.has_host_functions() {
        return Ok(());
    }
    let begin = Instant::now();
    let rows = Rows { body: &of.body, sequences: &running.sequences, captured: &running.captured };
    let mut repeated = of.body.repeated();
    let first = rows.run(&mut repeated, 0, run);
    let outputs = first.map_err(|error| of.explain(error, 0))?;
    drop(repeated);
    collect(running, outputs);
    running.round = 1;
    if begin.elapsed() * (num_rounds as u32 - 1) < WORTH {
        return Ok(());
    }
    let rows = Rows { body: &of.body, sequences: &running.sequences, captured: &running.captured };
    let mut rounds = in_threads(&rows, run, num_rounds, num_threads.min(num_rounds - 1));
    for position in order::by_key(rounds.len(), |position| rounds[position].0) {
        let (round, rows) = &mut rounds[position];
        collect(running, std::mem::replace(rows, Ok(Vec::new())).map_err(|error| of.explain(error, *round))?);
    }
    running.round = num_rounds;
    Ok(())
}

fn num_processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn collect(running: &mut Running, outputs: Vec<Tensor>) {
    running.collected.iter_mut().zip(outputs).for_each(|(rows, row)| rows.push(row));
}

/// The inputs of the iterations.
struct Rows<'a> {
    body: &'a Program,
    sequences: &'a [Tensor],
    captured: &'a [Tensor],
}

impl Rows<'_> {
    /// Runs one iteration.
    fn run(&self, repeated: &mut Repeated, round: usize, run: &Run) -> Result<Vec<Tensor>> {
        let rows = self.sequences.iter().map(|sequence| sequence.row(round));
        repeated.run(rows.chain(self.captured.iter().cloned().map(Ok)), run)?;
        repeated.fetched().collect()
    }
}

/// Runs the iterations from the second one on. The result includes all iterations before the first
/// one that failed.
fn in_threads(rows: &Rows, run: &Run, num_rounds: usize, num_threads: usize) -> Vec<IterationResult> {
    let (next, all, beside) = (AtomicUsize::new(1), Mutex::new(Vec::new()), run.beside());
    let work = |run: &Run| {
        let (mut repeated, mut rounds) = (rows.body.repeated(), Vec::new());
        loop {
            let round = next.fetch_add(1, Ordering::Relaxed);
            if round >= num_rounds {
                break;
            }
            run.replace_provenances(Default::default());
            let outputs = catch_panic(|| rows.run(&mut repeated, round, run));
            let has_failed = outputs.is_err();
            rounds.push((round, outputs));
            if has_failed {
                // The other threads stop after their current iteration.
                next.store(num_rounds, Ordering::Relaxed);
                break;
            }
        }
        all.lock().unwrap_or_else(PoisonError::into_inner).append(&mut rounds);
    };
    let provenances = run.replace_provenances(Default::default());
    let node = run.node.get();
    thread::scope(|scope| {
        for _ in 1..num_threads {
            // If no thread can be started, this one does the work.
            let _ = thread::Builder::new().name("headrace-loop".into()).spawn_scoped(scope, || work(&beside()));
        }
        work(run);
    });
    run.replace_provenances(provenances);
    run.node.set(node);
    let mut rounds = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    if rounds.iter().all(|(_, rows)| rows.is_ok()) && rounds.len() + 1 != num_rounds {
        rounds.push((num_rounds, Err(Error::internal("an iteration of a loop is missing"))));
    }
    rounds
}
