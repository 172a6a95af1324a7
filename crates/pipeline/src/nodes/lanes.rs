//! Runs the nodes of several ranks side by side, over one input that they share.

use crate::blocks::rows::Rows;
use crate::checkpoint::Checkpoint;
use crate::node::{Context, Ended, LaneEnd, Node, Poll};
use crate::skip_event::SkipEvent;
use headrace_engine::error::{Error, Result};
use headrace_engine::sync::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The lanes of an execution. Each produces the rows of one shard, in their own order.
pub struct Lanes {
    /// The index of each lane's shard.
    shards: Vec<u64>,
    /// True if all lanes begin at the same row, so that one input can serve them.
    is_shared: bool,
    /// The inputs that some lanes have not reached yet, with their passes. Written by lanes that
    /// begin a pass or end.
    inputs: Mutex<Vec<PassInput>>,
    /// True for each lane that is no longer needed. Written by the consumer.
    closed: Vec<AtomicBool>,
    /// The number of times that shared inputs have returned something. Written by the lane that
    /// polls one.
    num_returned: Arc<AtomicU64>,
}

/// The pass of an input, the position where it starts, and its nodes.
type PassInput = (u64, Checkpoint, Arc<Mutex<SharedInput>>);

/// The nodes before a shard, whose rows go to all lanes.
struct SharedInput {
    /// `None` once it has ended.
    node: Option<Box<dyn Node>>,
    /// The error at its end.
    error: Option<Error>,
    ended: Option<Ended>,
    /// The rows that each lane has still to take.
    queues: Vec<Queue>,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    /// True once the lane takes its rows from it.
    is_attached: bool,
    /// True if the lane takes no more rows.
    is_over: bool,
}

enum Item {
    Rows(Rows),
    SkipEvent(SkipEvent),
}

impl Lanes {
    /// Lanes for the shards of these indices.
    pub fn new(shards: Vec<u64>, is_shared: bool) -> Self {
        let closed = shards.iter().map(|_| AtomicBool::new(false)).collect();
        Self { shards, is_shared, inputs: Mutex::default(), closed, num_returned: Arc::default() }
    }

    /// The number of lanes.
    pub fn num_lanes(&self) -> usize {
        self.shards.len()
    }

    /// The index of a lane's shard.
    pub fn shard(&self, lane: usize) -> u64 {
        self.shards.get(lane).copied().unwrap_or_default()
    }

    /// Drops the nodes of a lane when they are polled next.
    pub fn close(&self, lane: usize) {
        if let Some(closed) = self.closed.get(lane) {
            closed.store(true, Ordering::Release);
        }
    }

    /// The input of a lane's shard in a pass, from a checkpoint on. The first lane that needs it
    /// creates it with `start`.
    pub(crate) fn input(
        &self,
        lane: usize,
        pass: u64,
        from: &Checkpoint,
        start: impl FnOnce() -> Result<Box<dyn Node>>,
    ) -> Result<Box<dyn Node>> {
        if !self.is_shared {
            return start();
        }
        let mut inputs = self.inputs.lock();
        let position = inputs.iter().position(|(of_pass, first, input)| {
            *of_pass == pass && first == from && input.lock().queues.get(lane).is_some_and(|queue| !queue.is_attached)
        });
        let input = match position {
            Some(position) => Arc::clone(&inputs[position].2),
            None => {
                let queues = self
                    .closed
                    .iter()
                    .map(|is_closed| Queue { is_over: is_closed.load(Ordering::Acquire), ..Queue::default() });
                let queues = queues.collect();
                let input = SharedInput { node: Some(start()?), error: None, ended: None, queues };
                let input = Arc::new(Mutex::new(input));
                inputs.push((pass, from.clone(), Arc::clone(&input)));
                input
            }
        };
        if let Some(queue) = input.lock().queues.get_mut(lane) {
            queue.is_attached = true;
        }
        inputs.retain(|(.., input)| input.lock().is_awaited());
        Ok(Box::new(LaneInput { input, lane, num_returned: Arc::clone(&self.num_returned) }))
    }

    /// Marks that a lane needs no more inputs.
    fn leave(&self, lane: usize) {
        self.close(lane);
        let mut inputs = self.inputs.lock();
        for (.., input) in inputs.iter() {
            input.lock().leave(lane);
        }
        inputs.retain(|(.., input)| input.lock().is_awaited());
    }
}

impl SharedInput {
    /// True if lanes will still attach to it.
    fn is_awaited(&self) -> bool {
        self.queues.iter().any(|queue| !queue.is_attached && !queue.is_over)
    }

    fn leave(&mut self, lane: usize) {
        if let Some(queue) = self.queues.get_mut(lane) {
            (queue.is_over, queue.items) = (true, VecDeque::new());
        }
    }

    /// The next rows of a lane.
    fn pull(&mut self, lane: usize, context: &mut Context) -> Result<Poll> {
        match self.queues.get_mut(lane).and_then(|queue| queue.items.pop_front()) {
            Some(Item::Rows(rows)) => return Ok(Poll::Ready(rows)),
            Some(Item::SkipEvent(skip_event)) => return Ok(Poll::SkipEvent(skip_event)),
            None => {}
        }
        let Some(node) = &mut self.node else { return self.error.clone().map_or(Ok(Poll::End), Err) };
        let poll = node.pull(context);
        let others = self.queues.iter_mut().enumerate().filter(|(other, queue)| *other != lane && !queue.is_over);
        match &poll {
            Ok(Poll::Ready(rows)) => others.for_each(|(_, queue)| queue.items.push_back(Item::Rows(rows.clone()))),
            Ok(Poll::SkipEvent(event)) => {
                others.for_each(|(_, queue)| queue.items.push_back(Item::SkipEvent(event.clone())));
            }
            Ok(Poll::Pending) => {}
            Ok(Poll::End) => (self.ended, self.node) = (node.ended(), None),
            Err(error) => (self.error, self.node) = (Some(error.clone()), None),
        }
        poll
    }
}

/// The shared input, as one lane sees it.
struct LaneInput {
    input: Arc<Mutex<SharedInput>>,
    lane: usize,
    num_returned: Arc<AtomicU64>,
}

impl Node for LaneInput {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        let poll = self.input.lock().pull(self.lane, context);
        if !matches!(poll, Ok(Poll::Pending)) {
            self.num_returned.fetch_add(1, Ordering::Relaxed);
        }
        poll
    }

    fn ended(&self) -> Option<Ended> {
        self.input.lock().ended
    }
}

impl Drop for LaneInput {
    fn drop(&mut self) {
        self.input.lock().leave(self.lane);
    }
}

/// The nodes of a lane, while it runs, and its next output, if there is one.
type LaneNodes = (Option<Box<dyn Node>>, Option<Result<Poll>>);

/// The root of an execution with lanes. Each lane returns one output in turn, so none gets far
/// ahead of the others.
pub struct AllLanes {
    lanes: Arc<Lanes>,
    nodes: Vec<LaneNodes>,
    /// The lane of the last output.
    last: usize,
    /// The lane whose turn it is.
    next: usize,
    end: Option<LaneEnd>,
}

impl AllLanes {
    /// The lanes with these nodes.
    pub fn new(lanes: Arc<Lanes>, nodes: Vec<Box<dyn Node>>) -> Self {
        let nodes = nodes.into_iter().map(|node| (Some(node), None)).collect();
        Self { lanes, nodes, last: 0, next: 0, end: None }
    }

    /// Lets every lane compute its next output. Only the lane whose turn it is may exceed the
    /// memory budget.
    fn poll_all(&mut self, context: &mut Context) {
        let is_stuck = context.is_stuck;
        for offset in 0..self.nodes.len() {
            let lane = (self.next + offset) % self.nodes.len();
            context.is_stuck = is_stuck && offset == 0;
            let (node, output) = &mut self.nodes[lane];
            if let (Some(node), None) = (node, &output) {
                let poll = node.pull(context);
                if !matches!(poll, Ok(Poll::Pending)) {
                    *output = Some(poll);
                }
            }
        }
        context.is_stuck = is_stuck;
    }

    fn drop_closed(&mut self) {
        for lane in 0..self.nodes.len() {
            let is_closed = self.lanes.closed.get(lane).is_some_and(|closed| closed.load(Ordering::Acquire));
            if is_closed && self.nodes[lane].0.is_some() {
                self.nodes[lane] = (None, None);
                self.lanes.leave(lane);
            }
        }
    }

    /// Gives the turn to the next lane that runs; false if there is none.
    fn advance(&mut self, first: usize) -> bool {
        let count = self.nodes.len();
        let next = (0..count).map(|offset| (first + offset) % count).find(|lane| self.nodes[*lane].0.is_some());
        self.next = next.unwrap_or(0);
        next.is_some()
    }
}

impl Node for AllLanes {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        self.drop_closed();
        if !self.advance(self.next) {
            return Ok(Poll::End);
        }
        let lane = self.next;
        if self.nodes[lane].1.is_none() || !context.is_starving {
            let mut before = self.lanes.num_returned.load(Ordering::Relaxed);
            self.poll_all(context);
            // Rows that another lane has requested may have reached this lane after it was polled.
            while self.nodes[lane].1.is_none() {
                let now = self.lanes.num_returned.load(Ordering::Relaxed);
                if now == std::mem::replace(&mut before, now) {
                    break;
                }
                self.poll_all(context);
            }
        }
        let Some(output) = self.nodes[lane].1.take() else { return Ok(Poll::Pending) };
        self.last = lane;
        let error = match output {
            Ok(Poll::Ready(rows)) => {
                self.advance(lane + 1);
                return Ok(Poll::Ready(rows));
            }
            Ok(Poll::SkipEvent(skip_event)) => return Ok(Poll::SkipEvent(skip_event)),
            Ok(Poll::Pending) => return Ok(Poll::Pending),
            Ok(Poll::End) => None,
            Err(error) => Some(error),
        };
        self.nodes[lane].0 = None;
        self.lanes.leave(lane);
        self.end = Some(LaneEnd { lane, error });
        Ok(Poll::Pending)
    }

    fn lane(&self) -> usize {
        self.last
    }

    fn take_lane_end(&mut self) -> Option<LaneEnd> {
        self.end.take()
    }
}
