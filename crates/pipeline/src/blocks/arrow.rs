//! Strings in Apache Arrow's layout: one buffer of bytes, and the offset of each string.
//!
//! Source: the "Variable-size Binary Layout" of Arrow's columnar format, with 64-bit offsets.

use crate::blocks::column::{Column, Text};
use bytes::Bytes;
use headrace_engine::error::Result;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

/// Strings in Arrow's layout: row `i` is `data[offsets[i]..offsets[i + 1]]`.
pub struct Strings {
    /// An int64 vector with one entry more than there are rows.
    pub offsets: Tensor,
    /// A uint8 vector.
    pub data: Tensor,
}

impl Strings {
    /// Returns the strings of a column, or `None` if its rows are not single strings.
    pub fn of(column: &Column) -> Result<Option<Self>> {
        let is_string = |tensor: &Tensor| tensor.dtype() == DType::String && tensor.shape().is_empty();
        match column {
            Column::Text(text) => Self::of_text(text).map(Some),
            Column::Dense(tensor) if tensor.dtype() == DType::String && tensor.shape().len() == 1 => {
                Self::copied(tensor.string_values().iter().map(|string| &string[..])).map(Some)
            }
            Column::Each(tensors) if !tensors.is_empty() && tensors.iter().all(is_string) => {
                Self::copied(tensors.iter().map(|tensor| &tensor.string_values()[0][..])).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Converts a text. Contiguous strings, such as the strings of a batch, are not copied.
    fn of_text(text: &Text) -> Result<Self> {
        match text.joined() {
            Some(data) => Self::new(text.rows().map(<[u8]>::len), text.len(), data),
            None => Self::copied(text.rows()),
        }
    }

    fn copied<'a>(strings: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Result<Self> {
        let num_bytes = strings.clone().map(<[u8]>::len).sum();
        let room = allocate::room(num_bytes).map_err(|refusal| refusal.at("the strings of a batch"));
        let mut data: Vec<u8> = room?;
        strings.clone().for_each(|string| data.extend_from_slice(string));
        Self::new(strings.clone().map(<[u8]>::len), strings.len(), data.into())
    }

    fn new(lengths: impl Iterator<Item = usize>, count: usize, data: Bytes) -> Result<Self> {
        let shape = Shape::new(&[count + 1]);
        let ends = lengths.scan(0, |end, length| {
            *end += length as i64;
            Some(*end)
        });
        let offsets = allocate::elements(DType::Int64, &shape).collect(std::iter::once(0).chain(ends))?;
        let num_bytes = data.len();
        Ok(Self {
            offsets: Tensor::from_values(shape, offsets)?,
            data: Tensor::from_bytes(DType::UInt8, Shape::new(&[num_bytes]), data)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::column::Span;

    fn strings(column: &Column) -> Option<(Vec<i64>, Vec<u8>)> {
        let strings = Strings::of(column).unwrap()?;
        Some((strings.offsets.values().unwrap().to_vec(), strings.data.bytes().to_vec()))
    }

    fn text(spans: &[(usize, usize)]) -> Text {
        let spans = spans.iter().map(|(start, length)| Span { start: *start, length: *length });
        Text::new(Bytes::from_static(b"-abcde"), spans.collect())
    }

    #[test]
    fn contiguous_strings_are_not_copied() {
        let together = text(&[(1, 2), (3, 0), (3, 3)]);
        assert_eq!(together.joined().unwrap().as_ptr(), together.row(0).as_ptr());
        assert_eq!(strings(&Column::Text(together)), Some((vec![0, 2, 2, 5], b"abcde".to_vec())));
    }

    #[test]
    fn scattered_strings_are_copied() {
        let expected = Some((vec![0, 2, 3], b"deb".to_vec()));
        let apart = Column::Text(text(&[(4, 2), (2, 1)]));
        assert_eq!(strings(&apart), expected);
        assert_eq!(strings(&Column::Dense(apart.to_tensor().unwrap())), expected);
        let each = [Tensor::string("de"), Tensor::string("b")];
        assert_eq!(strings(&Column::Each(each.into())), expected);
        assert_eq!(strings(&Column::Text(text(&[]))), Some((vec![0], vec![])));
    }

    #[test]
    fn column_of_numbers_has_no_strings() {
        assert_eq!(strings(&Column::Dense(Tensor::scalar(1).reshaped(Shape::new(&[1])).unwrap())), None);
    }
}
