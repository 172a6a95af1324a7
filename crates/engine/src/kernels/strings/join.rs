//! `StringJoin`: joins strings element by element.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use bytes::Bytes;

/// Joins one or more string tensors of the same shape element by element. A scalar is joined to
/// every element.
///
/// Source: `tf.string_join` in TensorFlow 1.15.
pub struct StringJoin {
    separator: Vec<u8>,
}

impl StringJoin {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { separator: attrs.bytes("separator")?.to_vec() })
    }

    fn joined<'a>(&self, parts: impl Iterator<Item = &'a Bytes> + Clone) -> Result<Bytes> {
        let length = parts.clone().map(|part| part.len() + self.separator.len()).sum();
        let mut whole = allocate::room(length).map_err(|refusal| refusal.at("a joined string"))?;
        for (number, part) in parts.enumerate() {
            if number > 0 {
                whole.extend_from_slice(&self.separator);
            }
            whole.extend_from_slice(part);
        }
        Ok(whole.into())
    }
}

impl Kernel for StringJoin {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let mut shapes = inputs.iter().map(Tensor::shape).filter(|shape| !shape.is_empty());
        let shape = shapes.next().cloned().unwrap_or_else(Shape::scalar);
        if let Some(other) = shapes.find(|other| **other != shape) {
            return Err(Error::invalid_argument(format!("Input shapes do not match: {shape} vs. {other}")));
        }
        let mut strings = allocate::elements(DType::String, &shape).room()?;
        for index in 0..shape.num_elements() {
            let part = |tensor| match Tensor::string_values(tensor) {
                [value] => value,
                values => &values[index],
            };
            strings.push(self.joined(inputs.iter().map(part))?);
        }
        Tensor::strings(shape, strings).map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};

    fn join(separator: &str) -> StringJoin {
        StringJoin::from_attrs(&attrs([("separator", Attr::String(separator.to_owned()))])).unwrap()
    }

    fn vector(values: &[&'static str]) -> Tensor {
        let strings = values.iter().map(|value| Bytes::from_static(value.as_bytes())).collect();
        Tensor::strings(Shape::new(&[values.len()]), strings).unwrap()
    }

    #[test]
    fn strings_are_joined_element_by_element() {
        let joined = run_one(&join("/"), &[vector(&["a", "b"]), Tensor::string("x"), vector(&["c", ""])]).unwrap();
        assert_eq!(joined, vector(&["a/x/c", "b/x/"]));
        assert_eq!(run_one(&join(""), &[Tensor::string("a"), Tensor::string("b")]).unwrap(), Tensor::string("ab"));
        assert_eq!(run_one(&join(""), &[vector(&[]), Tensor::string("b")]).unwrap(), vector(&[]));
        let text = error_text(&join(""), &[vector(&["a"]), vector(&["b", "c"])]);
        assert_eq!(text, "InvalidArgument: Input shapes do not match: [1] vs. [2]");
    }
}
