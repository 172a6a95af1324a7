//! A requested feature: its key, dtype and shape, and the checks on its values.

use super::wire::for_each_feature;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::{PartialShape, Shape};
use crate::text::excerpt::excerpt;
use std::collections::BTreeSet;

/// The number of keys to list in an error.
const SHOWN_KEYS: usize = 20;

/// A feature with any number of values, which becomes a sparse tensor.
#[derive(Debug)]
pub struct SparseFeature {
    /// The name of the feature.
    pub key: String,
    /// The dtype of the values.
    pub dtype: DType,
}

/// A feature that becomes a dense tensor.
#[derive(Debug)]
pub struct DenseFeature {
    /// The name of the feature.
    pub key: String,
    /// The dtype of the values.
    pub dtype: DType,
    /// How many values an Example has.
    pub extent: Extent,
    /// The requested shape.
    shape: PartialShape,
}

/// The number of values in a dense feature.
#[derive(Debug)]
pub enum Extent {
    /// Exactly as many as this shape has elements.
    Fixed(Shape),
    /// Any number of rows with this shape.
    Rows(Shape),
}

/// Why a list is not acceptable. The caller adds the names of the feature and the Example.
pub type Misfit = String;

impl SparseFeature {
    /// Fails if the list has the wrong dtype.
    pub fn check_type(&self, actual: DType) -> std::result::Result<(), Misfit> {
        check_type(self.dtype, actual)
    }
}

/// Fails if the list does not have the expected dtype.
pub fn check_type(expected: DType, actual: DType) -> std::result::Result<(), Misfit> {
    match actual == expected {
        true => Ok(()),
        false => Err(format!("Data types don't match. Expected type: {expected}, Actual type: {actual}")),
    }
}

impl DenseFeature {
    /// Creates a feature with the requested shape. Only its first dimension may be unknown.
    pub fn new(key: String, dtype: DType, shape: PartialShape) -> Result<Self> {
        let extent = match (shape.to_shape(), shape.dims()) {
            (Some(shape), _) => Some(Extent::Fixed(shape)),
            (None, [None, row @ ..]) => row.iter().copied().collect::<Option<_>>().map(Extent::Rows),
            _ => None,
        };
        match extent.filter(|extent| !matches!(extent, Extent::Rows(row) if row.num_elements() == 0)) {
            Some(extent) => Ok(Self { key, dtype, extent, shape }),
            None => Err(Error::invalid_argument(format!(
                "feature '{key}' has shape {shape}, expected at most the first dimension to be unknown, and in that \
                 case no dimension of 0"
            ))),
        }
    }

    /// Fails if `default`, the default of dense feature `index`, has the wrong dtype or shape.
    pub fn check_default(&self, index: usize, default: &Tensor) -> Result<()> {
        let (expected, got) = (&self.shape, default.shape());
        match &self.extent {
            Extent::Fixed(shape) if default.num_elements() > 0 && shape != got => {
                Err(Error::invalid_argument(format!(
                    "def_value[{index}].shape() == {got} is not compatible with dense_shapes_[{index}] == {expected}"
                )))
            }
            Extent::Rows(_) if default.num_elements() != 1 => Err(Error::invalid_argument(format!(
                "dense_shape[{index}] is a variable length shape: {expected}, therefore def_value[{index}] must \
                 contain a single element (the padding element).  But its shape is: {got}"
            ))),
            _ if default.dtype() != self.dtype => Err(Error::invalid_argument(format!(
                "dense_defaults[{index}].dtype() == {} != dense_types_[{index}] == {}",
                default.dtype(),
                self.dtype
            ))),
            _ => Ok(()),
        }
    }

    /// Fails if the list has the wrong dtype.
    pub fn check_type(&self, actual: DType) -> std::result::Result<(), Misfit> {
        let expected = self.dtype;
        match actual == expected {
            true => Ok(()),
            false => Err(format!("Data types don't match. Data type: {actual} but expected type: {expected}")),
        }
    }

    /// Fails unless `count` values have the requested shape, or fill complete rows of it.
    pub fn check_count(&self, count: usize) -> std::result::Result<(), Misfit> {
        let kind = if self.dtype == DType::String { "bytes" } else { self.dtype.kernel_name() };
        let expected = &self.shape;
        match &self.extent {
            Extent::Fixed(shape) if count != shape.num_elements() => {
                Err(format!("Number of {kind} values != expected.  Values size: {count} but output shape: {expected}"))
            }
            Extent::Rows(row) if !count.is_multiple_of(row.num_elements()) => Err(format!(
                "Number of {kind} values is not a multiple of stride length. Saw {count} values but output shape is: \
                 {expected}"
            )),
            _ => Ok(()),
        }
    }

    /// The message for a feature that is missing from `example` and has no default.
    pub fn missing(&self, example: &[u8]) -> String {
        let (key, dtype) = (&self.key, self.dtype);
        let present = keys(example);
        format!(
            "Feature: {key} (data type: {dtype}) is required but could not be found. The Example has: {present}. \
             Correct the name, or set default_value"
        )
    }
}

/// Lists the first keys of an Example, for error messages.
fn keys(example: &[u8]) -> String {
    let mut keys = BTreeSet::new();
    // The Example was parsed before, so it is well-formed.
    let _ = for_each_feature(example, |key, _| {
        keys.insert(excerpt(key));
    });
    let shown: Vec<_> = keys.iter().take(SHOWN_KEYS).map(String::as_str).collect();
    let rest = if keys.len() > SHOWN_KEYS { ", ..." } else { "" };
    match keys.is_empty() {
        true => "no features".to_owned(),
        false => shown.join(", ") + rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::records::parse_example::testing::example;

    fn dense(dtype: DType, dims: &[Option<usize>]) -> DenseFeature {
        DenseFeature::new("f".to_owned(), dtype, PartialShape::new(dims.to_vec())).unwrap()
    }

    #[test]
    fn only_the_first_dimension_can_be_unknown() {
        for dims in [[Some(2), None], [None, None], [None, Some(0)]] {
            let error = DenseFeature::new("f".to_owned(), DType::Int64, PartialShape::new(dims.to_vec())).unwrap_err();
            assert!(error.message().starts_with("feature 'f' has shape ["), "{error}");
        }
    }

    #[test]
    fn defaults_of_the_wrong_shape_or_type_are_rejected() {
        let text = |feature: DenseFeature, default: Tensor| {
            feature.check_default(3, &default).map_err(|error| error.message().to_owned())
        };
        let pair = || Tensor::from_values(Shape::new(&[2]), vec![1_i64, 2]).unwrap();
        let none = || Tensor::empty(DType::Int64, Shape::new(&[0])).unwrap();
        assert_eq!(text(dense(DType::Int64, &[Some(2)]), pair()), Ok(()));
        assert_eq!(text(dense(DType::Int64, &[Some(2)]), none()), Ok(()));
        assert_eq!(text(dense(DType::Int64, &[None]), Tensor::scalar(0_i64)), Ok(()));
        assert_eq!(
            text(dense(DType::Int64, &[Some(3)]), pair()).unwrap_err(),
            "def_value[3].shape() == [2] is not compatible with dense_shapes_[3] == [3]"
        );
        assert_eq!(
            text(dense(DType::Int64, &[None, Some(2)]), pair()).unwrap_err(),
            "dense_shape[3] is a variable length shape: [?,2], therefore def_value[3] must contain a single element \
             (the padding element).  But its shape is: [2]"
        );
        assert_eq!(
            text(dense(DType::Float32, &[Some(2)]), pair()).unwrap_err(),
            "dense_defaults[3].dtype() == int64 != dense_types_[3] == float"
        );
    }

    #[test]
    fn mismatches_are_described() {
        assert_eq!(
            dense(DType::Float32, &[Some(3)]).check_count(2).unwrap_err(),
            "Number of float values != expected.  Values size: 2 but output shape: [3]"
        );
        assert_eq!(
            dense(DType::String, &[None, Some(2)]).check_count(3).unwrap_err(),
            "Number of bytes values is not a multiple of stride length. Saw 3 values but output shape is: [?,2]"
        );
        assert_eq!(
            dense(DType::Float32, &[]).check_type(DType::Int64).unwrap_err(),
            "Data types don't match. Data type: int64 but expected type: float"
        );
        let sparse = SparseFeature { key: "f".to_owned(), dtype: DType::Float32 };
        assert_eq!(
            sparse.check_type(DType::Int64).unwrap_err(),
            "Data types don't match. Expected type: float, Actual type: int64"
        );
    }

    #[test]
    fn error_for_a_missing_feature_lists_the_existing_ones() {
        let missing = |keys: &[String]| {
            let features: Vec<_> = keys.iter().map(|key| (&key[..], vec![])).collect();
            dense(DType::Int64, &[]).missing(&example(&features))
        };
        let words = "Feature: f (data type: int64) is required but could not be found. The Example has: ";
        let remedy = ". Correct the name, or set default_value";
        assert_eq!(missing(&[]), format!("{words}no features{remedy}"));
        assert_eq!(missing(&["b".to_owned(), "a".to_owned()]), format!("{words}a, b{remedy}"));
        let many: Vec<_> = (100..200).map(|number| number.to_string()).collect();
        assert!(missing(&many).ends_with(&format!("118, 119, ...{remedy}")));
    }
}
