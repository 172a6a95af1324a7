//! `DecodeRaw`: converts the bytes of strings to the elements of a numeric tensor.

use crate::error::{Error, Result};
use crate::kernel::rewrite::{InPlace, Rewritable, run_in_place};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate::{self, Elements, Refusal, elements};
use crate::tensor::dtype::DType;
use bytes::Bytes;
use std::sync::Arc;

/// Converts strings of equal length to rows of `dtype`.
///
/// A single string is not copied if its bytes are aligned, need no swapping, and are not booleans
/// other than 0 and 1.
///
/// Source: `tf.decode_raw` in TensorFlow 1.15.
pub struct DecodeRaw {
    dtype: DType,
    /// True if the bytes of each element have to be reversed on this machine. A complex number
    /// counts as one element.
    is_swapped: bool,
}

impl DecodeRaw {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let dtype = attrs.dtype("out_type")?;
        if dtype == DType::String {
            return Err(Error::invalid_argument("DecodeRaw decodes to numbers, not strings"));
        }
        Ok(Self { dtype, is_swapped: attrs.bool("little_endian")? != cfg!(target_endian = "little") })
    }
}

impl Kernel for DecodeRaw {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        run_in_place(self, inputs)
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for DecodeRaw {
    fn in_place(self: Arc<Self>) -> Option<Arc<dyn InPlace>> {
        Some(self)
    }
}

impl InPlace for DecodeRaw {
    fn change(&self, strings: &mut Tensor) -> Result<()> {
        if strings.dtype() != DType::String {
            return Err(Error::internal(format!("DecodeRaw of {} tensor, expected strings", strings.dtype())));
        }
        let length = row_length(strings.string_values(), self.dtype)?;
        let shape = strings.shape().of_rows(length);
        let bytes = match strings.only_string_mut() {
            Some(value) => std::mem::take(value),
            None => joined(strings.string_values(), elements(self.dtype, &shape))?,
        };
        let bytes = self.in_machine_form(bytes).map_err(|refusal| refusal.of_tensor(self.dtype, &shape))?;
        *strings = Tensor::from_string(self.dtype, shape, bytes)?;
        Ok(())
    }
}

impl DecodeRaw {
    fn in_machine_form(&self, bytes: Bytes) -> std::result::Result<Bytes, Refusal> {
        if self.dtype == DType::Bool {
            return normalised_bools(bytes);
        }
        match self.dtype.size() {
            2 if self.is_swapped => swapped::<2>(&bytes),
            4 if self.is_swapped => swapped::<4>(&bytes),
            8 if self.is_swapped => swapped::<8>(&bytes),
            16 if self.is_swapped => swapped::<16>(&bytes),
            _ => Ok(bytes),
        }
    }
}

/// Joins the strings end to end to form the elements of a tensor.
fn joined(strings: &[Bytes], elements: Elements) -> Result<Bytes> {
    let mut joined: Vec<u8> = elements.room()?;
    strings.iter().for_each(|string| joined.extend_from_slice(string));
    Ok(joined.into())
}

/// The number of elements in each string.
fn row_length(values: &[Bytes], dtype: DType) -> Result<usize> {
    let first = values.first().map_or(0, Bytes::len);
    if let Some((index, other)) = values.iter().enumerate().find(|(_, value)| value.len() != first) {
        return Err(Error::invalid_argument(format!(
            "DecodeRaw requires input strings to all be the same size, but element {index} has size {first} != {}. \
             Decode each record before batching",
            other.len()
        ))
        .at_element(index));
    }
    let size = dtype.size();
    if !first.is_multiple_of(size) {
        return Err(Error::invalid_argument(format!(
            "Input to DecodeRaw has length {first} that is not a multiple of {size}, the size of {dtype}. Check \
             out_type, and that the record is complete"
        )));
    }
    Ok(first / size)
}

fn normalised_bools(bytes: Bytes) -> std::result::Result<Bytes, Refusal> {
    match bytes.iter().all(|byte| *byte <= 1) {
        true => Ok(bytes),
        false => allocate::collected(bytes.len(), bytes.iter().map(|byte| u8::from(*byte != 0))).map(Bytes::from),
    }
}

fn swapped<const SIZE: usize>(bytes: &[u8]) -> std::result::Result<Bytes, Refusal> {
    let mut bytes = allocate::collected(bytes.len(), bytes.iter().copied())?;
    bytes.as_chunks_mut::<SIZE>().0.iter_mut().for_each(|element| element.reverse());
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};
    use crate::tensor::shape::Shape;

    fn decoder(dtype: DType, little_endian: bool) -> DecodeRaw {
        let attrs = attrs([("out_type", Attr::DType(dtype)), ("little_endian", Attr::Bool(little_endian))]);
        DecodeRaw::from_attrs(&attrs).unwrap()
    }

    fn decode(dtype: DType, little_endian: bool, value: &'static [u8]) -> Tensor {
        run_one(&decoder(dtype, little_endian), &[Tensor::string(value)]).unwrap()
    }

    fn strings(values: &[&'static str]) -> Tensor {
        let bytes = values.iter().map(|value| Bytes::from_static(value.as_bytes())).collect();
        Tensor::strings(Shape::new(&[values.len()]), bytes).unwrap()
    }

    #[test]
    fn elements_are_read_in_either_byte_order() {
        assert_eq!(decode(DType::Int16, true, b"\x01\x02\x03\x00").values::<i16>().unwrap(), [0x201, 3]);
        assert_eq!(decode(DType::Int16, false, b"\x01\x02\x03\x00").values::<i16>().unwrap(), [0x102, 0x300]);
        assert_eq!(decode(DType::Float32, false, b"\x3f\x80\0\0").values::<f32>().unwrap(), [1.0]);
    }

    #[test]
    fn complex_number_is_byte_swapped_as_one_value() {
        assert_eq!(decode(DType::Complex64, false, b"\x40\0\0\0\x3f\x80\0\0").bytes(), b"\0\0\x80\x3f\0\0\0\x40");
    }

    #[test]
    fn bools_become_zero_and_one() {
        assert_eq!(decode(DType::Bool, true, b"\0\x01\x07").bytes(), [0, 1, 1]);
    }

    #[test]
    fn single_string_is_not_copied() {
        let value = Bytes::from(vec![7; 784]);
        let result = run_one(&decoder(DType::UInt8, true), &[Tensor::string(value.clone())]).unwrap();
        assert_eq!(result.bytes().as_ptr(), value.as_ptr());
        assert_eq!(result.shape(), &Shape::new(&[784]));
    }

    #[test]
    fn strings_become_rows() {
        let result = run_one(&decoder(DType::UInt8, true), &[strings(&["ab", "cd", "ef"])]).unwrap();
        assert_eq!((result.shape(), result.bytes()), (&Shape::new(&[3, 2]), &b"abcdef"[..]));
        let empty = run_one(&decoder(DType::Int32, true), &[strings(&["", ""])]).unwrap();
        assert_eq!(empty.shape(), &Shape::new(&[2, 0]));
        let none = run_one(&decoder(DType::Int32, true), &[strings(&[])]).unwrap();
        assert_eq!(none.shape(), &Shape::new(&[0, 0]));
    }

    #[test]
    fn wrong_lengths_are_rejected() {
        assert_eq!(
            error_text(&decoder(DType::UInt8, true), &[strings(&["abc", "d"])]),
            "InvalidArgument: DecodeRaw requires input strings to all be the same size, but element 1 has size 3 != \
             1. Decode each record before batching"
        );
        assert_eq!(
            error_text(&decoder(DType::Int16, true), &[Tensor::string("abc")]),
            "InvalidArgument: Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16. Check \
             out_type, and that the record is complete"
        );
    }
}
