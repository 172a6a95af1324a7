//! The elements of a priority queue: a binary heap that breaks ties like the C++ standard
//! library.
//!
//! Elements of equal priority come out neither in order of arrival nor at random, but programs rely
//! on the order. Source: `std::push_heap` and `std::pop_heap` of libstdc++, which TensorFlow's
//! `priority_queue.cc` uses.

use crate::queue::Element;
use headrace_engine::tensor::allocate::{self, Refusal};

/// A heap of elements whose component 0 is their priority. The smallest one is on top.
#[derive(Default)]
pub(in crate::queue) struct Heap(Vec<(i64, Element)>);

impl Heap {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Iterates over the elements in heap order. Pushing them in this order produces the same heap.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Element> {
        self.0.iter().map(|(_, element)| element)
    }

    /// Reserves memory for one more element.
    pub(super) fn make_room(&mut self) -> std::result::Result<(), Refusal> {
        allocate::grow(&mut self.0, 1)
    }

    pub(super) fn push(&mut self, element: Element) {
        self.0.push((element.priority(), element));
        self.sift_up(self.0.len() - 1);
    }

    pub(super) fn pop(&mut self) -> Option<Element> {
        let last = self.0.len().checked_sub(1)?;
        self.0.swap(0, last);
        let (_, top) = self.0.pop()?;
        // The hole moves down to a leaf, always to the better child. The last element then moves up
        // from there.
        let mut hole = 0;
        while 2 * hole + 1 < self.0.len() {
            let (left, right) = (2 * hole + 1, 2 * hole + 2);
            let is_left_better = right >= self.0.len() || self.0[left].0 < self.0[right].0;
            let child = if is_left_better { left } else { right };
            self.0.swap(hole, child);
            hole = child;
        }
        if !self.0.is_empty() {
            self.sift_up(hole);
        }
        Some(top)
    }

    /// Moves an element up as long as its parent is strictly worse.
    fn sift_up(&mut self, mut index: usize) {
        while index > 0 && self.0[(index - 1) / 2].0 > self.0[index].0 {
            self.0.swap(index, (index - 1) / 2);
            index = (index - 1) / 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_engine::tensor::Tensor;

    fn element(priority: i64, id: i64) -> Element {
        Element::of_tensors([Tensor::scalar(priority), Tensor::scalar(id)])
    }

    fn ids(heap: &mut Heap) -> Vec<i64> {
        let id = |element: Element| element.into_tensors()[1].integer_scalar("id").unwrap();
        std::iter::from_fn(|| heap.pop()).map(id).collect()
    }

    #[test]
    fn equal_priorities_are_ordered_like_the_cpp_standard_library() {
        let mut heap = Heap::default();
        (0..10).for_each(|id| heap.push(element(7, id)));
        assert_eq!(ids(&mut heap), [0, 2, 6, 9, 8, 5, 7, 4, 1, 3]);
    }

    #[test]
    fn smaller_priorities_are_dequeued_first_including_negative_ones() {
        let mut heap = Heap::default();
        [5, -3, 9, 0, i64::MIN, i64::MAX].iter().for_each(|priority| heap.push(element(*priority, *priority)));
        assert_eq!(ids(&mut heap), [i64::MIN, -3, 0, 5, 9, i64::MAX]);
    }
}
