//! `SerializeSparse`, `SerializeManySparse`, `DeserializeManySparse`: store a sparse tensor as
//! three strings with its serialized indices, values and shape.
//!
//! Source: `tf.serialize_sparse`, `tf.serialize_many_sparse` and `tf.deserialize_many_sparse` of
//! TensorFlow 1.15.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::records::tensor_proto;
use crate::run::Run;
use crate::sparse::SparseTensor;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use bytes::Bytes;

/// The number of strings per sparse tensor.
const NUM_PARTS: usize = 3;
/// The approximate memory of a short message: its bytes and their reference count.
const MESSAGE_BYTES: usize = 208;

/// Serializes a sparse tensor as a vector of strings.
pub struct SerializeSparse;

impl Kernel for SerializeSparse {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let parts: &[Tensor; NUM_PARTS] = expect_inputs(&inputs)?;
        for (part, (rank, what)) in parts.iter().zip([(2, "indices"), (1, "values"), (1, "shape")]) {
            if part.shape().len() != rank {
                let kind = if rank == 2 { "matrix" } else { "vector" };
                let text = format!("Input {what} should be a {kind} but received shape {}", part.shape());
                return Err(Error::invalid_argument(text));
            }
        }
        let strings = parts.iter().map(|part| tensor_proto::serialize_content(part).map(Bytes::from));
        Tensor::strings(Shape::new(&[NUM_PARTS]), strings.collect::<Result<_>>()?).map(Step::one)
    }
}

/// Serializes each row of the first dimension as a row of strings.
pub struct SerializeManySparse;

impl Kernel for SerializeManySparse {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [indices, values, dense_shape] = expect_inputs(&inputs)?;
        let rows = SparseTensor::new(indices, values.clone(), dense_shape)?.rows(None)?;
        let shape = Shape::new(&[rows.len(), NUM_PARTS]);
        // Messages are small, so memory for all of them is reserved at once.
        allocate::probe_pieces(rows.len(), NUM_PARTS * MESSAGE_BYTES)
            .map_err(|refusal| refusal.of_tensor(DType::String, &shape))?;
        let mut strings: Vec<Bytes> = allocate::elements(DType::String, &shape).room()?;
        for row in rows {
            for part in &row.into_parts()? {
                strings.push(tensor_proto::serialize_content(part)?.into());
            }
        }
        Tensor::strings(shape, strings).map(Step::one)
    }
}

/// Combines rows of strings into one sparse tensor with an additional dimension.
pub struct DeserializeManySparse {
    dtype: DType,
}

impl DeserializeManySparse {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { dtype: attrs.dtype("dtype")? })
    }
}

impl Kernel for DeserializeManySparse {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [serialized] = expect_inputs(&inputs)?;
        let [num_rows, NUM_PARTS] = serialized.shape()[..] else {
            let text = format!("Serialized sparse should have 3 columns, but has shape {}", serialized.shape());
            return Err(Error::invalid_argument(text));
        };
        if num_rows == 0 {
            return Err(Error::invalid_argument(format!(
                "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension {}",
                serialized.shape()
            )));
        }
        let refused = |refusal: allocate::Refusal| refusal.at(format_args!("{num_rows} sparse tensors"));
        let mut rows = allocate::room(num_rows).map_err(refused)?;
        allocate::probe_pieces(num_rows, NUM_PARTS * MESSAGE_BYTES).map_err(refused)?;
        for messages in serialized.string_values().chunks_exact(NUM_PARTS) {
            rows.push(sparse_tensor(messages)?);
        }
        SparseTensor::stack(&rows, self.dtype)?.into_parts().map(|parts| Step::Done(Outputs::from_iter(parts)))
    }
}

/// Parses a sparse tensor from three messages.
fn sparse_tensor(messages: &[Bytes]) -> Result<SparseTensor> {
    let [indices, values, dense_shape] = messages else {
        return Err(Error::internal(format!("a serialized sparse tensor has {} strings, expected 3", messages.len())));
    };
    let [indices, dense_shape] = [(indices, "indices"), (dense_shape, "shape")].map(|(message, what)| {
        let tensor = tensor_proto::parse(message)?;
        match tensor.dtype() {
            DType::Int64 => Ok(tensor),
            other => Err(Error::invalid_argument(format!("Expected serialized {what} of type int64, but got {other}"))),
        }
    });
    SparseTensor::new(&indices?, tensor_proto::parse(values)?, &dense_shape?)
}
