//! `Placeholder`, `PlaceholderWithDefault` and `Identity`: return a fed value or an input
//! unchanged.

use crate::error::{Error, Result};
use crate::kernel::rewrite::{InPlace, Rewritable, run_in_place};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::PartialShape;
use std::sync::Arc;

/// Returns its input. Also used for a `PlaceholderWithDefault` that was not fed.
pub struct Identity;

/// A value that has to be fed. Running it is an error.
pub struct Placeholder {
    name: String,
    dtype: DType,
    shape: Option<PartialShape>,
}

impl Placeholder {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self {
            name: attrs.string("name")?.to_owned(),
            dtype: attrs.dtype("dtype")?,
            shape: attrs.shape("shape")?.cloned(),
        })
    }
}

impl Kernel for Identity {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        run_in_place(self, inputs)
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for Identity {
    fn is_brief(&self) -> bool {
        true
    }

    fn in_place(self: Arc<Self>) -> Option<Arc<dyn InPlace>> {
        Some(self)
    }
}

impl InPlace for Identity {
    fn change(&self, _value: &mut Tensor) -> Result<()> {
        Ok(())
    }
}

impl Kernel for Placeholder {
    fn run(&self, _run: &Run, _inputs: Tensors) -> Result<Step> {
        // As in TensorFlow, the shape of a scalar is not mentioned.
        let shape = self.shape.as_ref().filter(|shape| !shape.dims().is_empty());
        let shape = shape.map_or(String::new(), |shape| format!(" and shape {shape}"));
        let Self { name, dtype, .. } = self;
        Err(Error::invalid_argument(format!(
            "You must feed a value for placeholder tensor '{name}' with dtype {dtype}{shape}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};
    use crate::tensor::shape::Shape;

    #[test]
    fn identity_returns_its_input_without_a_copy() {
        let inputs = [Tensor::from_values(Shape::new(&[3, 4]), vec![1.5_f32; 12]).unwrap()];
        assert_eq!(run_one(&Identity, &inputs).unwrap().bytes().as_ptr(), inputs[0].bytes().as_ptr());
    }

    #[test]
    fn unfed_placeholder_is_an_error() {
        let placeholder = |shape: Option<PartialShape>| {
            let attrs = attrs([
                ("name", Attr::String("p".into())),
                ("dtype", Attr::DType(DType::Float32)),
                ("shape", Attr::Shape(shape)),
            ]);
            error_text(&Placeholder::from_attrs(&attrs).unwrap(), &[])
        };
        assert_eq!(
            placeholder(Some(PartialShape::new(vec![None, Some(2)]))),
            "InvalidArgument: You must feed a value for placeholder tensor 'p' with dtype float and shape [?,2]"
        );
        for shape in [None, Some(PartialShape::default())] {
            assert_eq!(
                placeholder(shape),
                "InvalidArgument: You must feed a value for placeholder tensor 'p' with dtype float"
            );
        }
    }
}
