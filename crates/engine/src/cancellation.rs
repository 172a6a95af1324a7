//! Cancelling what blocks: one flag for a session, and the parkers of the threads that wait under it.

use crate::parker::Parker;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Ends every wait that is registered with it, now and later. A clone is the same cancellation.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Set once by [`Cancellation::cancel`], read by every run.
    is_cancelled: AtomicBool,
    /// The threads that are parked now; each adds and removes itself.
    waiting: Mutex<Vec<Arc<Parker>>>,
}

impl Cancellation {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Acquire)
    }

    /// Cancels: every registered thread wakes and finds [`Cancellation::is_cancelled`] true.
    pub fn cancel(&self) {
        // Set under the lock: whoever registers afterwards sees the flag, whoever registered before is woken.
        let waiting = {
            let mut waiting = self.0.waiting.lock();
            self.0.is_cancelled.store(true, Ordering::Release);
            std::mem::take(&mut *waiting)
        };
        waiting.iter().for_each(|parker| parker.unpark());
    }

    /// Has `parker` woken by [`Cancellation::cancel`] until the registration is dropped.
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
