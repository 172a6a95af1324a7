//! Windows: rows at fixed distances from a start row.

use crate::blocks::block::Block;
use crate::blocks::column::Column;
use crate::blocks::opaque::Opaque;
use crate::blocks::rows::Rows;
use headrace_engine::error::Result;
use headrace_engine::tensor::dtype::DType;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// The rules for windows.
#[derive(Clone, Debug)]
pub struct Windowing {
    /// Which rows belong to a window.
    pub shape: WindowShape,
    /// The column that has one value in all rows of an episode. Windows do not cross episodes.
    pub within: Option<usize>,
    /// The rows of each episode, for a full shuffle. `None` if all rows are one episode.
    pub episodes: Option<Vec<Range<u64>>>,
}

impl Windowing {
    /// Returns true if both rows of blocks may belong to the same episode.
    pub fn is_same_episode(&self, one: (&Block, usize), other: (&Block, usize)) -> bool {
        self.within.is_none_or(|within| are_equal(&one.0.columns[within], one.1, &other.0.columns[within], other.1))
    }
}

/// Returns true if two rows have the same value. They are single numbers or strings.
fn are_equal(one: &Column, row: usize, other: &Column, other_row: usize) -> bool {
    value(one, row) == value(other, other_row)
}

/// The bytes of a single number or string.
fn value(column: &Column, row: usize) -> Option<&[u8]> {
    match column {
        Column::Dense(tensor) if tensor.dtype() != DType::String => {
            let size = tensor.dtype().size();
            tensor.bytes().get(row * size..(row + 1) * size)
        }
        Column::Packed(packed) => Some(packed.bytes(row)),
        Column::Each(tensors) if tensors[row].dtype() != DType::String => Some(tensors[row].bytes()),
        column => column.string(row).ok(),
    }
}

/// Which rows of an episode belong to each of its windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowShape {
    /// The distances from the start row, in ascending order. They include 0.
    distances: Vec<Range<i64>>,
    stride: u64,
    is_padded: bool,
}

impl WindowShape {
    /// Creates a shape. `distances` must be ascending and include 0. If `is_padded`, windows may
    /// extend beyond their episode.
    pub fn new(distances: &[i64], stride: u64, is_padded: bool) -> Self {
        let ranges = distances.chunk_by(|one, other| one + 1 == *other);
        let ranges = ranges.map(|range| range[0]..range[0] + range.len() as i64).collect();
        Self { distances: ranges, stride: stride.max(1), is_padded }
    }

    /// The number of positions in a window.
    pub fn len(&self) -> usize {
        self.distances.iter().map(|range| (range.end - range.start) as usize).sum()
    }

    /// True if windows have no rows.
    pub fn is_empty(&self) -> bool {
        self.distances.is_empty()
    }

    /// The number of rows that a window needs before its start row.
    pub fn num_before(&self) -> u64 {
        self.distances.first().map_or(0, |range| range.start.unsigned_abs())
    }

    /// The number of rows that a window needs after its start row.
    pub fn num_after(&self) -> u64 {
        self.distances.last().map_or(0, |range| (range.end - 1).unsigned_abs())
    }

    /// The number of rows between the starts of two windows.
    pub fn stride(&self) -> u64 {
        self.stride
    }

    /// True if windows may extend beyond their episode.
    pub fn is_padded(&self) -> bool {
        self.is_padded
    }

    /// The start row of an episode's first window.
    pub fn first_start(&self) -> u64 {
        if self.is_padded { 0 } else { self.num_before() }
    }

    /// The end of the start rows of an episode of `num_rows` rows.
    pub fn end_of_starts(&self, num_rows: u64) -> u64 {
        if self.is_padded { num_rows } else { num_rows.saturating_sub(self.num_after()) }
    }

    /// The number of windows in an episode of `num_rows` rows.
    pub fn num_windows(&self, num_rows: u64) -> u64 {
        self.end_of_starts(num_rows).saturating_sub(self.first_start()).div_ceil(self.stride)
    }

    /// Calls `add` for the rows of a window, in order: rows of an episode, or one of its rows with
    /// the number of positions beyond the end that repeat it. Returns the positions within the
    /// episode.
    pub fn for_each_run(
        &self,
        start: u64,
        episode: &Range<u64>,
        mut add: impl FnMut(Range<u64>, Option<usize>),
    ) -> Range<usize> {
        let (first, end) = (episode.start.cast_signed(), episode.end.cast_signed());
        let (mut num_before, mut num_after) = (0, 0);
        for range in &self.distances {
            let range = range.start + start.cast_signed()..range.end + start.cast_signed();
            let before = (range.end.min(first) - range.start).max(0);
            let after = (range.end - range.start.max(end)).max(0);
            let inside = range.start.max(first).cast_unsigned()..range.end.clamp(first, end).cast_unsigned();
            if before > 0 {
                add(episode.start..episode.start + 1, Some(before as usize));
            }
            if inside.start < inside.end {
                add(inside, None);
            }
            if after > 0 {
                add(episode.end - 1..episode.end, Some(after as usize));
            }
            num_before += before as usize;
            num_after += after as usize;
        }
        num_before..self.len() - num_after
    }
}

/// Consecutive rows of a block, or one row several times.
#[derive(Clone, Copy, Debug)]
struct Run {
    block: u32,
    row: u32,
    length: u32,
    is_repeated: bool,
}

/// The rows of a window.
#[derive(Debug)]
pub struct Window {
    blocks: Arc<[Arc<Block>]>,
    runs: SmallVec<[Run; 2]>,
    num_rows: usize,
    inside: Range<usize>,
}

impl Window {
    /// A window of rows of these blocks, without any of the rows.
    pub fn new(blocks: &Arc<[Arc<Block>]>) -> Self {
        Self { blocks: Arc::clone(blocks), runs: SmallVec::new(), num_rows: 0, inside: 0..0 }
    }

    /// Adds `length` rows of block `block`, starting at row `row`.
    pub fn push(&mut self, block: usize, row: usize, length: usize) {
        self.add(block, row, length, false);
    }

    /// Adds a row of block `block` `count` times.
    pub fn push_repeated(&mut self, block: usize, row: usize, count: usize) {
        self.add(block, row, count, true);
    }

    fn add(&mut self, block: usize, row: usize, length: usize, is_repeated: bool) {
        self.num_rows += length;
        self.runs.push(Run { block: block as u32, row: row as u32, length: length as u32, is_repeated });
    }

    /// Sets the positions that are within the episode.
    pub fn inside(mut self, positions: Range<usize>) -> Self {
        self.inside = positions;
        self
    }

    /// The blocks of its rows.
    pub fn blocks(&self) -> &Arc<[Arc<Block>]> {
        &self.blocks
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.num_rows
    }

    /// True if it has no rows.
    pub fn is_empty(&self) -> bool {
        self.num_rows == 0
    }

    /// The positions that are within the episode.
    pub fn positions_inside(&self) -> &Range<usize> {
        &self.inside
    }

    /// The rows in order, each as a block number and a row number.
    pub fn rows(&self) -> impl Iterator<Item = (usize, usize)> {
        self.runs.iter().flat_map(|run| {
            let step = usize::from(!run.is_repeated);
            (0..run.length as usize).map(move |index| (run.block as usize, run.row as usize + step * index))
        })
    }

    /// The memory of the window itself, without its rows.
    pub fn held_bytes(&self) -> usize {
        let runs = if self.runs.spilled() { size_of_val(&*self.runs) } else { 0 };
        size_of::<Self>() + runs
    }

    /// The size of its rows in bytes, estimated from the average row of each block.
    pub fn num_bytes(&self) -> usize {
        let row_bytes = |block: &Block| block.num_bytes() / block.num_rows().max(1);
        self.blocks.first().map_or(0, |block| row_bytes(block) * self.num_rows)
    }
}

impl Opaque for Window {
    fn copied(&self) -> Result<Arc<dyn Opaque>> {
        let mut rows = Rows::new();
        self.rows().for_each(|(block, row)| rows.push(&self.blocks[block], row, 1));
        let blocks: Arc<[_]> = [Arc::new(rows.copy()?)].into();
        let mut window = Self::new(&blocks);
        window.push(0, 0, self.num_rows);
        Ok(Arc::new(window.inside(self.inside.clone())))
    }
}
