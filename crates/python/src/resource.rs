//! What belongs to a session and outlives a run: queues, readers, variables.

use crate::attrs::{dtype, shape};
use crate::error::IntoPython;
use headrace_engine::error::Error;
use headrace_engine::queue::{self, Order, QueueSpec};
use headrace_engine::reader::{self, Format, TfRecordFormat};
use headrace_engine::variable;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// The order of a queue: the name of its class, or (min_after_dequeue, seed, seed2) of a shuffle queue.
#[derive(FromPyObject)]
enum OrderArgument {
    Shuffle((usize, i64, i64)),
    Class(String),
}

impl OrderArgument {
    fn order(self) -> Result<Order, Error> {
        match self {
            Self::Shuffle((min_after_dequeue, seed, seed2)) => Ok(Order::Shuffle { min_after_dequeue, seed, seed2 }),
            Self::Class(class) => match class.as_str() {
                "FIFOQueue" => Ok(Order::Fifo),
                "PaddingFIFOQueue" => Ok(Order::Padding),
                "PriorityQueue" => Ok(Order::Priority),
                _ => Err(Error::internal(format!("there is no queue of class {class}"))),
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
        order: OrderArgument,
    ) -> PyResult<Self> {
        let order = order.order().into_python(py)?;
        let dtypes = dtypes.into_iter().map(|code| dtype(py, code)).collect::<PyResult<_>>()?;
        let shapes = shapes.map(|shapes| shapes.into_iter().filter_map(|dims| shape(Some(dims))).collect());
        let spec = QueueSpec { name, order, capacity, dtypes, shapes };
        Ok(Self(queue::Queue::new(spec).into_python(py)?))
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// The statistics by name.
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
        dict.set_item("enqueue_blocked_ns", stats.enqueue_blocked_ns)?;
        dict.set_item("dequeue_blocked_ns", stats.dequeue_blocked_ns)?;
        Ok(dict)
    }
}

/// A reader of the engine.
#[pyclass(frozen, module = "headrace._native")]
pub struct Reader(pub Arc<reader::Reader>);

#[pymethods]
impl Reader {
    #[new]
    fn new(py: Python<'_>, name: String, format: &str) -> PyResult<Self> {
        let format: Box<dyn Format> = match format {
            "TFRecord" => Box::new(TfRecordFormat),
            _ => return Err(Error::unimplemented(format!("no reader for {format} files"))).into_python(py),
        };
        Ok(Self(reader::Reader::new(name, format)))
    }
}

/// A variable of the engine.
#[pyclass(frozen, module = "headrace._native")]
pub struct Variable(pub Arc<variable::Variable>);

#[pymethods]
impl Variable {
    #[new]
    fn new(name: String) -> Self {
        Self(Arc::new(variable::Variable::new(name)))
    }
}
