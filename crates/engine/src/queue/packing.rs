//! Elements as they lie in a queue: small ones as their bytes alone, without the tensors around them.
//!
//! A tensor takes some ninety bytes besides its elements, and most of what is queued is small. Where all shapes are
//! known, the components of an element are packed one after the other: numbers as they are, strings after their lengths.
//! Floats that are put off (see [`crate::tensor::deferred`]) are packed as what they are computed from.

use crate::error::{Error, Result};
use crate::kernel::{Outputs, Tensors};
use crate::queue::column::Column;
use crate::queue::{Element, Elements, QueueSpec};
use crate::tensor::Tensor;
use crate::tensor::aliasing::MAX_BUFFERED_BYTES;
use crate::tensor::allocate;
use crate::tensor::deferred::Recipe;
use crate::tensor::dtype::DType;
use crate::tensor::memory::Memory;
use crate::tensor::shape::Shape;
use bytes::Bytes;
use std::sync::OnceLock;

/// Elements of more bytes are not copied: their tensors move. The strings of those that are lie in one buffer when they have
/// become a batch.
const MAX_PACKED_BYTES: usize = MAX_BUFFERED_BYTES;

/// Layouts besides the first: as many different ways of putting off that one queue's elements may have.
const NUM_OTHER_LAYOUTS: usize = 3;

/// Elements of a batch whose memory is asked for at a time.
const GROUP_LENGTH: usize = 16;
const CACHE_LINE_BYTES: usize = 64;

/// How the elements of one queue are packed.
pub(super) struct Packing {
    /// Of elements that are not put off; `None` if shapes are not known.
    first: Option<Layout>,
    others: [OnceLock<Layout>; NUM_OTHER_LAYOUTS],
}

/// Where the components of a packed element lie.
#[derive(Clone)]
pub(super) struct Layout {
    parts: Box<[Part]>,
}

/// One component of a packed element.
#[derive(Clone)]
struct Part {
    dtype: DType,
    shape: Shape,
    content: Content,
}

#[derive(Clone)]
enum Content {
    Numbers {
        num_bytes: usize,
    },
    /// What float32 numbers are computed from.
    Deferred {
        num_bytes: usize,
        recipe: Recipe,
    },
    /// Strings, each after its length.
    Strings {
        count: usize,
    },
    /// The only string of an element that has nothing else.
    WholeString,
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
        Self { first: parts.map(|parts| Layout { parts }), others: Default::default() }
    }

    /// The number of the layout for components like these, which fit the queue.
    pub(super) fn layout_for(&self, components: &[Tensor]) -> Option<u8> {
        let first = self.first.as_ref()?;
        if !components.iter().any(Tensor::is_deferred) {
            return Some(0);
        }
        let is_that = |slot: &OnceLock<Layout>| slot.get_or_init(|| first.put_off_as(components)).is_for(components);
        // When there is room for no more, floats are computed before they are packed.
        Some(self.others.iter().position(is_that).map_or(0, |index| index as u8 + 1))
    }

    fn layout(&self, number: u8) -> Result<&Layout> {
        let other = |number: u8| self.others.get(usize::from(number) - 1)?.get();
        let layout = if number == 0 { self.first.as_ref() } else { other(number) };
        layout.ok_or_else(|| Error::internal(format!("a queue has no layout {number}")))
    }

    /// One element, which may take the tensors away.
    pub(super) fn pack(&self, components: &mut Tensors) -> Result<Element> {
        if let Some(number) = self.layout_for(components) {
            let layout = self.layout(number)?;
            if layout.num_bytes(components, 0) <= MAX_PACKED_BYTES {
                return layout.pack(number, components, 0);
            }
        }
        components.iter_mut().for_each(Tensor::unshare);
        Ok(Element::Tensors(std::mem::take(components).into_boxed_slice()))
    }

    /// Row `row` of a batch whose layout is `number`.
    pub(super) fn pack_row(&self, number: Option<u8>, batch: &mut [Tensor], row: usize) -> Result<Element> {
        if let Some(number) = number {
            let layout = self.layout(number)?;
            // Numbers are copied in any case, but strings of some size move.
            if !layout.has_strings() || layout.num_bytes(batch, row) <= MAX_PACKED_BYTES {
                return layout.pack(number, batch, row);
            }
        }
        batch.iter_mut().map(|component| component.take_row(row)).collect::<Result<_>>().map(Element::Tensors)
    }

    /// The components of an element.
    pub(super) fn unpack(&self, element: Element) -> Result<Outputs> {
        match element {
            Element::Tensors(components) => Ok(components.into_iter().collect()),
            Element::Short { layout, length, bytes } => self.layout(layout)?.unpack(&bytes[..usize::from(length)]),
            Element::Long { layout, bytes } => self.layout(layout)?.unpack_owned(bytes),
        }
    }

    /// One batch for each component, if the shapes are known.
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
        match element {
            Element::Tensors(components) => {
                columns.iter_mut().zip(components).try_for_each(|(column, component)| column.push(component))
            }
            Element::Short { layout, length, bytes } => {
                self.layout(*layout)?.add_to(columns, &bytes[..usize::from(*length)])
            }
            Element::Long { layout, bytes } => self.layout(*layout)?.add_to(columns, bytes),
        }
    }
}

/// Reads a byte of each line of memory of some elements.
///
/// What waited long in a large queue is in no cache, and the processor can wait for many lines at a time, if it is asked
/// for them all before the first is needed.
fn fetch(elements: &[Element]) {
    let long = elements.iter().filter_map(|element| match element {
        Element::Long { bytes, .. } => Some(bytes),
        _ => None,
    });
    let lines = long.flat_map(|bytes| bytes.iter().step_by(CACHE_LINE_BYTES));
    std::hint::black_box(lines.fold(0, |sum, byte| sum ^ byte));
}

impl Part {
    /// `None` for a shape that no tensor has: it would have too many elements.
    fn new(dtype: DType, shape: Shape) -> Option<Self> {
        let count = shape.checked_num_elements().ok()?;
        let content = match dtype {
            DType::String => Content::Strings { count },
            _ => Content::Numbers { num_bytes: count.checked_mul(dtype.size())? },
        };
        Some(Self { dtype, shape, content })
    }

    /// The strings of row `row` of a component.
    fn strings<'a>(&self, component: &'a Tensor, row: usize) -> &'a [Bytes] {
        let count = self.shape.num_elements();
        &component.string_values()[row * count..(row + 1) * count]
    }

    fn num_bytes(&self, component: &Tensor, row: usize) -> usize {
        match &self.content {
            Content::Numbers { num_bytes } | Content::Deferred { num_bytes, .. } => *num_bytes,
            Content::Strings { .. } => {
                self.strings(component, row).iter().map(|string| size_of::<u32>() + string.len()).sum()
            }
            Content::WholeString => self.strings(component, row)[0].len(),
        }
    }

    /// Gives the bytes of row `row` of a component to `put`.
    fn write(&self, component: &Tensor, row: usize, mut put: impl FnMut(&[u8])) {
        match &self.content {
            Content::Numbers { num_bytes } => put(&component.bytes()[row * num_bytes..(row + 1) * num_bytes]),
            Content::Deferred { num_bytes, .. } => {
                put(&component.deferred_source()[row * num_bytes..(row + 1) * num_bytes]);
            }
            Content::Strings { .. } => {
                for string in self.strings(component, row) {
                    put(&(string.len() as u32).to_ne_bytes());
                    put(string);
                }
            }
            Content::WholeString => put(&self.strings(component, row)[0]),
        }
    }
}

impl Layout {
    /// This one, for components of which those are put off that are so here.
    fn put_off_as(&self, components: &[Tensor]) -> Self {
        let mut layout = self.clone();
        for (part, component) in layout.parts.iter_mut().zip(components) {
            if let Some(recipe) = component.recipe() {
                let num_bytes = part.shape.num_elements() * recipe.source_size();
                part.content = Content::Deferred { num_bytes, recipe: recipe.clone() };
            }
        }
        layout
    }

    fn is_for(&self, components: &[Tensor]) -> bool {
        self.parts.iter().zip(components).all(|(part, component)| match &part.content {
            Content::Deferred { recipe, .. } => component.recipe() == Some(recipe),
            _ => component.recipe().is_none(),
        })
    }

    fn has_strings(&self) -> bool {
        self.parts.iter().any(|part| part.dtype == DType::String)
    }

    fn num_bytes(&self, components: &[Tensor], row: usize) -> usize {
        self.parts.iter().zip(components).map(|(part, component)| part.num_bytes(component, row)).sum()
    }

    fn pack(&self, number: u8, components: &[Tensor], row: usize) -> Result<Element> {
        let num_bytes = self.num_bytes(components, row);
        let parts = self.parts.iter().zip(components);
        if num_bytes <= Element::MAX_SHORT_BYTES {
            let (mut bytes, mut end) = ([0; Element::MAX_SHORT_BYTES], 0);
            for (part, component) in parts {
                part.write(component, row, |content| {
                    bytes[end..end + content.len()].copy_from_slice(content);
                    end += content.len();
                });
            }
            return Ok(Element::Short { layout: number, length: num_bytes as u8, bytes });
        }
        let mut bytes = allocate::room(num_bytes).map_err(|refusal| refusal.at("an element of a queue"))?;
        parts.for_each(|(part, component)| part.write(component, row, |content| bytes.extend_from_slice(content)));
        Ok(Element::Long { layout: number, bytes: bytes.into_boxed_slice() })
    }

    /// As [`Layout::unpack`]; what is one component keeps the memory of the element.
    fn unpack_owned(&self, bytes: Box<[u8]>) -> Result<Outputs> {
        let [part] = &self.parts[..] else { return self.unpack(&bytes) };
        let shape = part.shape.clone();
        let component = match &part.content {
            Content::Numbers { .. } => Tensor::from_bytes(part.dtype, shape, bytes.into())?,
            Content::Deferred { recipe, .. } => {
                Tensor::deferred(shape, recipe.clone().of(Memory::Bytes(bytes.into())))?
            }
            Content::WholeString => Tensor::string(bytes).reshaped(shape)?,
            Content::Strings { .. } => return self.unpack(&bytes),
        };
        Ok(Outputs::from_iter([component]))
    }

    fn unpack(&self, mut bytes: &[u8]) -> Result<Outputs> {
        let mut components = Outputs::new();
        for part in &self.parts {
            let shape = part.shape.clone();
            components.push(match &part.content {
                Content::Numbers { num_bytes } => Tensor::copied(part.dtype, shape, next(&mut bytes, *num_bytes)?)?,
                Content::Deferred { num_bytes, recipe } => {
                    let source = Memory::copied(next(&mut bytes, *num_bytes)?)
                        .map_err(|refusal| refusal.at("an element of a queue"))?;
                    Tensor::deferred(shape, recipe.clone().of(source))?
                }
                Content::Strings { count } => {
                    let strings = (0..*count).map(|_| next_string(&mut bytes).map(Bytes::copy_from_slice));
                    Tensor::strings(shape, strings.collect::<Result<_>>()?)?
                }
                Content::WholeString => Tensor::string(Bytes::copy_from_slice(bytes)).reshaped(shape)?,
            });
        }
        Ok(components)
    }

    /// Adds a packed element to the columns of a batch.
    fn add_to(&self, columns: &mut [Column], mut bytes: &[u8]) -> Result<()> {
        for (part, column) in self.parts.iter().zip(columns) {
            match &part.content {
                Content::Numbers { num_bytes } => column.push_bytes(next(&mut bytes, *num_bytes)?),
                Content::Deferred { num_bytes, recipe } => column.push_deferred(recipe, next(&mut bytes, *num_bytes)?),
                Content::Strings { count } => {
                    for _ in 0..*count {
                        column.push_bytes(next_string(&mut bytes)?);
                    }
                }
                Content::WholeString => column.push_bytes(bytes),
            }
        }
        Ok(())
    }
}

fn next<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8]> {
    bytes.split_off(..length).ok_or_else(|| Error::internal("an element of a queue ends early"))
}

fn next_string<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = next(bytes, size_of::<u32>())?.try_into().map_or(0, u32::from_ne_bytes);
    next(bytes, length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::math::cast::cast;
    use crate::queue::Order;
    use crate::tensor::deferred::{MIN_ELEMENTS, Step};
    use crate::tensor::shape::PartialShape;
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
        matches!(element, Element::Short { .. })
    }

    #[test]
    fn an_element_takes_little_more_than_its_bytes() {
        assert_eq!(size_of::<Element>(), 48);
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_out_as_it_was(
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
            let layout = packing.layout_for(&rows);
            for row in 0..2 {
                let one = packing.pack(&mut element(row)).unwrap();
                prop_assert_eq!(&packing.unpack(one).unwrap()[..], &element(row)[..]);
                let one = packing.pack_row(layout, &mut rows.clone(), row).unwrap();
                prop_assert_eq!(&packing.unpack(one).unwrap()[..], &element(row)[..]);
            }
            // Rows and elements, packed or not, make one batch.
            let first = packing.pack(&mut element(0)).unwrap();
            let second = packing.pack_row(layout, &mut rows, 1).unwrap();
            let assembled = packing.batch(&mut Elements::from_iter([first, second])).unwrap().unwrap();
            prop_assert_eq!(&assembled[..], &batch[..]);
        }
    }

    #[test]
    fn a_string_alone_needs_no_length() {
        let packing = packing(&[(DType::String, &[])]);
        for length in [0, Element::MAX_SHORT_BYTES, Element::MAX_SHORT_BYTES + 1, MAX_PACKED_BYTES] {
            let component = Tensor::string(vec![7; length]);
            let element = packing.pack(&mut Tensors::from_iter([component.clone()])).unwrap();
            assert_eq!((element.num_bytes(), shorts(&element)), (length, length <= Element::MAX_SHORT_BYTES));
            assert_eq!(packing.unpack(element).unwrap()[0], component);
        }
    }

    #[test]
    fn what_is_large_or_of_unknown_shape_is_not_copied() {
        let large = Tensor::string(vec![7; MAX_PACKED_BYTES + 1]);
        let element = packing(&[(DType::String, &[])]).pack(&mut Tensors::from_iter([large])).unwrap();
        assert!(matches!(element, Element::Tensors(_)));
        let spec = QueueSpec {
            name: "q".into(),
            order: Order::Padding,
            capacity: None,
            dtypes: vec![DType::Int64],
            shapes: Some(vec![PartialShape::new(vec![None])]),
        };
        let vector = Tensor::from_values(Shape::new(&[2]), vec![1_i64, 2]).unwrap();
        let element = Packing::new(&spec).pack(&mut Tensors::from_iter([vector])).unwrap();
        assert!(matches!(element, Element::Tensors(_)));
    }

    #[test]
    fn floats_that_are_put_off_are_packed_as_they_are_put_off() {
        let packing = packing(&[(DType::Float32, &[MIN_ELEMENTS])]);
        let shifts = [0.5, -0.0, 0.0, 1.5, 2.5, f32::MIN_POSITIVE];
        let mut elements = Elements::new();
        for shift in shifts {
            elements.push(packing.pack(&mut Tensors::from_iter([pixels(shift)])).unwrap());
        }
        let sizes: Vec<_> = elements.iter().map(Element::num_bytes).collect();
        // No more than so many ways of putting off are kept apart.
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
    fn rows_of_a_batch_that_is_put_off_wait_as_bytes() {
        let packing = packing(&[(DType::Float32, &[MIN_ELEMENTS / 2])]);
        let rows = pixels(0.5).reshaped(Shape::new(&[2, MIN_ELEMENTS / 2])).unwrap();
        let layout = packing.layout_for(std::slice::from_ref(&rows));
        let element = packing.pack_row(layout, &mut [rows], 1).unwrap();
        assert_eq!(element.num_bytes(), MIN_ELEMENTS / 2);
        assert_eq!(packing.unpack(element).unwrap()[0].values::<f32>().unwrap()[0], 32.5);
    }
}
