//! Decodes and collects the values of features.

use super::wire::Feature;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::aliasing::alias_or_copy;
use crate::tensor::allocate::{self, Elements};
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use crate::wire::{Cursor, DELIMITED_VALUE, FIXED32_VALUE, VARINT_VALUE};
use bytes::Bytes;
use smallvec::SmallVec;
use std::iter::repeat_n;

/// The message for a malformed list.
pub const MALFORMED_LIST: &str = "Can't parse serialized Example.";

/// Values of one of the three types that a Feature may have. A single value needs no allocation.
#[derive(Debug)]
pub enum Values {
    Int64(SmallVec<[i64; 2]>),
    Float(SmallVec<[f32; 4]>),
    String(SmallVec<[Bytes; 1]>),
    /// Strings that were copied end to end.
    Joined(Joined),
}

/// Strings stored end to end.
#[derive(Debug, Default)]
pub struct Joined {
    /// The bytes of all strings.
    pub bytes: Vec<u8>,
    /// Where each string ends.
    pub ends: Vec<usize>,
}

/// The bytes of a message whose features are being decoded.
#[derive(Clone, Copy)]
pub enum Record<'a> {
    /// Bytes that strings may share.
    Shared(&'a Bytes),
    /// Bytes that strings are copied out of.
    Lent(&'a [u8]),
}

impl<'a> Record<'a> {
    /// All bytes of the record.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Lent(bytes) => bytes,
        }
    }

    /// Returns `part`, which lies inside the record, as a string.
    fn string(self, part: &[u8]) -> Bytes {
        match self {
            Self::Shared(bytes) => alias_or_copy(part, bytes),
            Self::Lent(_) => Bytes::copy_from_slice(part),
        }
    }
}

impl<'a> From<&'a Bytes> for Record<'a> {
    fn from(bytes: &'a Bytes) -> Self {
        Self::Shared(bytes)
    }
}

impl Joined {
    fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    fn into_strings(self) -> SmallVec<[Bytes; 1]> {
        let mut rest = Bytes::from(self.bytes);
        let mut start = 0;
        let string = |end| rest.split_to(end - std::mem::replace(&mut start, end));
        self.ends.into_iter().map(string).collect()
    }
}

impl Values {
    pub fn new(dtype: DType) -> Result<Self> {
        match dtype {
            DType::Int64 => Ok(Self::Int64(SmallVec::new())),
            DType::Float32 => Ok(Self::Float(SmallVec::new())),
            DType::String => Ok(Self::String(SmallVec::new())),
            _ => Err(Error::invalid_argument(format!("Invalid config dtype: {dtype}"))),
        }
    }

    /// Like [`Values::new`], but stores strings end to end.
    pub fn joined(dtype: DType) -> Result<Self> {
        match dtype {
            DType::String => Ok(Self::Joined(Joined::default())),
            _ => Self::new(dtype),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Int64(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::String(values) => values.len(),
            Self::Joined(joined) => joined.ends.len(),
        }
    }

    /// The maximum size of a message's values and of the ends of its lists, in bytes. Strings that
    /// share the memory of the message are not counted.
    pub fn most_bytes(&self, message: &[u8]) -> usize {
        // Every string and every list begins with such a byte.
        let num_delimited = memchr::memchr_iter(DELIMITED_VALUE, message).count();
        let values = match self {
            // Every number ends with such a byte.
            Self::Int64(_) => size_of::<i64>() * message.iter().filter(|byte| **byte < 0x80).count(),
            Self::Float(_) | Self::Joined(_) => message.len(),
            Self::String(_) => size_of::<Bytes>() * num_delimited,
        };
        values + size_of::<usize>() * num_delimited
    }

    /// Appends the values of `feature`, which has this dtype and lies inside `record`. Returns
    /// `None` if it is malformed.
    pub fn decode(&mut self, feature: Feature, record: Record) -> Option<()> {
        let list = feature.values()?;
        match self {
            Self::Int64(values) => decode_int64s(list, values),
            Self::Float(values) => decode_floats(list, values),
            Self::String(values) => decode_strings(list, |string| values.push(record.string(string))),
            Self::Joined(joined) => decode_strings(list, |string| joined.push(string)),
        }
    }

    /// Appends the elements of a tensor of this dtype.
    pub fn extend_from_tensor(&mut self, tensor: &Tensor) -> Result<()> {
        match self {
            Self::Int64(values) => grow(values, tensor)?.extend_from_slice(tensor.values()?),
            Self::Float(values) => grow(values, tensor)?.extend_from_slice(tensor.values()?),
            Self::String(values) => grow(values, tensor)?.extend(tensor.string_values().iter().cloned()),
            Self::Joined(joined) => tensor.string_values().iter().for_each(|string| joined.push(string)),
        }
        Ok(())
    }

    /// Reserves memory for `times` times as many more values, but for at most `most` values or
    /// bytes of joined strings.
    pub fn expect_times(&mut self, times: usize, most: usize) -> std::result::Result<(), allocate::Refusal> {
        let more = |count: usize| count.saturating_mul(times).min(most);
        match self {
            Self::Int64(values) => allocate::grow_small(values, more(values.len())),
            Self::Float(values) => allocate::grow_small(values, more(values.len())),
            Self::String(values) => allocate::grow_small(values, more(values.len())),
            Self::Joined(Joined { bytes, ends }) => {
                allocate::reserve(bytes, more(bytes.len()))?;
                allocate::reserve(ends, more(ends.len()))
            }
        }
    }

    pub fn into_tensor(self, shape: Shape) -> Result<Tensor> {
        match self {
            Self::Int64(values) => Tensor::from_small_vec(shape, values),
            Self::Float(values) => Tensor::from_small_vec(shape, values),
            Self::String(values) => Tensor::strings_from_small_vec(shape, values),
            Self::Joined(joined) => Tensor::strings_from_small_vec(shape, joined.into_strings()),
        }
    }

    /// Converts the values to a tensor whose rows have `width` values each, padded with the only
    /// element of `filler`. Row `i` ends before value `ends[i]`.
    pub fn into_padded(self, shape: Shape, ends: &[usize], width: usize, filler: &Tensor) -> Result<Tensor> {
        let missing = || Error::internal("there is no value to pad with");
        let elements = allocate::elements(filler.dtype(), &shape);
        match self {
            Self::Int64(values) => {
                let padded = pad(&values, ends, width, filler.values()?.first().ok_or_else(missing)?, elements)?;
                Tensor::from_values(shape, padded)
            }
            Self::Float(values) => {
                let padded = pad(&values, ends, width, filler.values()?.first().ok_or_else(missing)?, elements)?;
                Tensor::from_values(shape, padded)
            }
            Self::String(values) => {
                let filler = filler.string_values().first().ok_or_else(missing)?;
                let padded = pad(&values, ends, width, filler, elements)?;
                Tensor::strings(shape, padded)
            }
            Self::Joined(joined) => Self::String(joined.into_strings()).into_padded(shape, ends, width, filler),
        }
    }
}

/// Returns the value of a list with one element as a scalar, or `None` for any other list.
#[inline]
pub fn only_value(feature: Feature, record: &Bytes) -> Option<Tensor> {
    let mut list = feature.values()?;
    let value = match (feature.dtype, list.byte()?) {
        (DType::String, DELIMITED_VALUE) => Tensor::string(alias_or_copy(list.delimited()?, record)),
        (DType::Int64, VARINT_VALUE) => Tensor::scalar(list.varint()? as i64),
        (DType::Int64, DELIMITED_VALUE) => {
            let mut packed = Cursor::new(list.delimited()?);
            Some(packed.varint()?).filter(|_| packed.is_at_end()).map(|value| Tensor::scalar(value as i64))?
        }
        (DType::Float32, tag @ (FIXED32_VALUE | DELIMITED_VALUE)) => {
            let value = if tag == FIXED32_VALUE { list.take(4)? } else { list.delimited()? };
            Tensor::scalar(f32::from_le_bytes(value.try_into().ok()?))
        }
        _ => return None,
    };
    list.is_at_end().then_some(value)
}

/// Reserves memory for the elements of a default, which many examples may need.
fn grow<'a, A: smallvec::Array>(values: &'a mut SmallVec<A>, default: &Tensor) -> Result<&'a mut SmallVec<A>> {
    let grown = allocate::grow_small(values, default.num_elements());
    grown.map_err(|refusal| refusal.at("the default values of a feature"))?;
    Ok(values)
}

fn pad<T: Clone>(values: &[T], ends: &[usize], width: usize, filler: &T, elements: Elements) -> Result<Vec<T>> {
    let mut padded = elements.room()?;
    let mut start = 0;
    for end in ends {
        padded.extend_from_slice(&values[start..*end]);
        padded.extend(repeat_n(filler, width - (end - start)).cloned());
        start = *end;
    }
    Ok(padded)
}

fn decode_int64s(mut list: Cursor, values: &mut SmallVec<[i64; 2]>) -> Option<()> {
    while !list.is_at_end() {
        match list.byte()? {
            VARINT_VALUE => values.push(list.varint()? as i64),
            DELIMITED_VALUE => {
                let packed = list.delimited()?;
                #[expect(clippy::disallowed_methods, reason = "no more values than bytes")]
                values.reserve(packed.iter().filter(|byte| **byte < 0x80).count());
                let mut packed = Cursor::new(packed);
                while !packed.is_at_end() {
                    values.push(packed.varint()? as i64);
                }
            }
            _ => return None,
        }
    }
    Some(())
}

fn decode_floats(mut list: Cursor, values: &mut SmallVec<[f32; 4]>) -> Option<()> {
    while !list.is_at_end() {
        let bytes = match list.byte()? {
            FIXED32_VALUE => list.take(4)?,
            DELIMITED_VALUE => list.delimited()?,
            _ => return None,
        };
        let (floats, []) = bytes.as_chunks::<4>() else { return None };
        if cfg!(target_endian = "little")
            && let Ok(floats) = bytemuck::try_cast_slice(bytes)
        {
            values.extend_from_slice(floats);
        } else {
            values.extend(floats.iter().map(|float| f32::from_le_bytes(*float)));
        }
    }
    Some(())
}

fn decode_strings(mut list: Cursor, mut push: impl FnMut(&[u8])) -> Option<()> {
    while !list.is_at_end() {
        match list.byte()? {
            DELIMITED_VALUE => push(list.delimited()?),
            _ => return None,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::records::parse_example::testing::{floats, int64s, strings, unpacked_floats, unpacked_int64s};
    use proptest::prelude::*;

    /// Decodes the values of a list. If there is only one, both ways of decoding it must agree.
    fn decode(feature: Vec<u8>) -> Option<Tensor> {
        let record = Bytes::from(feature);
        let feature = Feature::parse(&record).unwrap().unwrap();
        let mut values = Values::new(feature.dtype).unwrap();
        let decoded = values.decode(feature, Record::Shared(&record)).map(|()| {
            let shape = Shape::new(&[values.len()]);
            values.into_tensor(shape).unwrap()
        });
        let mut joined = Values::joined(feature.dtype).unwrap();
        let again = joined.decode(feature, Record::Lent(&record)).map(|()| {
            let shape = Shape::new(&[joined.len()]);
            joined.into_tensor(shape).unwrap()
        });
        assert_eq!(again, decoded);
        if let Some(only) = only_value(feature, &record) {
            assert_eq!(Some(only.reshaped(Shape::new(&[1])).unwrap()), decoded);
        }
        decoded
    }

    #[test]
    fn list_of_one_value_is_read_packed_or_unpacked() {
        let only = |feature: Vec<u8>| {
            let record = Bytes::from(feature);
            only_value(Feature::parse(&record).unwrap().unwrap(), &record)
        };
        for feature in [int64s(&[-7]), unpacked_int64s(&[-7])] {
            assert_eq!(only(feature), Some(Tensor::scalar(-7_i64)));
        }
        for feature in [floats(&[0.5]), unpacked_floats(&[0.5])] {
            assert_eq!(only(feature), Some(Tensor::scalar(0.5_f32)));
        }
        assert_eq!(only(strings(&[b"x"])), Some(Tensor::string("x")));
        for feature in [int64s(&[]), int64s(&[1, 2]), unpacked_int64s(&[1, 2]), floats(&[]), floats(&[1.0, 2.0])] {
            assert_eq!(only(feature), None);
        }
        assert_eq!(only(strings(&[b"x", b"y"])), None);
    }

    #[test]
    fn numbers_are_read_packed_or_unpacked() {
        let expected = [1, -1, i64::MAX, i64::MIN, 300];
        for feature in [int64s(&expected), unpacked_int64s(&expected)] {
            assert_eq!(decode(feature).unwrap().values::<i64>().unwrap(), expected);
        }
        let expected = [1.5, -0.0, f32::INFINITY];
        for feature in [floats(&expected), unpacked_floats(&expected)] {
            assert_eq!(decode(feature).unwrap().values::<f32>().unwrap(), expected);
        }
    }

    #[test]
    fn several_packed_runs_are_joined() {
        assert_eq!(
            decode(b"\x1a\x08\x0a\x02\x05\x06\x08\x07\x0a\x00".to_vec()).unwrap().values::<i64>().unwrap(),
            [5, 6, 7]
        );
    }

    #[test]
    fn malformed_lists_are_rejected() {
        assert_eq!(decode(b"\x12\x05\x0a\x03\0\0\0".to_vec()), None, "three bytes of a float");
        assert_eq!(decode(b"\x12\x04\x0d\0\0\0".to_vec()), None, "three bytes of a float, not packed");
        assert_eq!(decode(b"\x1a\x03\x0a\x01\xff".to_vec()), None, "half a number");
        assert_eq!(decode(b"\x1a\x02\x0a\x02".to_vec()), None, "a packed run past the end");
        assert_eq!(decode(b"\x0a\x03\x0a\x02a".to_vec()), None, "half a string");
        for kind in [b"\x0a", b"\x12", b"\x1a"] {
            assert_eq!(decode([kind, &b"\x02\x10\x00"[..]].concat()), None, "a field that is not a value");
            assert_eq!(decode(kind.to_vec()), None, "no length");
        }
    }

    #[test]
    fn unsupported_types_are_rejected() {
        let text = format!("{:?}", Values::new(DType::Int32).unwrap_err());
        assert_eq!(text, "InvalidArgument: Invalid config dtype: int32");
    }

    #[test]
    fn short_rows_are_padded() {
        let values = Values::Int64(SmallVec::from_slice(&[1, 2, 3]));
        let padded = values.into_padded(Shape::new(&[3, 2]), &[1, 1, 3], 2, &Tensor::scalar(9_i64)).unwrap();
        assert_eq!(padded.values::<i64>().unwrap(), [1, 9, 9, 9, 2, 3]);
    }

    proptest! {
        #[test]
        fn encoded_values_round_trip(ints: Vec<i64>, bits: Vec<u32>, texts: Vec<Vec<u8>>) {
            for feature in [int64s(&ints), unpacked_int64s(&ints)] {
                let tensor = decode(feature).unwrap();
                prop_assert_eq!(tensor.values::<i64>().unwrap(), &ints[..]);
            }
            let numbers: Vec<f32> = bits.iter().map(|bits| f32::from_bits(*bits)).collect();
            for feature in [floats(&numbers), unpacked_floats(&numbers)] {
                let tensor = decode(feature).unwrap();
                let decoded: Vec<u32> = tensor.values::<f32>().unwrap().iter().map(|float| float.to_bits()).collect();
                prop_assert_eq!(&decoded, &bits);
            }
            let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
            let tensor = decode(strings(&texts)).unwrap();
            prop_assert_eq!(tensor.string_values(), &texts[..]);
        }

        #[test]
        fn decoding_an_arbitrary_list_never_panics(kind in 1_u8..=3, body: Vec<u8>) {
            decode([&[kind << 3 | 2][..], &body].concat());
        }
    }
}
