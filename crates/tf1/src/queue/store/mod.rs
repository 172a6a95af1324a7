//! The elements of a queue, with one variant per order. All variants have the same methods.

mod chunks;
mod heap;

use super::{Element, Elements, Order};
use chunks::Chunks;
use headrace_engine::error::Result;
use headrace_engine::philox::Philox;
use headrace_engine::saved::{Content, Reading};
use headrace_engine::tensor::allocate::Refusal;
use heap::Heap;

pub(super) enum Store {
    Fifo(Chunks),
    Priority(Heap),
    Shuffle(Shuffle),
}

pub(super) struct Shuffle {
    elements: Chunks,
    min_after_dequeue: usize,
    random: Philox,
}

impl Store {
    pub(super) fn new(order: Order) -> Self {
        match order {
            Order::Fifo | Order::Padding => Self::Fifo(Chunks::default()),
            Order::Priority => Self::Priority(Heap::default()),
            Order::Shuffle { min_after_dequeue, seed, seed2 } => {
                let random = match (seed, seed2) {
                    (0, 0) => Philox::from_entropy(),
                    _ => Philox::new(seed, seed2),
                };
                Self::Shuffle(Shuffle { elements: Chunks::default(), min_after_dequeue, random })
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

    /// Returns how many of the `missing` elements may be dequeued now. A priority queue returns
    /// either all of them or none, so that they are the smallest.
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

    /// The elements, ordered so that pushing them to an empty store leads to the same behaviour.
    pub(super) fn elements(&self) -> Box<dyn Iterator<Item = &Element> + '_> {
        match self {
            Self::Fifo(elements) => Box::new(elements.iter()),
            Self::Priority(heap) => Box::new(heap.iter()),
            Self::Shuffle(shuffle) => Box::new(shuffle.elements.iter()),
        }
    }

    /// Saves the state of the random number generator, if there is one.
    pub(super) fn save_random(&self, content: &mut Content) {
        if let Self::Shuffle(shuffle) = self {
            shuffle.random.save(content);
        }
    }

    pub(super) fn restore_random(&mut self, reading: &mut Reading) -> Result<()> {
        if let Self::Shuffle(shuffle) = self {
            shuffle.random = Philox::restored(reading)?;
        }
        Ok(())
    }

    /// Reserves memory for an element that will be added next.
    pub(super) fn make_room(&mut self) -> std::result::Result<(), Refusal> {
        match self {
            Self::Fifo(elements) => elements.make_room(),
            Self::Priority(heap) => heap.make_room(),
            Self::Shuffle(shuffle) => shuffle.elements.make_room(),
        }
    }

    /// Adds an element.
    pub(super) fn push(&mut self, element: Element) {
        match self {
            Self::Fifo(elements) => elements.push_back(element),
            Self::Priority(heap) => heap.push(element),
            Self::Shuffle(shuffle) => shuffle.elements.push_back(element),
        }
    }

    /// Takes the next element. As in TensorFlow, a shuffle queue draws one and moves its last
    /// element there.
    pub(super) fn pop(&mut self) -> Option<Element> {
        match self {
            Self::Fifo(elements) => elements.pop_front(),
            Self::Priority(heap) => heap.pop(),
            Self::Shuffle(shuffle) => {
                let length = u32::try_from(shuffle.elements.len()).ok().filter(|length| *length > 0)?;
                let index = shuffle.random.next_u32() % length;
                shuffle.elements.swap_remove(index as usize)
            }
        }
    }

    /// Puts back the elements of a dequeue. A FIFO queue puts them in front, in order. As in
    /// TensorFlow, a shuffle queue puts them at the back, last one first.
    pub(super) fn give_back(&mut self, elements: Elements) {
        for element in elements.into_iter().rev() {
            match self {
                Self::Fifo(queue) => queue.push_front(element),
                Self::Priority(heap) => heap.push(element),
                Self::Shuffle(shuffle) => shuffle.elements.push_back(element),
            }
        }
    }
}
