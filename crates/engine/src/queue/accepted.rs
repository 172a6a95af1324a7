//! Enqueues that have ended before there was room for their elements.
//!
//! While a session's runners are made to pause, an enqueue does not wait for room: the queue takes its elements all the
//! same, so that the runner comes to the end of its step and holds nothing. They come in before all others as room
//! appears, so the queue never has more elements than its capacity, and which ones are drawn at random does not change.

use super::core::{Close, Request};
use super::packing::Packing;
use super::{Element, Elements, QueueSpec};
use crate::error::Result;
use std::collections::VecDeque;

/// What such enqueues have left, in their order.
#[derive(Clone, Default)]
pub(super) struct Accepted {
    pub(super) elements: VecDeque<Element>,
    /// The queue is to be closed behind the last element.
    pub(super) is_close_due: bool,
}

impl Accepted {
    pub(super) fn is_empty(&self) -> bool {
        self.elements.is_empty() && !self.is_close_due
    }

    /// Ends an enqueue or a plain close.
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
