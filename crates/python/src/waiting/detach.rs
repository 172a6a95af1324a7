//! The only place that releases the GIL. It runs engine code without the GIL, or releases it only
//! during waits, checks for Ctrl-C, and converts errors.

use crate::error::{IntoPython, from_python};
use crate::waiting::exit;
use headrace_engine::error::{Error, Result};
use headrace_engine::run::{Blocking, Interrupt, Run, catch_panic};
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::sync::parker::Parker;
use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The thread to which Python delivers signals, or `None` if this module was imported from another
/// thread.
static MAIN_THREAD: OnceLock<Option<ThreadId>> = OnceLock::new();

/// Remembers this thread if it is the main thread. Called once, at import.
pub fn remember_main_thread(py: Python<'_>) -> PyResult<()> {
    let threading = py.import("threading")?;
    let is_main = threading.call_method0("main_thread")?.is(threading.call_method0("current_thread")?);
    MAIN_THREAD.get_or_init(|| is_main.then(|| thread::current().id()));
    Ok(())
}

/// Returns true if signals may arrive in this thread.
fn is_interruptible() -> bool {
    MAIN_THREAD.get().is_some_and(|main| main.is_none_or(|main| main == thread::current().id()))
}

/// Checks for signals while a run is waiting.
struct Signals;

impl Interrupt for Signals {
    fn check(&self) -> Result<()> {
        // Attaching failed: the interpreter is shutting down, and the wait ends.
        let gone = || Err(Error::cancelled("the interpreter is shutting down"));
        let check = |py: Python<'_>| py.check_signals().map_err(|error| from_python(py, error).as_interrupt());
        // A signal handler may wait in this thread, which is already waiting.
        Parker::nested(|| Python::try_attach(check).unwrap_or_else(gone))
    }

    fn as_static(&self) -> Option<&'static dyn Interrupt> {
        Some(&Signals)
    }
}

/// The time in `seconds` from now, or `None` (never) if it is beyond the range of the clock.
pub fn deadline(seconds: f64) -> Option<Instant> {
    Duration::try_from_secs_f64(seconds).ok().and_then(|rest| Instant::now().checked_add(rest))
}

/// Calls `work` without the GIL. Its run can be ended by `cancellation`, `deadline` and Ctrl-C.
pub fn detached<T: Send>(
    py: Python<'_>,
    cancellation: &Cancellation,
    deadline: Option<Instant>,
    work: impl FnOnce(&Run) -> Result<T> + Send,
) -> PyResult<T> {
    py.detach(|| with_run(None, cancellation, deadline, work)).into_python(py)
}

/// Like [`detached`], for I/O, whose waits use the current run.
pub fn waiting<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    detached(py, &Cancellation::new(), None, |run| run.while_current(work))
}

/// Like [`detached`], for runs of a session, which end together with the interpreter. `parker` is
/// only needed for a run that is resumed later.
pub fn detached_run<T: Send>(
    py: Python<'_>,
    parker: Option<&Arc<Parker>>,
    cancellation: &Cancellation,
    deadline: Option<Instant>,
    work: impl FnOnce(&Run) -> Result<T> + Send,
) -> PyResult<T> {
    let result = py.detach(|| {
        let result = with_run(parker, cancellation, deadline, work);
        exit::linger();
        result
    });
    result.into_python(py)
}

fn with_run<T>(
    parker: Option<&Arc<Parker>>,
    cancellation: &Cancellation,
    deadline: Option<Instant>,
    work: impl FnOnce(&Run) -> Result<T>,
) -> Result<T> {
    let run = Run::new(cancellation).with_deadline(deadline).with_interrupt(signals());
    let run = match parker {
        Some(parker) => run.with_parker(parker),
        None => run,
    };
    catch_panic(|| work(&run))
}

/// Like [`detached_run`], but only waits release the GIL. For brief work.
pub fn attached_run<T>(
    py: Python<'_>,
    cancellation: &Cancellation,
    deadline: Option<Instant>,
    work: impl FnOnce(&Run) -> Result<T>,
) -> PyResult<T> {
    let waits = Detached(py);
    let run = Run::new(cancellation).with_deadline(deadline).with_interrupt(signals()).with_blocking(&waits);
    let result = catch_panic(|| work(&run));
    exit::linger_at_exit(py);
    result.into_python(py)
}

fn signals() -> Option<&'static dyn Interrupt> {
    if is_interruptible() { Some(&Signals) } else { None }
}

/// Releases the GIL while sleeping.
struct Detached<'py>(Python<'py>);

impl Blocking for Detached<'_> {
    fn block(&self, sleep: &mut (dyn FnMut() + Send)) {
        self.0.detach(sleep);
    }
}
