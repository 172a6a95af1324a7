//! The layout of the components in a packed element, and how to write and read them.

use super::element::{MAX_SHORT_BYTES, Packed};
use super::{Column, Element};
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::Outputs;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::deferred::Recipe;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::memory::Memory;
use headrace_engine::tensor::shape::Shape;

/// The layout of packed elements, whose components follow one another.
#[derive(Clone)]
pub(super) struct Layout {
    pub(super) parts: Box<[Part]>,
}

/// A component of a packed element.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) dtype: DType,
    pub(super) shape: Shape,
    pub(super) content: Content,
}

/// How a component is packed.
#[derive(Clone)]
pub(super) enum Content {
    Numbers {
        num_bytes: usize,
    },
    /// The source from which float32 numbers are computed.
    Deferred {
        num_bytes: usize,
        recipe: Recipe,
    },
    /// Strings, each preceded by its length.
    Strings {
        count: usize,
    },
    /// The only string of an element that has nothing else.
    WholeString,
}

impl Part {
    /// Returns `None` for a shape that no tensor can have because it has too many elements.
    pub(super) fn new(dtype: DType, shape: Shape) -> Option<Self> {
        let count = shape.checked_num_elements().ok()?;
        let content = match dtype {
            DType::String => Content::Strings { count },
            _ => Content::Numbers { num_bytes: count.checked_mul(dtype.size())? },
        };
        Some(Self { dtype, shape, content })
    }

    /// Returns the strings of row `row` of a component.
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

    /// Passes the bytes of row `row` of a component to `put`.
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
    /// Returns this layout with the same components deferred as in `components`.
    pub(super) fn deferred_as(&self, components: &[Tensor]) -> Self {
        let mut layout = self.clone();
        for (part, component) in layout.parts.iter_mut().zip(components) {
            if let Some(recipe) = component.recipe() {
                let num_bytes = part.shape.num_elements() * recipe.source_size();
                part.content = Content::Deferred { num_bytes, recipe: recipe.clone() };
            }
        }
        layout
    }

    pub(super) fn is_for(&self, components: &[Tensor]) -> bool {
        self.parts.iter().zip(components).all(|(part, component)| match &part.content {
            Content::Deferred { recipe, .. } => component.recipe() == Some(recipe),
            _ => component.recipe().is_none(),
        })
    }

    pub(super) fn has_strings(&self) -> bool {
        self.parts.iter().any(|part| part.dtype == DType::String)
    }

    pub(super) fn num_bytes(&self, components: &[Tensor], row: usize) -> usize {
        self.parts.iter().zip(components).map(|(part, component)| part.num_bytes(component, row)).sum()
    }

    pub(super) fn pack(&self, number: u8, components: &[Tensor], row: usize) -> Result<Element> {
        let num_bytes = self.num_bytes(components, row);
        let parts = self.parts.iter().zip(components);
        if num_bytes <= MAX_SHORT_BYTES {
            let (mut bytes, mut end) = ([0; MAX_SHORT_BYTES], 0);
            for (part, component) in parts {
                part.write(component, row, |content| {
                    bytes[end..end + content.len()].copy_from_slice(content);
                    end += content.len();
                });
            }
            return Ok(Element(Packed::Short { layout: number, length: num_bytes as u8, bytes }));
        }
        let mut bytes = allocate::room(num_bytes).map_err(|refusal| refusal.at("an element of a queue"))?;
        parts.for_each(|(part, component)| part.write(component, row, |content| bytes.extend_from_slice(content)));
        Ok(Element(Packed::Long { layout: number, bytes: bytes.into_boxed_slice() }))
    }

    /// Like [`Layout::unpack`], but a single component keeps the memory of the element.
    pub(super) fn unpack_owned(&self, bytes: Box<[u8]>) -> Result<Outputs> {
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

    pub(super) fn unpack(&self, mut bytes: &[u8]) -> Result<Outputs> {
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
    pub(super) fn add_to(&self, columns: &mut [Column], mut bytes: &[u8]) -> Result<()> {
        for (part, column) in self.parts.iter().zip(columns) {
            match &part.content {
                Content::Numbers { num_bytes } => column.push_bytes(next(&mut bytes, *num_bytes)?),
                Content::Deferred { num_bytes, recipe } => {
                    let source = next(&mut bytes, *num_bytes)?;
                    column.push_floats(|floats| recipe.compute(source, floats));
                }
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
