//! Queues: bounded buffers of elements between threads, with the rules of TensorFlow 1.
//!
//! One type serves all orders. A call that cannot be served at once joins the wait queue of
//! enqueues (a close waits there too) or the wait queue of dequeues. Each is served strictly in
//! order of arrival, by the thread that changes the queue. The lock is held while elements move (a
//! row may have to be cut out of a large batch), but not while their bytes are copied into a batch,
//! and never while a thread sleeps.
//!
//! Source of the rules: `tensorflow/core/kernels/queue_base.cc`, `fifo_queue.cc` and
//! `random_shuffle_queue_op.cc` of TensorFlow 1.15, as documented for `tf.QueueBase`.

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
    /// The state. Every caller locks it for a few moves at a time.
    core: Mutex<Core>,
}

/// The state of a call on a queue: finished or waiting.
pub enum Progress {
    /// It is finished, with the elements it took.
    Done(Elements),
    /// It waits.
    Waiting(Waiting),
}

impl Queue {
    /// An open, empty queue. Fails if `spec` contradicts itself.
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

    /// Tells the queue that its elements will be put into batches.
    pub fn expect_batches(&self) {
        self.packing.expect_batches();
    }

    /// Adds an element. Waits while the queue is full.
    ///
    /// Fails with `InvalidArgument` if types or shapes do not fit and with `Cancelled` if the queue
    /// is closed.
    pub fn enqueue(self: &Arc<Self>, mut components: Tensors, parker: &Arc<Parker>) -> Result<Progress> {
        self.enqueue_element(self.element(&mut components)?, parker)
    }

    /// Like [`Queue::enqueue`], for an element from [`Queue::element`].
    pub fn enqueue_element(self: &Arc<Self>, element: Element, parker: &Arc<Parker>) -> Result<Progress> {
        self.enqueue_rows(Rows::one(element), parker)
    }

    /// Like [`Queue::enqueue`], for the rows of `batch`, whose components have the same size in the
    /// first dimension. They are added in order, as space appears, uninterrupted by other enqueues.
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

    /// Makes an element of components, which it may move out. Fails with `InvalidArgument` if types
    /// or shapes do not fit.
    pub fn element(&self, components: &mut Tensors) -> Result<Element> {
        self.spec.check(components, false)?;
        self.packing.pack(components)
    }

    /// The components of the element that a dequeue of one returned.
    pub fn one(&self, elements: Elements) -> Result<Outputs> {
        elements.into_iter().next().map_or_else(|| Ok(Outputs::new()), |element| self.packing.unpack(element))
    }

    /// Takes `count` elements, as they arrive. Waits until it has them all.
    ///
    /// If the queue is closed and has fewer, it takes these if `is_up_to` and there are any.
    /// Otherwise it puts back the elements taken and fails with `OutOfRange`.
    pub fn dequeue(self: &Arc<Self>, count: usize, is_up_to: bool, parker: &Arc<Parker>) -> Result<Progress> {
        if count == 0 {
            return Ok(Progress::Done(Elements::new()));
        }
        self.request(WaitQueue::Dequeue, Request::dequeue(count, is_up_to), parker)
    }

    /// Closes the queue once all enqueues that wait now are finished; if `cancel_pending`, closes
    /// at once and cancels them.
    ///
    /// A second close fails with `Cancelled`; a second cancelling close does nothing.
    pub fn close(self: &Arc<Self>, cancel_pending: bool, parker: &Arc<Parker>) -> Result<Progress> {
        if !cancel_pending {
            return self.request(WaitQueue::Enqueue, Request::Close(Close), parker);
        }
        self.change(Core::close_and_cancel);
        Ok(Progress::Done(Elements::new()))
    }

    /// Prepares the end of a queue that gets at most `num_more` more elements. Ends the waiting
    /// dequeues that can't get all their elements: with the available ones if they accept fewer
    /// elements, otherwise with `OutOfRange`.
    pub(crate) fn drain(&self, num_more: usize) {
        self.change(|core| core.drain(num_more));
    }

    /// Puts back the elements of a dequeue, as if they had never been taken: a FIFO queue puts them
    /// in front, in order.
    ///
    /// It does so even if the queue is full or closed.
    pub fn give_back(&self, elements: Elements) {
        self.change(|core| core.give_back(elements));
    }

    /// Starts or stops accepting elements without room: an enqueue without room then ends
    /// immediately, and its elements enter before all others as room appears. Starting ends the
    /// enqueues and plain closes that wait now.
    pub fn accept(&self, is_accepting: bool) {
        self.change(|core| core.accept(is_accepting));
    }

    /// Waits until all elements accepted without room have entered the queue.
    pub fn settle(self: &Arc<Self>, parker: &Arc<Parker>) -> Result<Progress> {
        if self.core.lock().accepted.is_empty() {
            return Ok(Progress::Done(Elements::new()));
        }
        self.request(WaitQueue::Enqueue, Request::Enqueue(Rows::of_elements(VecDeque::new())), parker)
    }

    /// The number of elements in the queue, without those that a waiting dequeue has taken.
    pub fn size(&self) -> usize {
        self.core.lock().size()
    }

    /// True once the queue is closed.
    pub fn is_closed(&self) -> bool {
        self.core.lock().is_closed()
    }

    /// The queue's statistics now.
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

    /// Works on the core under the lock. Once the lock is released, wakes the waiters that were
    /// served.
    fn change<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        let mut core = self.core.lock();
        let result = work(&mut core);
        let woken = core.take_woken();
        drop(core);
        woken.wake();
        result
    }
}
