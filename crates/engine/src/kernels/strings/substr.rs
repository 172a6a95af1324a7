//! `Substr` and `StringLength`: return parts of strings and their lengths.
//!
//! Source: `tf.substr` and `tf.strings.length` in TensorFlow 1.15.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::math::broadcast::Broadcast;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::aliasing::alias_or_copy;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use bytes::Bytes;

/// The unit of lengths and positions.
#[derive(Clone, Copy)]
enum Unit {
    Byte,
    /// UTF-8 characters, counted as bytes that do not continue a character.
    Character,
}

/// Maps `(strings, positions, lengths)` to the part of each string at that position with that
/// length. Positions may count from the end. A negative length, or one that goes past the end,
/// means the rest of the string.
pub struct Substr(Unit);

/// Returns the length of each string as int32.
pub struct StringLength(Unit);

impl Unit {
    fn from_attrs(attrs: &Attrs) -> Result<Self> {
        match attrs.string("unit")? {
            "BYTE" => Ok(Self::Byte),
            "UTF8_CHAR" => Ok(Self::Character),
            unit => Err(Error::internal(format!("unknown unit {unit}"))),
        }
    }

    fn count(self, text: &[u8]) -> usize {
        match self {
            Self::Byte => text.len(),
            Self::Character => text.iter().filter(begins_character).count(),
        }
    }

    /// The byte at which unit `number` begins, or the end of the text after the last unit.
    fn start(self, text: &[u8], number: usize) -> usize {
        match self {
            Self::Byte => number.min(text.len()),
            Self::Character => {
                let mut starts = text.iter().enumerate().filter(|(_, byte)| begins_character(byte));
                starts.nth(number).map_or(text.len(), |(start, _)| start)
            }
        }
    }
}

fn begins_character(byte: &&u8) -> bool {
    **byte & 0xc0 != 0x80
}

impl Substr {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Unit::from_attrs(attrs).map(Self)
    }

    /// Returns a part of a string, or `None` if it begins outside the string.
    fn part(&self, text: &Bytes, position: i64, length: i64) -> Option<Bytes> {
        let size = self.0.count(text);
        let first = if position < 0 { position.checked_add(size as i64)? } else { position };
        let first = usize::try_from(first).ok().filter(|first| *first <= size)?;
        let last = usize::try_from(length).map_or(size, |length| first.saturating_add(length).min(size));
        Some(alias_or_copy(&text[self.0.start(text, first)..self.0.start(text, last)], text))
    }

    fn out_of_range(&self, text: &[u8], position: i64, index: usize) -> Error {
        let shown = match self.0 {
            Unit::Byte => format!(" b'{}'", escaped(text)),
            Unit::Character => String::new(),
        };
        Error::invalid_argument(format!("pos {position} out of range for string{shown} at index {index}"))
    }
}

/// Returns the text with bytes escaped that are not valid UTF-8.
fn escaped(text: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in text.utf8_chunks() {
        shown.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
    }
    shown
}

impl Kernel for Substr {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [strings, positions, lengths] = expect_inputs(&inputs)?;
        if positions.shape() != lengths.shape() {
            let (one, other) = (positions.shape(), lengths.shape());
            let text = format!("pos and len should have the same shape, got: {one} vs. {other}");
            return Err(Error::invalid_argument(text));
        }
        let broadcast = Broadcast::new(strings.shape(), positions.shape())?;
        let (positions, lengths) = (positions.integers()?, lengths.integers()?);
        let elements = allocate::elements(DType::String, broadcast.shape());
        elements.check()?;
        let texts = strings.string_values();
        let numbers = |count| {
            allocate::collected(count, 0..count).map_err(|refusal| refusal.of_tensor(DType::String, broadcast.shape()))
        };
        let (each_text, each_position) = (numbers(texts.len())?, numbers(positions.len())?);
        let pairs = broadcast.map(DType::String, &each_text, &each_position, |text, place| (text, place))?;
        let mut parts = elements.room()?;
        for (index, (text, place)) in pairs.into_iter().enumerate() {
            let (text, position) = (&texts[text], positions[place]);
            let part = self.part(text, position, lengths[place]);
            parts.push(part.ok_or_else(|| self.out_of_range(text, position, index))?);
        }
        Tensor::strings(broadcast.shape().clone(), parts).map(Step::one)
    }
}

impl StringLength {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Unit::from_attrs(attrs).map(Self)
    }
}

impl Kernel for StringLength {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [strings] = expect_inputs(&inputs)?;
        let lengths = strings.string_values().iter().map(|text| self.0.count(text) as i32);
        let lengths = allocate::elements(DType::Int32, strings.shape()).collect(lengths)?;
        Tensor::from_values(strings.shape().clone(), lengths).map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run, run_one};
    use crate::tensor::shape::Shape;

    fn unit(name: &str) -> Attrs {
        attrs([("unit", Attr::String(name.to_owned()))])
    }

    fn substr(name: &str) -> Substr {
        Substr::from_attrs(&unit(name)).unwrap()
    }

    fn part(name: &str, text: &[u8], position: i64, length: i64) -> Bytes {
        let inputs = [Tensor::string(text.to_vec()), Tensor::scalar(position), Tensor::scalar(length)];
        run_one(&substr(name), &inputs).unwrap().string_values()[0].clone()
    }

    fn vector(values: &[i32]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    #[test]
    fn positions_count_from_either_end() {
        for (position, length, expected) in
            [(0, 2, "ab"), (1, 9, "bc"), (-2, 1, "b"), (1, -1, "bc"), (3, 1, ""), (-3, i64::MAX, "abc"), (1, 0, "")]
        {
            assert_eq!(part("BYTE", b"abc", position, length), expected);
        }
        assert_eq!(part("UTF8_CHAR", "aäöb".as_bytes(), 1, 2), "äö");
        assert_eq!(part("UTF8_CHAR", "aäöb".as_bytes(), -1, 1), "b");
    }

    #[test]
    fn strings_and_positions_are_broadcast() {
        let column = Tensor::strings(Shape::new(&[2, 1]), vec!["abc".into(), "xyz".into()]).unwrap();
        let parts = run_one(&substr("BYTE"), &[column.clone(), vector(&[0, 1]), vector(&[1, 2])]).unwrap();
        assert_eq!(parts.shape()[..], [2, 2]);
        assert_eq!(parts.string_values(), ["a", "bc", "x", "yz"]);
        let text = error_text(&substr("BYTE"), &[column.clone(), vector(&[0, 1]), vector(&[1])]);
        assert_eq!(text, "InvalidArgument: pos and len should have the same shape, got: [2] vs. [1]");
        let three = column.reshaped(Shape::new(&[2])).unwrap();
        let text = error_text(&substr("BYTE"), &[three, vector(&[0, 1, 2]), vector(&[1, 1, 1])]);
        assert_eq!(text, "InvalidArgument: Incompatible shapes: [2] vs. [3]");
    }

    #[test]
    fn error_names_a_position_outside_the_string() {
        let strings = Tensor::strings(Shape::new(&[2]), vec!["abcd".into(), Bytes::from_static(b"a\xff")]).unwrap();
        let inputs_at = |position: i64| [strings.clone(), Tensor::scalar(position), Tensor::scalar(1_i64)];
        let text = error_text(&substr("BYTE"), &inputs_at(3));
        assert_eq!(text, "InvalidArgument: pos 3 out of range for string b'a\\xff' at index 1");
        let text = error_text(&substr("UTF8_CHAR"), &inputs_at(i64::MIN));
        assert_eq!(text, format!("InvalidArgument: pos {} out of range for string at index 0", i64::MIN));
    }

    #[test]
    fn sizes_beyond_the_memory_limit_are_rejected() {
        let count = 1 << 20;
        let column = Tensor::strings(Shape::new(&[count, 1]), vec!["a".into(); count]).unwrap();
        let row = Tensor::from_values(Shape::new(&[1, count]), vec![0_i32; count]).unwrap();
        let error = run(&substr("BYTE"), &[column, row.clone(), row]).unwrap_err();
        assert_eq!(error.code(), Code::ResourceExhausted);
    }

    #[test]
    fn lengths_count_bytes_or_characters() {
        let strings = || Tensor::strings(Shape::new(&[3]), vec!["".into(), "ab".into(), "äö".into()]).unwrap();
        let length = |name| run_one(&StringLength::from_attrs(&unit(name)).unwrap(), &[strings()]).unwrap();
        assert_eq!(length("BYTE"), vector(&[0, 2, 4]));
        assert_eq!(length("UTF8_CHAR"), vector(&[0, 2, 2]));
    }
}
