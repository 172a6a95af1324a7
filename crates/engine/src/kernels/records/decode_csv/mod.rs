//! `DecodeCSV`: splits comma-separated records into fields and returns one tensor per column.
//!
//! `split` splits a record into fields, and a `column` collects the values of one field of all
//! records.
//!
//! Source: `tf.decode_csv` in TensorFlow 1.15, for the accepted forms and the error messages.

mod column;
pub mod split;

use crate::error::{Error, Result};
use crate::kernel::rewrite::{Fill, Rewritable, run_filling};
use crate::kernel::{Kernel, Pending, Step, Tensors};
use crate::kernels::attrs::{Attr, Attrs};
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use crate::text::excerpt::excerpt;
use bytes::Bytes;
use column::{Column, Columns, FieldPosition, Scalars, Value};
use split::{Dialect, Fields, Misfit};
use std::sync::Arc;

/// Maps `(records, default of each column)` to the columns, each with the shape of `records`.
///
/// A default without elements means that the field is required.
#[derive(Clone)]
pub struct DecodeCsv {
    dialect: Dialect,
    dtypes: Vec<DType>,
    /// A field with this value counts as missing, like an empty field.
    na_value: Vec<u8>,
    /// For each column, the number of fields to skip before it. Empty if every field is a column.
    gaps: Vec<usize>,
    /// The defaults, if they are constant. The records are then the only input.
    defaults: Option<Vec<Tensor>>,
}

impl DecodeCsv {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let dtypes = attrs.list("OUT_TYPE", |item| match item {
            Attr::DType(dtype) => Some(*dtype),
            _ => None,
        })?;
        dtypes.iter().try_for_each(|dtype| Column::new(*dtype, 0).map(drop))?;
        let selected = attrs.list("select_cols", |item| match item {
            Attr::Int(number) => usize::try_from(*number).ok(),
            _ => None,
        })?;
        let befores = std::iter::once(0).chain(selected.iter().map(|field| field + 1));
        let gaps = selected.iter().zip(befores).map(|(field, before)| field.saturating_sub(before)).collect();
        Ok(Self {
            dialect: Dialect::new(attrs.string("field_delim")?, attrs.bool("use_quote_delim")?)?,
            dtypes,
            na_value: attrs.string("na_value")?.as_bytes().to_vec(),
            gaps,
            defaults: None,
        })
    }

    fn check_defaults(&self, defaults: &[Tensor]) -> Result<()> {
        if defaults.len() != self.dtypes.len() {
            let text = format!("got {} defaults for {} columns", defaults.len(), self.dtypes.len());
            return Err(Error::internal(text));
        }
        for (field, default) in defaults.iter().enumerate() {
            if default.shape().len() > 1 {
                return Err(Error::invalid_argument("Each record default should be at most rank 1"));
            }
            let count = default.num_elements();
            if count > 1 {
                return Err(Error::invalid_argument(format!(
                    "There should only be 1 default per field but field {field} has {count}"
                )));
            }
        }
        Ok(())
    }
}

impl Kernel for DecodeCsv {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        run_filling(self, run, inputs, self.dtypes.len())
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for DecodeCsv {
    fn with_constants(&self, inputs: &[Option<&Tensor>]) -> Option<Arc<dyn Kernel>> {
        let (None, defaults) = inputs.split_first()? else { return None };
        let defaults = defaults.iter().map(|default| default.cloned()).collect::<Option<Vec<_>>>()?;
        self.check_defaults(&defaults).ok()?;
        Some(Arc::new(Self { defaults: Some(defaults), ..self.clone() }))
    }

    fn fill(self: Arc<Self>) -> Option<Arc<dyn Fill>> {
        Some(self)
    }
}

impl Fill for DecodeCsv {
    fn fill(&self, _run: &Run, inputs: Tensors, slots: &mut [Option<Tensor>]) -> Result<Option<Box<dyn Pending>>> {
        if slots.len() != self.dtypes.len() {
            return Err(Error::internal(format!(
                "expected {} outputs from {} columns",
                slots.len(),
                self.dtypes.len()
            )));
        }
        let Some((records, defaults)) = inputs.split_first() else {
            return Err(Error::internal("the records are missing"));
        };
        if records.dtype() != DType::String {
            return Err(Error::internal(format!("DecodeCSV of {} tensor, expected strings", records.dtype())));
        }
        let defaults = match &self.defaults {
            Some(defaults) => defaults,
            None => {
                self.check_defaults(defaults)?;
                defaults
            }
        };
        match (records.string_values(), records.shape().is_empty()) {
            ([row], true) => self.decode(row, 0, defaults, &mut Scalars { dtypes: &self.dtypes, slots })?,
            (rows, _) => self.decode_all(rows, records.shape(), defaults, slots)?,
        }
        Ok(None)
    }
}

impl DecodeCsv {
    fn decode_all(
        &self,
        rows: &[Bytes],
        shape: &Shape,
        defaults: &[Tensor],
        slots: &mut [Option<Tensor>],
    ) -> Result<()> {
        let columns = self.dtypes.iter().map(|dtype| Column::new(*dtype, rows.len()));
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        for (record, row) in rows.iter().enumerate() {
            self.decode(row, record, defaults, &mut columns[..]).map_err(|error| error.at_element(record))?;
        }
        for (column, position) in columns.into_iter().zip(slots) {
            *position = Some(column.into_tensor(shape.clone())?);
        }
        Ok(())
    }

    /// Appends the fields of a record to the columns.
    #[inline]
    fn decode(
        &self,
        row: &Bytes,
        record: usize,
        defaults: &[Tensor],
        columns: &mut (impl Columns + ?Sized),
    ) -> Result<()> {
        let mut fields = self.dialect.split(row);
        for (column, default) in defaults.iter().enumerate() {
            for _ in 0..self.gaps.get(column).copied().unwrap_or(0) {
                if fields.next().is_none() {
                    break;
                }
            }
            if !columns.push_usual(column, &mut fields, &self.na_value) {
                let position = FieldPosition { field: column, record };
                let value = self.value(&mut fields, self.dtypes[column], default, row, position);
                columns.push(column, value.map_err(|error| self.check(row, record).err().unwrap_or(error))?)?;
            }
        }
        match self.gaps.is_empty() && fields.next().is_some() {
            true => self.check(row, record),
            false => Ok(()),
        }
    }

    /// Returns the value of the next field.
    fn value(
        &self,
        fields: &mut Fields,
        dtype: DType,
        default: &Tensor,
        row: &Bytes,
        position: FieldPosition,
    ) -> Result<Value> {
        let missing = || Error::internal("a field is missing");
        let text = fields.next().ok_or_else(missing)?.map_err(Error::internal)?;
        match text.is_empty() || *text == self.na_value {
            true => Value::default(default, position),
            false => Value::of(dtype, text, row, position),
        }
    }

    /// Fails if a record has a different number of fields than there are columns. This error takes
    /// precedence over errors in values.
    #[cold]
    fn check(&self, row: &[u8], record: usize) -> Result<()> {
        let unsplit = |misfit| unsplit(misfit, record, row);
        let mut fields = self.dialect.split(row);
        let expected = self.dtypes.len();
        let mut count = 0;
        if self.gaps.is_empty() {
            while fields.next().transpose().map_err(unsplit)?.is_some() {
                count += 1;
            }
        }
        for gap in &self.gaps {
            for _ in 0..*gap {
                if fields.next().transpose().map_err(unsplit)?.is_none() {
                    break;
                }
            }
            count += usize::from(fields.next().transpose().map_err(unsplit)?.is_some());
        }
        match count == expected {
            true => Ok(()),
            false => Err(Error::invalid_argument(format!(
                "Expect {expected} fields but have {count} in record {record}. Correct the record, set a default for \
                 each field in record_defaults, or list the fields you need in select_cols"
            ))),
        }
    }
}

fn unsplit(misfit: Misfit, record: usize, row: &[u8]) -> Error {
    Error::invalid_argument(format!(
        "{misfit}: record {record} is '{}'. Strip the end of the line; put fields with quotes, delimiters or line ends \
         between quotes, and double the quotes inside",
        excerpt(row)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{attrs, error_text, run};

    fn kernel(dtypes: &[DType], na_value: &str, selected: &[i64]) -> DecodeCsv {
        DecodeCsv::from_attrs(&attrs([
            ("OUT_TYPE", Attr::List(dtypes.iter().map(|dtype| Attr::DType(*dtype)).collect())),
            ("field_delim", Attr::String(",".to_owned())),
            ("use_quote_delim", Attr::Bool(true)),
            ("na_value", Attr::String(na_value.to_owned())),
            ("select_cols", Attr::List(selected.iter().copied().map(Attr::Int).collect())),
        ]))
        .unwrap()
    }

    fn required(dtype: DType) -> Tensor {
        Tensor::empty(dtype, Shape::new(&[0])).unwrap()
    }

    #[test]
    fn each_field_has_the_type_of_its_column() {
        let dtypes = [DType::Int32, DType::Int64, DType::Float32, DType::Float64, DType::String];
        let defaults = dtypes.map(required);
        let inputs = [&[Tensor::string("1, 2 ,0.5,1e3, x")], &defaults[..]].concat();
        let outputs = run(&kernel(&dtypes, "", &[]), &inputs).unwrap();
        assert_eq!(outputs[..2], [Tensor::scalar(1_i32), Tensor::scalar(2_i64)]);
        assert_eq!(outputs[2..], [Tensor::scalar(0.5_f32), Tensor::scalar(1e3_f64), Tensor::string(" x")]);
    }

    #[test]
    fn columns_match_the_records_and_use_defaults_for_missing_fields() {
        let records = ["1,a", ",NA", "NA,\"\"", "4,\"NA\""].map(|record| Bytes::from_static(record.as_bytes()));
        let records = Tensor::strings(Shape::new(&[2, 2]), records.to_vec()).unwrap();
        let inputs = [records, Tensor::scalar(7_i64), Tensor::string("z")];
        let outputs = run(&kernel(&[DType::Int64, DType::String], "NA", &[]), &inputs).unwrap();
        assert_eq!(outputs[0], Tensor::from_values(Shape::new(&[2, 2]), vec![1_i64, 7, 7, 4]).unwrap());
        assert_eq!(outputs[1].string_values(), ["a", "z", "z", "z"]);
    }

    #[test]
    fn only_selected_fields_are_parsed() {
        let kernel = kernel(&[DType::Int32, DType::Int32], "", &[1, 3]);
        let defaults = [required(DType::Int32), required(DType::Int32)];
        let parse = |record: &'static str| [&[Tensor::string(record)], &defaults[..]].concat();
        let outputs = run(&kernel, &parse("x,1,y,3,a\"b")).unwrap();
        assert_eq!(outputs, [Tensor::scalar(1_i32), Tensor::scalar(3_i32)]);
        let text = error_text(&kernel, &parse("x,1,y"));
        assert!(text.starts_with("InvalidArgument: Expect 2 fields but have 1 in record 0. "), "{text}");
    }

    #[test]
    fn errors_name_the_field_and_the_record() {
        let text = |dtype: DType, record: &'static str| {
            let records = Tensor::strings(Shape::new(&[2]), vec!["1".into(), record.into()]).unwrap();
            error_text(&kernel(&[dtype], "", &[]), &[records, required(dtype)])
        };
        let prefix = "InvalidArgument: Field 0 in record 1 is not a valid";
        assert_eq!(
            text(DType::Int32, "9999999999"),
            format!("{prefix} int32: 9999999999. Correct the record, or read the column as another type")
        );
        assert!(text(DType::Int64, "a").starts_with(&format!("{prefix} int64: a. ")));
        assert!(text(DType::Float32, "\u{e9}").starts_with(&format!("{prefix} float: \u{e9}. ")));
        assert!(text(DType::Float64, " ").starts_with(&format!("{prefix} double:  . ")));
        assert_eq!(
            text(DType::String, "\"\""),
            "InvalidArgument: Field 0 is required but missing in record 1! Give the field a default in record_defaults"
        );
        assert!(text(DType::Int32, "").starts_with("InvalidArgument: Expect 1 fields but have 0 in record 1. "));
    }

    #[test]
    fn error_shows_a_record_that_cannot_be_split() {
        let text = error_text(&kernel(&[DType::Int32], "", &[]), &[Tensor::string("1\n"), required(DType::Int32)]);
        assert!(
            text.starts_with("InvalidArgument: Unquoted fields cannot have quotes/CRLFs inside: record 0 is '1\\n'. ")
        );
    }

    #[test]
    fn field_has_at_most_one_default() {
        let kernel = kernel(&[DType::Int32], "", &[]);
        let default = |dims: &[usize], values: &[i32]| {
            let default = Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap();
            error_text(&kernel, &[Tensor::string("1"), default])
        };
        assert_eq!(
            default(&[2], &[1, 2]),
            "InvalidArgument: There should only be 1 default per field but field 0 has 2"
        );
        assert_eq!(default(&[1, 1], &[1]), "InvalidArgument: Each record default should be at most rank 1");
    }
}
