//! Batches, which a dequeue of several elements returns.

use super::{Elements, Queue, QueueSpec};
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::Outputs;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::shape::{PartialShape, Shape};

/// As in TensorFlow, elements of a higher rank are not padded.
const MAX_PADDED_RANK: usize = 4;

impl QueueSpec {
    /// Fails if elements of this kind cannot be batched.
    pub fn check_batch(&self) -> Result<()> {
        let shapes = self.known_shapes()?.iter();
        match shapes.filter(|shape| shape.to_shape().is_none()).map(|shape| shape.dims().len()).max() {
            Some(rank) if rank > MAX_PADDED_RANK => {
                Err(Error::unimplemented(format!("CopyElementToLargerSlice Unhandled rank: {rank}")))
            }
            _ => Ok(()),
        }
    }
}

impl Queue {
    /// Puts elements of this queue into one batch per component. Numbers are copied and large
    /// strings are moved. Fails if the shapes are unknown.
    pub fn batch(&self, mut elements: Elements) -> Result<Outputs> {
        if !elements.is_empty() {
            self.spec.check_batch()?;
        }
        if let Some(batch) = self.packing.batch(&mut elements) {
            return batch;
        }
        let rows = allocate::room(elements.len());
        let mut rows = rows.map_err(|refusal| refusal.at("the elements of a batch"))?;
        for element in elements {
            rows.push(self.packing.unpack(element)?);
        }
        let components = self.spec.dtypes.iter().zip(self.spec.known_shapes()?).enumerate();
        components
            .map(|(index, (dtype, shape))| {
                let column = rows.iter().map(|row| &row[index]);
                Tensor::stack_padded(*dtype, &largest(shape, column.clone()), column, None)
            })
            .collect()
    }
}

/// The smallest shape into which all `tensors` fit. If there are none, unknown dimensions are 0.
fn largest<'a>(shape: &PartialShape, tensors: impl Iterator<Item = &'a Tensor>) -> Shape {
    let smallest = shape.dims().iter().map(|dim| dim.unwrap_or(0)).collect();
    tensors.fold(smallest, |largest: Shape, tensor| {
        largest.iter().zip(&tensor.shape()[..]).map(|(a, b)| *a.max(b)).collect()
    })
}
