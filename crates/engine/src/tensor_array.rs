//! The elements of a tensor array, and the rules for writing and reading them.

use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::{PartialShape, Shape};
use std::sync::Arc;

/// The tensor arrays of a run, by handle.
pub(crate) type TensorArrays = Vec<TensorArray>;

/// One array.
pub struct TensorArray {
    name: Arc<str>,
    dtype: DType,
    /// The shape of each element, as far as it is known.
    shape: Option<PartialShape>,
    /// True if writing past the end makes the array grow.
    is_dynamic: bool,
    /// True if an element is dropped after it is read.
    clears: bool,
    /// True if all elements have the shape of the first one written.
    is_uniform: bool,
    elements: Vec<Element>,
    is_closed: bool,
}

#[derive(Clone, Default)]
enum Element {
    #[default]
    Unwritten,
    Written(Tensor),
    /// It was read. It is kept unless reading clears it.
    Read(Option<Tensor>),
}

impl TensorArray {
    /// Creates an array of `size` unwritten elements. `rules` are: whether it grows, whether
    /// reading clears elements, and whether all elements have the same shape.
    pub fn new(
        name: &Arc<str>,
        dtype: DType,
        shape: Option<PartialShape>,
        rules: (bool, bool, bool),
        size: usize,
    ) -> Result<Self> {
        let (is_dynamic, clears, is_uniform) = rules;
        let elements = allocate::copies(size, Element::Unwritten).map_err(|refusal| refusal.at(name))?;
        Ok(Self { name: Arc::clone(name), dtype, shape, is_dynamic, clears, is_uniform, elements, is_closed: false })
    }

    pub fn len(&self) -> usize {
        self.elements.len()
    }

    pub fn dtype(&self) -> DType {
        self.dtype
    }

    pub fn shape(&self) -> Option<&PartialShape> {
        self.shape.as_ref()
    }

    /// Drops all elements.
    pub fn close(&mut self) {
        (self.elements, self.is_closed) = (Vec::new(), true);
    }

    pub fn check_open(&self) -> Result<()> {
        if self.is_closed {
            return Err(self.refused("has already been closed."));
        }
        Ok(())
    }

    fn refused(&self, text: &str) -> Error {
        Error::invalid_argument(format!("TensorArray {}: {text}", self.name))
    }

    /// Sets the length to `size`. Fails if that isn't possible.
    pub fn fit(&mut self, size: usize) -> Result<()> {
        if size != self.len() && !self.is_dynamic {
            return Err(self.refused(&format!(
                "TensorArray's size is not equal to the size of lengths ({} vs. {size}), and the TensorArray is not marked as \
                 dynamically resizeable",
                self.len()
            )));
        }
        self.grow(size)
    }

    fn grow(&mut self, size: usize) -> Result<()> {
        let missing = size.saturating_sub(self.len());
        allocate::grow(&mut self.elements, missing).map_err(|refusal| refusal.at(&self.name))?;
        self.elements.extend(std::iter::repeat_n(Element::Unwritten, missing));
        Ok(())
    }

    pub fn write(&mut self, index: i64, value: Tensor) -> Result<()> {
        let position = usize::try_from(index).ok().filter(|position| self.is_dynamic || *position < self.len());
        let Some(position) = position else {
            let text = match self.is_dynamic {
                true => format!("Tried to write to index {index}, expected at least 0"),
                false => {
                    let size = self.len();
                    format!("Tried to write to index {index} but array is not resizeable and size is: {size}")
                }
            };
            return Err(self.refused(&text));
        };
        self.grow(position + 1)?;
        if value.dtype() != self.dtype {
            let (got, expected) = (value.dtype(), self.dtype);
            return Err(self.refused(&format!(
                "Could not write to TensorArray index {index} because the value dtype is {got} but TensorArray dtype is \
                 {expected}."
            )));
        }
        match self.elements[position] {
            Element::Written(_) => {
                let text = "because it has already been written to.";
                return Err(self.refused(&format!("Could not write to TensorArray index {index} {text}")));
            }
            Element::Read(_) => {
                let text = "because it has already been read.";
                return Err(self.refused(&format!("Could not write to TensorArray index {index} {text}")));
            }
            Element::Unwritten => {}
        }
        if self.shape.as_ref().is_some_and(|shape| !shape.is_compatible_with(value.shape())) {
            let (got, expected) = (value.shape(), unknown_or(self.shape.as_ref()));
            return Err(self.refused(&format!(
                "Could not write to TensorArray index {index} because the value shape is {got} which is incompatible with \
                 the TensorArray's inferred element shape: {expected} (consider setting infer_shape=False)."
            )));
        }
        if self.is_uniform && self.shape.as_ref().is_none_or(|shape| shape.to_shape().is_none()) {
            self.shape = Some(PartialShape::from(value.shape()));
        }
        self.elements[position] = Element::Written(value);
        Ok(())
    }

    pub fn read(&mut self, index: i64) -> Result<Tensor> {
        let position = usize::try_from(index).ok().filter(|position| *position < self.len());
        let Some(position) = position else {
            let size = self.len();
            return Err(self.refused(&format!("Tried to read from index {index} but array size is: {size}")));
        };
        let value = match std::mem::take(&mut self.elements[position]) {
            Element::Written(value) | Element::Read(Some(value)) => value,
            Element::Read(None) => {
                self.elements[position] = Element::Read(None);
                return Err(self.refused(&format!(
                    "Could not read index {index} twice because it was cleared after a previous read (perhaps try setting \
                     clear_after_read = false?)."
                )));
            }
            Element::Unwritten => self.zeros(index)?,
        };
        self.elements[position] = Element::Read((!self.clears).then(|| value.clone()));
        Ok(value)
    }

    /// The value of an element that was never written: zeros, if its shape is known.
    fn zeros(&self, index: i64) -> Result<Tensor> {
        if self.dtype == DType::String {
            return Err(
                self.refused(&format!("Could not read index {index}: it was not written. Write the string first."))
            );
        }
        let shape: Shape = self.shape.as_ref().and_then(PartialShape::to_shape).ok_or_else(|| {
            let shape = unknown_or(self.shape.as_ref());
            self.refused(&format!(
                "Could not read from TensorArray index {index}.  Furthermore, the element shape is not fully defined: \
                 {shape}. Write the element first, or set a full element_shape to read zeros."
            ))
        })?;
        let bytes = allocate::elements(self.dtype, &shape).zeros::<u8>()?;
        Tensor::from_bytes(self.dtype, shape, bytes.into())
    }
}

/// A readable shape.
pub fn unknown_or(shape: Option<&PartialShape>) -> String {
    shape.map_or_else(|| "<unknown>".to_owned(), PartialShape::to_string)
}
