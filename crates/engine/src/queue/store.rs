//! The elements of a queue in their order: one variant for each kind of queue, all with the same methods.

use super::heap::Heap;
use super::{Element, Elements, Order};
use crate::philox::Philox;
use std::collections::VecDeque;

/// The first elements that there is room for.
const MIN_RESERVED: usize = 4;

pub(super) enum Store {
    Fifo(VecDeque<Element>),
    Priority(Heap),
    Shuffle(Shuffle),
}

pub(super) struct Shuffle {
    elements: Vec<Element>,
    min_after_dequeue: usize,
    random: Philox,
}

impl Store {
    pub(super) fn new(order: Order) -> Self {
        match order {
            Order::Fifo | Order::Padding => Self::Fifo(VecDeque::new()),
            Order::Priority => Self::Priority(Heap::default()),
            Order::Shuffle { min_after_dequeue, seed, seed2 } => {
                let random = match (seed, seed2) {
                    (0, 0) => Philox::from_entropy(),
                    _ => Philox::new(seed, seed2),
                };
                Self::Shuffle(Shuffle { elements: Vec::new(), min_after_dequeue, random })
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Fifo(elements) => elements.len(),
            Self::Priority(heap) => heap.len(),
            Self::Shuffle(shuffle) => shuffle.elements.len(),
        }
    }

    /// How many elements may be taken now towards `missing`. A priority queue gives them all at once or none, so
    /// that they are the best ones.
    pub(super) fn available(&self, is_closed: bool, missing: usize) -> usize {
        match self {
            Self::Fifo(elements) => elements.len(),
            Self::Priority(heap) => {
                if heap.len() < missing {
                    0
                } else {
                    heap.len()
                }
            }
            Self::Shuffle(shuffle) if is_closed => shuffle.elements.len(),
            Self::Shuffle(shuffle) => shuffle.elements.len().saturating_sub(shuffle.min_after_dequeue),
        }
    }

    /// Adds an element, of at most `capacity`.
    pub(super) fn push(&mut self, element: Element, capacity: Option<usize>) {
        match self {
            Self::Fifo(elements) => {
                if elements.len() == elements.capacity() {
                    elements.reserve_exact(num_to_reserve(elements.len(), capacity));
                }
                elements.push_back(element);
            }
            Self::Priority(heap) => heap.push(element),
            Self::Shuffle(shuffle) => {
                if shuffle.elements.len() == shuffle.elements.capacity() {
                    shuffle.elements.reserve_exact(num_to_reserve(shuffle.elements.len(), capacity));
                }
                shuffle.elements.push(element);
            }
        }
    }

    /// Takes the next element. A shuffle queue draws one and puts its last element in the gap, as TensorFlow does.
    pub(super) fn pop(&mut self) -> Option<Element> {
        match self {
            Self::Fifo(elements) => elements.pop_front(),
            Self::Priority(heap) => heap.pop(),
            Self::Shuffle(shuffle) => {
                let length = u32::try_from(shuffle.elements.len()).ok().filter(|length| *length > 0)?;
                let index = shuffle.random.next_u32() % length;
                Some(shuffle.elements.swap_remove(index as usize))
            }
        }
    }

    /// Takes elements back that a dequeue had taken: a FIFO queue in front, in their order, a shuffle queue at
    /// the back, last one first, as TensorFlow does.
    pub(super) fn give_back(&mut self, elements: Elements) {
        for element in elements.into_iter().rev() {
            match self {
                Self::Fifo(queue) => queue.push_front(element),
                Self::Priority(heap) => heap.push(element),
                Self::Shuffle(shuffle) => shuffle.elements.push(element),
            }
        }
    }
}

/// For how many elements more than `length` there is to be room: twice as many, but not more than will ever come.
fn num_to_reserve(length: usize, capacity: Option<usize>) -> usize {
    let most = capacity.map_or(usize::MAX, |capacity| capacity.saturating_sub(length));
    length.max(MIN_RESERVED).min(most).max(1)
}
