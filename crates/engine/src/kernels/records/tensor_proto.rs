//! `ParseTensor` and `SerializeTensor`: a tensor as the bytes of a `TensorProto` message, and back.
//!
//! ```text
//! TensorProto      = { dtype = 1, tensor_shape: TensorShapeProto = 2, tensor_content: bytes = 4,
//!                      a repeated field of values for the type, in the place of a content }
//! TensorShapeProto = { repeated dim: { size: int64 = 1 } = 2 }
//! ```
//!
//! Source: `tensorflow/core/framework/{tensor,tensor_shape}.proto`; accepts the same bytes and
//! gives the same error messages as `tf.parse_tensor` and `tf.serialize_tensor` of TensorFlow 1.15.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::aliasing::alias_or_copy;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::{LARGEST_ELEMENT_BYTES, Shape};
use crate::text::excerpt::excerpt;
use crate::wire::{Cursor, Message, Value, for_each_field};
use bytes::Bytes;

const DTYPE: u64 = 1;
const SHAPE: u64 = 2;
const CONTENT: u64 = 4;
const STRINGS: u64 = 8;
/// The maximum size of a field's tag and length in bytes.
const FIELD_BYTES: usize = 11;

/// The maximum size of a message: 2 GiB. The values in a message may be repeated to fill a tensor,
/// but not beyond this size.
const MAX_BYTES: usize = i32::MAX as usize;

/// Parses a scalar string as a tensor of the requested dtype.
pub struct ParseTensor {
    dtype: DType,
}

/// Serializes a tensor as a scalar string.
pub struct SerializeTensor;

impl ParseTensor {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { dtype: attrs.dtype("out_type")? })
    }
}

impl Kernel for ParseTensor {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [serialized] = expect_inputs(&inputs)?;
        let ([message], true) = (serialized.string_values(), serialized.shape().is_empty()) else {
            let text = format!("Expected `serialized` to be a scalar, got shape: {}", serialized.shape());
            return Err(Error::invalid_argument(text));
        };
        let tensor = parse(message)?;
        match tensor.dtype() == self.dtype {
            true => Ok(Step::one(tensor)),
            false => Err(Error::invalid_argument(format!(
                "Type mismatch between parsed tensor ({}) and dtype ({})",
                tensor.dtype(),
                self.dtype
            ))),
        }
    }
}

impl Kernel for SerializeTensor {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor] = expect_inputs(&inputs)?;
        Ok(Step::one(Tensor::string(serialize(tensor)?)))
    }
}

fn serialize(tensor: &Tensor) -> Result<Vec<u8>> {
    let strings = tensor.string_values();
    let message = described(tensor, strings.iter().map(|string| string.len() + FIELD_BYTES).sum())?;
    let message = strings.iter().fold(message, |message, value| message.bytes(STRINGS, value));
    Ok(message.into_bytes())
}

/// Like `serialize`, but stores strings in `tensor_content`: first their lengths, then their bytes.
pub(crate) fn serialize_content(tensor: &Tensor) -> Result<Vec<u8>> {
    let strings = tensor.string_values();
    if strings.is_empty() {
        return Ok(described(tensor, 0)?.into_bytes());
    }
    let content = message_with_room(strings.iter().map(|string| string.len() + FIELD_BYTES).sum())?;
    let lengths = strings.iter().fold(content, |lengths, string| lengths.length(string.len() as u64));
    let mut content = lengths.into_bytes();
    strings.iter().for_each(|string| content.extend_from_slice(string));
    Ok(described(tensor, content.len() + FIELD_BYTES)?.bytes(CONTENT, &content).into_bytes())
}

fn message_with_room(num_bytes: usize) -> Result<Message> {
    allocate::room(num_bytes).map(Message::from).map_err(|refusal| refusal.at("a serialized tensor"))
}

/// Serializes the dtype, the shape and, except for strings, the elements of a tensor. Leaves room
/// for `num_more` more bytes.
fn described(tensor: &Tensor, num_more: usize) -> Result<Message> {
    let shape = tensor.shape().iter().fold(Message::default(), |shape, size| {
        let dim = Message::default();
        shape.message(SHAPE, if *size > 0 { dim.varint(1, *size as u64) } else { dim })
    });
    let num_bytes = tensor.bytes().len() + 2 * FIELD_BYTES * (tensor.shape().len() + 3);
    let message = message_with_room(num_bytes.saturating_add(num_more))?;
    let mut message = message.varint(DTYPE, tensor.dtype() as u64).message(SHAPE, shape);
    if !tensor.bytes().is_empty() {
        message = message.bytes(CONTENT, tensor.bytes());
    }
    Ok(message)
}

/// The fields of a message that describe its tensor, without the values.
#[derive(Default)]
struct Header<'a> {
    dtype: u64,
    sizes: Vec<u64>,
    content: &'a [u8],
}

/// Parses a tensor from a message.
pub(crate) fn parse(message: &Bytes) -> Result<Tensor> {
    let malformed = || {
        let text = excerpt(message);
        Error::invalid_argument(format!(
            "Could not parse `serialized` as TensorProto: '{text}'. Pass the complete result of tf.serialize_tensor"
        ))
    };
    let header = parse_header(message).ok_or_else(malformed)?;
    let dtype = u8::try_from(header.dtype).ok().and_then(|code| DType::from_code(code).ok());
    let dtype = dtype.ok_or_else(|| contradiction(&format!("unknown element type {}", header.dtype)))?;
    let shape = shape(&header.sizes, dtype)?;
    if header.content.is_empty() {
        parse_values(message, dtype, shape)?.ok_or_else(malformed)
    } else if dtype == DType::String {
        parse_strings(header.content, &shape, message)
            .and_then(|strings| Tensor::strings(shape, strings).ok())
            .ok_or_else(|| contradiction("the number of strings in the content does not match the shape"))
    } else {
        parse_content(header.content, dtype, shape, message)
    }
}

fn parse_header(message: &[u8]) -> Option<Header<'_>> {
    let mut header = Header::default();
    for_each_field(message, |number, value| {
        match (number, value) {
            (1, Value::Varint(code)) => header.dtype = code,
            (2, Value::Bytes(shape)) => for_each_field(shape, |number, dim| {
                let (2, Value::Bytes(dim)) = (number, dim) else { return Some(()) };
                let mut size = 0;
                for_each_field(dim, |number, value| {
                    if let (1, Value::Varint(value)) = (number, value) {
                        size = value;
                    }
                    Some(())
                })?;
                header.sizes.push(size);
                Some(())
            })?,
            (4, Value::Bytes(content)) => header.content = content,
            _ => {}
        }
        Some(())
    })?;
    Some(header)
}

fn contradiction(text: &str) -> Error {
    Error::invalid_argument(format!("Cannot parse tensor from proto: {text}. Check that it was serialized as a tensor"))
}

/// Converts the sizes to a shape. Fails if one is negative or the tensor is too large for a
/// message.
fn shape(sizes: &[u64], dtype: DType) -> Result<Shape> {
    let size = if dtype == DType::String { size_of::<Bytes>() } else { dtype.size() };
    let num_bytes = sizes.iter().try_fold(size, |total, size| total.checked_mul(usize::try_from(*size).ok()?));
    match num_bytes {
        Some(..=MAX_BYTES) => Ok(sizes.iter().map(|size| *size as usize).collect()),
        _ => {
            let sizes: Vec<_> = sizes.iter().map(|size| (*size as i64).to_string()).collect();
            Err(contradiction(&format!("a {dtype} tensor of shape [{}] does not fit into a message", sizes.join(","))))
        }
    }
}

fn parse_content(content: &[u8], dtype: DType, shape: Shape, message: &Bytes) -> Result<Tensor> {
    let (got, expected) = (content.len(), shape.num_elements() * dtype.size());
    if got != expected {
        let text = format!("the content has {got} bytes, expected {expected} for a {dtype} tensor of shape {shape}");
        return Err(contradiction(&text));
    }
    if dtype == DType::Bool && content.iter().any(|byte| *byte > 1) {
        return Err(contradiction("a bool is neither 0 nor 1"));
    }
    Tensor::from_string(dtype, shape, alias_or_copy(content, message))
}

/// Parses strings, which are stored as their lengths followed by their bytes.
fn parse_strings(content: &[u8], shape: &Shape, message: &Bytes) -> Option<Vec<Bytes>> {
    let mut content = Cursor::new(content);
    let lengths = (0..shape.num_elements()).map(|_| usize::try_from(content.varint()?).ok());
    let lengths: Vec<_> = lengths.collect::<Option<_>>()?;
    let strings = lengths.into_iter().map(|length| content.take(length).map(|string| alias_or_copy(string, message)));
    let strings = strings.collect::<Option<_>>()?;
    content.is_at_end().then_some(strings)
}

/// Parses the values in the field for a dtype. Returns `None` if they are malformed. If there are
/// fewer values than elements, the last value is repeated. If there are none, all elements are 0.
fn parse_values(message: &Bytes, dtype: DType, shape: Shape) -> Result<Option<Tensor>> {
    if dtype == DType::String {
        let Some(mut strings) = string_values(message) else { return Ok(None) };
        let last = strings.last().cloned().unwrap_or_default();
        fill_up(&mut strings, &[last], &shape, dtype)?;
        return Tensor::strings(shape, strings).map(Some);
    }
    let Some(mut bytes) = number_values(message, dtype) else { return Ok(None) };
    let size = dtype.size();
    bytes.truncate(bytes.len() / size * size);
    let mut last = [0; LARGEST_ELEMENT_BYTES];
    if let Some(start) = bytes.len().checked_sub(size) {
        last[..size].copy_from_slice(&bytes[start..]);
    }
    fill_up(&mut bytes, &last[..size], &shape, dtype)?;
    Tensor::from_bytes(dtype, shape, bytes.into()).map(Some)
}

fn string_values(message: &Bytes) -> Option<Vec<Bytes>> {
    let mut strings = Vec::new();
    for_each_field(message, |number, value| {
        if let (STRINGS, Value::Bytes(string)) = (number, value) {
            strings.push(alias_or_copy(string, message));
        }
        Some(())
    })?;
    Some(strings)
}

fn number_values(message: &Bytes, dtype: DType) -> Option<Vec<u8>> {
    let field = value_field(dtype);
    let mut bytes = Vec::new();
    for_each_field(message, |number, value| match number == field {
        true => push_values(value, dtype, &mut bytes),
        false => Some(()),
    })?;
    Some(bytes)
}

/// Pads `values` with `last` up to the number of elements of the tensor.
fn fill_up<T: Clone>(values: &mut Vec<T>, last: &[T], shape: &Shape, dtype: DType) -> Result<()> {
    let count = shape.num_elements() * last.len();
    values.truncate(count);
    let num_missing = count - values.len();
    allocate::reserve(values, num_missing).map_err(|refusal| refusal.of_tensor(dtype, shape))?;
    (0..num_missing / last.len()).for_each(|_| values.extend_from_slice(last));
    Ok(())
}

/// The number of the field that has the values of a dtype.
fn value_field(dtype: DType) -> u64 {
    match dtype {
        DType::Float32 => 5,
        DType::Float64 => 6,
        DType::Int32 | DType::Int16 | DType::Int8 | DType::UInt8 | DType::UInt16 => 7,
        DType::String => STRINGS,
        DType::Complex64 => 9,
        DType::Int64 => 10,
        DType::Bool => 11,
        DType::Complex128 => 12,
        DType::Float16 => 13,
        DType::UInt32 => 16,
        DType::UInt64 => 17,
    }
}

/// Appends one value, or several packed values, in their in-memory form.
fn push_values(value: Value, dtype: DType, bytes: &mut Vec<u8>) -> Option<()> {
    let part = match dtype {
        DType::Float32 | DType::Complex64 => 4,
        DType::Float64 | DType::Complex128 => 8,
        _ => 0,
    };
    match value {
        Value::Bytes(packed) if part > 0 => {
            bytes.extend_from_slice(packed);
            return packed.len().is_multiple_of(part).then_some(());
        }
        Value::Fixed32(value) if part == 4 => bytes.extend_from_slice(value),
        Value::Fixed64(value) if part == 8 => bytes.extend_from_slice(value),
        Value::Bytes(packed) => {
            let mut packed = Cursor::new(packed);
            while !packed.is_at_end() {
                push_varint(packed.varint()?, dtype, bytes);
            }
        }
        Value::Varint(value) if part == 0 => push_varint(value, dtype, bytes),
        _ => {}
    }
    Some(())
}

fn push_varint(value: u64, dtype: DType, bytes: &mut Vec<u8>) {
    match dtype {
        DType::Bool => bytes.push(u8::from(value != 0)),
        _ => bytes.extend_from_slice(&value.to_le_bytes()[..dtype.size()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};
    use proptest::prelude::*;

    fn parser(dtype: DType) -> ParseTensor {
        ParseTensor::from_attrs(&attrs([("out_type", Attr::DType(dtype))])).unwrap()
    }

    /// Builds a message from a dtype, a shape and an encoded field.
    fn message(dtype: DType, dims: &[usize], field: &[u8]) -> Tensor {
        let dim = |size: &usize| Message::default().varint(1, *size as u64);
        let shape = dims.iter().fold(Message::default(), |shape, size| shape.message(SHAPE, dim(size)));
        let head = Message::default().varint(DTYPE, dtype as u64).message(SHAPE, shape);
        Tensor::string([&head.into_bytes(), field].concat())
    }

    fn parse_as(dtype: DType, dims: &[usize], field: &[u8]) -> Tensor {
        run_one(&parser(dtype), &[message(dtype, dims, field)]).unwrap()
    }

    #[test]
    fn serialized_bytes_match_tensorflow() {
        let ints = Tensor::from_values(Shape::new(&[1, 2]), vec![1_i32, 2]).unwrap();
        assert_eq!(
            serialize(&ints).unwrap(),
            b"\x08\x03\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02\"\x08\x01\0\0\0\x02\0\0\0"
        );
        let strings = Tensor::strings(Shape::new(&[2]), vec!["ab".into(), "".into()]).unwrap();
        assert_eq!(serialize(&strings).unwrap(), b"\x08\x07\x12\x04\x12\x02\x08\x02B\x02abB\0");
        let empty = Tensor::empty(DType::Float64, Shape::new(&[0, 2])).unwrap();
        assert_eq!(serialize(&empty).unwrap(), b"\x08\x02\x12\x06\x12\0\x12\x02\x08\x02");
        assert_eq!(serialize(&Tensor::bool(true)).unwrap(), b"\x08\x0a\x12\0\"\x01\x01");
    }

    #[test]
    fn values_are_read_from_the_field_of_their_type() {
        assert_eq!(parse_as(DType::Float32, &[2], b"\x2a\x08\0\0\x80?\0\0\0@").values::<f32>().unwrap(), [1.0, 2.0]);
        assert_eq!(parse_as(DType::Float32, &[2], b"\x2d\0\0\x80?\x2d\0\0\0@").values::<f32>().unwrap(), [1.0, 2.0]);
        assert_eq!(parse_as(DType::Float64, &[], b"\x31\0\0\0\0\0\0\0@").values::<f64>().unwrap(), [2.0]);
        assert_eq!(parse_as(DType::UInt8, &[2], b"\x3a\x03\xac\x02\x07").values::<u8>().unwrap(), [44, 7]);
        assert_eq!(parse_as(DType::Int64, &[], b"\x50\x05").values::<i64>().unwrap(), [5]);
        assert_eq!(parse_as(DType::Bool, &[2], b"\x5a\x02\0\x07").bytes(), [0, 1]);
        assert_eq!(parse_as(DType::Float16, &[], b"\x68\x80\x78").bytes(), 0x3c00_u16.to_ne_bytes());
        assert_eq!(parse_as(DType::UInt32, &[], b"\x80\x01\x07").values::<u32>().unwrap(), [7]);
        assert_eq!(parse_as(DType::UInt64, &[], b"\x88\x01\x07").values::<u64>().unwrap(), [7]);
        let complex = parse_as(DType::Complex64, &[], b"\x4a\x08\0\0\x80?\0\0\0@");
        assert_eq!(complex.bytes(), [1.0_f32.to_ne_bytes(), 2.0_f32.to_ne_bytes()].concat());
        assert_eq!(parse_as(DType::String, &[2], b"B\x01aB\x01b").string_values(), ["a", "b"]);
    }

    #[test]
    fn last_value_fills_the_rest_and_missing_values_are_zero() {
        assert_eq!(parse_as(DType::Int32, &[3], b"\x38\x01\x38\x02").values::<i32>().unwrap(), [1, 2, 2]);
        assert_eq!(parse_as(DType::Int32, &[2], b"").values::<i32>().unwrap(), [0, 0]);
        assert_eq!(parse_as(DType::Int32, &[1], b"\x38\x01\x38\x02").values::<i32>().unwrap(), [1]);
        assert_eq!(parse_as(DType::String, &[2], b"B\x01a").string_values(), ["a", "a"]);
        assert_eq!(parse_as(DType::String, &[2], b"").string_values(), ["", ""]);
    }

    #[test]
    fn strings_can_be_in_tensor_content() {
        assert_eq!(parse_as(DType::String, &[2], b"\"\x05\x01\x02abc").string_values(), ["a", "bc"]);
    }

    #[test]
    fn errors_describe_messages_that_are_not_tensors() {
        let text = |dtype, message| error_text(&parser(dtype), &[message]);
        let prefix = "InvalidArgument: Cannot parse tensor from proto:";
        let remedy = "Check that it was serialized as a tensor";
        assert_eq!(
            text(DType::Int32, Tensor::string("bogus")),
            "InvalidArgument: Could not parse `serialized` as TensorProto: 'bogus'. Pass the complete result of \
             tf.serialize_tensor"
        );
        assert_eq!(
            text(DType::Float32, message(DType::Int32, &[], b"")),
            "InvalidArgument: Type mismatch between parsed tensor (int32) and dtype (float)"
        );
        let none = text(DType::Int32, Tensor::string(""));
        assert_eq!(none, format!("{prefix} unknown element type 0. {remedy}"));
        assert_eq!(
            text(DType::Int32, message(DType::Int32, &[2], b"\"\x03abc")),
            format!("{prefix} the content has 3 bytes, expected 8 for a int32 tensor of shape [2]. {remedy}")
        );
        assert_eq!(
            text(DType::String, message(DType::String, &[2], b"\"\x04\x01\x02ab")),
            format!("{prefix} the number of strings in the content does not match the shape. {remedy}")
        );
        assert_eq!(
            text(DType::Bool, message(DType::Bool, &[1], b"\"\x01\x02")),
            format!("{prefix} a bool is neither 0 nor 1. {remedy}")
        );
        assert_eq!(
            text(DType::UInt8, message(DType::UInt8, &[1 << 40, 1 << 40], b"")),
            format!(
                "{prefix} a uint8 tensor of shape [1099511627776,1099511627776] does not fit into a message. {remedy}"
            )
        );
        let negative = Tensor::string(&b"\x08\x03\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..]);
        assert!(text(DType::Int32, negative).contains("shape [-1] does not fit into a message"));
        let pair = Tensor::strings(Shape::new(&[1]), vec!["".into()]).unwrap();
        assert_eq!(text(DType::Int32, pair), "InvalidArgument: Expected `serialized` to be a scalar, got shape: [1]");
    }

    proptest! {
        #[test]
        fn serialized_tensors_round_trip(values: Vec<i64>, strings: Vec<Vec<u8>>) {
            let numbers = Tensor::from_values(Shape::new(&[1, values.len()]), values).unwrap();
            let strings = strings.into_iter().map(Bytes::from).collect::<Vec<_>>();
            let strings = Tensor::strings(Shape::new(&[strings.len()]), strings).unwrap();
            for tensor in [numbers, strings] {
                let message = run_one(&SerializeTensor, std::slice::from_ref(&tensor)).unwrap();
                prop_assert_eq!(run_one(&parser(tensor.dtype()), &[message]).unwrap(), tensor);
            }
        }

        #[test]
        fn parsing_arbitrary_bytes_never_panics(bytes: Vec<u8>, dtype in 0_u8..24, tail: Vec<u8>) {
            let _ = parse(&bytes.into());
            let _ = parse(&[&[8, dtype, 18, 4, 18, 2, 8, 3], &tail[..]].concat().into());
        }
    }
}
