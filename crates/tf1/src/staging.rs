//! Staging areas: buffers between threads, which are limited in the number and in the total size
//! of elements.
//!
//! Puts are served in order of arrival, and so are gets. A peek is served as soon as its element is
//! available. As in a queue, the thread that changes the area serves the waiting calls. The lock is
//! never held while a thread sleeps.
//!
//! It follows the rules of `tensorflow/core/kernels/stage_op.cc` in TensorFlow 1.15, where a wait
//! cannot be ended.

use headrace_engine::error::{Code, Error, Result};
use headrace_engine::kernel::Tensors;
use headrace_engine::saved::{self, Chunks, Content, Reading, Restore, SavedChunks};
use headrace_engine::sync::Mutex;
use headrace_engine::sync::parker::Parker;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::waits::Description;
use std::collections::VecDeque;
use std::sync::Arc;

/// A staging area, shared by any number of threads.
pub struct StagingArea {
    name: String,
    /// The maximum number of elements, or `None` for no limit.
    capacity: Option<usize>,
    /// The maximum total size of the elements in bytes, or `None` for no limit.
    memory_limit: Option<usize>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    elements: VecDeque<Tensors>,
    /// The total size of the elements in bytes.
    num_bytes: usize,
    puts: VecDeque<(Tensors, Arc<Waiter>)>,
    takes: VecDeque<(Take, Arc<Waiter>)>,
    woken: VecDeque<Arc<Parker>>,
}

/// Which element a call requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// The first element, which is removed.
    First,
    /// A copy of the element at a position.
    Copy(usize),
}

/// Receives the outcome of a waiting call: the requested element, or nothing for a put.
struct Waiter {
    /// Set once by the thread that serves it, and read once by the owner.
    outcome: Mutex<Option<Tensors>>,
    parker: Arc<Parker>,
}

/// The state of a call.
pub enum Progress {
    /// The call has finished, with the requested element.
    Done(Tensors),
    /// It waits.
    Waiting(Waiting),
}

/// A waiting call. Dropping it cancels it without losing an element.
pub struct Waiting {
    area: Arc<StagingArea>,
    /// The request, or `None` for a put.
    take: Option<Take>,
    waiter: Arc<Waiter>,
    is_over: bool,
}

impl StagingArea {
    /// Creates an empty staging area.
    pub fn new(name: impl Into<String>, capacity: Option<usize>, memory_limit: Option<usize>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), capacity, memory_limit, state: Mutex::default() })
    }

    /// Adds an element. Waits while there is no room for it.
    ///
    /// Fails with `ResourceExhausted` if it is larger than the area.
    pub fn put(self: &Arc<Self>, mut element: Tensors, parker: &Arc<Parker>) -> Result<Progress> {
        let num_bytes = bytes_of(&element);
        if let Some(limit) = self.memory_limit.filter(|limit| num_bytes > *limit) {
            return Err(Error::new(
                Code::ResourceExhausted,
                format!(
                    "Attempted to insert tensors with combined size of '{num_bytes}' bytes into Staging Area with a \
                     memory limit of '{limit}'."
                ),
            ));
        }
        element.iter_mut().for_each(Tensor::unshare);
        Ok(self.request(None, parker, |state, waiter| state.puts.push_back((element, waiter))))
    }

    /// Returns an element. Waits until there is one.
    pub fn take(self: &Arc<Self>, take: Take, parker: &Arc<Parker>) -> Progress {
        self.request(Some(take), parker, |state, waiter| state.takes.push_back((take, waiter)))
    }

    /// Drops all elements.
    pub fn clear(&self) {
        // The elements are dropped after the lock is released.
        let _dropped = self.change(|state| {
            state.num_bytes = 0;
            std::mem::take(&mut state.elements)
        });
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        self.state.lock().elements.len()
    }

    fn request(
        self: &Arc<Self>,
        take: Option<Take>,
        parker: &Arc<Parker>,
        join: impl FnOnce(&mut State, Arc<Waiter>),
    ) -> Progress {
        let waiter = Arc::new(Waiter { outcome: Mutex::new(None), parker: Arc::clone(parker) });
        self.change(|state| join(state, Arc::clone(&waiter)));
        let outcome = waiter.outcome.lock().take();
        match outcome {
            Some(element) => Progress::Done(element),
            None => Progress::Waiting(Waiting { area: Arc::clone(self), take, waiter, is_over: false }),
        }
    }

    /// Applies `work` to the state under the lock and serves the waiting calls. Wakes them after
    /// the lock is released.
    fn change<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let result = work(&mut state);
        while self.serve_puts(&mut state) | state.serve_takes() {}
        let woken = std::mem::take(&mut state.woken);
        drop(state);
        Parker::unpark_all(woken);
        result
    }

    /// Adds the elements that fit, in order. Returns whether there were any.
    fn serve_puts(&self, state: &mut State) -> bool {
        let mut has_moved = false;
        while let Some((element, waiter)) = state.puts.pop_front() {
            let num_bytes = bytes_of(&element);
            let has_room = self.capacity.is_none_or(|capacity| state.elements.len() < capacity)
                && self.memory_limit.is_none_or(|limit| state.num_bytes + num_bytes <= limit);
            if !has_room {
                state.puts.push_front((element, waiter));
                break;
            }
            state.num_bytes += num_bytes;
            state.elements.push_back(element);
            state.serve(&waiter, Tensors::new());
            has_moved = true;
        }
        has_moved
    }

    fn describe_wait(&self, take: Option<Take>) -> String {
        let what = match take {
            None => "room".to_owned(),
            Some(Take::First) => "an element".to_owned(),
            Some(Take::Copy(index)) => format!("the element at position {index}"),
        };
        let state = self.state.lock();
        let mut words = format!("staging area '{}': {what}; it has {}", self.name, state.elements.len());
        if let Some(capacity) = self.capacity {
            words += &format!(" of at most {capacity}");
        }
        words += " elements";
        if let Some(limit) = self.memory_limit {
            words += &format!(" and {} of at most {limit} bytes", state.num_bytes);
        }
        words
    }

    /// The elements; see [`headrace_engine::saved`].
    pub fn save(&self) -> Result<Chunks> {
        let elements = self.state.lock().elements.clone();
        let mut content = Content::default();
        content.number(elements.len() as u64);
        for element in elements {
            content.number(element.len() as u64);
            element.iter().try_for_each(|tensor| content.tensor(tensor))?;
        }
        Ok(saved::one(content))
    }

    /// Replaces the elements with saved ones.
    pub fn prepare(self: &Arc<Self>, chunks: SavedChunks) -> Result<Restore> {
        let chunk = saved::only(chunks)?;
        let mut reading = Reading::new(&chunk);
        let elements = (0..reading.size()?)
            .map(|_| (0..reading.size()?).map(|_| reading.tensor()).collect())
            .collect::<Result<VecDeque<Tensors>>>()?;
        reading.end()?;
        let area = Arc::clone(self);
        Ok(Box::new(move || {
            area.change(|state| {
                state.num_bytes = elements.iter().map(bytes_of).sum();
                state.elements = elements;
            });
        }))
    }
}

impl State {
    /// Serves requests for elements in order. Returns whether any was served.
    fn serve_takes(&mut self) -> bool {
        let mut has_moved = false;
        for (take, waiter) in std::mem::take(&mut self.takes) {
            let served = match take {
                Take::First => self.elements.pop_front().inspect(|element| self.num_bytes -= bytes_of(element)),
                Take::Copy(index) => self.elements.get(index).cloned(),
            };
            match served {
                Some(element) => {
                    self.serve(&waiter, element);
                    has_moved = true;
                }
                None => self.takes.push_back((take, waiter)),
            }
        }
        has_moved
    }

    fn serve(&mut self, waiter: &Waiter, outcome: Tensors) {
        *waiter.outcome.lock() = Some(outcome);
        self.woken.push_back(Arc::clone(&waiter.parker));
    }
}

impl Waiting {
    /// Returns the outcome once there is one. The parker of the call is unparked at that time.
    pub fn poll(&mut self) -> Option<Tensors> {
        let outcome = self.waiter.outcome.lock().take();
        self.is_over |= outcome.is_some();
        outcome
    }

    /// Describes the call's wait.
    pub fn description(&self) -> Description {
        let (area, take) = (Arc::clone(&self.area), self.take);
        Arc::new(move || area.describe_wait(take))
    }

    /// Cancels the call. An element that was being taken remains the first one of the area, and an
    /// added element stays.
    pub fn cancel(&mut self) -> Error {
        self.withdraw();
        Error::cancelled(match self.take {
            None => "Stage operation was cancelled",
            Some(Take::First) => "Unstage operation was cancelled",
            Some(Take::Copy(_)) => "StagePeek operation was cancelled",
        })
    }

    fn withdraw(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.area.change(|state| {
            state.puts.retain(|(_, waiter)| !Arc::ptr_eq(waiter, &self.waiter));
            state.takes.retain(|(_, waiter)| !Arc::ptr_eq(waiter, &self.waiter));
            let served = self.waiter.outcome.lock().take();
            if let (Some(Take::First), Some(element)) = (self.take, served) {
                state.num_bytes += bytes_of(&element);
                state.elements.push_front(element);
            }
        });
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// The memory of an element's tensors in bytes.
fn bytes_of(element: &Tensors) -> usize {
    let bytes = |tensor: &Tensor| match tensor.dtype() {
        DType::String => tensor.num_bytes(),
        dtype => tensor.num_elements() * dtype.size(),
    };
    element.iter().map(bytes).sum()
}
