//! Stacks the rows of windows.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::Column;
use crate::blocks::gather::gather;
use crate::blocks::rows::Rows;
use crate::blocks::windows::Window;
use crate::stages::Stage;
use crate::stages::packed_lists::misfit;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use std::any::Any;
use std::sync::Arc;

/// Turns windows into columns. Each row has one window.
pub struct StackWindows {
    /// The columns.
    pub columns: Vec<WindowColumn>,
    /// True if positions outside the episode are filled with zeros instead of the nearest row.
    pub fills_zeros: bool,
}

/// A column whose rows are stacked rows of windows.
pub struct WindowColumn {
    /// The name of the component.
    pub name: String,
    /// The number of the column in the rows of the windows, or `None` for a column of bools that
    /// are true outside the episode.
    pub column: Option<usize>,
    /// The positions within a window, in the order of the result.
    pub positions: Vec<usize>,
    /// True if the only position adds no axis.
    pub is_single: bool,
}

/// The windows of some rows.
struct Windows<'a> {
    windows: Vec<&'a Window>,
    /// The blocks that contain their rows.
    blocks: Vec<&'a Arc<Block>>,
    /// For each position of each window, the block's number and the row.
    rows: Vec<(usize, usize)>,
}

impl<'a> Windows<'a> {
    fn new(rows: &'a Rows) -> Result<Self> {
        let windows = rows.iter().map(|(block, row)| window(block, row)).collect::<Result<Vec<_>>>()?;
        let refused = |refusal: allocate::Refusal| refusal.at("the rows of windows");
        let mut positions = allocate::room(windows.iter().map(|window| window.len()).sum()).map_err(refused)?;
        let mut blocks: Vec<&Arc<Block>> = Vec::new();
        let mut last: Option<&Window> = None;
        let mut numbers = Vec::new();
        for window in windows.iter().copied() {
            if !last.is_some_and(|last| Arc::ptr_eq(last.blocks(), window.blocks())) {
                // Neighbouring windows have the same last blocks.
                let recent = blocks.len().saturating_sub(numbers.len());
                numbers.clear();
                for block in window.blocks().iter() {
                    let known = blocks[recent..].iter().position(|other| Arc::ptr_eq(other, block));
                    numbers.push(known.map_or(blocks.len(), |number| recent + number));
                    if known.is_none() {
                        blocks.push(block);
                    }
                }
            }
            last = Some(window);
            positions.extend(window.rows().map(|(block, row)| (numbers[block], row)));
        }
        Ok(Self { windows, blocks, rows: positions })
    }

    /// The number of positions in a window.
    fn length(&self) -> usize {
        self.windows.first().map_or(0, |window| window.len())
    }

    /// The rows at some positions of all windows.
    fn at(&self, positions: &[usize]) -> Result<Vec<(usize, usize)>> {
        let length = self.length();
        let refused = |refusal: allocate::Refusal| refusal.at("the rows of windows");
        let mut rows = allocate::room(self.windows.len() * positions.len()).map_err(refused)?;
        for window in self.rows.chunks_exact(length.max(1)) {
            rows.extend(positions.iter().map(|position| window[*position]));
        }
        Ok(rows)
    }

    /// For each window, whether each of these positions is outside the episode.
    fn are_outside(&self, positions: &[usize]) -> impl Iterator<Item = bool> + Clone {
        self.windows
            .iter()
            .flat_map(move |window| positions.iter().map(move |position| !window.positions_inside().contains(position)))
    }
}

/// The window in row `row` of a block.
fn window(block: &Block, row: usize) -> Result<&Window> {
    let lost = || Error::internal("a row has no window");
    let Some(Column::Opaque(values)) = block.columns.first() else { return Err(lost()) };
    let value: &dyn Any = &**values.get(row);
    value.downcast_ref().ok_or_else(lost)
}

impl StackWindows {
    fn column(&self, windows: &Windows<'_>, column: &WindowColumn, rows: &Rows) -> Result<Column> {
        let WindowColumn { positions, .. } = column;
        let lead = [windows.windows.len(), positions.len()];
        let lead = if column.is_single { &lead[..1] } else { &lead[..] };
        let Some(number) = column.column else {
            let are_outside = windows.are_outside(positions).map(u8::from).collect::<Vec<_>>();
            return Tensor::from_bytes(DType::Bool, Shape::new(lead), are_outside.into()).map(Column::Dense);
        };
        let columns: Vec<_> = windows.blocks.iter().map(|block| &block.columns[number]).collect();
        let tensor = match gather(&columns, windows.at(positions)?.into_iter())? {
            stacked @ (Column::Dense(_) | Column::Text(_)) => stacked.to_tensor()?,
            unstacked => {
                let unequal = |_| misfit(no_fixed_shape(&column.name), rows.row_provenance(0));
                unstacked.to_tensor().map_err(unequal)?
            }
        };
        let tensor = match self.fills_zeros {
            true => zeroed(tensor, windows.are_outside(positions))?,
            false => tensor,
        };
        let dims: Vec<_> = lead.iter().chain(tensor.shape().row().iter()).copied().collect();
        tensor.reshaped(Shape::new(&dims)).map(Column::Dense)
    }
}

fn no_fixed_shape(name: &str) -> String {
    format!(
        "windows: the component '{name}' differs in shape between examples, expected one shape. Pad or resize it in \
         map before windows, or drop it with select"
    )
}

/// Replaces some rows by zeros, or by empty strings.
fn zeroed(tensor: Tensor, are_replaced: impl Iterator<Item = bool> + Clone) -> Result<Tensor> {
    if !are_replaced.clone().any(|is_replaced| is_replaced) {
        return Ok(tensor);
    }
    let (dtype, shape) = (tensor.dtype(), tensor.shape().clone());
    let length = shape.row().num_elements();
    if dtype == DType::String {
        let mut strings = tensor.string_values().to_vec();
        for (row, is_replaced) in strings.chunks_exact_mut(length.max(1)).zip(are_replaced) {
            if is_replaced {
                row.fill_with(Default::default);
            }
        }
        return Tensor::strings(shape, strings);
    }
    let mut bytes: Vec<u8> = allocate::elements(dtype, &shape).room()?;
    bytes.extend_from_slice(tensor.bytes());
    for (row, is_replaced) in bytes.chunks_exact_mut((length * dtype.size()).max(1)).zip(are_replaced) {
        if is_replaced {
            row.fill(0);
        }
    }
    Tensor::from_bytes(dtype, shape, bytes.into())
}

impl Stage for StackWindows {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let windows = Windows::new(&rows)?;
        let columns = self.columns.iter().map(|column| self.column(&windows, column, &rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Block::new(columns, rows.len(), Provenance::of(rows.clone())).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}
