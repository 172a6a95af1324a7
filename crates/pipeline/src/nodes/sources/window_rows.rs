//! Random access to windows of rows that have random access.

use crate::blocks::block::{Block, FileProvenance, Pass, RowProvenance};
use crate::blocks::column::Column;
use crate::blocks::indexed::Indexed;
use crate::blocks::opaque::{Opaque, OpaqueValues};
use crate::blocks::provenance::ProvenanceBuilder;
use crate::blocks::rows::Rows;
use crate::blocks::windows::{Window, Windowing};
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// Windows that can be read by number.
pub struct WindowRows {
    rows: Arc<dyn Indexed>,
    /// The work on each row before the windows.
    stages: Vec<Arc<dyn Stage>>,
    windowing: Arc<Windowing>,
    /// The rows of each episode.
    episodes: Vec<Range<u64>>,
    /// The number of windows up to the end of each episode.
    ends: Vec<u64>,
    /// The provenance of rows whose records are unknown.
    file_provenance: Arc<FileProvenance>,
}

/// The rows to read for some windows: ranges of row numbers, in ascending order, each with the
/// number of rows before it.
struct NeededRows(Vec<(Range<u64>, usize)>);

impl NeededRows {
    fn new(mut ranges: Vec<Range<u64>>) -> Self {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<(Range<u64>, usize)> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some((last, _)) if range.start <= last.end => last.end = last.end.max(range.end),
                last => {
                    let before = last.map_or(0, |(last, before)| *before + (last.end - last.start) as usize);
                    merged.push((range, before));
                }
            }
        }
        Self(merged)
    }

    fn numbers(&self) -> Vec<u64> {
        self.0.iter().flat_map(|(range, _)| range.clone()).collect()
    }

    /// The position of a row among the rows to read.
    fn position(&self, row: u64) -> usize {
        let (range, before) = &self.0[self.0.partition_point(|(range, _)| range.end <= row)];
        before + (row - range.start) as usize
    }
}

impl WindowRows {
    /// Windows of rows, after `stages` have worked on them. Each stage must return one row per row.
    pub fn new(rows: Arc<dyn Indexed>, stages: Vec<Arc<dyn Stage>>, windowing: Arc<Windowing>) -> Result<Self> {
        let len = rows.len();
        let episodes = windowing.episodes.clone().unwrap_or_else(|| std::iter::once(0..len).collect());
        if episodes.last().is_some_and(|last| last.end != len) || episodes.is_empty() && len > 0 {
            return Err(changed());
        }
        let mut end = 0;
        let ends = episodes.iter().map(|episode| {
            end += windowing.shape.num_windows(episode.end - episode.start);
            end
        });
        let ends = ends.collect();
        let file_provenance = FileProvenance::unnamed("example", Pass::default());
        Ok(Self { rows, stages, windowing, episodes, ends, file_provenance })
    }

    /// The episode and the start row of window `number`.
    fn window(&self, number: u64) -> (&Range<u64>, u64) {
        let index = self.ends.partition_point(|end| *end <= number);
        let (episode, before) = (&self.episodes[index], index.checked_sub(1).map_or(0, |before| self.ends[before]));
        (
            episode,
            episode.start + self.windowing.shape.first_start() + (number - before) * self.windowing.shape.stride(),
        )
    }

    /// Reads rows, after all stages.
    fn read_rows(&self, numbers: &[u64]) -> Result<Arc<Block>> {
        let rows = Rows::all(self.rows.read(numbers)?);
        self.stages.iter().try_fold(rows, |rows, stage| stage.apply(rows))?.gather()
    }

    /// Fails if the first and the last row of a window are no longer in the same episode.
    fn check(&self, block: &Block, window: &Window) -> Result<()> {
        let inside = window.positions_inside();
        let mut rows = window.rows().skip(inside.start).take(inside.len()).map(|(_, row)| row);
        match (rows.next(), rows.last()) {
            (Some(first), Some(last)) if !self.windowing.is_same_episode((block, first), (block, last)) => {
                Err(changed())
            }
            _ => Ok(()),
        }
    }
}

/// The error if the rows have changed since the episodes were found.
#[cold]
fn changed() -> Error {
    Error::failed_precondition(
        "windows: the data has changed since its episodes were found. Don't change the files while they are read, and \
         create the pipeline again",
    )
}

impl Indexed for WindowRows {
    fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn read(&self, numbers: &[u64]) -> Result<Block> {
        let mut ranges = Vec::new();
        for number in numbers {
            let (episode, start) = self.window(*number);
            self.windowing.shape.for_each_run(start, episode, |range, _| ranges.push(range));
        }
        let needed = NeededRows::new(ranges);
        let block = self.read_rows(&needed.numbers())?;
        let blocks: Arc<[_]> = [Arc::clone(&block)].into();
        let (mut windows, mut num_bytes, mut held_bytes) = (Vec::new(), 0, block.held_bytes());
        let mut provenance = ProvenanceBuilder::default();
        for number in numbers {
            let (episode, start) = self.window(*number);
            let mut window = Window::new(&blocks);
            let inside = self.windowing.shape.for_each_run(start, episode, |range, count| {
                let row = needed.position(range.start);
                match count {
                    Some(count) => window.push_repeated(0, row, count),
                    None => window.push(0, row, (range.end - range.start) as usize),
                }
            });
            let window = window.inside(inside);
            self.check(&block, &window)?;
            num_bytes += window.num_bytes();
            held_bytes += window.held_bytes();
            windows.push(Arc::new(window) as Arc<dyn Opaque>);
            match block.row_provenance(needed.position(start)) {
                Some(row) => provenance.push_row(&row),
                None => provenance.push_record(&self.file_provenance, start),
            }
        }
        let num_windows = windows.len();
        let column = Column::Opaque(OpaqueValues::new(windows, num_bytes, held_bytes));
        let provenance = provenance.finish();
        Block::new(vec![column], num_windows, provenance)
    }

    fn row_provenance(&self, number: u64) -> Option<RowProvenance> {
        self.rows.row_provenance(self.window(number).1)
    }

    fn row_bytes(&self) -> usize {
        self.rows.row_bytes().saturating_mul(self.windowing.shape.len())
    }

    fn counted_bytes(&self, block: &Block) -> usize {
        block.num_bytes()
    }
}
