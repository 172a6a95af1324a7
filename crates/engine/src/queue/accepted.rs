//! Enqueues that end before there is room for their elements.
//!
//! While a session's runners are paused, an enqueue does not wait for room: the queue accepts its
//! elements at once, so that the runner reaches the end of its step and holds nothing. These
//! elements enter before all others as room appears. So the queue never has more elements than its
//! capacity, and the random draws do not change.

use super::core::{Close, Core, Request};
use super::packing::Packing;
use super::waiter::WaitQueue;
use super::{Element, Elements, QueueSpec};
use crate::error::Result;
use std::collections::VecDeque;

/// The elements of such enqueues, in order.
#[derive(Clone, Default)]
pub(super) struct Accepted {
    pub(super) elements: VecDeque<Element>,
    /// The queue is to be closed after the last element.
    pub(super) is_close_due: bool,
}

impl Accepted {
    pub(super) fn is_empty(&self) -> bool {
        self.elements.is_empty() && !self.is_close_due
    }

    /// Ends an enqueue, or a close that does not cancel.
    pub(super) fn take(&mut self, request: Request, spec: &QueueSpec, packing: &Packing) -> Result<Elements> {
        match request {
            Request::Enqueue(_) if self.is_close_due => return Err(spec.closed()),
            Request::Enqueue(mut rows) => {
                while let Some(element) = rows.pop(packing)? {
                    self.elements.push_back(element);
                }
            }
            Request::Close(Close) if self.is_close_due => return Err(spec.already_closed()),
            Request::Close(Close) => self.is_close_due = true,
            Request::Dequeue { held, .. } => return Ok(held),
        }
        Ok(Elements::new())
    }
}

impl Core {
    /// Sets whether enqueues are accepted without room. If so, ends the enqueues that wait.
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

    /// Moves accepted elements into the queue as room allows. Returns whether anything moved.
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
