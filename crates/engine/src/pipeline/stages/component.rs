//! What is made of a column of a table, or of a key.

use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::dtype::{DType, Numeric};
use crate::tensor::shape::Shape;

/// A component that is parsed from text.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its name, also in the file.
    pub name: String,
    /// What it holds.
    pub dtype: DType,
    /// Whether strings must be UTF-8.
    pub is_text: bool,
    /// Whether it is a list of any length.
    pub is_list: bool,
    /// The shape of its values, if it is no list.
    pub shape: Shape,
    /// What stands for it where it is missing: a value of its shape, or a
    /// vector if it is a list.
    pub default: Option<Tensor>,
    /// Whether its type is what the beginning of the files told. Then values that it does not give back are refused.
    pub is_inferred: bool,
}

impl Component {
    /// Its type in words of the program.
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

    /// What to do about a value of another type.
    pub fn remedy(&self) -> String {
        match self.is_inferred {
            true => "The type was inferred from the first block. Give the types, with columns={...}.".to_owned(),
            false => "Correct the record, or read the column as another type.".to_owned(),
        }
    }

    /// The error for a type that text does not stand for.
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
