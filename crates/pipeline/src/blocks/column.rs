//! Columns, which store one component of many examples without an object per example.

use crate::blocks::opaque::OpaqueValues;
use crate::blocks::packed_rows::Packed;
pub use crate::blocks::span::Span;
use crate::blocks::stack::stack;
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use std::sync::Arc;

/// The padded size of each axis of a row, starting with the first.
pub type Axes = SmallVec<[usize; 4]>;

/// Enlarges the axes from `first` on to at least the sizes in `others`.
pub fn widen(axes: &mut Axes, first: usize, others: &[usize]) {
    for (index, other) in others.iter().enumerate() {
        match axes.get_mut(first + index) {
            Some(axis) => *axis = (*axis).max(*other),
            None => axes.push(*other),
        }
    }
}

/// One component of the rows of a block.
#[derive(Clone, Debug)]
pub enum Column {
    /// Rows of one shape: a tensor whose first dimension counts the rows.
    Dense(Tensor),
    /// Like `Dense`, but stored in rows together with other columns. Only blocks whose rows are
    /// gathered in random order have such columns. Gathering makes them dense again.
    Packed(Packed),
    /// One string per row, stored as a span of a shared buffer.
    Text(Text),
    /// One list per row: row `i` is `values[ends[i - 1]..ends[i]]`.
    Ragged(Ragged),
    /// One list of lists per row.
    Lists(Lists),
    /// One tensor of any shape per row.
    Each(Arc<[Tensor]>),
    /// One batch per row. The rows of each batch are themselves a column.
    Batches(Arc<[Column]>),
    /// One value per row that a later stage turns into columns.
    Opaque(OpaqueValues),
}

/// Strings that share one buffer.
#[derive(Clone, Debug)]
pub struct Text {
    buffer: Bytes,
    spans: Spans,
    /// The total size of the strings in bytes.
    num_bytes: usize,
}

/// The positions of strings in a buffer.
#[derive(Clone, Debug)]
enum Spans {
    Each(Arc<[Span]>),
    /// Stored in rows together with other columns.
    Packed(Packed),
}

impl Spans {
    fn len(&self) -> usize {
        match self {
            Self::Each(spans) => spans.len(),
            Self::Packed(packed) => packed.len(),
        }
    }

    #[inline]
    fn get(&self, row: usize) -> Span {
        match self {
            Self::Each(spans) => spans[row],
            Self::Packed(packed) => packed.span(row),
        }
    }

    fn iter(&self) -> impl ExactSizeIterator<Item = Span> + Clone {
        (0..self.len()).map(|row| self.get(row))
    }

    fn held_bytes(&self) -> usize {
        match self {
            Self::Each(spans) => size_of_val(&**spans),
            Self::Packed(packed) => packed.held_bytes(),
        }
    }
}

/// Lists of any length.
#[derive(Clone, Debug)]
pub struct Ragged {
    values: Tensor,
    ends: Arc<[usize]>,
}

impl Text {
    /// Strings at `spans`, which must lie inside `buffer`.
    pub fn new(buffer: Bytes, spans: Vec<Span>) -> Self {
        let num_bytes = spans.iter().map(|span| span.length).sum();
        Self { buffer, spans: Spans::Each(spans.into()), num_bytes }
    }

    /// Copies strings into one buffer, end to end.
    pub fn copied<'a>(strings: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<Self> {
        /// How many strings to prefetch before the first one is copied.
        const LOOKED_AHEAD: usize = 64;
        let refused = |refusal: allocate::Refusal| refusal.at("the strings of a batch");
        let strings = allocate::collected(strings.len(), strings).map_err(refused)?;
        let num_bytes = strings.iter().map(|string| string.len()).sum();
        let mut buffer = allocate::room(num_bytes).map_err(refused)?;
        let mut spans = allocate::room(strings.len()).map_err(refused)?;
        for group in strings.chunks(LOOKED_AHEAD) {
            look_ahead(group.iter().copied());
            for string in group {
                spans.push(Span { start: buffer.len(), length: string.len() });
                buffer.extend_from_slice(string);
            }
        }
        Ok(Self::new(buffer.into(), spans))
    }

    /// Returns the spans of the strings, if they can be stored in packed rows.
    pub(super) fn packable_spans(&self) -> Option<&[Span]> {
        match &self.spans {
            Spans::Each(spans) if u32::try_from(self.buffer.len()).is_ok() => Some(spans),
            _ => None,
        }
    }

    /// Returns the same strings with their spans stored in packed rows.
    pub(super) fn packed(&self, spans: Packed) -> Self {
        Self { buffer: self.buffer.clone(), spans: Spans::Packed(spans), num_bytes: self.num_bytes }
    }

    /// The string at a span.
    #[inline]
    pub(super) fn at(&self, span: Span) -> &[u8] {
        &self.buffer[span.range()]
    }

    /// Strings that lie end to end in `buffer` and end at `ends`.
    pub fn joined_of(buffer: Bytes, ends: &[usize]) -> Self {
        let mut start = 0;
        let span = |end: &usize| Span { start, length: end - std::mem::replace(&mut start, *end) };
        Self::new(buffer, ends.iter().map(span).collect())
    }

    /// Returns the same strings with their own reference count, so that threads sharing a text
    /// don't contend for it.
    pub fn counted_apart(&self) -> Self {
        Self { buffer: Bytes::from_owner(self.buffer.clone()), ..self.clone() }
    }

    /// The bytes of all strings, if they are contiguous.
    pub fn joined(&self) -> Option<Bytes> {
        let start = self.spans.iter().next().map_or(0, |span| span.start);
        let end = self.spans.iter().try_fold(start, |end, span| (span.start == end).then_some(end + span.length))?;
        Some(self.buffer.slice(start..end))
    }

    /// The number of strings.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of row `row`.
    pub fn row(&self, row: usize) -> &[u8] {
        self.at(self.spans.get(row))
    }

    /// Returns row `row` as bytes that keep the buffer alive.
    pub fn shared_row(&self, row: usize) -> Bytes {
        self.buffer.slice(self.spans.get(row).range())
    }

    /// Turns `string`, a row of this text, into bytes that keep the buffer alive.
    pub fn shared(&self, string: &[u8]) -> Bytes {
        self.buffer.slice_ref(string)
    }

    /// The bytes of each row.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.spans.iter().map(|span| self.at(span))
    }

    fn num_bytes(&self) -> usize {
        self.num_bytes
    }
}

/// Prefetches scattered strings, so that the CPU can overlap the cache misses.
pub fn look_ahead<'a>(strings: impl Iterator<Item = &'a [u8]>) {
    /// Size of a cache line.
    const LINE_BYTES: usize = 64;
    /// Longer strings are only prefetched up to this length. The CPU prefetches the rest on its
    /// own.
    const MAX_BYTES: usize = 1024;
    let look = |sum, string: &[u8]| {
        let lines = string.iter().take(MAX_BYTES).step_by(LINE_BYTES);
        lines.chain(string.last()).fold(sum, |sum, byte| sum ^ byte)
    };
    std::hint::black_box(strings.fold(0, look));
}

impl Ragged {
    /// Splits the vector `values` into lists that end at `ends`.
    pub fn new(values: Tensor, ends: Vec<usize>) -> Self {
        Self { values, ends: ends.into() }
    }

    /// The position of list `row` in the values.
    pub fn range(&self, row: usize) -> Range<usize> {
        row.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[row]
    }

    /// List `row`, as a vector.
    pub fn row(&self, row: usize) -> Result<Tensor> {
        let range = self.range(row);
        let shape = Shape::new(&[range.len()]);
        self.values.part(range, shape)
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of values in list `row`.
    pub fn row_length(&self, row: usize) -> usize {
        self.range(row).len()
    }

    /// The values of all lists, as a vector.
    pub fn values(&self) -> &Tensor {
        &self.values
    }

    /// Stacks lists of one length.
    fn to_tensor(&self) -> Result<Tensor> {
        let Some(length) = even_length((0..self.len()).map(|row| self.row_length(row))) else {
            return Err(Error::invalid_argument(
                "the lists differ in length, expected rows of one shape. Use padded_batch, bucket_by_length or pack \
                 instead of batch",
            ));
        };
        self.values.part(0..self.len() * length, Shape::new(&[self.len(), length]))
    }
}

/// The length that all lists have; `None` if they differ, and 0 if there are none.
fn even_length(mut lengths: impl Iterator<Item = usize>) -> Option<usize> {
    let first = lengths.next().unwrap_or(0);
    lengths.all(|length| length == first).then_some(first)
}

impl Column {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Dense(tensor) => tensor.shape().first().copied().unwrap_or(0),
            Self::Packed(packed) => packed.len(),
            Self::Text(text) => text.len(),
            Self::Ragged(ragged) => ragged.ends.len(),
            Self::Lists(lists) => lists.len(),
            Self::Each(tensors) => tensors.len(),
            Self::Batches(batches) => batches.len(),
            Self::Opaque(values) => values.len(),
        }
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packed rows that store its values or its spans.
    pub(super) fn packed(&self) -> Option<&Packed> {
        match self {
            Self::Packed(packed) => Some(packed),
            Self::Text(Text { spans: Spans::Packed(packed), .. }) => Some(packed),
            _ => None,
        }
    }

    /// The size of the elements in bytes.
    pub fn num_bytes(&self) -> usize {
        match self {
            Self::Dense(tensor) => tensor.num_bytes(),
            Self::Packed(packed) => packed.num_bytes(),
            Self::Text(text) => text.num_bytes(),
            Self::Ragged(ragged) => ragged.values.num_bytes(),
            Self::Lists(lists) => lists.inner().num_bytes(),
            Self::Each(tensors) => tensors.iter().map(Tensor::num_bytes).sum(),
            Self::Batches(batches) => batches.iter().map(Self::num_bytes).sum(),
            Self::Opaque(values) => values.num_bytes(),
        }
    }

    /// The memory that the column uses, including the spans of strings and the ends of lists.
    pub fn held_bytes(&self) -> usize {
        match self {
            Self::Dense(tensor) => held_by(tensor),
            Self::Packed(packed) => packed.held_bytes(),
            Self::Text(text) => text.num_bytes() + text.spans.held_bytes(),
            Self::Ragged(ragged) => held_by(&ragged.values) + size_of_val(&*ragged.ends),
            Self::Lists(lists) => lists.held_bytes(),
            Self::Each(tensors) => size_of_val(&**tensors) + tensors.iter().map(held_by).sum::<usize>(),
            Self::Batches(batches) => size_of_val(&**batches) + batches.iter().map(Self::held_bytes).sum::<usize>(),
            Self::Opaque(values) => values.held_bytes(),
        }
    }

    /// Row `row` as a tensor.
    pub fn row(&self, row: usize) -> Result<Tensor> {
        match self {
            Self::Dense(tensor) => tensor.row(row),
            Self::Packed(packed) => packed.row(row),
            Self::Text(text) => Ok(Tensor::string(text.shared_row(row))),
            Self::Ragged(ragged) => ragged.row(row),
            Self::Lists(_) => Err(not_one_tensor()),
            Self::Each(tensors) => Ok(tensors[row].clone()),
            Self::Batches(batches) => batches[row].to_tensor(),
            Self::Opaque(_) => Err(opaque()),
        }
    }

    /// The rows of the batch in row `row`, as a column.
    pub fn batch(&self, row: usize) -> Result<Self> {
        match self {
            Self::Batches(batches) => Ok(batches[row].clone()),
            other => other.row(row).map(Self::Dense),
        }
    }

    /// Like [`Column::batch`], but moves the batch out if nobody else holds it. Each row may be
    /// moved out only once.
    pub fn take_batch(&mut self, row: usize) -> Result<Self> {
        if let Self::Batches(batches) = self
            && let Some(batches) = Arc::get_mut(batches)
        {
            return Ok(std::mem::replace(&mut batches[row], Self::Each([].into())));
        }
        self.batch(row)
    }

    /// Returns row `row`, which must be a string.
    pub fn string(&self, row: usize) -> Result<&[u8]> {
        let none = || Error::internal("a row is not a string");
        match self {
            Self::Text(text) => Ok(text.row(row)),
            Self::Dense(tensor) => Ok(tensor.string_values().get(row).ok_or_else(none)?),
            Self::Each(tensors) => Ok(tensors[row].string_scalar("a row")?),
            Self::Packed(_) | Self::Ragged(_) | Self::Lists(_) | Self::Batches(_) | Self::Opaque(_) => Err(none()),
        }
    }

    /// The length of row `row`: its first dimension, or the number of bytes of a string.
    pub fn row_length(&self, row: usize) -> usize {
        match self {
            Self::Dense(tensor) => tensor.shape().row().first().copied().unwrap_or(1),
            Self::Packed(packed) => packed.axes().first().copied().unwrap_or(1),
            Self::Text(text) => text.spans.get(row).length,
            Self::Ragged(ragged) => ragged.row_length(row),
            Self::Lists(lists) => lists.range(row).len(),
            Self::Each(tensors) => tensors[row].shape().first().copied().unwrap_or(1),
            Self::Batches(batches) => batches[row].len(),
            Self::Opaque(_) => 1,
        }
    }

    /// The sizes to which row `row` would be padded: its dimensions, or the longest of its lists.
    pub fn row_axes(&self, row: usize) -> Axes {
        let mut axes: Axes = smallvec![self.row_length(row)];
        match self {
            Self::Dense(tensor) => axes.extend(tensor.shape().row().iter().skip(1).copied()),
            Self::Packed(packed) => axes.extend(packed.axes().iter().skip(1).copied()),
            Self::Each(tensors) => axes.extend(tensors[row].shape().iter().skip(1).copied()),
            Self::Lists(lists) => {
                lists.range(row).for_each(|inner| widen(&mut axes, 1, &lists.inner().row_axes(inner)));
            }
            Self::Text(_) | Self::Ragged(_) | Self::Batches(_) | Self::Opaque(_) => {}
        }
        axes
    }

    /// Stacks all rows into one tensor whose first dimension counts them.
    pub fn to_tensor(&self) -> Result<Tensor> {
        match self {
            Self::Dense(tensor) => Ok(tensor.clone()),
            Self::Packed(packed) => packed.to_tensor(),
            Self::Text(text) => {
                let shape = Shape::new(&[text.len()]);
                let strings = allocate::elements(DType::String, &shape);
                let strings = strings.collect((0..text.len()).map(|row| text.shared_row(row)))?;
                Tensor::strings(shape, strings)
            }
            Self::Ragged(ragged) => ragged.to_tensor(),
            Self::Lists(lists) => lists.to_tensor(),
            Self::Each(tensors) => stack(tensors),
            Self::Batches(batches) => {
                let tensors = batches.iter().map(Self::to_tensor).collect::<Result<Vec<_>>>()?;
                stack(&tensors)
            }
            Self::Opaque(_) => Err(opaque()),
        }
    }
}

/// Nested lists of any length: row `i` consists of the lists `ends[i - 1]..ends[i]` of a column of
/// lists.
#[derive(Clone, Debug)]
pub struct Lists {
    inner: Arc<Column>,
    ends: Arc<[usize]>,
}

impl Lists {
    /// Splits `inner` into lists that end at `ends`. `inner` must be [`Column::Ragged`] or
    /// [`Column::Lists`].
    pub fn new(inner: Column, ends: Vec<usize>) -> Self {
        Self { inner: Arc::new(inner), ends: ends.into() }
    }

    /// The lists of all rows, in order.
    pub fn inner(&self) -> &Column {
        &self.inner
    }

    /// The range of row `row` within the inner lists.
    pub fn range(&self, row: usize) -> Range<usize> {
        row.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[row]
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The memory that it uses.
    pub fn held_bytes(&self) -> usize {
        size_of_val(&*self.ends) + self.inner.held_bytes()
    }

    /// Stacks nested lists that have one length at each depth.
    fn to_tensor(&self) -> Result<Tensor> {
        let lengths = (0..self.len()).map(|row| self.range(row).len());
        let (Some(length), Ok(inner)) = (even_length(lengths), self.inner.to_tensor()) else {
            return Err(not_one_tensor());
        };
        let shape: Shape = [self.len(), length].into_iter().chain(inner.shape().iter().skip(1).copied()).collect();
        inner.part(0..shape.num_elements(), shape)
    }
}

/// The error if the values have not been converted to columns yet.
#[cold]
fn opaque() -> Error {
    Error::internal("the columns of a row were not made yet")
}

/// The error if a row has nested lists but a single tensor is expected.
#[cold]
fn not_one_tensor() -> Error {
    Error::invalid_argument(
        "the nested lists differ in length, expected rows of one shape. Use padded_batch or bucket_by_length instead \
         of batch",
    )
}

/// Finds the longest list at each depth among some rows. Depth 0 is the outermost list.
pub fn longest(column: &Column, rows: impl Iterator<Item = usize>) -> Result<Vec<usize>> {
    match column {
        Column::Ragged(ragged) => Ok(vec![rows.map(|row| ragged.row_length(row)).max().unwrap_or(0)]),
        Column::Lists(lists) => {
            let mut most = 0;
            let inner: Vec<_> = rows
                .flat_map(|row| {
                    let range = lists.range(row);
                    most = most.max(range.len());
                    range
                })
                .collect();
            let deeper = longest(lists.inner(), inner.into_iter())?;
            Ok([most].into_iter().chain(deeper).collect())
        }
        _ => Err(Error::internal("expected nested lists")),
    }
}

/// The memory that a tensor refers to, without the tensor object itself.
fn held_by(tensor: &Tensor) -> usize {
    /// The estimated memory of a reference count.
    const COUNT_BYTES: usize = 64;
    let strings = if tensor.dtype() == DType::String { tensor.num_elements() * size_of::<Bytes>() } else { 0 };
    tensor.num_bytes() + strings + COUNT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ragged(num_values: i64, ends: &[usize]) -> Column {
        let shape = Shape::new(&[num_values as usize]);
        Column::Ragged(Ragged::new(Tensor::from_values(shape, (0..num_values).collect()).unwrap(), ends.to_vec()))
    }

    #[test]
    fn lists_of_equal_length_are_stacked() {
        for (column, shape) in [
            (ragged(4, &[2, 4]), &[2, 2][..]),
            (ragged(0, &[0, 0, 0]), &[3, 0]),
            (Column::Lists(Lists::new(ragged(6, &[3, 6]), vec![1, 2])), &[2, 1, 3]),
            (Column::Lists(Lists::new(ragged(0, &[0, 0, 0, 0]), vec![2, 4])), &[2, 2, 0]),
            (Column::Lists(Lists::new(ragged(0, &[]), vec![0, 0])), &[2, 0, 0]),
        ] {
            let tensor = column.to_tensor().unwrap();
            assert_eq!((&tensor.shape()[..], tensor.dtype()), (shape, DType::Int64));
            assert!(tensor.values::<i64>().unwrap().iter().copied().eq(0..tensor.num_elements() as i64));
        }
    }

    #[test]
    fn lists_of_different_lengths_cannot_be_stacked() {
        for column in [
            ragged(3, &[1, 3]),
            Column::Lists(Lists::new(ragged(3, &[1, 3]), vec![1, 2])),
            Column::Lists(Lists::new(ragged(3, &[1, 2, 3]), vec![1, 3])),
        ] {
            let error = column.to_tensor().unwrap_err();
            assert!(error.message().contains("lists differ in length"), "{error}");
        }
    }
}
