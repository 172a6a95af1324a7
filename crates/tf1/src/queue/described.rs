//! Describes why a call on a queue is waiting.

use super::core::Core;
use super::request::Request;
use super::waiter::{WaitQueue, Waiter};
use super::{Order, Queue};
use std::sync::Arc;

impl Queue {
    /// Describes why a call with `count` elements is currently waiting.
    pub(super) fn describe_wait(&self, wait_queue: WaitQueue, waiter: &Arc<Waiter>, count: usize) -> String {
        let name = &self.spec.name;
        let core = self.core.lock();
        let is_mine = |(_, other): &&(Request, Arc<Waiter>)| Arc::ptr_eq(other, waiter);
        let waiting = match wait_queue {
            WaitQueue::Enqueue => core.enqueues.iter(),
            WaitQueue::Dequeue => core.dequeues.iter(),
        };
        let Some((request, _)) = waiting.clone().find(is_mine) else {
            return format!("queue '{name}', which just served it");
        };
        let num_moved = count.saturating_sub(request.count());
        let what = match request {
            Request::Enqueue(_) if count == 0 => "room for the elements accepted beyond its capacity".to_owned(),
            Request::Enqueue(_) => format!("room: it has added {num_moved} of {count} elements"),
            Request::Close(_) => "earlier enqueues".to_owned(),
            Request::Dequeue { .. } => format!("elements: it has {num_moved} of {count}"),
        };
        let num_before = waiting.take_while(|other| !is_mine(other)).count();
        format!("queue '{name}': {what}; {}", self.state_in_words(&core, wait_queue, num_before))
    }

    fn state_in_words(&self, core: &Core, wait_queue: WaitQueue, num_before: usize) -> String {
        let size = core.size();
        let mut words = match self.spec.capacity {
            Some(capacity) => format!("the queue has {size} of at most {capacity}"),
            None => format!("the queue has {size}"),
        };
        if let Order::Shuffle { min_after_dequeue, .. } = self.spec.order
            && wait_queue == WaitQueue::Dequeue
        {
            words += &format!(" and keeps {min_after_dequeue}");
        }
        words += if core.is_closed() { ", it is closed" } else { ", it is open" };
        words += &match (wait_queue, core.enqueues.len(), core.dequeues.len()) {
            (WaitQueue::Enqueue, _, 0) => ", nobody waits to dequeue".to_owned(),
            (WaitQueue::Enqueue, _, others) => format!(", {others} dequeues wait"),
            (WaitQueue::Dequeue, 0, _) => ", nobody waits to enqueue".to_owned(),
            (WaitQueue::Dequeue, others, _) => format!(", {others} enqueues wait"),
        };
        match num_before {
            0 => words,
            _ => format!("{words}; {num_before} others are ahead of it"),
        }
    }
}
