//! The form of elements in a queue. Small elements are stored as bytes, without tensors around
//! them.
//!
//! A tensor needs some ninety bytes in addition to its elements, and most queued elements are
//! small. If all shapes are known, the components of an element are packed one after another:
//! numbers as they are, and strings after their lengths. Deferred floats (see
//! [`headrace_engine::tensor::deferred`]) are packed as their source if elements are dequeued in
//! batches. Otherwise they are computed by the thread that enqueues them, not by the consumer.

mod element;
mod layout;

pub use element::{Element, Elements};

use crate::queue::QueueSpec;
use crate::queue::column::Column;
use element::Packed;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::{Outputs, Tensors};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::aliasing::MAX_BUFFERED_BYTES;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use layout::{Content, Layout, Part};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Larger elements are not packed; their tensors are moved. The strings of packed elements share a
/// buffer once they form a batch.
const MAX_PACKED_BYTES: usize = MAX_BUFFERED_BYTES;

/// The number of layouts in addition to the first. A queue can pack this many different deferred
/// computations.
const NUM_OTHER_LAYOUTS: usize = 3;

/// The approximate memory in bytes of a tensor without its elements, including the overhead of an
/// allocation.
const TENSOR_BYTES: usize = 192;
const ALLOCATION_BYTES: usize = 32;

/// The number of a batch's elements to fetch from memory at a time.
const GROUP_LENGTH: usize = 16;
const CACHE_LINE_BYTES: usize = 64;

/// How the elements of a queue are packed.
pub(super) struct Packing {
    /// The layout of elements without deferred components, or `None` if the shapes are unknown.
    first: Option<Layout>,
    others: [OnceLock<Layout>; NUM_OTHER_LAYOUTS],
    /// True if the elements are batched, in which case the batch computes deferred floats. It is
    /// set while programs are built and read by every enqueue. Nothing else depends on its order,
    /// so loom need not see it.
    is_batched: AtomicBool,
}

impl Packing {
    pub(super) fn new(spec: &QueueSpec) -> Self {
        let shapes = spec.shapes.iter().flatten().map(|shape| shape.to_shape());
        let part = |(dtype, shape): (&DType, Option<Shape>)| Part::new(*dtype, shape?);
        let parts: Option<Box<[Part]>> = spec.dtypes.iter().zip(shapes).map(part).collect();
        let mut parts = parts.filter(|parts| parts.len() == spec.dtypes.len());
        if let Some([Part { content: content @ Content::Strings { count: 1 }, .. }]) = parts.as_deref_mut() {
            *content = Content::WholeString;
        }
        Self {
            first: parts.map(|parts| Layout { parts }),
            others: Default::default(),
            is_batched: AtomicBool::new(false),
        }
    }

    /// Announces that elements will be batched.
    pub(super) fn expect_batches(&self) {
        self.is_batched.store(true, Ordering::Relaxed);
    }

    /// Returns the number of the layout for components like these, which must match the queue.
    pub(super) fn layout_for(&self, components: &[Tensor]) -> Result<Option<u8>> {
        let mut is_deferred = components.iter().any(Tensor::is_deferred);
        if is_deferred && !self.is_batched.load(Ordering::Relaxed) {
            components.iter().try_for_each(Tensor::materialise)?;
            is_deferred = false;
        }
        let Some(first) = &self.first else { return Ok(None) };
        if !is_deferred {
            return Ok(Some(0));
        }
        let is_that = |slot: &OnceLock<Layout>| slot.get_or_init(|| first.deferred_as(components)).is_for(components);
        // Without a free layout, floats are computed before they are packed.
        Ok(Some(self.others.iter().position(is_that).map_or(0, |index| index as u8 + 1)))
    }

    fn layout(&self, number: u8) -> Result<&Layout> {
        let other = |number: u8| self.others.get(usize::from(number) - 1)?.get();
        let layout = if number == 0 { self.first.as_ref() } else { other(number) };
        layout.ok_or_else(|| Error::internal(format!("queue layout {number} does not exist")))
    }

    /// Packs an element, whose tensors may be moved.
    pub(super) fn pack(&self, components: &mut Tensors) -> Result<Element> {
        if let Some(number) = self.layout_for(components)? {
            let layout = self.layout(number)?;
            if layout.num_bytes(components, 0) <= MAX_PACKED_BYTES {
                return layout.pack(number, components, 0);
            }
        }
        components.iter_mut().for_each(Tensor::unshare);
        Ok(Element(Packed::Tensors(std::mem::take(components).into_boxed_slice())))
    }

    /// Packs row `row` of a batch with layout number `number`.
    pub(super) fn pack_row(&self, number: Option<u8>, batch: &mut [Tensor], row: usize) -> Result<Element> {
        if let Some(number) = number {
            let layout = self.layout(number)?;
            // Numbers are copied in any case, but large strings are moved.
            if !layout.has_strings() || layout.num_bytes(batch, row) <= MAX_PACKED_BYTES {
                return layout.pack(number, batch, row);
            }
        }
        batch
            .iter_mut()
            .map(|component| component.take_row(row))
            .collect::<Result<_>>()
            .map(|components| Element(Packed::Tensors(components)))
    }

    /// The approximate memory of an element in bytes, not counting its components.
    pub(super) fn overhead_bytes(&self, num_components: usize) -> usize {
        let of_each = if self.first.is_some() { 0 } else { TENSOR_BYTES * num_components };
        size_of::<Element>() + ALLOCATION_BYTES + of_each
    }

    /// Returns the components of an element.
    pub(super) fn unpack(&self, element: Element) -> Result<Outputs> {
        match element.0 {
            Packed::Tensors(components) => Ok(components.into_iter().collect()),
            Packed::Short { layout, length, bytes } => self.layout(layout)?.unpack(&bytes[..usize::from(length)]),
            Packed::Long { layout, bytes } => self.layout(layout)?.unpack_owned(bytes),
        }
    }

    /// Returns one batch per component, if the shapes are known.
    pub(super) fn batch(&self, elements: &mut Elements) -> Option<Result<Outputs>> {
        self.first.as_ref().map(|first| self.assemble(first, elements))
    }

    fn assemble(&self, first: &Layout, elements: &mut Elements) -> Result<Outputs> {
        let count = elements.len();
        let column = |part: &Part| Column::new(part.dtype, &part.shape.batched(count));
        let mut columns = first.parts.iter().map(column).collect::<Result<Vec<_>>>()?;
        for group in elements.chunks_mut(GROUP_LENGTH) {
            fetch(group);
            group.iter_mut().try_for_each(|element| self.unpack_into(&mut columns, element))?;
        }
        let parts = columns.into_iter().zip(&first.parts);
        parts.map(|(column, part)| column.into_tensor(part.dtype, part.shape.batched(count))).collect()
    }

    fn unpack_into(&self, columns: &mut [Column], element: &mut Element) -> Result<()> {
        match &mut element.0 {
            Packed::Tensors(components) => {
                columns.iter_mut().zip(components).try_for_each(|(column, component)| column.push(component))
            }
            Packed::Short { layout, length, bytes } => {
                self.layout(*layout)?.add_to(columns, &bytes[..usize::from(*length)])
            }
            Packed::Long { layout, bytes } => self.layout(*layout)?.add_to(columns, bytes),
        }
    }
}

/// Reads one byte from each cache line of some elements.
///
/// Elements that have waited in a large queue for a long time are in no cache. The CPU can wait for
/// many cache lines at once if all are requested before the first one is needed.
fn fetch(elements: &[Element]) {
    let long = elements.iter().filter_map(|element| match &element.0 {
        Packed::Long { bytes, .. } => Some(bytes),
        _ => None,
    });
    let lines = long.flat_map(|bytes| bytes.iter().step_by(CACHE_LINE_BYTES));
    std::hint::black_box(lines.fold(0, |sum, byte| sum ^ byte));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Order;
    use bytes::Bytes;
    use element::MAX_SHORT_BYTES;
    use headrace_engine::kernels::math::cast::cast;
    use headrace_engine::tensor::deferred::{MIN_ELEMENTS, Step};
    use headrace_engine::tensor::shape::PartialShape;
    use proptest::prelude::*;

    fn packing(kinds: &[(DType, &[usize])]) -> Packing {
        Packing::new(&QueueSpec {
            name: "q".into(),
            order: Order::Fifo,
            capacity: None,
            dtypes: kinds.iter().map(|(dtype, _)| *dtype).collect(),
            shapes: Some(kinds.iter().map(|(_, shape)| PartialShape::from(&Shape::new(shape))).collect()),
        })
    }

    fn strings(shape: &[usize], values: &[Vec<u8>]) -> Tensor {
        Tensor::strings(Shape::new(shape), values.iter().cloned().map(Bytes::from).collect()).unwrap()
    }

    fn pixels(shift: f32) -> Tensor {
        let bytes = (0..MIN_ELEMENTS).map(|value| value as u8).collect();
        let bytes = Tensor::from_values(Shape::new(&[MIN_ELEMENTS]), bytes).unwrap();
        let mut floats = cast(&bytes, DType::Float32).unwrap();
        floats.push_step(Step::add(shift)).unwrap();
        floats
    }

    fn shorts(element: &Element) -> bool {
        matches!(element.0, Packed::Short { .. })
    }

    #[test]
    fn element_occupies_little_more_than_its_bytes() {
        assert_eq!(size_of::<Element>(), 48);
    }

    proptest! {
        #[test]
        fn packed_components_round_trip(
            numbers in prop::collection::vec(any::<i32>(), 6),
            words in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 4),
            scalar in any::<u8>(),
        ) {
            let packing =
                packing(&[(DType::Int32, &[3]), (DType::String, &[2]), (DType::UInt8, &[])]);
            let element = |row: usize| {
                Tensors::from_iter([
                    Tensor::from_values(Shape::new(&[3]), numbers[3 * row..3 * row + 3].to_vec()).unwrap(),
                    strings(&[2], &words[2 * row..2 * row + 2]),
                    Tensor::scalar(scalar),
                ])
            };
            let batch = [
                Tensor::from_values(Shape::new(&[2, 3]), numbers.clone()).unwrap(),
                strings(&[2, 2], &words),
                Tensor::from_values(Shape::new(&[2]), vec![scalar; 2]).unwrap(),
            ];
            let mut rows = batch.clone();
            let layout = packing.layout_for(&rows).unwrap();
            for row in 0..2 {
                let one = packing.pack(&mut element(row)).unwrap();
                prop_assert_eq!(&packing.unpack(one).unwrap()[..], &element(row)[..]);
                let one = packing.pack_row(layout, &mut rows.clone(), row).unwrap();
                prop_assert_eq!(&packing.unpack(one).unwrap()[..], &element(row)[..]);
            }
            // Rows and elements, packed or not, form one batch.
            let first = packing.pack(&mut element(0)).unwrap();
            let second = packing.pack_row(layout, &mut rows, 1).unwrap();
            let assembled = packing.batch(&mut Elements::from_iter([first, second])).unwrap().unwrap();
            prop_assert_eq!(&assembled[..], &batch[..]);
        }
    }

    #[test]
    fn single_string_has_no_length_prefix() {
        let packing = packing(&[(DType::String, &[])]);
        for length in [0, MAX_SHORT_BYTES, MAX_SHORT_BYTES + 1, MAX_PACKED_BYTES] {
            let component = Tensor::string(vec![7; length]);
            let element = packing.pack(&mut Tensors::from_iter([component.clone()])).unwrap();
            assert_eq!((element.num_bytes(), shorts(&element)), (length, length <= MAX_SHORT_BYTES));
            assert_eq!(packing.unpack(element).unwrap()[0], component);
        }
    }

    #[test]
    fn large_elements_and_unknown_shapes_are_not_copied() {
        let large = Tensor::string(vec![7; MAX_PACKED_BYTES + 1]);
        let element = packing(&[(DType::String, &[])]).pack(&mut Tensors::from_iter([large])).unwrap();
        assert!(matches!(element.0, Packed::Tensors(_)));
        let spec = QueueSpec {
            name: "q".into(),
            order: Order::Padding,
            capacity: None,
            dtypes: vec![DType::Int64],
            shapes: Some(vec![PartialShape::new(vec![None])]),
        };
        let vector = Tensor::from_values(Shape::new(&[2]), vec![1_i64, 2]).unwrap();
        let element = Packing::new(&spec).pack(&mut Tensors::from_iter([vector])).unwrap();
        assert!(matches!(element.0, Packed::Tensors(_)));
    }

    #[test]
    fn deferred_floats_are_packed_as_their_source_bytes() {
        let packing = packing(&[(DType::Float32, &[MIN_ELEMENTS])]);
        packing.expect_batches();
        let shifts = [0.5, -0.0, 0.0, 1.5, 2.5, f32::MIN_POSITIVE];
        let mut elements = Elements::new();
        for shift in shifts {
            elements.push(packing.pack(&mut Tensors::from_iter([pixels(shift)])).unwrap());
        }
        let sizes: Vec<_> = elements.iter().map(Element::num_bytes).collect();
        // A queue only packs that many different computations.
        assert_eq!(sizes[..NUM_OTHER_LAYOUTS], [MIN_ELEMENTS; NUM_OTHER_LAYOUTS]);
        assert_eq!(sizes[NUM_OTHER_LAYOUTS..], [4 * MIN_ELEMENTS; 3]);
        let batch = packing.batch(&mut elements).unwrap().unwrap();
        for (row, shift) in shifts.into_iter().enumerate() {
            let bits =
                |tensor: &Tensor| tensor.values::<f32>().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&batch[0].row(row).unwrap()), bits(&pixels(shift)));
        }
        let one = packing.pack(&mut Tensors::from_iter([pixels(0.5)])).unwrap();
        let one = packing.unpack(one).unwrap();
        assert!(one[0].is_deferred() && one[0] == pixels(0.5));
    }

    #[test]
    fn floats_are_computed_before_packing_unless_batches_are_expected() {
        let packing = packing(&[(DType::Float32, &[MIN_ELEMENTS])]);
        let element = packing.pack(&mut Tensors::from_iter([pixels(0.5)])).unwrap();
        assert_eq!(element.num_bytes(), 4 * MIN_ELEMENTS);
        let one = packing.unpack(element).unwrap();
        assert!(!one[0].is_deferred() && one[0] == pixels(0.5));
    }

    #[test]
    fn rows_of_a_deferred_batch_wait_as_bytes() {
        let packing = packing(&[(DType::Float32, &[MIN_ELEMENTS / 2])]);
        packing.expect_batches();
        let rows = pixels(0.5).reshaped(Shape::new(&[2, MIN_ELEMENTS / 2])).unwrap();
        let layout = packing.layout_for(std::slice::from_ref(&rows)).unwrap();
        let element = packing.pack_row(layout, &mut [rows], 1).unwrap();
        assert_eq!(element.num_bytes(), MIN_ELEMENTS / 2);
        assert_eq!(packing.unpack(element).unwrap()[0].values::<f32>().unwrap()[0], 32.5);
    }
}
