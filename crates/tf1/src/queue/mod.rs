//! Queues: bounded buffers of elements between threads, with TensorFlow 1's rules.
//!
//! One type implements all orders. A call that cannot be served immediately joins the wait queue of
//! enqueues (which also has closes) or of dequeues. Each is served strictly in order of arrival, by
//! the thread that changes the queue. The lock is held while elements are moved (a row may have to
//! be cut out of a large batch), but not while their bytes are copied into a batch, and never while
//! a thread sleeps.
//!
//! Queues follow the rules of `tensorflow/core/kernels/queue_base.cc`, `fifo_queue.cc` and
//! `random_shuffle_queue_op.cc` in TensorFlow 1.15, as documented for `tf.QueueBase`.

mod accepted;
mod batch;
mod column;
mod core;
mod described;
mod packing;
mod request;
mod rows;
mod saved;
mod spec;
mod stats;
mod store;
mod waiter;
mod waiting;

pub use packing::{Element, Elements};
pub use spec::{Order, QueueSpec};
pub use stats::QueueStats;
pub use waiting::{Left, Unfinished, Waiting};

use self::core::Core;
use headrace_engine::error::Result;
use headrace_engine::kernel::{Outputs, Tensors};
use headrace_engine::sync::Mutex;
use headrace_engine::sync::parker::Parker;
use packing::Packing;
use request::{Close, Request};
use rows::Rows;
use std::collections::VecDeque;
use std::sync::Arc;
use waiter::WaitQueue;

/// A queue of elements, shared by any number of threads.
///
/// A call that has to wait returns [`Progress::Waiting`]. The thread that serves it later unparks
/// the parker of the call.
///
/// ```
/// use headrace_tf1::queue::{Order, Progress, Queue, QueueSpec};
/// use headrace_engine::sync::parker::Parker;
/// use headrace_engine::tensor::Tensor;
/// use headrace_engine::tensor::dtype::DType;
/// use headrace_engine::tensor::shape::PartialShape;
/// use std::sync::Arc;
///
/// let queue = Queue::new(QueueSpec {
///     name: "numbers".into(),
///     order: Order::Fifo,
///     capacity: Some(10),
///     dtypes: vec![DType::Int64],
///     shapes: Some(vec![PartialShape::default()]),
/// })?;
/// let parker = Arc::new(Parker::new());
/// for number in [3_i64, 4] {
///     queue.enqueue([Tensor::scalar(number)].into_iter().collect(), &parker)?;
/// }
/// let Progress::Done(elements) = queue.dequeue(2, false, &parker)? else { panic!("two elements are there") };
/// assert_eq!(queue.batch(elements)?[0].values::<i64>()?, [3, 4]);
/// let Progress::Waiting(mut waiting) = queue.dequeue(1, false, &parker)? else { panic!("the queue is empty") };
/// queue.enqueue([Tensor::scalar(5_i64)].into_iter().collect(), &parker)?;
/// parker.park(); // Returns at once: the enqueue has served the dequeue.
/// let elements = waiting.poll().expect("it is served")?;
/// assert_eq!(queue.one(elements)?[0].values::<i64>()?, [5]);
/// # headrace_engine::error::Result::Ok(())
/// ```
pub struct Queue {
    spec: QueueSpec,
    packing: Arc<Packing>,
    /// The state. Each caller locks it for a few moves at a time.
    core: Mutex<Core>,
}

/// The state of a call on a queue.
pub enum Progress {
    /// The call has finished, with the elements it took.
    Done(Elements),
    /// It waits.
    Waiting(Waiting),
}

impl Queue {
    /// Creates an open, empty queue. Fails if `spec` contradicts itself.
    pub fn new(spec: QueueSpec) -> Result<Arc<Self>> {
        spec.check_order()?;
        let packing = Arc::new(Packing::new(&spec));
        let core = Mutex::new(Core::new(&spec, &packing));
        Ok(Arc::new(Self { spec, packing, core }))
    }

    /// The properties of the queue.
    pub fn spec(&self) -> &QueueSpec {
        &self.spec
    }

    /// Informs the queue that its elements will be batched.
    pub fn expect_batches(&self) {
        self.packing.expect_batches();
    }

    /// Adds an element. Waits while the queue is full.
    ///
    /// Fails with `InvalidArgument` if dtypes or shapes don't match, and with `Cancelled` if the
    /// queue is closed.
    pub fn enqueue(self: &Arc<Self>, mut components: Tensors, parker: &Arc<Parker>) -> Result<Progress> {
        self.enqueue_element(self.element(&mut components)?, parker)
    }

    /// Like [`Queue::enqueue`], for an element from [`Queue::element`].
    pub fn enqueue_element(self: &Arc<Self>, element: Element, parker: &Arc<Parker>) -> Result<Progress> {
        self.enqueue_rows(Rows::one(element), parker)
    }

    /// Like [`Queue::enqueue`], for the rows of `batch`, whose components have the same first
    /// dimension. The rows are added in order as space becomes available, without other enqueues in
    /// between.
    pub fn enqueue_many(self: &Arc<Self>, batch: Tensors, parker: &Arc<Parker>) -> Result<Progress> {
        self.spec.check(&batch, true)?;
        self.enqueue_rows(Rows::many(batch, &self.packing, self.spec.capacity)?, parker)
    }

    /// Like [`Queue::enqueue_many`], for elements from [`Queue::element`].
    pub fn enqueue_elements(self: &Arc<Self>, elements: VecDeque<Element>, parker: &Arc<Parker>) -> Result<Progress> {
        self.enqueue_rows(Rows::of_elements(elements), parker)
    }

    fn enqueue_rows(self: &Arc<Self>, mut rows: Rows, parker: &Arc<Parker>) -> Result<Progress> {
        if rows.is_empty() {
            return Ok(Progress::Done(Elements::new()));
        }
        rows.prepare(&self.packing)?;
        self.request(WaitQueue::Enqueue, Request::Enqueue(rows), parker)
    }

    /// Creates an element from components, which may be moved. Fails with `InvalidArgument` if
    /// dtypes or shapes don't match.
    pub fn element(&self, components: &mut Tensors) -> Result<Element> {
        self.spec.check(components, false)?;
        self.packing.pack(components)
    }

    /// Returns the components of the only element of a dequeue.
    pub fn one(&self, elements: Elements) -> Result<Outputs> {
        elements.into_iter().next().map_or_else(|| Ok(Outputs::new()), |element| self.packing.unpack(element))
    }

    /// Takes `count` elements as they arrive. Waits until it has all of them.
    ///
    /// If the queue is closed and has fewer elements, returns those if `is_up_to` and there are
    /// any. Otherwise puts back the elements taken and fails with `OutOfRange`.
    pub fn dequeue(self: &Arc<Self>, count: usize, is_up_to: bool, parker: &Arc<Parker>) -> Result<Progress> {
        if count == 0 {
            return Ok(Progress::Done(Elements::new()));
        }
        self.request(WaitQueue::Dequeue, Request::dequeue(count, is_up_to), parker)
    }

    /// Closes the queue once all waiting enqueues have finished. If `cancel_pending`, closes
    /// immediately and cancels them.
    ///
    /// A second close fails with `Cancelled`. A second cancelling close does nothing.
    pub fn close(self: &Arc<Self>, cancel_pending: bool, parker: &Arc<Parker>) -> Result<Progress> {
        if !cancel_pending {
            return self.request(WaitQueue::Enqueue, Request::Close(Close), parker);
        }
        self.change(Core::close_and_cancel);
        Ok(Progress::Done(Elements::new()))
    }

    /// Prepares for the end of a queue that will get at most `num_more` more elements. Ends the
    /// waiting dequeues that cannot get all their elements: they return the available elements if
    /// they accept fewer, and otherwise fail with `OutOfRange`.
    pub(crate) fn drain(&self, num_more: usize) {
        self.change(|core| core.drain(num_more));
    }

    /// Puts back the elements of a dequeue as if they had never been taken. A FIFO queue puts them
    /// in front, in order.
    ///
    /// This works even if the queue is full or closed.
    pub fn give_back(&self, elements: Elements) {
        self.change(|core| core.give_back(elements));
    }

    /// Starts or stops accepting elements without room. While this is on, an enqueue ends
    /// immediately even if there is no room, and its elements enter before all others once there
    /// is. Starting it ends the enqueues and plain closes that are waiting.
    pub fn accept(&self, is_accepting: bool) {
        self.change(|core| core.accept(is_accepting));
    }

    /// Waits until all elements that were accepted without room have entered the queue.
    pub fn settle(self: &Arc<Self>, parker: &Arc<Parker>) -> Result<Progress> {
        if self.core.lock().accepted.is_empty() {
            return Ok(Progress::Done(Elements::new()));
        }
        self.request(WaitQueue::Enqueue, Request::Enqueue(Rows::of_elements(VecDeque::new())), parker)
    }

    /// The number of elements in the queue, not counting those that a waiting dequeue has taken.
    pub fn size(&self) -> usize {
        self.core.lock().size()
    }

    /// Returns true once the queue is closed.
    pub fn is_closed(&self) -> bool {
        self.core.lock().is_closed()
    }

    /// The queue's current statistics.
    pub fn stats(&self) -> QueueStats {
        self.core.lock().stats()
    }

    fn request(self: &Arc<Self>, wait_queue: WaitQueue, request: Request, parker: &Arc<Parker>) -> Result<Progress> {
        let count = request.count();
        match self.change(|core| core.request(wait_queue, request, parker)) {
            Ok(result) => result.map(Progress::Done),
            Err(waiter) => Ok(Progress::Waiting(Waiting::new(Arc::clone(self), wait_queue, count, waiter))),
        }
    }

    /// Applies `work` to the core under the lock. After the lock is released, wakes the waiters
    /// that were served.
    fn change<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        let mut core = self.core.lock();
        let result = work(&mut core);
        let woken = core.take_woken();
        drop(core);
        woken.wake();
        result
    }
}
