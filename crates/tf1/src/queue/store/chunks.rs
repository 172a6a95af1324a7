//! A double-ended list of elements in chunks of memory.
//!
//! A growing queue doesn't copy its elements while it holds its lock, and a shrinking queue frees
//! memory.

use crate::queue::Element;
use headrace_engine::tensor::allocate::{self, Refusal};
use std::collections::VecDeque;

/// The number of elements in a chunk, which takes 24 KiB.
const CHUNK: usize = 512;

/// A list from which elements can be removed at both ends and anywhere in between.
#[derive(Default)]
pub(in crate::queue) struct Chunks {
    /// All chunks except the first and the last are full. No chunk is empty, unless it is the only
    /// one.
    chunks: VecDeque<VecDeque<Element>>,
    len: usize,
}

impl Chunks {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Element> {
        self.chunks.iter().flatten()
    }

    /// Reserves memory for one more element at the end.
    pub(super) fn make_room(&mut self) -> std::result::Result<(), Refusal> {
        match self.chunks.back_mut() {
            Some(last) if last.len() < CHUNK => allocate::grow_back(last, CHUNK),
            last => {
                let mut chunk = VecDeque::new();
                if last.is_some() {
                    chunk = VecDeque::from(allocate::room(CHUNK)?);
                }
                allocate::grow_back(&mut self.chunks, usize::MAX)?;
                self.chunks.push_back(chunk);
                Ok(())
            }
        }
    }

    pub(super) fn push_back(&mut self, element: Element) {
        self.len += 1;
        match self.chunks.back_mut() {
            Some(last) if last.len() < CHUNK => last.push_back(element),
            last => {
                // The only chunk of a small queue grows as needed.
                #[expect(clippy::disallowed_methods, reason = "a chunk")]
                let mut chunk = VecDeque::with_capacity(if last.is_some() { CHUNK } else { 1 });
                chunk.push_back(element);
                self.chunks.push_back(chunk);
            }
        }
    }

    pub(super) fn push_front(&mut self, element: Element) {
        self.len += 1;
        match self.chunks.front_mut() {
            Some(first) if first.len() < CHUNK => first.push_front(element),
            _ => self.chunks.push_front(VecDeque::from([element])),
        }
    }

    pub(super) fn pop_front(&mut self) -> Option<Element> {
        let first = self.chunks.front_mut()?;
        let element = first.pop_front()?;
        self.len -= 1;
        // The only chunk stays, so that a queue that often runs empty doesn't have to allocate.
        if first.is_empty() && self.chunks.len() > 1 {
            self.chunks.pop_front();
        }
        Some(element)
    }

    /// Removes the element at `index` and moves the last element there.
    pub(super) fn swap_remove(&mut self, index: usize) -> Option<Element> {
        let last = self.chunks.back_mut()?;
        let element = last.pop_back()?;
        self.len -= 1;
        if last.is_empty() && self.chunks.len() > 1 {
            self.chunks.pop_back();
        }
        if index == self.len {
            return Some(element);
        }
        let (chunk, position) = match index.checked_sub(self.chunks.front()?.len()) {
            None => (0, index),
            Some(rest) => (1 + rest / CHUNK, rest % CHUNK),
        };
        Some(std::mem::replace(self.chunks.get_mut(chunk)?.get_mut(position)?, element))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chunks_behave_like_a_list(steps in prop::collection::vec((0_u8..8, 1..700_u32), 1..60)) {
            let (mut chunks, mut list, mut next) = (Chunks::default(), VecDeque::new(), 0_u32);
            for (what, times) in steps {
                for time in 0..times {
                    next += 1;
                    match what {
                        0..=2 => {
                            chunks.push_back(Element::of_number(i64::from(next)));
                            list.push_back(i64::from(next));
                        }
                        3 => {
                            chunks.push_front(Element::of_number(i64::from(next)));
                            list.push_front(i64::from(next));
                        }
                        4 | 5 => prop_assert_eq!(chunks.pop_front().map(|element| element.priority()), list.pop_front()),
                        _ => {
                            let index = (time as usize * 7919) % list.len().max(1);
                            prop_assert_eq!(chunks.swap_remove(index).map(|element| element.priority()), list.swap_remove_back(index));
                        }
                    }
                    prop_assert_eq!(chunks.len(), list.len());
                }
            }
        }
    }
}
