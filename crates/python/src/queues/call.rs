//! A call on a queue. It is served immediately while holding the GIL, or else blocks without the
//! GIL until it is served, times out or is interrupted. A call that ends early loses no elements.

use crate::error::{IntoPython, to_python};
use crate::waiting::detach::{deadline, detached};
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::sync::parker::Parker;
use headrace_tf1::queue::{Element, Elements, Progress, Queue, Unfinished, Waiting};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;
use std::time::Instant;

/// Copying fewer bytes costs less than releasing and reacquiring the GIL.
pub const LARGE_BYTES: usize = 1 << 18;

/// Does work that copies `num_bytes`. Releases the GIL if that takes long.
pub fn detached_if_large<T: Send>(
    py: Python<'_>,
    num_bytes: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    if num_bytes < LARGE_BYTES {
        return work().into_python(py);
    }
    detached(py, &Cancellation::new(), None, |_| work())
}

/// A timeout in seconds. Integers too large for a float mean no timeout.
pub struct Seconds(pub f64);

impl<'py> FromPyObject<'_, 'py> for Seconds {
    type Error = PyErr;

    fn extract(seconds: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match seconds.extract::<f64>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(seconds.py()) => {
                Ok(Self(if seconds.lt(0)? { f64::NEG_INFINITY } else { f64::INFINITY }))
            }
            seconds => seconds.map(Self),
        }
    }
}

/// The parts of a call that error messages mention.
pub struct Call<'a> {
    pub queue: &'a Queue,
    /// The method.
    pub verb: &'static str,
    /// The number of elements that the call moves.
    pub count: usize,
    /// The timeout in seconds, or `None` to wait forever.
    pub timeout: Option<Seconds>,
}

impl Call<'_> {
    /// Makes the call. `finish` converts the returned elements, without the GIL if that takes long.
    pub fn make<T: Send>(
        &self,
        py: Python<'_>,
        request: impl FnOnce(&Arc<Parker>) -> Result<Progress>,
        finish: impl FnOnce(Elements) -> Result<T> + Send,
    ) -> PyResult<T> {
        let deadline = self.deadline()?;
        match Parker::with_current(request).into_python(py)? {
            Progress::Done(elements) => detached_if_large(py, num_bytes(&elements), || finish(elements)),
            Progress::Waiting(waiting) => self
                .wait(py, waiting, deadline, finish)?
                .map_err(|unfinished| self.to_exception(py, &unfinished))?
                .into_python(py),
        }
    }

    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        waiting: Waiting,
        deadline: Option<Instant>,
        finish: impl FnOnce(Elements) -> Result<T> + Send,
    ) -> PyResult<std::result::Result<Result<T>, Unfinished>> {
        if self.timeout() == Some(0.0) {
            return Ok(waiting.end(Error::new(Code::DeadlineExceeded, "")).map(finish));
        }
        detached(py, &Cancellation::new(), deadline, |run| Ok(waiting.wait(run).map(finish)))
    }

    fn timeout(&self) -> Option<f64> {
        self.timeout.as_ref().map(|Seconds(seconds)| *seconds)
    }

    fn deadline(&self) -> PyResult<Option<Instant>> {
        match self.timeout() {
            None | Some(0.0) => Ok(None),
            Some(timeout) if timeout > 0.0 => Ok(deadline(timeout)),
            Some(timeout) => Err(PyValueError::new_err(format!(
                "queue '{}': timeout is {timeout}, expected None or seconds from 0 up. Pass None to wait forever.",
                self.queue.spec().name
            ))),
        }
    }

    /// Returns the exception for a call that was not served.
    fn to_exception(&self, py: Python<'_>, unfinished: &Unfinished) -> PyErr {
        let Unfinished { error, num_moved } = unfinished;
        if error.code() == Code::DeadlineExceeded {
            return to_python(py, &Error::new(Code::DeadlineExceeded, self.late(*num_moved)));
        }
        let exception = to_python(py, error);
        if *num_moved > 0 {
            // A failure to add a note must not hide the exception.
            let note = format!("queue '{}': {} {}", self.queue.spec().name, self.verb, self.moved(*num_moved));
            let _ = exception.value(py).call_method1("add_note", (note,));
        }
        exception
    }

    /// The message for a call that timed out.
    fn late(&self, num_moved: usize) -> String {
        let (name, stats) = (&self.queue.spec().name, self.queue.stats());
        let (what, remedy) = match self.verb {
            "close" => ("earlier enqueues", "Dequeue more, or close with cancel_pending_enqueues=True"),
            "enqueue" | "enqueue_many" => ("room", "Check that a thread dequeues"),
            _ => ("elements", "Check that a thread enqueues"),
        };
        let is_batch = self.verb.contains('_');
        let moved = if is_batch { format!(", {}", self.moved(num_moved)) } else { String::new() };
        format!(
            "queue '{name}': {} waited {} s for {what}{moved}. The queue has {} elements. {remedy}, or allow more time.",
            self.verb,
            self.timeout().unwrap_or_default(),
            stats.size
        )
    }

    fn moved(&self, num_moved: usize) -> String {
        let text = match self.verb {
            "enqueue" | "enqueue_many" => ("had added", ", which stay"),
            _ => ("had taken", ", which are back in the queue"),
        };
        let rest = if num_moved > 0 { text.1 } else { "" };
        format!("{} {num_moved} of {} elements{rest}", text.0, self.count)
    }
}

fn num_bytes(elements: &Elements) -> usize {
    elements.iter().map(Element::num_bytes).sum()
}
