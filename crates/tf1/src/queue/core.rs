//! The state machine of a queue: sequential code that runs under the queue's lock.

use super::accepted::Accepted;
use super::packing::Packing;
use super::request::{Close, Request};
use super::rows::Rows;
use super::store::Store;
use super::waiter::{WaitQueue, Waiter, Woken};
use super::{Element, Elements, QueueSpec, QueueStats};
use headrace_engine::error::Result;
use headrace_engine::sync::parker::Parker;
use headrace_engine::tensor::allocate;
use std::collections::VecDeque;
use std::sync::Arc;

/// The result of one attempt to serve a request.
enum Attempt {
    Complete(Result<Elements>),
    /// Something was moved, but the request is still waiting.
    Partial,
    Stuck,
}

pub(super) struct Core {
    pub(super) spec: QueueSpec,
    pub(super) packing: Arc<Packing>,
    pub(super) store: Store,
    pub(super) is_closed: bool,
    /// True if a cancelling close has ended a request.
    pub(super) was_cancelled: bool,
    pub(super) accepted: Accepted,
    pub(super) is_accepting: bool,
    /// Dequeues of up to this many elements don't wait for more.
    is_draining: bool,
    pub(super) enqueues: VecDeque<(Request, Arc<Waiter>)>,
    pub(super) dequeues: VecDeque<(Request, Arc<Waiter>)>,
    woken: Woken,
    stats: QueueStats,
}

impl Core {
    pub(super) fn new(spec: &QueueSpec, packing: &Arc<Packing>) -> Self {
        Self {
            spec: spec.clone(),
            packing: Arc::clone(packing),
            store: Store::new(spec.order),
            is_closed: false,
            was_cancelled: false,
            accepted: Accepted::default(),
            is_accepting: false,
            is_draining: false,
            enqueues: VecDeque::new(),
            dequeues: VecDeque::new(),
            woken: Woken::default(),
            stats: QueueStats { capacity: spec.capacity, ..QueueStats::default() },
        }
    }

    pub(super) fn size(&self) -> usize {
        self.store.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    pub(super) fn stats(&self) -> QueueStats {
        let since = |waiters: &VecDeque<(Request, Arc<Waiter>)>| {
            waiters.iter().map(|(_, waiter)| waiter.blocked_ns()).sum::<u64>()
        };
        QueueStats {
            size: self.store.len(),
            is_closed: self.is_closed,
            num_waiting_enqueues: self.enqueues.len(),
            num_waiting_dequeues: self.dequeues.len(),
            enqueue_blocked_ns: self.stats.enqueue_blocked_ns + since(&self.enqueues),
            dequeue_blocked_ns: self.stats.dequeue_blocked_ns + since(&self.dequeues),
            ..self.stats
        }
    }

    /// Takes the waiters to wake once the lock is released.
    pub(super) fn take_woken(&mut self) -> Woken {
        std::mem::take(&mut self.woken)
    }

    /// Serves `request` now if it can be served and no other request is waiting before it.
    /// Otherwise it becomes a waiter.
    pub(super) fn request(
        &mut self,
        wait_queue: WaitQueue,
        mut request: Request,
        parker: &Arc<Parker>,
    ) -> std::result::Result<Result<Elements>, Arc<Waiter>> {
        let is_first = self.waiters(wait_queue).is_empty();
        let is_behind = wait_queue == WaitQueue::Enqueue && !self.accepted.is_empty();
        if is_first && !is_behind {
            match self.attempt(&mut request) {
                Attempt::Complete(result) => {
                    self.flush();
                    return Ok(result);
                }
                Attempt::Partial | Attempt::Stuck => {}
            }
        }
        if self.is_accepting && wait_queue == WaitQueue::Enqueue {
            let outcome = self.accepted.take(request, &self.spec, &self.packing);
            self.flush();
            return Ok(outcome);
        }
        let waiter = Waiter::new(parker);
        self.waiters(wait_queue).push_back((request, Arc::clone(&waiter)));
        self.flush();
        // The flush may already have completed the request, if its first elements let a dequeue
        // finish and so made room for the rest.
        waiter.take().ok_or(waiter)
    }

    /// Closes the queue now. All waiting enqueues and plain closes fail.
    ///
    /// Elements that were accepted without room are kept, because their enqueues have ended.
    pub(super) fn close_and_cancel(&mut self) {
        self.was_cancelled |= !self.is_closed || !self.enqueues.is_empty();
        self.is_closed = true;
        for element in std::mem::take(&mut self.accepted).elements {
            self.push(element);
        }
        for (request, waiter) in std::mem::take(&mut self.enqueues) {
            self.complete(WaitQueue::Enqueue, &waiter, Err(request.cancelled()));
        }
        self.flush();
    }

    /// Removes a request from its wait queue, if it is still waiting. Returns the number of
    /// elements it had moved. Elements that a dequeue had removed are put back if `is_lossless`.
    pub(super) fn withdraw(&mut self, wait_queue: WaitQueue, waiter: &Arc<Waiter>, is_lossless: bool) -> usize {
        let position = self.waiters(wait_queue).iter().position(|(_, waiting)| Arc::ptr_eq(waiting, waiter));
        let Some((request, _)) = position.and_then(|index| self.waiters(wait_queue).remove(index)) else { return 0 };
        self.count_blocked(wait_queue, waiter);
        let num_moved = match request {
            Request::Enqueue(rows) => rows.num_popped(),
            Request::Close(Close) => 0,
            Request::Dequeue { collected, .. } => {
                let num_held = collected.len();
                if is_lossless {
                    self.put_back(collected);
                }
                num_held
            }
        };
        self.flush();
        num_moved
    }

    /// Puts back the elements of a dequeue.
    pub(super) fn give_back(&mut self, elements: Elements) {
        self.put_back(elements);
        self.flush();
    }

    fn put_back(&mut self, elements: Elements) {
        self.stats.num_dequeued -= elements.len() as u64;
        self.store.give_back(elements);
    }

    fn waiters(&mut self, wait_queue: WaitQueue) -> &mut VecDeque<(Request, Arc<Waiter>)> {
        match wait_queue {
            WaitQueue::Enqueue => &mut self.enqueues,
            WaitQueue::Dequeue => &mut self.dequeues,
        }
    }

    /// Serves both wait queues from the front until neither makes progress.
    pub(super) fn flush(&mut self) {
        while self.serve(WaitQueue::Enqueue) | self.serve(WaitQueue::Dequeue) {}
    }

    /// Serves one wait queue as far as possible. Returns whether anything was moved.
    fn serve(&mut self, wait_queue: WaitQueue) -> bool {
        let mut has_moved = false;
        if wait_queue == WaitQueue::Enqueue && !self.accepted.is_empty() {
            has_moved = self.serve_accepted();
            if !self.accepted.is_empty() {
                return has_moved;
            }
        }
        while let Some((mut request, waiter)) = self.waiters(wait_queue).pop_front() {
            match self.attempt(&mut request) {
                Attempt::Complete(result) => {
                    self.complete(wait_queue, &waiter, result);
                    has_moved = true;
                }
                attempt => {
                    self.waiters(wait_queue).push_front((request, waiter));
                    return has_moved | matches!(attempt, Attempt::Partial);
                }
            }
        }
        has_moved
    }

    pub(super) fn has_room(&self) -> bool {
        self.spec.capacity.is_none_or(|capacity| self.store.len() < capacity)
    }

    pub(super) fn push(&mut self, element: Element) {
        self.store.push(element);
        self.stats.num_enqueued += 1;
    }

    pub(super) fn complete(&mut self, wait_queue: WaitQueue, waiter: &Waiter, result: Result<Elements>) {
        self.count_blocked(wait_queue, waiter);
        waiter.put(result);
        self.woken.push(waiter);
    }

    fn count_blocked(&mut self, wait_queue: WaitQueue, waiter: &Waiter) {
        match wait_queue {
            WaitQueue::Enqueue => self.stats.enqueue_blocked_ns += waiter.blocked_ns(),
            WaitQueue::Dequeue => self.stats.dequeue_blocked_ns += waiter.blocked_ns(),
        }
    }

    fn attempt(&mut self, request: &mut Request) -> Attempt {
        match request {
            Request::Enqueue(rows) => self.attempt_enqueue(rows),
            Request::Close(Close) => self.attempt_close(),
            Request::Dequeue { missing, is_up_to, collected } => self.attempt_dequeue(missing, *is_up_to, collected),
        }
    }

    fn attempt_enqueue(&mut self, rows: &mut Rows) -> Attempt {
        if self.is_closed {
            return Attempt::Complete(Err(self.spec.closed()));
        }
        let mut attempt = Attempt::Stuck;
        while self.has_room() {
            match rows.pop(&self.packing) {
                Ok(Some(element)) => match self.store.make_room() {
                    Ok(()) => self.push(element),
                    Err(refusal) => return Attempt::Complete(Err(refusal.at("the elements of a queue"))),
                },
                Ok(None) => return Attempt::Complete(Ok(Elements::new())),
                Err(error) => return Attempt::Complete(Err(error)),
            }
            attempt = Attempt::Partial;
        }
        if rows.is_empty() { Attempt::Complete(Ok(Elements::new())) } else { attempt }
    }

    fn attempt_close(&mut self) -> Attempt {
        let was_closed = std::mem::replace(&mut self.is_closed, true);
        Attempt::Complete(if was_closed { Err(self.spec.already_closed()) } else { Ok(Elements::new()) })
    }

    fn attempt_dequeue(&mut self, missing: &mut usize, is_up_to: bool, collected: &mut Elements) -> Attempt {
        let size = self.store.len();
        if (self.is_closed || self.is_draining && is_up_to) && size < *missing {
            self.put_back(std::mem::take(collected));
            if !is_up_to || self.store.len() == 0 {
                return Attempt::Complete(Err(self.spec.insufficient(*missing, size)));
            }
            *missing = self.store.len();
        }
        let mut attempt = Attempt::Stuck;
        while self.store.available(self.is_closed, *missing) > 0 {
            if let Err(refusal) = allocate::grow_small(collected, 1) {
                self.put_back(std::mem::take(collected));
                return Attempt::Complete(Err(refusal.at("the elements of a batch")));
            }
            let Some(element) = self.store.pop() else { break };
            collected.push(element);
            self.stats.num_dequeued += 1;
            *missing -= 1;
            if *missing == 0 {
                return Attempt::Complete(Ok(std::mem::take(collected)));
            }
            attempt = Attempt::Partial;
        }
        attempt
    }

    /// Ends the waiting dequeues that need more elements than are available, even with `num_more`
    /// additional ones. From now on, dequeues of up to this many elements return the available
    /// elements, or fail.
    pub(super) fn drain(&mut self, num_more: usize) {
        self.is_draining = true;
        let most = self.store.len().saturating_add(num_more);
        for (request, waiter) in std::mem::take(&mut self.dequeues) {
            match request {
                Request::Dequeue { missing, is_up_to: false, collected } if missing > most => {
                    self.put_back(collected);
                    let error = self.spec.insufficient(missing, self.store.len());
                    self.complete(WaitQueue::Dequeue, &waiter, Err(error));
                }
                request => self.dequeues.push_back((request, waiter)),
            }
        }
        self.flush();
    }

    /// Sets whether enqueues are accepted without room. If so, waiting enqueues end.
    pub(super) fn accept(&mut self, is_accepting: bool) {
        self.is_accepting = is_accepting;
        if !is_accepting {
            return;
        }
        for (request, waiter) in std::mem::take(&mut self.enqueues) {
            let outcome = self.accepted.take(request, &self.spec, &self.packing);
            self.complete(WaitQueue::Enqueue, &waiter, outcome);
        }
        self.flush();
    }

    /// Moves accepted elements into the queue as far as there is room. Returns whether anything was
    /// moved.
    pub(super) fn serve_accepted(&mut self) -> bool {
        let mut has_moved = false;
        while self.has_room()
            && let Some(element) = self.accepted.elements.pop_front()
        {
            self.push(element);
            has_moved = true;
        }
        if self.accepted.elements.is_empty() && std::mem::take(&mut self.accepted.is_close_due) {
            self.is_closed = true;
            has_moved = true;
        }
        has_moved
    }
}
