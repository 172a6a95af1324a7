//! Taking turns: a lock that a run can wait for without blocking its thread.
//!
//! Whoever comes when nobody has the turn gets it, even if others have been woken for it and are still on their way:
//! handing it to a sleeping thread would make all wait for that thread to wake, at every turn.

use crate::parker::Parker;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};
use std::collections::VecDeque;
use std::sync::Arc;

/// Lets one holder at a time go on.
#[derive(Default)]
pub struct Turns {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_taken: bool,
    /// Those who wait, longest first. If the turn is free, the first of them was called and has yet to look.
    line: VecDeque<Arc<Place>>,
}

struct Place {
    /// The first in line was unparked, and has not looked since. Changed under the lock.
    is_called: AtomicBool,
    parker: Arc<Parker>,
}

impl State {
    /// Wakes the first in line, unless it is awake already.
    fn call_first(&self) -> Option<Arc<Place>> {
        self.line.front().filter(|place| !place.is_called.swap(true, Ordering::Relaxed)).cloned()
    }
}

/// A turn, or a place in the line for one. Dropping it ends the turn or leaves the line.
pub struct Turn<T: AsRef<Turns>> {
    owner: T,
    /// None once the turn has come.
    place: Option<Arc<Place>>,
}

impl Turns {
    /// Asks for a turn; `parker` is unparked when it is worth looking whether it has come.
    pub fn enter<T: AsRef<Turns>>(owner: T, parker: &Arc<Parker>) -> Turn<T> {
        let mut state = owner.as_ref().state.lock();
        let place = if state.is_taken {
            let place = Arc::new(Place { is_called: AtomicBool::new(false), parker: Arc::clone(parker) });
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
    /// Whether the turn has come; takes it if it is free.
    pub fn has_come(&mut self) -> bool {
        let Some(place) = &self.place else { return true };
        let mut state = self.owner.as_ref().state.lock();
        place.is_called.store(false, Ordering::Relaxed);
        if state.is_taken {
            return false;
        }
        state.is_taken = true;
        state.line.retain(|waiting| !Arc::ptr_eq(waiting, place));
        drop(state);
        self.place = None;
        true
    }
}

impl<T: AsRef<Turns>> Drop for Turn<T> {
    fn drop(&mut self) {
        let mut state = self.owner.as_ref().state.lock();
        match self.place.take() {
            Some(place) => state.line.retain(|waiting| !Arc::ptr_eq(waiting, &place)),
            None => state.is_taken = false,
        }
        // If who leaves the line was called, the next one has to be.
        let next = if state.is_taken { None } else { state.call_first() };
        drop(state);
        if let Some(next) = next {
            next.parker.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    fn turns() -> Arc<Owner> {
        Arc::new(Owner::default())
    }

    #[derive(Default)]
    struct Owner {
        turns: Turns,
        num_inside: AtomicUsize,
    }

    impl AsRef<Turns> for Arc<Owner> {
        fn as_ref(&self) -> &Turns {
            &self.turns
        }
    }

    fn is_parked_forever(parker: &Parker) -> bool {
        !parker.park_timeout(std::time::Duration::ZERO)
    }

    #[test]
    fn the_first_in_line_is_called_when_a_turn_ends_and_may_find_it_taken() {
        let (owner, parker) = (turns(), Arc::new(Parker::new()));
        let first = Turns::enter(Arc::clone(&owner), &parker);
        let mut second = Turns::enter(Arc::clone(&owner), &parker);
        assert!(!second.has_come() && is_parked_forever(&parker));
        drop(first);
        assert!(!is_parked_forever(&parker));
        let third = Turns::enter(Arc::clone(&owner), &Arc::new(Parker::new()));
        assert!(!second.has_come(), "the third came while the second was on its way");
        drop(third);
        assert!(!is_parked_forever(&parker) && second.has_come() && second.has_come());
    }

    #[test]
    fn who_leaves_after_being_called_passes_the_call_on() {
        let owner = turns();
        let parkers = [0; 2].map(|_| Arc::new(Parker::new()));
        let first = Turns::enter(Arc::clone(&owner), &parkers[0]);
        let second = Turns::enter(Arc::clone(&owner), &parkers[0]);
        let mut third = Turns::enter(Arc::clone(&owner), &parkers[1]);
        drop(first);
        drop(second);
        assert!(!is_parked_forever(&parkers[1]) && third.has_come());
    }

    #[test]
    fn many_threads_take_many_turns_one_at_a_time() {
        let owner = turns();
        let work = || {
            let owner = Arc::clone(&owner);
            thread::spawn(move || {
                let parker = Arc::new(Parker::new());
                for _ in 0..2_000 {
                    let mut turn = Turns::enter(Arc::clone(&owner), &parker);
                    while !turn.has_come() {
                        parker.park();
                    }
                    assert_eq!(owner.num_inside.fetch_add(1, Ordering::SeqCst), 0);
                    thread::yield_now();
                    owner.num_inside.fetch_sub(1, Ordering::SeqCst);
                }
            })
        };
        let threads: Vec<_> = (0..4).map(|_| work()).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(owner.turns.state.lock().line.is_empty());
    }
}
