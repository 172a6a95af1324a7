//! Stores short values of several columns row by row. Picking rows from all over memory then
//! costs one cache miss per row instead of one per column.

use crate::blocks::span::Span;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate::{self, Refusal};
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use std::sync::Arc;

/// The maximum length of a row: one cache line.
const MOST_ROW_BYTES: usize = 64;
/// Row lengths are multiples of this.
const UNIT_BYTES: usize = 8;
/// Longer values are stored separately, since one of them alone fills half a cache line.
const MOST_FIELD_BYTES: usize = 32;
/// The number of rows to move together. They fit into the L1 cache.
const TILE_ROWS: usize = 128;

/// Evaluates an expression in which the size of a row is a constant.
macro_rules! with_size {
    ($row_bytes:expr, $row:ident => $value:expr) => {
        with_size!(@match $row_bytes, $row, $value, 1 2 3 4 5 6 7)
    };
    (@match $row_bytes:expr, $row:ident, $value:expr, $($units:literal)*) => {
        match $row_bytes / UNIT_BYTES {
            $($units => {
                const $row: usize = $units * UNIT_BYTES;
                $value
            })*
            _ => {
                const $row: usize = MOST_ROW_BYTES;
                $value
            }
        }
    };
}

/// Rows that store the values of several columns of a block.
#[derive(Debug)]
pub struct PackedRows {
    layout: Arc<Layout>,
    bytes: Vec<u8>,
}

/// Where a packed row stores each column's value.
#[derive(Debug, PartialEq, Eq)]
pub struct Layout {
    fields: Vec<Field>,
    row_bytes: usize,
}

/// Where a packed row stores the value of one column.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The number of the column in its block.
    pub(super) column: usize,
    pub(super) values: Values,
    /// The offset of the first byte within a row, and the number of bytes.
    offset: usize,
    num_bytes: usize,
}

/// The kind of values that a column has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Elements of this dtype. The shape is for one row.
    Elements(DType, Shape),
    /// Spans of strings in a buffer.
    Spans,
}

/// A column whose values are in packed rows.
#[derive(Clone, Debug)]
pub struct Packed {
    rows: Arc<PackedRows>,
    /// The number of the field.
    field: usize,
}

impl Layout {
    /// Assigns columns with these values to packed rows, if possible. Columns with long values are
    /// left out, and each row combines at least two columns.
    pub(super) fn all_of(columns: impl Iterator<Item = Option<Values>>) -> Vec<Self> {
        let mut layouts: Vec<Self> = Vec::new();
        for (column, values) in columns.enumerate() {
            let Some(values) = values else { continue };
            let num_bytes = match &values {
                Values::Elements(dtype, shape) => shape.num_elements().saturating_mul(dtype.size()),
                Values::Spans => Span::NUM_BYTES,
            };
            if !(1..=MOST_FIELD_BYTES).contains(&num_bytes) {
                continue;
            }
            if layouts.last().is_none_or(|last| last.row_bytes + num_bytes > MOST_ROW_BYTES) {
                layouts.push(Self { fields: Vec::new(), row_bytes: 0 });
            }
            if let Some(last) = layouts.last_mut() {
                last.fields.push(Field { column, values, offset: last.row_bytes, num_bytes });
                last.row_bytes += num_bytes;
            }
        }
        layouts.retain(|layout| layout.fields.len() > 1);
        layouts.iter_mut().for_each(|layout| layout.row_bytes = layout.row_bytes.next_multiple_of(UNIT_BYTES));
        layouts
    }

    /// The size of a row.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// The columns, in the order of their offsets.
    pub(super) fn fields(&self) -> &[Field] {
        &self.fields
    }
}

/// Copies a row of `ROW` bytes. The compiler knows the size, so this is faster than a call.
#[inline]
fn copy<const ROW: usize>(from: &[u8], to: &mut [u8]) {
    match <&[u8; ROW]>::try_from(from) {
        Ok(from) => to.copy_from_slice(from),
        Err(_) => to.copy_from_slice(from),
    }
}

/// Adds a row of `ROW` bytes; see [`copy`].
#[inline]
fn add<const ROW: usize>(row: &[u8], bytes: &mut Vec<u8>) {
    match <&[u8; ROW]>::try_from(row) {
        Ok(row) => bytes.extend_from_slice(row),
        Err(_) => bytes.extend_from_slice(row),
    }
}

/// The values of a column, to be stored in packed rows.
pub(super) enum Source<'a> {
    /// The bytes of elements.
    Elements(&'a [u8]),
    /// The span of each row's string.
    Spans(&'a [Span]),
}

impl PackedRows {
    /// Packs `num_rows` rows from the values of each field.
    pub(super) fn new(layout: Layout, sources: &[Source<'_>], num_rows: usize) -> Result<Self> {
        let mut bytes = room(num_rows * layout.row_bytes)?;
        with_size!(layout.row_bytes, ROW => layout.pack::<ROW>(sources, num_rows, &mut bytes));
        Ok(Self { layout: Arc::new(layout), bytes })
    }

    /// No rows yet, with room for `num_rows`.
    pub fn with_room(layout: &Arc<Layout>, num_rows: usize) -> Result<Self> {
        Ok(Self { layout: Arc::clone(layout), bytes: room(num_rows * layout.row_bytes)? })
    }

    /// The places of the values.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.layout.row_bytes
    }

    /// The bytes of row `row`.
    #[inline]
    pub fn row(&self, row: usize) -> &[u8] {
        let row_bytes = self.layout.row_bytes;
        &self.bytes[row * row_bytes..][..row_bytes]
    }

    /// Loads rows into the CPU's cache. It can wait for many of them at the same time.
    pub fn touch(&self, rows: impl Iterator<Item = usize>) {
        std::hint::black_box(rows.fold(0, |touched, row| touched ^ self.touched(row)));
    }

    /// A number that depends on all cache lines of row `row`.
    #[inline]
    pub fn touched(&self, row: usize) -> u8 {
        let bytes = self.row(row);
        bytes[0] ^ bytes[bytes.len() - 1]
    }

    /// Replaces row `row` with a row of the same layout.
    #[inline]
    pub fn set(&mut self, row: usize, bytes: &[u8]) {
        let row_bytes = self.layout.row_bytes;
        let to = &mut self.bytes[row * row_bytes..][..row_bytes];
        with_size!(row_bytes, ROW => copy::<ROW>(bytes, to));
    }

    /// Adds a row of the same layout.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        with_size!(bytes.len(), ROW => add::<ROW>(bytes, &mut self.bytes));
    }

    /// Adds rows of zeros until there are `num_rows`.
    pub fn grow_to(&mut self, num_rows: usize) -> Result<()> {
        let more = (num_rows * self.layout.row_bytes).saturating_sub(self.bytes.len());
        allocate::grow(&mut self.bytes, more).map_err(refused)?;
        self.bytes.extend(std::iter::repeat_n(0, more));
        Ok(())
    }

    /// Replaces row `row` with the last one, which is removed.
    pub fn swap_remove(&mut self, row: usize) {
        let row_bytes = self.layout.row_bytes;
        let last = self.bytes.len() - row_bytes;
        self.bytes.copy_within(last.., row * row_bytes);
        self.bytes.truncate(last);
    }

    /// The memory that the rows use, including room for more.
    pub fn held_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Gathers the values of each field from the rows at `positions`. A position is the number of
    /// an item in `rows` and a row in it. All items must have the same layout.
    pub(super) fn gather(rows: &[&Self], positions: &[(usize, usize)]) -> Result<Vec<Vec<u8>>> {
        let Some(layout) = rows.first().map(|rows| &rows.layout) else { return Ok(Vec::new()) };
        let values = layout.fields.iter().map(|field| room(positions.len() * field.num_bytes));
        let mut values = values.collect::<Result<Vec<_>>>()?;
        with_size!(layout.row_bytes, ROW => layout.unpack::<ROW>(rows, positions, &mut values));
        Ok(values)
    }
}

impl Layout {
    /// Appends packed rows of `ROW` bytes each.
    fn pack<const ROW: usize>(&self, sources: &[Source<'_>], num_rows: usize, bytes: &mut Vec<u8>) {
        let mut tile = [[0; ROW]; TILE_ROWS];
        for first in (0..num_rows).step_by(TILE_ROWS) {
            let tile = &mut tile[..TILE_ROWS.min(num_rows - first)];
            self.fields.iter().zip(sources).for_each(|(field, source)| field.put(source, first, tile));
            bytes.extend_from_slice(tile.as_flattened());
        }
    }

    /// Appends the values of some rows to the values of each field.
    fn unpack<const ROW: usize>(&self, rows: &[&PackedRows], positions: &[(usize, usize)], values: &mut [Vec<u8>]) {
        let sources: Vec<&[[u8; ROW]]> = rows.iter().map(|rows| rows.bytes.as_chunks().0).collect();
        let mut tile = [[0; ROW]; TILE_ROWS];
        for positions in positions.chunks(TILE_ROWS) {
            for (row, (source, number)) in tile.iter_mut().zip(positions) {
                *row = sources[*source][*number];
            }
            let tile = &tile[..positions.len()];
            self.fields.iter().zip(&mut *values).for_each(|(field, values)| field.take(tile, values));
        }
    }
}

impl Field {
    /// Writes the values of one tile, starting with row `first` of the source.
    fn put<const ROW: usize>(&self, source: &Source<'_>, first: usize, tile: &mut [[u8; ROW]]) {
        let bytes = match source {
            Source::Elements(bytes) => &bytes[first * self.num_bytes..],
            Source::Spans(spans) => return self.put_all(spans[first..].iter().map(|span| span.to_bytes()), tile),
        };
        match self.num_bytes {
            1 => self.put_all(bytes.as_chunks::<1>().0.iter().copied(), tile),
            2 => self.put_all(bytes.as_chunks::<2>().0.iter().copied(), tile),
            4 => self.put_all(bytes.as_chunks::<4>().0.iter().copied(), tile),
            8 => self.put_all(bytes.as_chunks::<8>().0.iter().copied(), tile),
            16 => self.put_all(bytes.as_chunks::<16>().0.iter().copied(), tile),
            num_bytes => {
                for (row, value) in tile.iter_mut().zip(bytes.chunks_exact(num_bytes)) {
                    row[self.offset..][..num_bytes].copy_from_slice(value);
                }
            }
        }
    }

    fn put_all<const ROW: usize, const N: usize>(&self, values: impl Iterator<Item = [u8; N]>, tile: &mut [[u8; ROW]]) {
        for (row, value) in tile.iter_mut().zip(values) {
            row[self.offset..][..N].copy_from_slice(&value);
        }
    }

    /// Appends the values of a tile.
    fn take<const ROW: usize>(&self, tile: &[[u8; ROW]], values: &mut Vec<u8>) {
        match self.num_bytes {
            1 => self.take_all::<ROW, 1>(tile, values),
            2 => self.take_all::<ROW, 2>(tile, values),
            4 => self.take_all::<ROW, 4>(tile, values),
            8 => self.take_all::<ROW, 8>(tile, values),
            16 => self.take_all::<ROW, 16>(tile, values),
            num_bytes => tile.iter().for_each(|row| values.extend_from_slice(&row[self.offset..][..num_bytes])),
        }
    }

    fn take_all<const ROW: usize, const N: usize>(&self, tile: &[[u8; ROW]], values: &mut Vec<u8>) {
        let mut taken = [[0; N]; TILE_ROWS];
        for (taken, row) in taken.iter_mut().zip(tile) {
            taken.copy_from_slice(&row[self.offset..][..N]);
        }
        values.extend_from_slice(taken[..tile.len()].as_flattened());
    }
}

impl Packed {
    /// Returns each column of packed rows, in the order of their offsets.
    pub(super) fn all_of(rows: PackedRows) -> impl Iterator<Item = Self> {
        let rows = Arc::new(rows);
        (0..rows.layout.fields.len()).map(move |field| Self { rows: Arc::clone(&rows), field })
    }

    /// The rows that store this column.
    pub(super) fn rows(&self) -> &Arc<PackedRows> {
        &self.rows
    }

    fn field(&self) -> &Field {
        &self.rows.layout.fields[self.field]
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.bytes.is_empty()
    }

    /// The size of the values in bytes.
    pub fn num_bytes(&self) -> usize {
        self.len() * self.field().num_bytes
    }

    /// The memory that the column uses. The padding of rows is counted with their first column.
    pub fn held_bytes(&self) -> usize {
        let Layout { fields, row_bytes } = &*self.rows.layout;
        let others: usize = fields[1..].iter().map(|field| field.num_bytes).sum();
        self.len() * if self.field == 0 { row_bytes - others } else { self.field().num_bytes }
    }

    /// The dtype and shape of a row, unless the column has strings.
    pub(super) fn row_type(&self) -> Option<(DType, &Shape)> {
        match &self.field().values {
            Values::Elements(dtype, shape) => Some((*dtype, shape)),
            Values::Spans => None,
        }
    }

    fn elements(&self) -> Result<(DType, &Shape)> {
        self.row_type().ok_or_else(|| Error::internal("the positions of strings have no element type"))
    }

    /// The size of each axis of a row.
    pub fn axes(&self) -> &[usize] {
        self.row_type().map_or(&[], |(_, shape)| shape)
    }

    /// The bytes of the value of row `row`.
    #[inline]
    pub(super) fn bytes(&self, row: usize) -> &[u8] {
        let Field { offset, num_bytes, .. } = *self.field();
        &self.rows.bytes[row * self.rows.layout.row_bytes + offset..][..num_bytes]
    }

    /// Row `row` as a tensor.
    pub fn row(&self, row: usize) -> Result<Tensor> {
        let (dtype, shape) = self.elements()?;
        Tensor::copied(dtype, shape.clone(), self.bytes(row))
    }

    /// All rows as one tensor.
    pub fn to_tensor(&self) -> Result<Tensor> {
        let (dtype, shape) = self.elements()?;
        let mut bytes: Vec<u8> = room(self.num_bytes())?;
        (0..self.len()).for_each(|row| bytes.extend_from_slice(self.bytes(row)));
        Tensor::from_bytes(dtype, shape.batched(self.len()), bytes.into())
    }

    /// The span of the string in row `row`.
    #[inline]
    pub fn span(&self, row: usize) -> Span {
        Span::of_bytes(self.bytes(row).first_chunk().copied().unwrap_or_default())
    }
}

fn room<T>(count: usize) -> Result<Vec<T>> {
    allocate::room(count).map_err(refused)
}

fn refused(refusal: Refusal) -> Error {
    refusal.at("the rows of a block")
}
