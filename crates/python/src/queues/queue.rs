//! Queues for use without a graph. Calls are served immediately while holding the GIL, or block
//! without it.

use crate::boundary::array::to_python;
use crate::boundary::attrs::{dtype, shape};
use crate::boundary::view::{View, parts};
use crate::error::IntoPython;
use crate::queues::call::{Call, LARGE_BYTES, Seconds, detached_if_large};
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::Tensors;
use headrace_engine::tensor::Tensor;
use headrace_tf1::queue::{self, Order, QueueSpec};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;
use std::time::Duration;

/// Rows up to this size are copied a second time, into the queue, which costs less than one tensor
/// per row.
const SMALL_ROW_BYTES: usize = 1024;

/// The order of a shuffle queue.
#[pyclass(frozen, new = "from_fields", module = "headrace._native")]
pub struct ShuffleOrder {
    min_after_dequeue: usize,
    seed: i64,
    seed2: i64,
}

/// The order of a queue: a shuffle order, or the name of the queue's class.
#[derive(FromPyObject)]
enum OrderArgument<'py> {
    Shuffle(Bound<'py, ShuffleOrder>),
    Class(String),
}

impl OrderArgument<'_> {
    fn order(self) -> Result<Order> {
        match self {
            Self::Shuffle(order) => {
                let &ShuffleOrder { min_after_dequeue, seed, seed2 } = order.get();
                Ok(Order::Shuffle { min_after_dequeue, seed, seed2 })
            }
            Self::Class(class) => match class.as_str() {
                "FIFOQueue" => Ok(Order::Fifo),
                "PaddingFIFOQueue" => Ok(Order::Padding),
                "PriorityQueue" => Ok(Order::Priority),
                _ => Err(Error::internal(format!("unknown queue class {class}"))),
            },
        }
    }
}

/// A queue of the engine.
#[pyclass(frozen, module = "headrace._native")]
pub struct Queue(pub Arc<queue::Queue>);

#[pymethods]
impl Queue {
    #[new]
    fn new(
        py: Python<'_>,
        name: String,
        capacity: Option<usize>,
        dtypes: Vec<u8>,
        shapes: Option<Vec<Vec<Option<usize>>>>,
        order: OrderArgument<'_>,
    ) -> PyResult<Self> {
        let order = order.order().into_python(py)?;
        let dtypes = dtypes.into_iter().map(|code| dtype(py, code)).collect::<PyResult<_>>()?;
        let shapes = shapes.map(|shapes| shapes.into_iter().filter_map(|dims| shape(Some(dims))).collect());
        let spec = QueueSpec { name, order, capacity, dtypes, shapes };
        Ok(Self(queue::Queue::new(spec).into_python(py)?))
    }

    /// Adds an element if its components have exactly the queue's dtypes and shapes. Returns
    /// whether they do.
    #[pyo3(signature = (element, timeout=None))]
    fn enqueue(&self, element: &Bound<'_, PyAny>, timeout: Option<Seconds>) -> PyResult<bool> {
        let (py, spec, parts) = (element.py(), self.0.spec(), parts(element));
        if parts.len() != spec.dtypes.len() {
            return Ok(false);
        }
        let mut components = Tensors::new();
        for (index, part) in parts.iter().enumerate() {
            let Some(view) = View::of_component(part, spec, index, false) else { return Ok(false) };
            components.push(detached_if_large(py, view.num_bytes(), || view.into_tensor())?);
        }
        let element = self.0.element(&mut components).into_python(py)?;
        let call = Call { queue: &self.0, verb: "enqueue", count: 1, timeout };
        call.make(py, |parker| self.0.enqueue_element(element, parker), |_| Ok(true))
    }

    /// Like `enqueue`, for the rows of a batch.
    #[pyo3(signature = (batch, timeout=None))]
    fn enqueue_many(&self, batch: &Bound<'_, PyAny>, timeout: Option<Seconds>) -> PyResult<bool> {
        let (py, spec, parts) = (batch.py(), self.0.spec(), parts(batch));
        if parts.len() != spec.dtypes.len() {
            return Ok(false);
        }
        let view = |(index, part)| View::of_component(part, spec, index, true);
        let Some(views) = parts.iter().enumerate().map(view).collect::<Option<Vec<_>>>() else { return Ok(false) };
        let count = views.first().map_or(0, |view| view.shape()[0]);
        if views.iter().any(|view| view.shape()[0] != count) {
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
        let call = Call { queue: &self.0, verb: "enqueue_many", count, timeout };
        let num_bytes: usize = views.iter().map(View::num_bytes).sum();
        if num_bytes < LARGE_BYTES.min(count * SMALL_ROW_BYTES) {
            // The queue packs the rows.
            let batch = views.into_iter().map(View::into_tensor).collect::<Result<Tensors>>().into_python(py)?;
            return call.make(py, |parker| self.0.enqueue_many(batch, parker), |_| Ok(true));
        }
        let element = |index| self.0.element(&mut views.iter().map(|view| view.row(index)).collect::<Result<_>>()?);
        let elements = detached_if_large(py, num_bytes, || (0..count).map(element).collect::<Result<_>>())?;
        call.make(py, |parker| self.0.enqueue_elements(elements, parker), |_| Ok(true))
    }

    /// Dequeues an element: a list of its components, or the component itself if there is only one.
    #[pyo3(signature = (timeout=None))]
    fn dequeue<'py>(&self, py: Python<'py>, timeout: Option<Seconds>) -> PyResult<Bound<'py, PyAny>> {
        let call = Call { queue: &self.0, verb: "dequeue", count: 1, timeout };
        let take = |elements| self.0.one(elements);
        let element = call.make(py, |parker| self.0.dequeue(1, false, parker), take)?;
        to_element(py, element)
    }

    /// Takes `count` elements as a batch. If the queue is closed and `is_up_to`, takes the
    /// remaining ones.
    #[pyo3(signature = (count, is_up_to, timeout=None))]
    fn dequeue_many<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        is_up_to: bool,
        timeout: Option<Seconds>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let spec = self.0.spec();
        spec.check_batch().into_python(py)?;
        let verb = if is_up_to { "dequeue_up_to" } else { "dequeue_many" };
        let call = Call { queue: &self.0, verb, count, timeout };
        let stack = |elements| self.0.batch(elements);
        let batch = call.make(py, |parker| self.0.dequeue(count, is_up_to, parker), stack)?;
        to_element(py, batch)
    }

    #[pyo3(signature = (cancel_pending_enqueues, timeout=None))]
    fn close(&self, py: Python<'_>, cancel_pending_enqueues: bool, timeout: Option<Seconds>) -> PyResult<()> {
        let call = Call { queue: &self.0, verb: "close", count: 0, timeout };
        call.make(py, |parker| self.0.close(cancel_pending_enqueues, parker), |_| Ok(()))
    }

    /// Starts or stops accepting enqueues without room.
    fn accept(&self, is_accepting: bool) {
        self.0.accept(is_accepting);
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// The statistics by name, as in `QueueStatistics`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.0.stats();
        let dict = PyDict::new(py);
        dict.set_item("size", stats.size)?;
        dict.set_item("capacity", stats.capacity)?;
        dict.set_item("is_closed", stats.is_closed)?;
        dict.set_item("num_enqueued", stats.num_enqueued)?;
        dict.set_item("num_dequeued", stats.num_dequeued)?;
        dict.set_item("num_waiting_enqueues", stats.num_waiting_enqueues)?;
        dict.set_item("num_waiting_dequeues", stats.num_waiting_dequeues)?;
        dict.set_item("enqueue_blocked_seconds", Duration::from_nanos(stats.enqueue_blocked_ns).as_secs_f64())?;
        dict.set_item("dequeue_blocked_seconds", Duration::from_nanos(stats.dequeue_blocked_ns).as_secs_f64())?;
        Ok(dict)
    }
}

/// Converts components for Python: a single component, or a list of several.
fn to_element(py: Python<'_>, components: impl IntoIterator<Item = Tensor>) -> PyResult<Bound<'_, PyAny>> {
    let mut values = components.into_iter().map(|component| to_python(py, component));
    match (values.next(), values.next()) {
        (Some(value), None) => value,
        (first, second) => {
            let values = first.into_iter().chain(second).chain(values).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, values).map(Bound::into_any)
        }
    }
}
