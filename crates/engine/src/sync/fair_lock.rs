//! Taking turns: a lock that a run can wait for without blocking its thread.
//!
//! Whoever comes when nobody has the turn gets it, even if others have been woken for it and are still on their way:
//! handing it to a sleeping thread would make all wait for that thread to wake, at every turn. A turn is mostly shorter
//! than it takes to fall asleep and be woken, so whoever comes too early looks again a few times before it does.

use crate::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use crate::sync::parker::Parker;
use crate::sync::{Mutex, Patience};
use std::collections::VecDeque;
use std::sync::Arc;

/// Somebody has the turn.
const TAKEN: u8 = 1;
/// Somebody waits in the line.
const HAS_LINE: u8 = 2;

/// Lets one holder at a time go on.
#[derive(Default)]
pub struct Turns {
    /// `TAKEN` is set by whoever takes the turn and cleared by the same; `HAS_LINE` changes under the line's lock. In one
    /// word, so that of one who ends a turn and one who joins the line either sees what the other did.
    state: AtomicU8,
    /// Those who wait, longest first. If the turn is free, the first of them was called and has yet to look.
    line: Mutex<VecDeque<Arc<Place>>>,
}

struct Place {
    /// The first in line was unparked, and has not looked since. Changed under the lock.
    is_called: AtomicBool,
    parker: Arc<Parker>,
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
        let turns = owner.as_ref();
        let place = if turns.take() || turns.take_patiently() { None } else { turns.join(parker) };
        Turn { owner, place }
    }

    /// A turn, if nobody has it, or not for long.
    pub fn try_enter<T: AsRef<Turns>>(owner: T) -> Option<Turn<T>> {
        let has_come = owner.as_ref().take() || owner.as_ref().take_patiently();
        has_come.then(|| Turn { owner, place: None })
    }

    fn take(&self) -> bool {
        self.state.fetch_or(TAKEN, Ordering::Acquire) & TAKEN == 0
    }

    fn take_patiently(&self) -> bool {
        let mut patience = Patience::default();
        while patience.wait() {
            if self.take() {
                return true;
            }
        }
        false
    }

    /// Joins the line, unless the turn has become free.
    fn join(&self, parker: &Arc<Parker>) -> Option<Arc<Place>> {
        let mut line = self.line.lock();
        let before = self.state.fetch_or(HAS_LINE | TAKEN, Ordering::Acquire);
        if before & TAKEN == 0 {
            self.say_whether_there_is(&line);
            return None;
        }
        let place = Arc::new(Place { is_called: AtomicBool::new(false), parker: Arc::clone(parker) });
        line.push_back(Arc::clone(&place));
        Some(place)
    }

    fn leave(&self, place: &Arc<Place>) {
        let mut line = self.line.lock();
        line.retain(|waiting| !Arc::ptr_eq(waiting, place));
        self.say_whether_there_is(&line);
    }

    fn say_whether_there_is(&self, line: &VecDeque<Arc<Place>>) {
        if line.is_empty() {
            self.state.fetch_and(!HAS_LINE, Ordering::Relaxed);
        }
    }

    /// Wakes the first in line if the turn is free, unless it is awake already.
    fn call_first(&self) {
        let line = self.line.lock();
        if self.state.load(Ordering::Relaxed) & TAKEN != 0 {
            return;
        }
        let first = line.front().filter(|place| !place.is_called.swap(true, Ordering::Relaxed)).cloned();
        drop(line);
        if let Some(first) = first {
            first.parker.unpark();
        }
    }
}

impl<T: AsRef<Turns>> Turn<T> {
    /// Whether the turn has come; takes it if it is free.
    pub fn has_come(&mut self) -> bool {
        let Some(place) = &self.place else { return true };
        let turns = self.owner.as_ref();
        if !turns.take_patiently() {
            // Whoever has the turn now calls again when it ends; it may have ended since.
            let line = turns.line.lock();
            place.is_called.store(false, Ordering::Relaxed);
            let is_taken = !turns.take();
            drop(line);
            if is_taken {
                return false;
            }
        }
        turns.leave(place);
        self.place = None;
        true
    }
}

impl<T: AsRef<Turns>> Drop for Turn<T> {
    fn drop(&mut self) {
        let turns = self.owner.as_ref();
        match self.place.take() {
            // If who leaves the line was called, the next one has to be.
            Some(place) => {
                turns.leave(&place);
                turns.call_first();
            }
            None => {
                if turns.state.fetch_and(!TAKEN, Ordering::Release) & HAS_LINE != 0 {
                    turns.call_first();
                }
            }
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
    fn who_only_tries_gets_no_turn_that_somebody_has() {
        let (owner, parker) = (turns(), Arc::new(Parker::new()));
        let first = Turns::try_enter(Arc::clone(&owner)).unwrap();
        assert!(Turns::try_enter(Arc::clone(&owner)).is_none());
        let mut second = Turns::enter(Arc::clone(&owner), &parker);
        assert!(!second.has_come());
        drop(first);
        assert!(second.has_come() && Turns::try_enter(owner).is_none());
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
        assert!(owner.turns.line.lock().is_empty());
        assert_eq!(owner.turns.state.load(Ordering::Relaxed), 0);
    }
}
