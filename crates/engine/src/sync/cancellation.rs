//! Cancellation: one flag per session, and the parkers of the threads that wait under it.

use crate::error::Result;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::parker::Parker;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// An observer of long waits.
pub trait Watch: Any + fmt::Debug + Send + Sync {
    /// How long a wait has to last before the first call of [`Watch::look`]. The time doubles with
    /// each call.
    fn patience(&self) -> Duration;

    /// Called during a long wait of a run in the operations `names`. Fails if the run should end.
    /// It is called from the waiting thread, which holds no locks at that time.
    fn look(&self, names: &[Arc<str>]) -> Result<()>;
}

/// Ends all waits that are registered with it, now and in the future. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Set once by [`Cancellation::cancel`] and read by every run.
    is_cancelled: AtomicBool,
    /// The threads that are currently parked. Each adds and removes itself.
    waiting: Mutex<Vec<Arc<Parker>>>,
    /// Children, which are cancelled together with this one. Dropped children are removed when
    /// another one is added.
    children: Mutex<Vec<Weak<Shared>>>,
    watch: Option<Arc<dyn Watch>>,
}

impl Cancellation {
    /// Creates a cancellation that has not been triggered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a cancellation that reports long waits to `watch`.
    pub fn watched(watch: Arc<dyn Watch>) -> Self {
        Self(Arc::new(Shared { watch: Some(watch), ..Shared::default() }))
    }

    /// Creates a child that is cancelled together with this one. Cancelling the child only ends the
    /// child's waits.
    pub fn child(&self) -> Self {
        let child = Self(Arc::new(Shared { watch: self.0.watch.clone(), ..Shared::default() }));
        let mut children = self.0.children.lock();
        children.retain(|child| child.strong_count() > 0);
        children.push(Arc::downgrade(&child.0));
        drop(children);
        // It was cancelled before the child was added, so nothing else would cancel the child.
        if self.is_cancelled() {
            child.cancel();
        }
        child
    }

    /// The observer of long waits.
    pub fn watch(&self) -> Option<&Arc<dyn Watch>> {
        self.0.watch.as_ref()
    }

    /// Returns true once it has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Acquire)
    }

    /// Cancels all waits: every registered thread wakes up and sees that
    /// [`Cancellation::is_cancelled`] is true.
    pub fn cancel(&self) {
        // Set while holding the lock. A thread that registers later sees the flag, and one that
        // registered earlier is woken.
        let waiting = {
            let mut waiting = self.0.waiting.lock();
            self.0.is_cancelled.store(true, Ordering::Release);
            std::mem::take(&mut *waiting)
        };
        waiting.iter().for_each(|parker| parker.unpark());
        let children = std::mem::take(&mut *self.0.children.lock());
        children.iter().filter_map(Weak::upgrade).for_each(|child| Self(child).cancel());
    }

    /// Lets [`Cancellation::cancel`] wake `parker` until the registration is dropped.
    pub fn register<'a>(&'a self, parker: &'a Arc<Parker>) -> Registration<'a> {
        self.0.waiting.lock().push(Arc::clone(parker));
        Registration { cancellation: self, parker }
    }
}

/// Keeps a parker registered with a [`Cancellation`].
#[derive(Debug)]
pub struct Registration<'a> {
    cancellation: &'a Cancellation,
    parker: &'a Arc<Parker>,
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let mut waiting = self.cancellation.0.waiting.lock();
        if let Some(index) = waiting.iter().position(|parker| Arc::ptr_eq(parker, self.parker)) {
            waiting.swap_remove(index);
        }
    }
}
