//! Components that are read from a table column or a JSON key.

pub mod elements;
pub mod times;

use crate::blocks::column::{Column, Lists, Ragged, Text};
use crate::formats::component::times::TimeUnit;
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::{DType, Numeric};
use headrace_engine::tensor::shape::Shape;

/// JSON's null.
pub const NULL: &[u8] = b"null";

/// A component that is read from a table or from text.
#[derive(Clone, Debug)]
pub struct Component {
    /// The name, which is also its name in the file.
    pub name: String,
    /// The type of its values.
    pub dtype: DType,
    /// The meaning of the values.
    pub form: Form,
    /// The number of axes of variable length: 1 for a list, 2 for a list of lists.
    pub num_lists: usize,
    /// The shape of its values, unless it is a list.
    pub shape: Shape,
    /// The default for missing rows: a tensor of the component's shape, or a vector if the
    /// component is a list.
    pub default: Option<Tensor>,
    /// True if its dtype was inferred from the beginning of the files. Values that the dtype cannot
    /// round-trip are then rejected.
    pub is_inferred: bool,
    /// True if a mask component follows.
    pub has_mask: bool,
}

/// The meaning of the values of a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Numbers, booleans, or strings of any bytes.
    Plain,
    /// Strings in UTF-8.
    Text,
    /// Strings that contain JSON.
    Json,
    /// int64 values of NumPy's `datetime64`.
    Instant(TimeUnit),
    /// int64 values of NumPy's `timedelta64`.
    Span(TimeUnit),
}

impl Form {
    /// Parses the name of a form: "", "str", "json", or a NumPy type such as "datetime64\[us\]".
    pub fn of_name(name: &str) -> Result<Self> {
        let unit = |rest: &str| TimeUnit::of_name(rest.strip_suffix(']')?);
        let form = match name {
            "" => Some(Self::Plain),
            "str" => Some(Self::Text),
            "json" => Some(Self::Json),
            _ => match (name.strip_prefix("datetime64["), name.strip_prefix("timedelta64[")) {
                (Some(rest), _) => unit(rest).map(Self::Instant),
                (_, Some(rest)) => unit(rest).map(Self::Span),
                _ => None,
            },
        };
        form.ok_or_else(|| Error::internal(format!("'{name}' is not a form of values")))
    }

    /// The name of the form; see [`Form::of_name`].
    pub fn name(self) -> String {
        match self {
            Self::Plain => String::new(),
            Self::Text => "str".to_owned(),
            Self::Json => "json".to_owned(),
            Self::Instant(unit) => format!("datetime64[{}]", unit.name()),
            Self::Span(unit) => format!("timedelta64[{}]", unit.name()),
        }
    }
}

impl Component {
    /// Creates a required component of single values.
    pub fn of(name: &str, dtype: DType, form: Form) -> Self {
        let (name, shape) = (name.to_owned(), Shape::default());
        Self { name, dtype, form, num_lists: 0, shape, default: None, is_inferred: false, has_mask: false }
    }

    /// Returns true if it is a list of variable length.
    pub fn is_list(&self) -> bool {
        self.num_lists > 0
    }

    /// The number of columns it needs: one for its values, and one for its mask if it has one.
    pub fn num_columns(&self) -> usize {
        1 + usize::from(self.has_mask)
    }

    /// The dtype as written in Python.
    pub fn type_name(&self) -> String {
        let name = match (self.form, self.dtype) {
            (Form::Text, _) => "str".to_owned(),
            (Form::Json, _) => "JSON".to_owned(),
            (form @ (Form::Instant(_) | Form::Span(_)), _) => form.name(),
            (Form::Plain, DType::String) => "bytes".to_owned(),
            (_, DType::Float16) => "float16".to_owned(),
            (_, DType::Float32) => "float32".to_owned(),
            (_, DType::Float64) => "float64".to_owned(),
            (_, dtype) => dtype.to_string(),
        };
        match self.num_lists {
            0 if self.shape.is_empty() => name,
            0 => format!("{name} of shape {}", self.shape),
            depth => format!("list of {}{name}", "lists of ".repeat(depth - 1)),
        }
    }

    /// A remark for numbers that a float cannot represent: integers must be exact.
    pub fn limit(&self) -> &'static str {
        match self.dtype {
            _ if self.is_inferred => "",
            DType::Float16 | DType::Float32 => ", which cannot represent it; np.float64 has a larger range",
            DType::Float64 => ", which cannot represent it exactly",
            _ => "",
        }
    }

    /// How to fix a value of the wrong type.
    pub fn remedy(&self) -> String {
        match self.is_inferred {
            true => {
                format!(
                    "The type was inferred from the first block. Set another type with dtypes={{'{}': ...}}.",
                    self.name
                )
            }
            false => "Correct the record, or read the column as another type.".to_owned(),
        }
    }

    /// How to fix a missing value.
    pub fn fillers(&self) -> String {
        let name = &self.name;
        format!("Set a default with defaults={{'{name}': ...}}, or read it as hr.Nullable(...), which adds a mask.")
    }

    /// The error for a dtype that cannot be parsed from text.
    pub fn unsupported(&self, format: &str) -> Error {
        Error::invalid_argument(format!(
            "{format}: the component '{}' is {}, expected numbers that are not complex, bool, bytes or str.",
            self.name, self.dtype
        ))
    }

    /// The default as a single value of a type.
    pub fn default_value<T: Numeric>(&self) -> Result<Option<T>> {
        self.default
            .as_ref()
            .map(|default| Ok(default.values::<T>()?.first().copied()))
            .transpose()
            .map(Option::flatten)
    }

    /// Returns true if missing rows get a value.
    pub fn has_filler(&self) -> bool {
        self.default.is_some() || self.has_mask
    }

    /// The value for missing rows: the default or, if the component has a mask, zeros, empty
    /// strings and lists, or JSON's null. `None` if the component is required.
    pub fn filler(&self) -> Result<Option<Tensor>> {
        match &self.default {
            Some(default) => Ok(Some(default.clone())),
            None if !self.has_mask => Ok(None),
            None if self.is_list() => Tensor::empty(self.dtype, Shape::new(&[0])).map(Some),
            None if self.form == Form::Json => Ok(Some(Tensor::string(Bytes::from_static(NULL)))),
            None => zeros(self.dtype, &self.shape).map(Some),
        }
    }

    /// A single row with the value for missing rows; see [`Component::filler`].
    pub fn filler_row(&self) -> Result<Option<Column>> {
        self.filler()?.map(|value| self.row(&value)).transpose()
    }

    /// The value for lists of lists is empty.
    pub fn row(&self, value: &Tensor) -> Result<Column> {
        if !self.is_list() {
            let dense = value.clone().reshaped(self.shape.batched(1))?;
            return Ok(match self.dtype == DType::String && self.shape.is_empty() {
                true => {
                    let string = dense.string_values().first().cloned().unwrap_or_default();
                    let end = string.len();
                    Column::Text(Text::joined_of(string, &[end]))
                }
                false => Column::Dense(dense),
            });
        }
        let count = value.num_elements();
        let flat = value.clone().reshaped(Shape::new(&[count]))?;
        if self.num_lists == 1 {
            return Ok(Column::Ragged(Ragged::new(flat, vec![count])));
        }
        // A value of lists of lists is empty.
        let inner = Column::Ragged(Ragged::new(flat, Vec::new()));
        let nested = |inner, depth| Column::Lists(Lists::new(inner, if depth == 0 { vec![0] } else { Vec::new() }));
        Ok((0..self.num_lists - 1).rev().fold(inner, nested))
    }
}

/// Zeros, or empty strings.
fn zeros(dtype: DType, shape: &Shape) -> Result<Tensor> {
    let room = allocate::elements(dtype, shape);
    match dtype {
        DType::String => Tensor::strings(shape.clone(), room.copies(Bytes::new())?),
        dtype => {
            let num_bytes = shape.num_elements() * dtype.size();
            let bytes: Vec<u8> = allocate::zeros(num_bytes).map_err(|refusal| refusal.of_tensor(dtype, shape))?;
            Tensor::from_bytes(dtype, shape.clone(), bytes.into())
        }
    }
}

/// The column of a mask.
pub fn mask(is_there: impl ExactSizeIterator<Item = bool>) -> Result<Column> {
    let shape = Shape::new(&[is_there.len()]);
    let values = is_there.map(u8::from).collect();
    Tensor::from_values(shape, values)?.with_dtype(DType::Bool).map(Column::Dense)
}
