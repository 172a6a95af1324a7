//! Barriers. The components of an element are inserted one by one under its key, and the element
//! can be taken once it is complete.
//!
//! Complete elements wait in a priority queue, from which takes are served. The lock of a barrier
//! is held while elements move to that queue, but never while a thread waits for them.
//!
//! It follows the rules of `tensorflow/core/kernels/barrier_ops.cc` in TensorFlow 1.15, with two
//! differences. There, a take that is waiting when the barrier is closed may wait forever. Here it
//! ends like a take after the close, or once no element is incomplete. There, a component with the
//! wrong shape is rejected when its element is complete, and the element is lost. Here it is
//! rejected when it is inserted.

use crate::queue::{Element, Elements, Order, Progress, Queue, QueueSpec};
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::{Outputs, Tensors};
use headrace_engine::saved::{Chunks, Content, Reading, Restore, SavedChunks, damaged};
use headrace_engine::sync::Mutex;
use headrace_engine::sync::parker::Parker;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::PartialShape;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The number of components that precede an element's own in the queue: the number of its
/// insertion, and its key.
const NUM_LEADING: usize = 2;

/// A barrier, shared by any number of threads.
pub struct Barrier {
    name: String,
    /// The complete elements.
    ready: Arc<Queue>,
    state: Mutex<State>,
}

struct State {
    incomplete: BTreeMap<Bytes, Incomplete>,
    /// The number of the next insertion with a new key.
    next_index: i64,
    closed: Closed,
}

/// The elements that a closed barrier still accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closed {
    /// Accepts all components.
    No,
    /// Accepts only components of elements that already have some.
    ToNewKeys,
    /// Accepts no components.
    ToAll,
}

/// An element that lacks components.
struct Incomplete {
    /// The number of the insertion that added its key.
    index: i64,
    components: Vec<Option<Tensor>>,
}

impl Barrier {
    /// Creates an open, empty barrier. Its elements have components with these dtypes and shapes,
    /// which must contain at least one element.
    pub fn new(name: impl Into<String>, dtypes: &[DType], shapes: &[PartialShape]) -> Result<Arc<Self>> {
        let name = name.into();
        let scalar = PartialShape::default;
        let ready = Queue::new(QueueSpec {
            name: format!("{name}_queue"),
            order: Order::Priority,
            capacity: None,
            dtypes: [DType::Int64, DType::String].into_iter().chain(dtypes.iter().copied()).collect(),
            shapes: Some([scalar(), scalar()].into_iter().chain(shapes.iter().cloned()).collect()),
        })?;
        ready.expect_batches();
        let state = State { incomplete: BTreeMap::new(), next_index: i64::MIN, closed: Closed::No };
        Ok(Arc::new(Self { name, ready, state: Mutex::new(state) }))
    }

    /// The number of components per element.
    pub fn num_components(&self) -> usize {
        self.ready.spec().dtypes.len() - NUM_LEADING
    }

    /// Inserts one component for the elements of some keys, with one row of `values` per key. Never
    /// waits.
    ///
    /// New keys get the same number, which determines the order in which elements are taken. Fails
    /// with `InvalidArgument` if dtypes or shapes don't match or an element already has that
    /// component, and with `Cancelled` if the barrier is closed. Components before the rejected key
    /// stay inserted.
    pub fn insert(&self, component: usize, keys: &Tensor, values: &Tensor) -> Result<()> {
        self.check(component, keys, values)?;
        let mut state = self.state.lock();
        let is_refused = match state.closed {
            Closed::No => false,
            Closed::ToNewKeys => keys.num_elements() > 0 && state.incomplete.is_empty(),
            Closed::ToAll => true,
        };
        if is_refused {
            return Err(Error::cancelled(format!(
                "Barrier {} is closed.  Pending enqueues cancelled: {}.  Number of new insertions: {}.  Number of \
                 incomplete keys: {}.",
                self.name,
                u8::from(state.closed == Closed::ToAll),
                keys.num_elements(),
                state.incomplete.len()
            )));
        }
        let (mut complete, mut has_new) = (VecDeque::new(), false);
        let inserted = keys.string_values().iter().enumerate().try_for_each(|(row, key)| {
            has_new |= self.insert_one(&mut state, component, key, (values, row), &mut complete)?;
            Ok(())
        });
        state.next_index = state.next_index.saturating_add(i64::from(has_new));
        self.add(complete)?;
        if state.closed == Closed::ToNewKeys && state.incomplete.is_empty() {
            self.close_queue()?;
        }
        inserted
    }

    fn check(&self, component: usize, keys: &Tensor, values: &Tensor) -> Result<()> {
        let (spec, num_components) = (self.ready.spec(), self.num_components());
        let Some(dtype) = spec.dtypes.get(component + NUM_LEADING) else {
            return Err(Error::invalid_argument(format!(
                "The component ID is out of range {component} > num_components (= {num_components})"
            )));
        };
        if keys.dtype() != DType::String || values.dtype() != *dtype {
            return Err(Error::invalid_argument(format!(
                "barrier '{}': component {component} got keys of type {} and values of type {}, expected string and \
                 {dtype}",
                self.name,
                keys.dtype(),
                values.dtype()
            )));
        }
        let [num_keys] = **keys.shape() else {
            return Err(Error::invalid_argument(format!("keys must be a vector, got shape {}", keys.shape())));
        };
        if num_keys == 0 {
            return Ok(());
        }
        if values.num_elements() == 0 {
            return Err(Error::invalid_argument(format!(
                "Tensors with no elements are not supported {}: received shape {}",
                self.name,
                values.shape()
            )));
        }
        if values.shape().first() != Some(&num_keys) {
            return Err(Error::invalid_argument(format!(
                "barrier '{}': got values of shape {} for {num_keys} keys, expected one row for each key",
                self.name,
                values.shape()
            )));
        }
        if spec.accepts(component + NUM_LEADING, &values.shape()[1..]) {
            return Ok(());
        }
        let expected = spec.known_shapes()?[component + NUM_LEADING].clone();
        Err(Error::invalid_argument(format!(
            "Shape mismatch in tuple component {}. Expected {expected}, got {}",
            component + NUM_LEADING,
            values.shape().row()
        )))
    }

    /// Returns whether the key is new.
    fn insert_one(
        &self,
        state: &mut State,
        component: usize,
        key: &Bytes,
        (values, row): (&Tensor, usize),
        complete: &mut VecDeque<Element>,
    ) -> Result<bool> {
        let shown = || String::from_utf8_lossy(key);
        let num_incomplete = state.incomplete.len();
        let is_new = !state.incomplete.contains_key(key);
        if is_new && state.closed != Closed::No {
            return Err(Error::cancelled(format!(
                "Barrier {} is closed, but attempted to insert a brand new key: {}.  Pending enqueues cancelled: 0.  \
                 Insertion index: {row}.  Number of incomplete keys: {num_incomplete}.",
                self.name,
                shown()
            )));
        }
        let mut value = values.row(row)?;
        value.unshare();
        let index = state.next_index;
        let element = state.incomplete.entry(key.clone()).or_insert_with(|| {
            let components = std::iter::repeat_n(None, self.num_components()).collect();
            Incomplete { index, components }
        });
        let position = &mut element.components[component];
        if position.is_some() {
            return Err(Error::invalid_argument(format!(
                "Key {} already has a value for component {component} in barrier {}",
                shown(),
                self.name
            )));
        }
        *position = Some(value);
        if element.components.iter().all(Option::is_some)
            && let Some(element) = state.incomplete.remove(key)
        {
            let leading = [Tensor::scalar(element.index), Tensor::string(key.clone())];
            let mut tensors: Tensors = leading.into_iter().chain(element.components.into_iter().flatten()).collect();
            complete.push_back(self.ready.element(&mut tensors)?);
        }
        Ok(is_new)
    }

    /// Puts elements into the queue, which is unbounded.
    fn add(&self, complete: VecDeque<Element>) -> Result<()> {
        at_once(self.ready.enqueue_elements(complete, &Arc::new(Parker::new()))?)
    }

    fn close_queue(&self) -> Result<()> {
        if self.ready.is_closed() {
            return Ok(());
        }
        at_once(self.ready.close(false, &Arc::new(Parker::new()))?)
    }

    /// Takes `count` complete elements as they arrive, earlier insertions first. Waits until it has
    /// all of them.
    ///
    /// If the barrier is closed and has fewer elements, returns those if `is_up_to` and there are
    /// any. Otherwise fails with `OutOfRange`, unless the incomplete elements may still suffice.
    pub fn take(&self, mut count: usize, is_up_to: bool, parker: &Arc<Parker>) -> Result<Progress> {
        let state = self.state.lock();
        if state.closed != Closed::No {
            let mut available = self.ready.size();
            if is_up_to {
                count = count.min(available);
            } else {
                available += state.incomplete.len();
            }
            if available < count.max(1) {
                return Err(Error::out_of_range(format!(
                    "Barrier '{}' is closed and has insufficient elements (requested {count}, total size {available})",
                    self.name
                )));
            }
        }
        self.ready.dequeue(count, is_up_to, parker)
    }

    /// Returns the result of a take: the numbers, the keys, and each component, stacked.
    pub fn batch(&self, elements: Elements) -> Result<Outputs> {
        self.ready.batch(elements)
    }

    /// Stops accepting new keys. If `cancels`, stops accepting anything and drops incomplete
    /// elements. Waiting takes end as if they began now.
    ///
    /// Fails with `Cancelled` if it is already closed, unless this is the first close that cancels.
    pub fn close(&self, cancels: bool) -> Result<()> {
        let mut state = self.state.lock();
        if state.closed == Closed::ToAll || state.closed == Closed::ToNewKeys && !cancels {
            return Err(Error::cancelled(format!("Barrier '{}' is already closed.", self.name)));
        }
        state.closed = if cancels { Closed::ToAll } else { Closed::ToNewKeys };
        if cancels {
            state.incomplete.clear();
        }
        if state.incomplete.is_empty() {
            return self.close_queue();
        }
        // A waiting take may still need the incomplete elements.
        self.ready.drain(state.incomplete.len());
        Ok(())
    }

    /// The number of complete elements.
    pub fn ready_size(&self) -> usize {
        self.ready.size()
    }

    /// The number of incomplete elements.
    pub fn incomplete_size(&self) -> usize {
        self.state.lock().incomplete.len()
    }

    /// Saves the content, with the incomplete elements in the first chunk; see
    /// [`headrace_engine::saved`].
    ///
    /// Fails if a waiting take holds elements.
    pub fn save(&self) -> Result<Chunks> {
        let state = self.state.lock();
        let mut content = Content::default();
        content.number(state.closed as u64);
        content.number(state.next_index as u64);
        content.number(state.incomplete.len() as u64);
        for (key, element) in &state.incomplete {
            content.bytes(key);
            content.number(element.index as u64);
            for component in &element.components {
                content.flag(component.is_some());
                component.iter().try_for_each(|tensor| content.tensor(tensor))?;
            }
        }
        Ok(Box::new(std::iter::once(Ok(content.into_bytes())).chain(self.ready.save()?)))
    }

    /// Replaces the content with the saved one.
    pub fn prepare(self: &Arc<Self>, chunks: SavedChunks) -> Result<Restore> {
        let chunk = chunks.next().ok_or_else(damaged)??;
        let mut reading = Reading::new(&chunk);
        let closed = match reading.number()? {
            0 => Closed::No,
            1 => Closed::ToNewKeys,
            2 => Closed::ToAll,
            _ => return Err(damaged()),
        };
        let next_index = reading.number()? as i64;
        let mut incomplete = BTreeMap::new();
        for _ in 0..reading.size()? {
            let key = Bytes::copy_from_slice(reading.bytes()?);
            incomplete.insert(key, self.read_incomplete(&mut reading)?);
        }
        reading.end()?;
        let restore = self.ready.prepare(chunks)?;
        let barrier = Arc::clone(self);
        Ok(Box::new(move || {
            let mut state = barrier.state.lock();
            *state = State { incomplete, next_index, closed };
            restore();
            if closed == Closed::ToNewKeys {
                barrier.ready.drain(state.incomplete.len());
            }
        }))
    }

    fn read_incomplete(&self, reading: &mut Reading) -> Result<Incomplete> {
        let index = reading.number()? as i64;
        let component = |position: usize| {
            if !reading.flag()? {
                return Ok(None);
            }
            let tensor = reading.tensor()?;
            let fits = tensor.dtype() == self.ready.spec().dtypes[position]
                && self.ready.spec().accepts(position, tensor.shape());
            if fits { Ok(Some(tensor)) } else { Err(damaged()) }
        };
        let components: Vec<_> = (NUM_LEADING..self.ready.spec().dtypes.len()).map(component).collect::<Result<_>>()?;
        if components.iter().all(Option::is_some) { Err(damaged()) } else { Ok(Incomplete { index, components }) }
    }
}

/// Returns the result of a queue operation that cannot wait.
fn at_once(progress: Progress) -> Result<()> {
    match progress {
        Progress::Done(_) => Ok(()),
        Progress::Waiting(_) => Err(Error::internal("an unbounded queue has no room")),
    }
}
