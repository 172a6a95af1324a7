//! Components parsed from a column of a table, or from a key.

use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::dtype::{DType, Numeric};
use crate::tensor::shape::Shape;

/// A component that is parsed from text.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its name, also in the file.
    pub name: String,
    /// The type of its values.
    pub dtype: DType,
    /// True if strings must be UTF-8.
    pub is_text: bool,
    /// True if it is a list of any length.
    pub is_list: bool,
    /// The shape of its values, unless it is a list.
    pub shape: Shape,
    /// The value where it is missing: a value of its shape, or a vector if it is a list.
    pub default: Option<Tensor>,
    /// True if its type was inferred from the beginning of the files. Then values that the type
    /// cannot give back are refused.
    pub is_inferred: bool,
}

impl Component {
    /// The type as it is written in Python.
    pub fn type_name(&self) -> String {
        let name = match self.dtype {
            DType::String if self.is_text => "str".to_owned(),
            DType::String => "bytes".to_owned(),
            DType::Float16 => "float16".to_owned(),
            DType::Float32 => "float32".to_owned(),
            DType::Float64 => "float64".to_owned(),
            dtype => dtype.to_string(),
        };
        if self.is_list { format!("list of {name}") } else { name }
    }

    /// The remedy for a value of another type.
    pub fn remedy(&self) -> String {
        match self.is_inferred {
            true => "The type was inferred from the first block. Give the types, with columns={...}.".to_owned(),
            false => "Correct the record, or read the column as another type.".to_owned(),
        }
    }

    /// The error for a type that cannot be parsed from text.
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
}
