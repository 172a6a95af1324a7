//! Runs a native function as programs over the components of rows.

use crate::blocks::block::Block;
use crate::blocks::column::Column;
use crate::blocks::rows::Rows;
use crate::native::stacking::Stacking;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::program::{Program, Repeated};
use headrace_engine::run::{Run, check_current};
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::tensor::Tensor;
use std::sync::Arc;

/// A function from components to components, which is computed for each row separately.
pub struct Function {
    /// The name for error messages.
    pub name: String,
    /// The columns that are passed as arguments.
    pub inputs: Vec<usize>,
    /// The program for one row. It is fed with the arguments.
    pub program: Arc<Program>,
    /// Programs that compute all rows of a block in fewer calls, if all rows have the same shape.
    /// Empty if there are none.
    pub segments: Vec<Segment>,
    /// For each fetch of the program, the number of the corresponding value after the last segment.
    pub results: Vec<usize>,
    /// True if a row is a batch. There are no segments then.
    pub is_batched: bool,
    /// True if it draws random numbers, which depend on the identity of the row.
    pub is_random: bool,
}

/// A part of a function. Its values are numbered: first the arguments, then the fetches of each
/// segment.
pub struct Segment {
    /// The program of this segment.
    pub program: Arc<Program>,
    /// The numbers of the values that are fed to it.
    pub inputs: Vec<usize>,
    /// True if it runs once per row rather than once for all rows.
    pub is_looped: bool,
}

/// The rows of a value.
enum Value {
    /// The rows of one of the function's input columns.
    Input(usize),
    /// The rows of a computed column.
    Computed(Column),
}

impl Function {
    /// Returns the results for some rows, one column per result.
    pub fn call(&self, rows: &Rows) -> Result<Vec<Column>> {
        if self.segments.is_empty() {
            return self.call_each(rows);
        }
        match self.call_segments(rows) {
            Err(error) if error.code() != Code::Cancelled => {
                // The rows differ in shape, or one of them fails. Running row by row either
                // succeeds or returns an error with the row.
                self.call_each(rows)
            }
            result => result,
        }
    }

    /// Computes the results row by row.
    fn call_each(&self, rows: &Rows) -> Result<Vec<Column>> {
        let arguments: Vec<_> = self.inputs.iter().map(|column| Value::Input(*column)).collect();
        let inputs: Vec<_> = arguments.iter().collect();
        if self.is_batched {
            let mut batches: Vec<Vec<Column>> = self.results.iter().map(|_| Vec::new()).collect();
            looped(&self.program, &inputs, rows, self.is_random, |result, batch| {
                batches[result].push(Column::Dense(batch.into_materialised()?));
                Ok(())
            })
            .map_err(|error| self.named(error))?;
            return Ok(batches.into_iter().map(|batches| Column::Batches(batches.into())).collect());
        }
        stacked(&self.program, &inputs, rows, self.is_random).map_err(|error| self.named(error))
    }

    /// Computes the results segment by segment.
    fn call_segments(&self, rows: &Rows) -> Result<Vec<Column>> {
        let mut values: Vec<_> = self.inputs.iter().map(|column| Value::Input(*column)).collect();
        for segment in &self.segments {
            let outputs = segment.run(&mut values, rows, self.is_random)?;
            values.extend(outputs.into_iter().map(Value::Computed));
        }
        let result = |value: &usize| match values.get(*value) {
            Some(Value::Computed(column)) => Ok(column.clone()),
            Some(Value::Input(column)) => rows.gather_column(*column),
            None => Err(Error::internal(format!("a native function has no value {value}"))),
        };
        self.results.iter().map(result).collect()
    }

    /// Adds the names of the function and of the operation to an error.
    fn named(&self, error: Error) -> Error {
        let position = error.op().map_or_else(String::new, |op| format!("{op}: "));
        Error::new(error.code(), format!("{}: {position}{}", self.name, error.message()))
    }
}

impl Segment {
    fn run(&self, values: &mut [Value], rows: &Rows, is_random: bool) -> Result<Vec<Column>> {
        if self.is_looped {
            let inputs: Vec<_> = self.inputs.iter().map(|value| &values[*value]).collect();
            return stacked(&self.program, &inputs, rows, is_random);
        }
        let feeds = self.inputs.iter().map(|value| values[*value].gathered(rows)).collect::<Result<_>>()?;
        let cancellation = Cancellation::new();
        let fetched = self.program.run(feeds, &Run::new(&cancellation))?;
        let column = |value: Tensor| match value.shape().first() {
            Some(length) if *length == rows.len() => value.into_materialised().map(Column::Dense),
            _ => Err(Error::internal(format!(
                "a function returned a value of shape {} for {} rows",
                rows.len(),
                value.shape()
            ))),
        };
        fetched.into_iter().map(column).collect()
    }
}

impl Value {
    /// Returns all rows as one tensor, gathering them only once.
    fn gathered(&mut self, rows: &Rows) -> Result<Tensor> {
        if let Self::Input(column) = self {
            *self = Self::Computed(rows.gather_column(*column)?);
        }
        match self {
            Self::Computed(column) => column.to_tensor(),
            Self::Input(_) => Err(Error::internal("a column was not gathered")),
        }
    }

    /// Returns the row at `index` among all rows, which is row `row` of `block`.
    fn row(&self, index: usize, block: &Block, row: usize) -> Result<Tensor> {
        match self {
            Self::Input(column) => block.columns[*column].row(row),
            Self::Computed(column) => column.row(index),
        }
    }
}

/// Runs a program for each row and returns one column per fetch.
fn stacked(program: &Program, inputs: &[&Value], rows: &Rows, is_random: bool) -> Result<Vec<Column>> {
    let mut columns: Vec<_> = (0..program.num_fetches()).map(|_| Stacking::new(rows.len())).collect();
    looped(program, inputs, rows, is_random, |fetch, value| columns[fetch].push(value))?;
    columns.into_iter().map(Stacking::finish).collect()
}

/// Runs a program for each row and passes the number and the value of each fetch to `take`.
fn looped(
    program: &Program,
    inputs: &[&Value],
    rows: &Rows,
    is_random: bool,
    mut take: impl FnMut(usize, Tensor) -> Result<()>,
) -> Result<()> {
    let cancellation = Cancellation::new();
    let run = Run::new(&cancellation);
    let mut repeated: Repeated = program.repeated();
    for (index, (block, row)) in rows.iter().enumerate() {
        check_current()?;
        if is_random {
            run.set_row_key(block.row_id(row)?.map(|row_id| row_id.key()));
        }
        let feeds = inputs.iter().map(|value| value.row(index, block, row));
        repeated.run(feeds, &run).map_err(|error| match block.row_provenance(row) {
            Some(row_provenance) => error.while_reading(&row_provenance),
            None => error,
        })?;
        for (fetch, value) in repeated.fetched().enumerate() {
            take(fetch, value?)?;
        }
    }
    Ok(())
}
