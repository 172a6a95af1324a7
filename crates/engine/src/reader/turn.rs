//! Taking turns: a lock that a run can wait for without blocking its thread, served in order of arrival.

use crate::parker::Parker;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;
use std::sync::Arc;

/// Lets one holder at a time go on.
#[derive(Default)]
pub(super) struct Turns {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_taken: bool,
    line: VecDeque<Arc<Place>>,
}

struct Place {
    /// Set by whoever hands the turn on.
    is_served: AtomicBool,
    parker: Arc<Parker>,
}

/// A turn, or a place in the line for one. Dropping it hands the turn on or leaves the line.
pub(super) struct Turn<T: AsRef<Turns>> {
    owner: T,
    place: Option<Arc<Place>>,
}

impl Turns {
    /// Asks for a turn; `parker` is unparked once it has come.
    pub(super) fn enter<T: AsRef<Turns>>(owner: T, parker: &Arc<Parker>) -> Turn<T> {
        let mut state = owner.as_ref().state.lock();
        let place = if state.is_taken {
            let place = Arc::new(Place { is_served: AtomicBool::new(false), parker: Arc::clone(parker) });
            state.line.push_back(Arc::clone(&place));
            Some(place)
        } else {
            state.is_taken = true;
            None
        };
        drop(state);
        Turn { owner, place }
    }
}

impl<T: AsRef<Turns>> Turn<T> {
    /// Whether the turn has come.
    pub(super) fn has_come(&self) -> bool {
        self.place.as_ref().is_none_or(|place| place.is_served.load(Ordering::Acquire))
    }
}

impl<T: AsRef<Turns>> Drop for Turn<T> {
    fn drop(&mut self) {
        let mut state = self.owner.as_ref().state.lock();
        if !self.has_come() {
            let place = self.place.take();
            state.line.retain(|waiting| place.as_ref().is_none_or(|place| !Arc::ptr_eq(waiting, place)));
            return;
        }
        match state.line.pop_front() {
            Some(next) => {
                next.is_served.store(true, Ordering::Release);
                drop(state);
                next.parker.unpark();
            }
            None => state.is_taken = false,
        }
    }
}
