//! Measures the stages of a running pipeline, for its statistics. Measurements are taken once per
//! task, not per row.

use crate::blocks::file_provenance::FileProvenance;
use headrace_engine::sync::Mutex;
use headrace_engine::waits;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The meters of one iteration over a pipeline.
#[derive(Debug, Default)]
pub struct Meters {
    stages: Box<[Meter]>,
    /// The native tasks of all stages together.
    pub tasks: Meter,
    /// The total time that workers had no task.
    pub idle: Time,
    /// The time during which the consumer had no rows.
    pub consumer_waiting: Time,
    /// The time during which workers idled because work did not fit into the budget, although the
    /// consumer was waiting.
    pub budget_waiting: Time,
    /// The reads in progress.
    reads: Mutex<Vec<Read>>,
    /// The number of the next read.
    next_read: AtomicU64,
}

/// A read in progress.
#[derive(Clone, Debug)]
pub struct Read {
    /// A unique number.
    pub number: u64,
    /// The number of the stage that is reading.
    pub stage: usize,
    /// The file being read.
    pub file: Arc<FileProvenance>,
    /// The number of the first record being read.
    pub record: u64,
    /// The system's number of the reading thread.
    pub thread: u64,
    /// When the read began.
    pub since: Instant,
}

/// Lists a read as in progress until it is dropped.
pub struct Reading<'a> {
    meters: &'a Meters,
    number: u64,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.meters.reads.lock().retain(|read| read.number != self.number);
    }
}

/// The measurements of one stage.
#[derive(Debug, Default)]
pub struct Meter {
    examples: AtomicU64,
    bytes: AtomicU64,
    /// The time that its tasks took.
    pub busy: Time,
    /// The CPU time that its tasks used.
    pub computing: Time,
    /// The time during which it was idle because earlier stages had no rows.
    pub starving: Time,
    fill_sum: AtomicU64,
    num_fills: AtomicU64,
    /// The numbers of padding elements and of all elements in its batches.
    padding: AtomicU64,
    padded: AtomicU64,
    left_out: AtomicU64,
}

/// A sum of durations.
#[derive(Debug, Default)]
pub struct Time(AtomicU64);

/// The value that represents a completely filled queue.
const FULL: u64 = 1000;

impl Time {
    /// Adds a duration.
    pub fn add(&self, duration: Duration) {
        self.0.fetch_add(nanos(duration), Ordering::Relaxed);
    }

    /// Replaces a duration that was added before.
    fn replace(&self, before: Duration, after: Duration) {
        self.add(after);
        self.0.fetch_sub(nanos(before), Ordering::Relaxed);
    }

    /// The sum.
    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Meters {
    /// Meters for `num_stages` stages.
    pub fn new(num_stages: usize) -> Self {
        Self { stages: (0..num_stages).map(|_| Meter::default()).collect(), ..Self::default() }
    }

    /// Records that a stage starts reading a file at a record.
    pub fn begin_read(&self, stage: usize, file: &Arc<FileProvenance>, record: u64) -> Reading<'_> {
        let number = self.next_read.fetch_add(1, Ordering::Relaxed);
        let (thread, since) = (THREAD.with(|thread| *thread), Instant::now());
        let read = Read { number, stage, file: Arc::clone(file), record, thread, since };
        self.reads.lock().push(read);
        Reading { meters: self, number }
    }

    /// The reads in progress.
    pub fn reads(&self) -> Vec<Read> {
        self.reads.lock().clone()
    }

    /// The meter of stage `stage`, if the stage is measured.
    pub fn stage(&self, stage: usize) -> Option<&Meter> {
        self.stages.get(stage)
    }

    /// The meters of all stages.
    pub fn stages(&self) -> &[Meter] {
        &self.stages
    }
}

impl Meter {
    /// Counts results.
    pub fn count(&self, num_rows: usize, num_bytes: usize) {
        self.examples.fetch_add(num_rows as u64, Ordering::Relaxed);
        self.bytes.fetch_add(num_bytes as u64, Ordering::Relaxed);
    }

    /// Records that `part` of `whole` task slots are in use.
    pub fn note_fill(&self, part: usize, whole: usize) {
        self.fill_sum.fetch_add(part as u64 * FULL / (whole as u64).max(1), Ordering::Relaxed);
        self.num_fills.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that `part` of `whole` elements are padding.
    pub fn note_padding(&self, part: usize, whole: usize) {
        self.padding.fetch_add(part as u64, Ordering::Relaxed);
        self.padded.fetch_add(whole as u64, Ordering::Relaxed);
    }

    /// The share of padding elements, or `None` if it was never recorded.
    pub fn padding(&self) -> Option<f64> {
        let padded = self.padded.load(Ordering::Relaxed);
        (padded > 0).then(|| self.padding.load(Ordering::Relaxed) as f64 / padded as f64)
    }

    /// Counts rows that were dropped at the end.
    pub fn leave_out(&self, num_rows: usize) {
        self.left_out.fetch_add(num_rows as u64, Ordering::Relaxed);
    }

    /// The number of rows that were dropped at the end.
    pub fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// The number of examples produced.
    pub fn examples(&self) -> u64 {
        self.examples.load(Ordering::Relaxed)
    }

    /// The total size of their elements in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The average fraction of task slots in use, or `None` if it was never recorded.
    pub fn fill(&self) -> Option<f64> {
        let count = self.num_fills.load(Ordering::Relaxed);
        (count > 0).then(|| self.fill_sum.load(Ordering::Relaxed) as f64 / (count * FULL) as f64)
    }
}

thread_local! {
    /// The system's number of this thread. Workers don't survive a fork, so it never changes.
    static THREAD: u64 = waits::this_thread();
    /// The group of tasks that ended last on this thread.
    static GROUP: Cell<Option<Group>> = const { Cell::new(None) };
    /// The stage that this thread works for, or worked for most recently. Other threads read it;
    /// see [`stage_of_this_thread`].
    static STAGE: Arc<AtomicUsize> = Arc::new(AtomicUsize::new(NO_STAGE));
}

/// Means no stage.
pub const NO_STAGE: usize = usize::MAX;

/// Sets the stage that this thread works for.
pub fn enter_stage(stage: usize) {
    STAGE.with(|current| current.store(stage, Ordering::Relaxed));
}

/// The cell in which this thread stores the stage it works for.
pub fn stage_of_this_thread() -> Arc<AtomicUsize> {
    STAGE.with(Arc::clone)
}

/// Tasks are measured together until they have taken this long, because reading the CPU clock is a
/// system call. Until then, they are assumed not to wait.
const SHORT: Duration = Duration::from_micros(50);
/// The longest time between two tasks that are measured together. CPU time that the thread used in
/// between may count as theirs.
const GAP: Duration = Duration::from_micros(10);

/// Short tasks of a stage that ran one after another on the same thread.
#[derive(Clone, Copy)]
struct Group {
    /// The address of the stage's meter.
    meter: usize,
    /// The CPU time of the thread at the beginning.
    computed: Duration,
    /// When the last task ended.
    end: Instant,
    /// The time that the tasks took. So far, the meter counts all of it as CPU time.
    busy: Duration,
}

/// Measures the work of a stage until it is dropped.
pub struct Stopwatch<'a> {
    meter: Option<&'a Meter>,
    begin: Instant,
    /// The group that the task belongs to, if its CPU time is measured.
    group: Option<Group>,
}

impl<'a> Stopwatch<'a> {
    /// Starts measuring the elapsed time. Without a meter, nothing is measured.
    pub fn start(meter: Option<&'a Meter>) -> Self {
        Self { meter, begin: Instant::now(), group: None }
    }

    /// Also measures CPU time.
    pub fn start_with_processor(meter: Option<&'a Meter>) -> Self {
        let watch = Self::start(meter);
        let end = watch.begin;
        let group = meter.map(|meter| {
            let meter = std::ptr::from_ref(meter).addr();
            let group = GROUP.take().filter(|group| group.meter == meter && end.duration_since(group.end) < GAP);
            group.unwrap_or_else(|| Group { meter, computed: thread_time(), end, busy: Duration::ZERO })
        });
        Self { group, ..watch }
    }
}

impl Meter {
    /// Adds the time of a task to the CPU time. Returns the group that the next task may join.
    fn add_to_group(&self, group: Group, busy: Duration, end: Instant) -> Group {
        let before = group.busy;
        let group = Group { end, busy: before + busy, ..group };
        if group.busy < SHORT {
            self.computing.add(busy);
            return group;
        }
        let computed = thread_time();
        let used = computed.saturating_sub(group.computed).min(group.busy);
        self.computing.replace(before, used);
        Group { computed, busy: Duration::ZERO, ..group }
    }
}

impl Drop for Stopwatch<'_> {
    fn drop(&mut self) {
        let Some(meter) = self.meter else { return };
        let end = Instant::now();
        let busy = end.duration_since(self.begin);
        meter.busy.add(busy);
        if let Some(group) = self.group.take() {
            GROUP.set(Some(meter.add_to_group(group, busy, end)));
        }
    }
}

/// The CPU time of the calling thread, or zero on systems that don't report it.
pub fn thread_time() -> Duration {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    }
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopwatch_measures_the_time_of_its_task() {
        let meters = Meters::new(1);
        let (begin, computed) = (Instant::now(), thread_time());
        {
            let watch = Stopwatch::start_with_processor(meters.stage(0));
            // Both clocks may pause for a moment.
            while (thread_time() == computed || watch.begin.elapsed() < SHORT)
                && begin.elapsed() < Duration::from_secs(9)
            {}
        }
        let meter = &meters.stages()[0];
        assert!(meter.busy.get() > Duration::ZERO && meter.busy.get() <= begin.elapsed());
        assert!(meter.computing.get() <= thread_time().saturating_sub(computed));
        assert!(meters.stage(1).is_none());
    }

    #[test]
    fn short_tasks_are_measured_together() {
        let meter = Meter::default();
        let address = std::ptr::from_ref(&meter).addr();
        let group = Group { meter: address, computed: thread_time(), end: Instant::now(), busy: Duration::ZERO };
        let group = meter.add_to_group(group, SHORT / 2, group.end);
        assert_eq!((group.busy, meter.computing.get()), (SHORT / 2, SHORT / 2));
        let group = meter.add_to_group(group, SHORT / 4, group.end);
        assert_eq!((group.busy, meter.computing.get()), (SHORT * 3 / 4, SHORT * 3 / 4));
        // The thread's clock cannot have advanced by a year.
        let year = Duration::from_secs(365 * 24 * 3600);
        let next = meter.add_to_group(group, year, group.end);
        assert!(meter.computing.get() <= next.computed.saturating_sub(group.computed) && next.busy.is_zero());
    }

    #[test]
    fn fill_level_is_averaged() {
        let meter = Meter::default();
        assert_eq!(meter.fill(), None);
        meter.note_fill(1, 4);
        meter.note_fill(3, 4);
        assert_eq!(meter.fill(), Some(0.5));
    }
}
