//! The exit of the interpreter while runner threads are still working.
//!
//! Python exits while daemon threads are still running. Each of them is stopped the next time it
//! acquires the GIL, together with all locks that it holds. If a thread is writing to stderr, it
//! keeps the lock of its buffer, and Python aborts because it cannot flush the buffer. So runs are
//! ended first: the sessions are cancelled, and the exit waits a moment for threads that are inside
//! Python functions. A thread whose run has ended stays in the engine, without the GIL, until
//! Python has stopped, because its result is no longer needed.

use pyo3::prelude::*;
use std::process;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// How long a thread whose run ends at exit stays in the engine. It only delays the exit if a
/// function that was registered with `atexit` before this library joins the thread.
const LINGER: Duration = Duration::from_secs(1);

/// The thread that exits the interpreter, once it does.
static EXITING_THREAD: OnceLock<ThreadId> = OnceLock::new();

/// The process, and the number of its threads that are inside Python functions of runs. A forked
/// child has none of its parent's.
static NUM_IN_PYTHON: Mutex<(u32, usize)> = Mutex::new((0, 0));

fn num_in_python() -> MutexGuard<'static, (u32, usize)> {
    let mut number = NUM_IN_PYTHON.lock().unwrap_or_else(PoisonError::into_inner);
    if number.0 != process::id() {
        *number = (process::id(), 0);
    }
    number
}

/// Notified when the number decreases.
static HAS_LEFT: Condvar = Condvar::new();

/// Exists while a thread is inside a Python function of a run.
pub struct InPython(());

impl InPython {
    pub fn new() -> Self {
        num_in_python().1 += 1;
        Self(())
    }
}

impl Drop for InPython {
    fn drop(&mut self) {
        let mut number = num_in_python();
        number.1 = number.1.saturating_sub(1);
        drop(number);
        HAS_LEFT.notify_all();
    }
}

/// Call this at exit before the sessions are cancelled. Runs of other threads that end from now on
/// don't return to Python.
#[pyfunction]
pub fn begin_exit() {
    EXITING_THREAD.get_or_init(|| thread::current().id());
}

/// Call this at exit once all runs are cancelled. Waits until no thread is inside a Python function
/// of a run, for at most `timeout` seconds.
#[pyfunction]
pub fn wait_for_python_functions(py: Python<'_>, timeout: f64) {
    let timeout = Duration::try_from_secs_f64(timeout).unwrap_or_default();
    py.detach(|| {
        let number = num_in_python();
        // A timeout is not an error.
        drop(HAS_LEFT.wait_timeout_while(number, timeout, |number| number.1 > 0));
    });
}

/// Returns true if the interpreter is about to stop this thread.
pub fn is_to_linger() -> bool {
    EXITING_THREAD.get().is_some_and(|exiting| *exiting != thread::current().id())
}

/// Call this without the GIL after a run. If the interpreter is exiting, it does not return soon.
pub fn linger() {
    if is_to_linger() {
        thread::sleep(LINGER);
    }
}

/// Like `linger`, for Python.
#[pyfunction]
pub fn linger_at_exit(py: Python<'_>) {
    if is_to_linger() {
        py.detach(linger);
    }
}
