//! Enqueues that end before there is room for their elements.
//!
//! While a session's runners are paused, an enqueue does not wait for room. The queue accepts its
//! elements immediately, so that the runner completes its step and holds nothing. These elements
//! enter the queue before all others once there is room. So the queue never has more elements than
//! its capacity, and the random draws don't change.

use super::packing::Packing;
use super::request::{Close, Request};
use super::{Element, Elements, QueueSpec};
use headrace_engine::error::Result;
use std::collections::VecDeque;

/// The elements of such enqueues, in order.
#[derive(Clone, Default)]
pub(super) struct Accepted {
    pub(super) elements: VecDeque<Element>,
    /// True if the queue has to be closed after the last element.
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
            Request::Dequeue { collected, .. } => return Ok(collected),
        }
        Ok(Elements::new())
    }
}
