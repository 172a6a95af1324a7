//! The context of one run of a program: how it can be cancelled, its deadline, and the provenance
//! of its data.

use crate::error::{Code, Error, Result};
use crate::numbering::Numbering;
use crate::sync::cancellation::{Cancellation, Watch};
use crate::sync::parker::Parker;
use crate::tensor_array::TensorArrays;
use crate::waits::{self, Awaited};
use smallvec::{SmallVec, smallvec};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

/// How often a waiting run calls its [`Interrupt`].
const INTERRUPT_INTERVAL: Duration = Duration::from_millis(50);

/// Outputs with higher numbers than a word has bits count as read.
const MAX_BITS: usize = u64::BITS as usize;

/// Something outside the engine that can end a wait, such as a signal that Python has to check for.
pub trait Interrupt {
    /// Fails if the run should end. It is called from the waiting thread, which holds no locks at
    /// that time.
    fn check(&self) -> Result<()>;

    /// Returns the same check if it outlives all runs.
    fn as_static(&self) -> Option<&'static dyn Interrupt> {
        None
    }
}

/// The conditions that end a run.
struct Limits {
    cancellation: Cancellation,
    deadline: Option<Instant>,
    interrupt: Option<&'static dyn Interrupt>,
}

thread_local! {
    /// Set by [`Run::while_current`].
    static CURRENT: RefCell<Option<Limits>> = const { RefCell::new(None) };
}

/// Fails if this thread is inside [`Run::while_current`] and that run has to end.
pub fn check_current() -> Result<()> {
    // End the borrow before the check, because the check may begin another run.
    let Some((cancellation, deadline, interrupt)) = CURRENT.with_borrow(|limits| {
        limits.as_ref().map(|limits| (limits.cancellation.clone(), limits.deadline, limits.interrupt))
    }) else {
        return Ok(());
    };
    check(&cancellation, deadline, interrupt)
}

fn check(cancellation: &Cancellation, deadline: Option<Instant>, interrupt: Option<&dyn Interrupt>) -> Result<()> {
    check_not_cancelled(cancellation)?;
    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return Err(Error::new(Code::DeadlineExceeded, "Timed out waiting for notification"));
    }
    interrupt.map_or(Ok(()), Interrupt::check)
}

fn check_not_cancelled(cancellation: &Cancellation) -> Result<()> {
    if cancellation.is_cancelled() {
        return Err(Error::cancelled("Run call was cancelled"));
    }
    Ok(())
}

/// Calls `work` and turns a panic into an error, so that callers can treat it like any other
/// failure.
pub fn catch_panic<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // Everything that `work` was modifying is either dropped or consistent wherever it could panic.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = panic_text(&*payload);
        Err(Error::internal(format!("the engine panicked: {text}. This is a defect of headrace; please report it.")))
    })
}

thread_local! {
    /// True while calling a library function whose panics are caught.
    static IS_IN_LIBRARY: Cell<bool> = const { Cell::new(false) };
}

/// Calls a library function that may panic if its data is invalid. Returns the message of the panic
/// instead of printing it. The caller must not use anything that `work` was modifying afterwards.
pub fn catch_library_panic<T>(work: impl FnOnce() -> T) -> std::result::Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| panic::set_hook(silent_in_library(panic::take_hook())));
    let was_in_library = IS_IN_LIBRARY.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_IN_LIBRARY.set(was_in_library);
    result.map_err(|payload| panic_text(&*payload).to_owned())
}

type Hook = Box<dyn Fn(&panic::PanicHookInfo<'_>) + Sync + Send>;

/// Returns a hook that calls `before`, except for panics that are being caught.
fn silent_in_library(before: Hook) -> Hook {
    Box::new(move |info| {
        // The value no longer exists while a thread ends.
        if !IS_IN_LIBRARY.try_with(Cell::get).unwrap_or(false) {
            before(info);
        }
    })
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// Lets a thread block while it holds a lock of the host language, such as Python's GIL.
pub trait Blocking {
    /// Releases the lock, calls `sleep`, which blocks, and acquires the lock again.
    fn block(&self, sleep: &mut (dyn FnMut() + Send));
}

/// The provenance of a record, or of the records of a batch.
#[derive(Clone, Debug)]
pub struct RecordProvenance {
    /// The name of the file.
    pub file: Arc<str>,
    /// How error messages name and count its records.
    pub numbering: Numbering,
    /// The number of the record in the file, from 0. For a batch, the number of the first record.
    pub record: u64,
    /// For each record, the offset of its first byte in the uncompressed file.
    pub offsets_bytes: SmallVec<[u64; 1]>,
}

impl RecordProvenance {
    /// The provenance of one record of a batch.
    pub fn of_element(&self, index: usize) -> Option<Self> {
        let offset_bytes = *self.offsets_bytes.get(index)?;
        Some(Self {
            file: Arc::clone(&self.file),
            numbering: self.numbering,
            record: self.record + index as u64,
            offsets_bytes: smallvec![offset_bytes],
        })
    }
}

impl fmt::Display for RecordProvenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, numbering, record, offsets_bytes } = self;
        match offsets_bytes[..] {
            [] => write!(f, "{file}"),
            [offset] => write!(f, "{file}: {} at byte {offset}", numbering.of(*record)),
            [first, .., _] => {
                let start = record + numbering.first;
                let last = start + offsets_bytes.len() as u64 - 1;
                write!(f, "{file}: {}s {start} to {last} from byte {first}", numbering.word)
            }
        }
    }
}

/// Calls a [`Watch`] from time to time during a long wait. It adds up the durations of sleeps
/// instead of reading the clock.
struct Alarm<'a> {
    watch: &'a dyn Watch,
    after: Duration,
    slept: Duration,
}

impl<'a> Alarm<'a> {
    fn new(watch: &'a Arc<dyn Watch>) -> Self {
        Self { watch: &**watch, after: watch.patience(), slept: Duration::ZERO }
    }

    fn rest(&self) -> Duration {
        self.after.saturating_sub(self.slept)
    }

    /// Counts a sleep. If the wait has become long, calls the watch, and then waits twice as long
    /// before the next call.
    fn sleep(&mut self, time: Duration, awaited: &dyn Fn() -> Vec<Awaited>) -> Result<()> {
        self.slept += time;
        if self.slept < self.after {
            return Ok(());
        }
        self.after = self.after.saturating_mul(2);
        let names: Vec<_> = awaited().into_iter().filter_map(|awaited| awaited.op).collect();
        self.watch.look(&names)
    }
}

/// The last record of each node that has read anything in this run.
pub type RecordProvenances = Vec<(usize, RecordProvenance)>;

/// One call of `Program::run` or `Program::run_loop`. Only its own thread uses it.
pub struct Run<'a> {
    parker: Arc<Parker>,
    cancellation: &'a Cancellation,
    deadline: Option<Instant>,
    interrupt: Option<&'a dyn Interrupt>,
    blocking: Option<&'a dyn Blocking>,
    /// The node being executed. The program sets it for [`Run::set_provenance`].
    pub(crate) node: Cell<usize>,
    /// Which outputs of that node are read, as one bit each.
    pub(crate) read_outputs: Cell<u64>,
    /// True if the program is unoptimised.
    pub(crate) is_unoptimised: Cell<bool>,
    /// The key of the pipeline row that the program is run for.
    row_key: Cell<Option<u64>>,
    provenances: RefCell<RecordProvenances>,
    /// The tensor arrays that this run has created.
    pub(crate) arrays: RefCell<TensorArrays>,
}

impl<'a> Run<'a> {
    /// Creates a run that ends when `cancellation` is set. It waits on the current thread's parker.
    pub fn new(cancellation: &'a Cancellation) -> Self {
        Self {
            parker: Parker::with_current(Arc::clone),
            cancellation,
            deadline: None,
            interrupt: None,
            blocking: None,
            node: Cell::new(0),
            read_outputs: Cell::new(u64::MAX),
            is_unoptimised: Cell::new(false),
            row_key: Cell::new(None),
            provenances: RefCell::default(),
            arrays: RefCell::default(),
        }
    }

    /// Makes the run fail with `DeadlineExceeded` if it is still waiting at `deadline`.
    pub fn with_deadline(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Sleeps with `parker` instead of the thread's own one.
    pub fn with_parker(mut self, parker: &Arc<Parker>) -> Self {
        self.parker = Arc::clone(parker);
        self
    }

    /// Checks `interrupt` while the run is waiting.
    pub fn with_interrupt(mut self, interrupt: Option<&'a dyn Interrupt>) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// Makes the run use `blocking` whenever it blocks.
    pub fn with_blocking(mut self, blocking: &'a dyn Blocking) -> Self {
        self.blocking = Some(blocking);
        self
    }

    /// The parker on which the run waits.
    pub fn parker(&self) -> &Arc<Parker> {
        &self.parker
    }

    /// Returns true if an output of the current node is read. Other outputs may have any value.
    pub fn is_read(&self, output: usize) -> bool {
        output >= MAX_BITS || self.read_outputs.get() >> output & 1 == 1
    }

    /// Returns true if kernels must not defer anything; see
    /// [`crate::program::ProgramBuilder::unoptimised`].
    pub fn is_unoptimised(&self) -> bool {
        self.is_unoptimised.get()
    }

    /// Sets the key of the next pipeline row.
    pub fn set_row_key(&self, key: Option<u64>) {
        self.row_key.set(key);
    }

    /// The key of the current pipeline row, if there is one.
    pub fn current_row_key(&self) -> Option<u64> {
        self.row_key.get()
    }

    /// The key for random draws in the current pipeline row. Fails if there is no row.
    pub fn row_key(&self) -> Result<u64> {
        self.current_row_key()
            .ok_or_else(|| Error::internal("cannot draw random numbers for a row without an identity"))
    }

    /// Like [`Run::set_provenance`], for a single record.
    pub fn set_record_provenance(&self, file: &Arc<str>, numbering: Numbering, record: u64, offset_bytes: u64) {
        let node = self.node.get();
        if let Some((_, provenance)) = self.provenances.borrow_mut().iter_mut().find(|(reader, _)| *reader == node)
            && Arc::ptr_eq(&provenance.file, file)
        {
            provenance.record = record;
            provenance.offsets_bytes.clear();
            provenance.offsets_bytes.push(offset_bytes);
            return;
        }
        self.set_provenance(RecordProvenance {
            file: Arc::clone(file),
            numbering,
            record,
            offsets_bytes: smallvec![offset_bytes],
        });
    }

    /// Records where the data that the current node has read came from. Errors of nodes that depend
    /// on it mention the record.
    pub fn set_provenance(&self, provenance: RecordProvenance) {
        let node = self.node.get();
        let mut provenances = self.provenances.borrow_mut();
        match provenances.iter_mut().find(|(reader, _)| *reader == node) {
            Some(entry) => entry.1 = provenance,
            None => provenances.push((node, provenance)),
        }
    }

    /// Replaces the records of the nodes that read, and returns the old ones.
    pub(crate) fn replace_provenances(&self, provenances: RecordProvenances) -> RecordProvenances {
        self.provenances.replace(provenances)
    }

    /// Replaces the tensor arrays and returns the old ones.
    pub(crate) fn replace_arrays(&self, arrays: TensorArrays) -> TensorArrays {
        self.arrays.replace(arrays)
    }

    /// Creates runs for other threads that end when this one is cancelled or its deadline passes.
    pub(crate) fn beside(&self) -> impl Fn() -> Run<'a> + Send + Sync + use<'a> {
        let (cancellation, deadline, is_unoptimised) = (self.cancellation, self.deadline, self.is_unoptimised());
        move || {
            let run = Run::new(cancellation).with_deadline(deadline);
            run.is_unoptimised.set(is_unoptimised);
            run
        }
    }

    /// The record that node `node` last read in this run.
    pub fn provenance(&self, node: usize) -> Option<RecordProvenance> {
        let provenances = self.provenances.borrow();
        provenances.iter().find(|(reader, _)| *reader == node).map(|(_, provenance)| provenance.clone())
    }

    /// Fails if the run should end because it was cancelled or interrupted, or because its deadline
    /// has passed.
    pub fn check(&self) -> Result<()> {
        check(self.cancellation, self.deadline, self.interrupt)
    }

    /// Calls `work`, which may wait for a pipe. The wait ends together with this run. This is
    /// needed because the code that reads, such as a decompressor from another crate, has no access
    /// to the run.
    pub fn while_current<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Restore(Option<Limits>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let limits = Limits {
            cancellation: self.cancellation.clone(),
            deadline: self.deadline,
            interrupt: self.interrupt.and_then(Interrupt::as_static),
        };
        let _restore = Restore(CURRENT.replace(Some(limits)));
        work()
    }

    /// Blocks until the run is unparked. Fails if the run should end. A long wait is listed with
    /// its `awaited` events, and the watch is called with the operations.
    pub fn wait_for(&self, awaited: &dyn Fn() -> Vec<Awaited>) -> Result<()> {
        let _registration = self.cancellation.register(&self.parker);
        let mut alarm = self.cancellation.watch().map(Alarm::new);
        let (mut until_registered, mut _registered) = (waits::PATIENCE, None);
        loop {
            self.check()?;
            let interval = self.interrupt.map(|_| INTERRUPT_INTERVAL);
            let rest = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let patience = alarm.as_ref().map(Alarm::rest);
            let register_in = (!until_registered.is_zero()).then_some(until_registered);
            let timeout = [interval, rest, patience, register_in].into_iter().flatten().min();
            if self.park(timeout) {
                // Cancelling other runs may have woken this one. If this one was cancelled too, it
                // must not continue.
                return check_not_cancelled(self.cancellation);
            }
            let Some(time) = timeout else { continue };
            if !until_registered.is_zero() {
                until_registered = until_registered.saturating_sub(time);
                if until_registered.is_zero() {
                    _registered = Some(waits::register(awaited(), self.cancellation.watch().cloned()));
                }
            }
            if let Some(alarm) = &mut alarm {
                alarm.sleep(time, awaited)?;
            }
        }
    }

    /// Parks for at most `timeout`. Returns whether it was unparked.
    fn park(&self, timeout: Option<Duration>) -> bool {
        let (parker, mut is_awake) = (&self.parker, false);
        let mut sleep = || {
            is_awake = match timeout {
                Some(timeout) => parker.park_timeout(timeout),
                None => {
                    parker.park();
                    true
                }
            }
        };
        match self.blocking {
            Some(blocking) => blocking.block(&mut sleep),
            None => sleep(),
        }
        is_awake
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_library_panics_are_silent() {
        thread_local! {
            static NUM_PRINTED: Cell<usize> = const { Cell::new(0) };
        }
        let is_mine = |info: &panic::PanicHookInfo| info.payload_as_str().is_some_and(|text| text.starts_with("odd"));
        let before = panic::take_hook();
        // An earlier test may have installed its hook before this one.
        panic::set_hook(silent_in_library(Box::new(move |info| match is_mine(info) {
            true => NUM_PRINTED.set(NUM_PRINTED.get() + 1),
            false => before(info),
        })));
        let odd = |value: i32| if value % 2 == 1 { panic!("odd {value}") } else { value };
        assert_eq!((catch_library_panic(|| odd(4)), catch_library_panic(|| odd(3))), (Ok(4), Err("odd 3".to_owned())));
        // A nested call does not end the silence.
        let nested = catch_library_panic(|| {
            let inner = catch_library_panic(|| odd(5));
            odd(7);
            inner
        });
        assert_eq!((nested, NUM_PRINTED.get()), (Err("odd 7".to_owned()), 0));
        assert!(catch_unwind(|| odd(9)).is_err());
        assert_eq!(NUM_PRINTED.get(), 1);
    }
}
