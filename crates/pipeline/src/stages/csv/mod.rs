//! Parses CSV records into columns.

pub mod inference;
mod values;
mod words;

pub use words::Words;

use crate::blocks::block::Block;
use crate::blocks::column::{Column, look_ahead};
use crate::blocks::file_provenance::Layout;
use crate::blocks::provenance::Provenance;
use crate::blocks::rows::Rows;
use crate::formats::component::Component;
use crate::stages::Stage;
use crate::stages::csv::values::{Values, values_of};
use headrace_engine::error::{Error, Lost, Result};
use headrace_engine::kernels::records::decode_csv::split::Dialect;
use headrace_engine::tensor::allocate;
use headrace_engine::text::excerpt::excerpt;
use headrace_engine::text::number::FromText;

/// Replaces the only column, which has records, with one column per component. The file of the
/// records has the layout of the fields.
pub struct CsvFields {
    dialect: Dialect,
    components: Vec<Component>,
    missing: Words,
}

impl CsvFields {
    /// Fails if a component has a type that a field cannot have.
    pub fn new(delimiter: u8, components: Vec<Component>, missing: Words) -> Result<Self> {
        components.iter().try_for_each(|component| values_of(component, &missing, 0).map(drop))?;
        Ok(Self { dialect: Dialect::strict(delimiter, true), components, missing })
    }

    /// Adds the fields of a record to the columns. Returns whether all of them were valid.
    #[inline]
    fn parse(&self, record: &[u8], layout: &Layout, columns: &mut [Box<dyn Values>]) -> bool {
        let mut fields = self.dialect.split(record);
        let mut next = 0;
        for (field, column) in &layout.fields {
            let mut skipped = (next..*field).map(|_| matches!(fields.next(), Some(Ok(_))));
            if !skipped.all(|is_there| is_there) || !columns[*column].push(&mut fields) {
                return false;
            }
            next = field + 1;
        }
        let mut rest = (next..layout.num_fields).map(|_| matches!(fields.next(), Some(Ok(_))));
        rest.all(|is_there| is_there) && fields.is_over()
    }

    /// Describes why a record is invalid.
    #[cold]
    fn misfit(&self, record: &[u8], layout: &Layout) -> String {
        let fields: std::result::Result<Vec<_>, _> = self.dialect.split(record).collect();
        let count = match fields {
            Ok(fields) => fields.len(),
            Err(misfit) => {
                return format!(
                    "{misfit}; the record is '{}'. Quote fields that contain quotes, delimiters or line breaks, and \
                     double any quotes inside them.",
                    excerpt(record)
                );
            }
        };
        if count != layout.num_fields {
            return format!(
                "got {count} fields, expected {}; the record is '{}'. Correct the record, or the delimiter.",
                layout.num_fields,
                excerpt(record)
            );
        }
        let mut wrong = layout.fields.iter().filter_map(|(field, column)| {
            let mut fields = self.dialect.split(record);
            (0..*field).for_each(|_| drop(fields.next()));
            let text = fields.clone().next()?.ok()?;
            let component = &self.components[*column];
            let is_right = values_of(component, &self.missing, 1).ok()?.push(&mut fields);
            (!is_right).then(|| self.wrong_field(component, &text))
        });
        wrong.next().unwrap_or_else(|| "the record is damaged. Correct it.".to_owned())
    }

    #[cold]
    fn wrong_field(&self, component: &Component, text: &[u8]) -> String {
        let (name, dtype) = (&component.name, component.type_name());
        if text.is_empty() || self.missing.has(text) {
            let what = if text.is_empty() { "empty".to_owned() } else { format!("'{}'", excerpt(text)) };
            return format!("the field of column '{name}' is {what}, expected {dtype}. {}", component.fillers());
        }
        let more = if f64::from_text(text).is_some() { component.limit() } else { "" };
        let (text, remedy) = (excerpt(text), component.remedy());
        format!("the field of column '{name}' is '{text}', expected {dtype}{more}. {remedy}")
    }
}

/// Returns each record with the layout of its fields.
fn records(rows: &Rows) -> Result<Vec<(&[u8], &Layout)>> {
    let mut records = allocate::room(rows.len()).map_err(|refusal| refusal.at("CSV records"))?;
    for (block, row) in rows.iter() {
        let Some(Column::Text(text)) = block.columns.first() else {
            return Err(Error::internal("the records of a CSV file are not strings"));
        };
        let layout = block.provenance().file(row).and_then(|file| file.layout.get());
        let layout = layout.ok_or_else(|| Error::internal("a CSV file has no columns"))?;
        records.push((text.row(row), &**layout));
    }
    look_ahead(records.iter().map(|(record, _)| *record));
    Ok(records)
}

impl Stage for CsvFields {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let columns = self.components.iter().map(|component| values_of(component, &self.missing, rows.len()));
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        for (index, (record, layout)) in records(&rows)?.into_iter().enumerate() {
            if !self.parse(record, layout, &mut columns) {
                let misfit = self.misfit(record, layout);
                let row_provenance =
                    rows.row_provenance(index).map_or(String::new(), |row_provenance| format!("{row_provenance}: "));
                // A quote may have turned several records into one field. Only a line without any
                // text is blank.
                let lines = record.split(|byte| *byte == b'\n').filter(|line| line.iter().any(|byte| *byte != b'\r'));
                let lost = Lost::Records(lines.count().max(1) as u64);
                return Err(Error::invalid_argument(format!("{row_provenance}{misfit}")).with_lost(lost));
            }
        }
        let columns = columns.into_iter().map(|column| column.finish()).collect::<Result<Vec<_>>>()?;
        let columns = columns.into_iter().flatten().collect();
        Block::new(columns, rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::column::{Span, Text};
    use crate::blocks::file_provenance::FileProvenance;
    use crate::formats::component::Form;
    use headrace_engine::files::name::FileName;
    use headrace_engine::numbering::Numbering;
    use headrace_engine::tensor::Tensor;
    use headrace_engine::tensor::dtype::DType;
    use std::sync::Arc;

    fn component(name: &str, dtype: DType, default: Option<Tensor>) -> Component {
        Component { default, ..Component::of(name, dtype, Form::Plain) }
    }

    /// Creates rows from records of a file with four fields. The last and the third are selected.
    fn rows(records: &[&str]) -> Rows {
        let file = FileProvenance::new(FileName::new("f"), Numbering { word: "line", first: 1 }, 0);
        file.layout.set(Arc::new(Layout { names: Arc::new([]), fields: vec![(1, 1), (3, 0)], num_fields: 4 })).unwrap();
        let mut start = 0;
        let spans = records.iter().map(|record| {
            let span = Span { start, length: record.len() };
            start += record.len();
            span
        });
        let text = Text::new(records.concat().into(), spans.collect());
        Rows::all(Block::new(vec![Column::Text(text)], records.len(), Provenance::Run(Arc::new(file), 6)).unwrap())
    }

    fn parsed(records: &[&str], default: Option<Tensor>) -> Result<Vec<Tensor>> {
        let components = vec![component("a", DType::Float32, None), component("b", DType::Int32, default)];
        let block = CsvFields::new(b',', components, Words::default()).unwrap().apply(rows(records))?.gather()?;
        block.columns.iter().map(Column::to_tensor).collect()
    }

    #[test]
    fn fields_are_read_from_their_columns_in_the_file() {
        let columns = parsed(&["x,1,\"y,\",2.5", ",\"-7\",,1e3"], None).unwrap();
        assert_eq!(columns[0].values::<f32>().unwrap(), [2.5, 1e3]);
        assert_eq!(columns[1].values::<i32>().unwrap(), [1, -7]);
    }

    #[test]
    fn empty_field_is_the_default_or_an_error() {
        let columns = parsed(&["x,,y,2"], Some(Tensor::scalar(5_i32))).unwrap();
        assert_eq!(columns[1].values::<i32>().unwrap(), [5]);
        let text = parsed(&["x,1,y,"], None).unwrap_err();
        assert!(
            text.message().starts_with("f: line 7: the field of column 'a' is empty, expected float32. "),
            "{text}"
        );
        let text = parsed(&["x,1,y,2", "x,,y,"], None).unwrap_err();
        assert_eq!(
            text.message(),
            "f: line 8: the field of column 'b' is empty, expected int32. Set a default with defaults={'b': ...}, or \
             read it as hr.Nullable(...), which adds a mask."
        );
    }

    #[test]
    fn records_with_a_wrong_number_of_fields_are_rejected() {
        for record in ["x,1,y", "x,1,y,2,", "x,1,y,2,3"] {
            let error = parsed(&[record], None).unwrap_err();
            assert!(error.message().starts_with("f: line 7: got "), "{error}");
        }
    }
}
