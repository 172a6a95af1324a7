//! Checks that strings are valid UTF-8 before they become Python text.

use crate::blocks::column::Column;
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};
use headrace_engine::text::excerpt::excerpt;

/// Rejects rows with invalid UTF-8 in columns, which are listed by number and name.
pub struct CheckText {
    /// The columns.
    pub columns: Vec<(usize, String)>,
    /// How to fix an invalid string.
    pub remedy: String,
}

impl Stage for CheckText {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        for (index, (block, row)) in rows.iter().enumerate() {
            for (number, name) in &self.columns {
                let column = block
                    .columns
                    .get(*number)
                    .ok_or_else(|| Error::internal(format!("text column {number} does not exist")))?;
                check(column, row, name, &self.remedy).map_err(|error| at(&rows, index, &error))?;
            }
        }
        Ok(rows)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}

/// Fails if a string in the row is not valid UTF-8.
pub fn check(column: &Column, row: usize, name: &str, remedy: &str) -> Result<()> {
    if let Column::Text(text) = column {
        return check_string(text.row(row), name, remedy);
    }
    let strings = column.row(row)?;
    strings.string_values().iter().try_for_each(|string| check_string(string, name, remedy))
}

fn check_string(string: &[u8], name: &str, remedy: &str) -> Result<()> {
    match std::str::from_utf8(string) {
        Ok(_) => Ok(()),
        Err(error) => Err(not_text(string, name, error.valid_up_to(), remedy)),
    }
}

#[cold]
fn not_text(string: &[u8], name: &str, position: usize, remedy: &str) -> Error {
    let text = excerpt(string);
    Error::invalid_argument(format!(
        "'{name}' is '{text}', which is not UTF-8 at byte {position}, expected str. {remedy}"
    ))
}

/// Adds the origin of row `row` to an error.
pub fn at(rows: &Rows, row: usize, error: &Error) -> Error {
    let row_provenance = rows.row_provenance(row).map_or(String::new(), |row_provenance| format!("{row_provenance}: "));
    Error::invalid_argument(format!("{row_provenance}{}", error.message()))
}
