//! `TensorArrayV3` and the operations on it: tensor arrays that a run creates, fills and reads.
//!
//! A run owns its arrays, so they are freed together with it. A handle is an array's number. Each
//! operation has an input from the operations that must run before it, the flow, whose value is
//! meaningless.
//!
//! Source: `tf.TensorArray` in TensorFlow 1.15.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::array::join;
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::{PartialShape, Shape};
use crate::tensor_array::{TensorArray, unknown_or};
use smallvec::smallvec;
use std::sync::Arc;

/// Creates the kernel for operations of type `op_type`. Returns `None` if `op_type` is not an
/// operation on tensor arrays.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    let shape = |name| attrs.shape(name).map(|shape| shape.cloned());
    Ok(Some(match op_type {
        "TensorArrayV3" => Arc::new(Make {
            name: attrs.string("name")?.into(),
            dtype: attrs.dtype("dtype")?,
            shape: shape("element_shape")?,
            is_dynamic: attrs.bool("dynamic_size")?,
            clears: attrs.bool("clear_after_read")?,
            is_uniform: attrs.bool("identical_element_shapes")?,
        }),
        "TensorArrayWriteV3" => Arc::new(Action::Write),
        "TensorArrayReadV3" => Arc::new(Action::Read),
        "TensorArrayGatherV3" => Arc::new(Action::Gather { shape: shape("element_shape")? }),
        "TensorArrayScatterV3" => Arc::new(Action::Scatter),
        "TensorArrayConcatV3" => Arc::new(Action::Concat { shape: shape("element_shape_except0")? }),
        "TensorArraySplitV3" => Arc::new(Action::Split),
        "TensorArraySizeV3" => Arc::new(Action::Size),
        "TensorArrayCloseV3" => Arc::new(Action::Close),
        _ => return Ok(None),
    }))
}

/// Creates an array with a number of unwritten elements, which is its input. Returns the handle and
/// the flow.
struct Make {
    name: Arc<str>,
    dtype: DType,
    shape: Option<PartialShape>,
    is_dynamic: bool,
    clears: bool,
    is_uniform: bool,
}

impl Kernel for Make {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let [size] = expect_inputs::<1>(&inputs)?;
        let size = size.integer_scalar("size")?;
        let size = usize::try_from(size).map_err(|_| Error::invalid_argument("Size should be >= 0."))?;
        let Self { name, dtype, shape, is_dynamic, clears, is_uniform } = self;
        let array = TensorArray::new(name, *dtype, shape.clone(), (*is_dynamic, *clears, *is_uniform), size)?;
        let mut arrays = run.arrays.borrow_mut();
        arrays.push(array);
        Ok(Step::Done(smallvec![Tensor::scalar(arrays.len() as i64 - 1), flow()]))
    }
}

/// An operation on an array. Its first input is the handle and its last input is the flow.
enum Action {
    Write,
    Read,
    Gather { shape: Option<PartialShape> },
    Scatter,
    Concat { shape: Option<PartialShape> },
    Split,
    Size,
    Close,
}

impl Kernel for Action {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let handle =
            inputs.first().ok_or_else(|| Error::internal("the handle is missing"))?.integer_scalar("handle")?;
        let mut arrays = run.arrays.borrow_mut();
        let array = usize::try_from(handle).ok().and_then(|handle| arrays.get_mut(handle));
        let array = array.ok_or_else(|| Error::invalid_argument("the TensorArray belongs to another run"))?;
        array.check_open()?;
        self.act(array, &inputs).map(Step::Done)
    }
}

impl Action {
    fn act(&self, array: &mut TensorArray, inputs: &Tensors) -> Result<Outputs> {
        Ok(match self {
            Self::Write => {
                let [_, index, value, _] = expect_inputs::<4>(inputs)?;
                array.write(index.integer_scalar("index")?, value.clone())?;
                smallvec![flow()]
            }
            Self::Read => {
                let [_, index, _] = expect_inputs::<3>(inputs)?;
                smallvec![array.read(index.integer_scalar("index")?)?]
            }
            Self::Gather { shape } => {
                let [_, indices, _] = expect_inputs::<3>(inputs)?;
                smallvec![gather(array, shape.as_ref(), &indices.integers()?)?]
            }
            Self::Scatter => {
                let [_, indices, value, _] = expect_inputs::<4>(inputs)?;
                scatter(array, &indices.integers()?, value)?;
                smallvec![flow()]
            }
            Self::Concat { shape } => concat(array, shape.as_ref())?,
            Self::Split => {
                let [_, value, lengths, _] = expect_inputs::<4>(inputs)?;
                split(array, value, lengths)?;
                smallvec![flow()]
            }
            Self::Size => smallvec![Tensor::scalar(i32::try_from(array.len()).unwrap_or(i32::MAX))],
            Self::Close => {
                array.close();
                smallvec![]
            }
        })
    }
}

fn flow() -> Tensor {
    Tensor::scalar(0.0_f32)
}

fn refused(refusal: allocate::Refusal) -> Error {
    refusal.at("elements of a TensorArray")
}

/// Stacks the elements at some indices.
fn gather(array: &mut TensorArray, shape: Option<&PartialShape>, indices: &[i64]) -> Result<Tensor> {
    if indices.is_empty() {
        let element_shape = array.shape().or(shape).and_then(PartialShape::to_shape);
        let row = element_shape.ok_or_else(|| {
            Error::unimplemented(format!(
                "TensorArray has size zero, but element shape {} is not fully defined. Currently only static shapes are \
                 supported when packing zero-size TensorArrays.",
                unknown_or(shape)
            ))
        })?;
        return Tensor::empty(array.dtype(), row.batched(0));
    }
    let values = allocate::try_gathered(indices.iter().map(|index| array.read(*index)), refused)?;
    let first = values[0].shape();
    if let Some((index, value)) = values.iter().enumerate().find(|(_, value)| value.shape() != first) {
        return Err(Error::invalid_argument(format!(
            "TensorArray has inconsistent shapes.  Index 0 has shape: {first} but index {index} has shape: {}",
            value.shape()
        )));
    }
    join::stack(&values)
}

/// Writes the rows of a value at some indices.
fn scatter(array: &mut TensorArray, indices: &[i64], value: &Tensor) -> Result<()> {
    let shape = value.shape();
    let rows = *shape.first().ok_or_else(|| {
        Error::invalid_argument("Input value for unpack must be at least a vector but received shape: []")
    })?;
    if rows != indices.len() {
        let text = format!("Expected len(indices) == values.shape[0], but saw: {} vs. {rows}", indices.len());
        return Err(Error::invalid_argument(text));
    }
    indices.iter().enumerate().try_for_each(|(row, index)| array.write(*index, value.row(row)?))
}

/// Joins all elements along their first axis. Also returns the length of each.
fn concat(array: &mut TensorArray, shape: Option<&PartialShape>) -> Result<Outputs> {
    let values = allocate::try_gathered((0..array.len() as i64).map(|index| array.read(index)), refused)?;
    let Some(first) = values.first().map(|value| value.shape().clone()) else {
        let row = shape.and_then(PartialShape::to_shape).ok_or_else(|| {
            Error::unimplemented(format!(
                "TensorArray has size zero, but element_shape_except0 {} is not fully defined. Currently only static \
                 shapes are supported when concatenating zero-size TensorArrays.",
                unknown_or(shape)
            ))
        })?;
        let lengths = Tensor::from_values::<i64>(Shape::new(&[0]), Vec::new())?;
        return Ok(smallvec![Tensor::empty(array.dtype(), row.batched(0))?, lengths]);
    };
    for (index, value) in values.iter().enumerate() {
        let shape = value.shape();
        if shape.is_empty() {
            let text = "Concat saw a scalar shape at index {index} but requires at least vectors.";
            return Err(Error::invalid_argument(text.replace("{index}", &index.to_string())));
        }
        if shape[1..] != first[1..] {
            return Err(Error::invalid_argument(format!(
                "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: {} but index {index} has \
                 (excepting dimension 0) shape: {}",
                first.row(),
                shape.row()
            )));
        }
    }
    let lengths = allocate::collected(values.len(), values.iter().map(|value| value.shape()[0] as i64));
    let lengths = lengths.map_err(refused)?;
    let total = values.iter().fold(0_usize, |sum, value| sum.saturating_add(value.shape()[0]));
    let lengths = Tensor::from_values(Shape::new(&[values.len()]), lengths)?;
    Ok(smallvec![join::concatenate(&values, total)?, lengths])
}

/// Writes parts of a value, which have these lengths along its first axis.
fn split(array: &mut TensorArray, value: &Tensor, lengths: &Tensor) -> Result<()> {
    if lengths.shape().len() != 1 {
        let text = format!("Expected lengths to be a vector, received shape: {}", lengths.shape());
        return Err(Error::invalid_argument(text));
    }
    let (shape, lengths) = (value.shape(), lengths.integers()?);
    let Some(rows) = shape.first().copied() else {
        return Err(Error::invalid_argument("Expected value to be at least a vector, but received shape: []"));
    };
    let sizes = lengths.iter().filter_map(|length| usize::try_from(*length).ok());
    let sizes = allocate::gathered(sizes).map_err(refused)?;
    let total = sizes.iter().fold(0_usize, |sum, size| sum.saturating_add(*size));
    if total != rows || sizes.len() != lengths.len() {
        return Err(Error::invalid_argument(format!(
            "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {total} and value's shape is: \
             {shape} "
        )));
    }
    array.fit(sizes.len())?;
    let mut begin = 0;
    for (index, size) in sizes.into_iter().enumerate() {
        let mut starts = shape.to_vec();
        starts.fill(0);
        starts[0] = begin;
        array.write(index as i64, value.window(&starts, shape.with_size(0, size))?)?;
        begin += size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::attrs;
    use crate::sync::cancellation::Cancellation;

    fn new_array(run: &Run, size: i32, is_dynamic: bool) -> Tensor {
        let attrs = attrs([
            ("name", Attr::String("a".into())),
            ("dtype", Attr::DType(DType::Int32)),
            ("element_shape", Attr::Shape(None)),
            ("dynamic_size", Attr::Bool(is_dynamic)),
            ("clear_after_read", Attr::Bool(true)),
            ("identical_element_shapes", Attr::Bool(true)),
        ]);
        act(run, "TensorArrayV3", &attrs, &[Tensor::scalar(size)]).unwrap().swap_remove(0)
    }

    fn act(run: &Run, op_type: &str, attrs: &Attrs, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let kernel = build(op_type, attrs)?.unwrap();
        match kernel.run(run, inputs.iter().cloned().collect())? {
            Step::Done(outputs) => Ok(outputs.into_vec()),
            Step::Pending(_) => Err(Error::internal("the kernel waits")),
        }
    }

    fn write(run: &Run, handle: &Tensor, index: i32, value: Tensor) -> Result<()> {
        let inputs = [handle.clone(), Tensor::scalar(index), value, flow()];
        act(run, "TensorArrayWriteV3", &Attrs::default(), &inputs).map(drop)
    }

    fn read(run: &Run, handle: &Tensor, index: i32) -> Result<Tensor> {
        let inputs = [handle.clone(), Tensor::scalar(index), flow()];
        Ok(act(run, "TensorArrayReadV3", &Attrs::default(), &inputs)?.swap_remove(0))
    }

    #[test]
    fn written_element_can_be_read_once() {
        let cancellation = Cancellation::new();
        let run = Run::new(&cancellation);
        let handle = new_array(&run, 2, false);
        write(&run, &handle, 1, Tensor::scalar(5_i32)).unwrap();
        assert_eq!(read(&run, &handle, 1).unwrap(), Tensor::scalar(5_i32));
        let text = read(&run, &handle, 1).unwrap_err().message().to_owned();
        assert!(text.contains("Could not read index 1 twice because it was cleared"), "{text}");
        let text = write(&run, &handle, 2, Tensor::scalar(5_i32)).unwrap_err().message().to_owned();
        assert!(text.contains("index 2 but array is not resizeable and size is: 2"), "{text}");
    }

    #[test]
    fn array_grows_only_if_it_is_dynamic() {
        let cancellation = Cancellation::new();
        let run = Run::new(&cancellation);
        let handle = new_array(&run, 0, true);
        write(&run, &handle, 3, Tensor::scalar(5_i32)).unwrap();
        let size = act(&run, "TensorArraySizeV3", &Attrs::default(), &[handle, flow()]).unwrap();
        assert_eq!(size, [Tensor::scalar(4_i32)]);
    }

    #[test]
    fn array_is_split_and_concatenated() {
        let cancellation = Cancellation::new();
        let run = Run::new(&cancellation);
        let handle = new_array(&run, 2, false);
        let value = Tensor::from_values(Shape::new(&[4]), vec![1_i32, 2, 3, 4]).unwrap();
        let lengths = Tensor::from_values(Shape::new(&[2]), vec![2_i64, 2]).unwrap();
        let inputs = [handle.clone(), value.clone(), lengths.clone(), flow()];
        act(&run, "TensorArraySplitV3", &Attrs::default(), &inputs).unwrap();
        let attrs = attrs([("element_shape_except0", Attr::Shape(None))]);
        assert_eq!(act(&run, "TensorArrayConcatV3", &attrs, &[handle, flow()]).unwrap(), [value, lengths]);
    }
}
