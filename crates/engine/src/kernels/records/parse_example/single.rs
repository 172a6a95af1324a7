//! `ParseSingleExample`: parses one serialized Example.

use super::feature::{DenseFeature, Extent};
use super::features::{FeatureBytes, Features};
use super::values::{MALFORMED_LIST, Values, only_value};
use super::wire::Feature;
use crate::error::{Error, Result};
use crate::kernel::rewrite::{Fill, Rewritable, run_filling};
use crate::kernel::{Kernel, Outputs, Pending, Step, Tensors, store};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::shape::Shape;
use bytes::Bytes;
use std::sync::Arc;

/// Maps `(serialized, default of each dense feature)` to the indices, then the values, then the
/// shapes of the sparse features, and finally the dense features.
///
/// A missing dense feature gets its default; with a variable number of rows it has none. It is an
/// error if the default has no elements. A missing sparse feature is empty. Every error names the
/// key.
pub struct ParseSingleExample {
    features: Arc<Features>,
}

/// [`ParseSingleExample`] with suitable constant defaults.
struct ParseWithDefaults {
    features: Arc<Features>,
    defaults: Vec<Tensor>,
}

impl ParseSingleExample {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { features: Arc::new(Features::from_attrs(attrs, "")?) })
    }
}

impl Kernel for ParseSingleExample {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let Some((serialized, defaults)) = inputs.split_first() else {
            return Err(Error::internal("the serialized Example is missing"));
        };
        let example = scalar(serialized)?;
        self.features.check_defaults(defaults)?;
        #[expect(clippy::disallowed_methods, reason = "one for each feature")]
        let mut slots = vec![None; self.features.num_outputs()];
        parse(&self.features, example, defaults, &mut slots)?;
        Ok(Step::Done(slots.into_iter().flatten().collect()))
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for ParseSingleExample {
    fn with_constants(&self, inputs: &[Option<&Tensor>]) -> Option<Arc<dyn Kernel>> {
        let [None, defaults @ ..] = inputs else { return None };
        let defaults: Vec<_> = defaults.iter().map(|default| default.cloned()).collect::<Option<_>>()?;
        // If they are unsuitable, each run fails.
        self.features.check_defaults(&defaults).ok()?;
        Some(Arc::new(ParseWithDefaults { features: Arc::clone(&self.features), defaults }))
    }
}

impl Kernel for ParseWithDefaults {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        run_filling(self, run, inputs, self.features.num_outputs())
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for ParseWithDefaults {
    fn fill(self: Arc<Self>) -> Option<Arc<dyn Fill>> {
        Some(self)
    }
}

impl Fill for ParseWithDefaults {
    fn fill(&self, _run: &Run, inputs: Tensors, slots: &mut [Option<Tensor>]) -> Result<Option<Box<dyn Pending>>> {
        let [serialized] = expect_inputs(&inputs)?;
        parse(&self.features, scalar(serialized)?, &self.defaults, slots)?;
        Ok(None)
    }
}

/// Parses `example` into the output slots. The defaults must have been checked.
fn parse(features: &Features, example: &Bytes, defaults: &[Tensor], slots: &mut [Option<Tensor>]) -> Result<()> {
    let feature_bytes = features.find(example)?;
    let (sparse, dense) = slots.split_at_mut_checked(features.num_sparse_outputs()).unwrap_or_default();
    if !sparse.is_empty() {
        let mut outputs = Outputs::new();
        push_sparse(features, &feature_bytes, example, &failure, &mut outputs)?;
        store(outputs, sparse)?;
    }
    for (((feature, bytes), default), position) in features.with_dense(&feature_bytes).zip(defaults).zip(dense) {
        *position = Some(parse_dense(feature, bytes, default, example)?);
    }
    Ok(())
}

fn parse_dense(feature: &DenseFeature, bytes: Option<&[u8]>, default: &Tensor, example: &Bytes) -> Result<Tensor> {
    let encoded = Feature::parse(bytes.unwrap_or_default())?;
    if let (Some(encoded), Extent::Fixed(shape)) = (encoded, &feature.extent)
        && encoded.dtype == feature.dtype
        && shape.num_elements() == 1
        && let Some(value) = only_value(encoded, example)
    {
        return if shape.is_empty() { Ok(value) } else { value.reshaped(shape.clone()) };
    }
    if let Some(encoded) = encoded {
        feature.check_type(encoded.dtype).map_err(|misfit| failure(&feature.key, &misfit))?;
    }
    let value = dense(feature, encoded, default, example, &failure)?;
    value.ok_or_else(|| Error::invalid_argument(feature.missing(example)))
}

/// Creates the error for the feature with a key.
pub type Failure<'f> = &'f dyn Fn(&str, &str) -> Error;

/// Returns the only message in `serialized`.
pub fn scalar(serialized: &Tensor) -> Result<&Bytes> {
    match (serialized.string_values(), serialized.shape().is_empty()) {
        ([example], true) => Ok(example),
        _ => {
            let text = format!("Expected serialized to be a scalar, got shape: {}", serialized.shape());
            Err(Error::invalid_argument(text))
        }
    }
}

/// Appends the indices, then the values, then the shapes of the sparse features.
pub fn push_sparse(
    features: &Features,
    feature_bytes: &FeatureBytes,
    example: &Bytes,
    failure: Failure,
    outputs: &mut Outputs,
) -> Result<()> {
    let mut all_values = Vec::new();
    let mut shapes = Vec::new();
    for (feature, bytes) in features.with_sparse(feature_bytes) {
        let values = match Feature::parse(bytes.unwrap_or_default())? {
            Some(encoded) => {
                feature.check_type(encoded.dtype).map_err(|misfit| failure(&feature.key, &misfit))?;
                decode(&feature.key, encoded, example, failure)?
            }
            None => Values::new(feature.dtype)?,
        };
        let length = values.len();
        outputs.push(Tensor::from_values(Shape::new(&[length, 1]), (0..length as i64).collect())?);
        all_values.push(values.into_tensor(Shape::new(&[length]))?);
        shapes.push(Tensor::scalar(length as i64).reshaped(Shape::new(&[1]))?);
    }
    outputs.extend(all_values);
    outputs.extend(shapes);
    Ok(())
}

/// Returns the value of a dense feature: the parsed value, which has the right dtype, or the
/// default. Returns `None` if the feature is required and missing.
pub fn dense(
    feature: &DenseFeature,
    encoded: Option<Feature>,
    default: &Tensor,
    example: &Bytes,
    failure: Failure,
) -> Result<Option<Tensor>> {
    let Some(encoded) = encoded else { return default_of(feature, default) };
    let values = decode(&feature.key, encoded, example, failure)?;
    let count = values.len();
    feature.check_count(count).map_err(|misfit| failure(&feature.key, &format!("{MALFORMED_LIST} {misfit}")))?;
    let shape = match &feature.extent {
        Extent::Fixed(shape) => shape.clone(),
        Extent::Rows(row) => row.batched(count / row.num_elements()),
    };
    values.into_tensor(shape).map(Some)
}

fn default_of(feature: &DenseFeature, default: &Tensor) -> Result<Option<Tensor>> {
    match &feature.extent {
        Extent::Rows(row) => Tensor::empty(feature.dtype, row.batched(0)).map(Some),
        Extent::Fixed(_) if default.num_elements() == 0 => Ok(None),
        Extent::Fixed(_) => Ok(Some(default.clone())),
    }
}

fn decode(key: &str, encoded: Feature, example: &Bytes, failure: Failure) -> Result<Values> {
    let mut values = Values::new(encoded.dtype)?;
    values.decode(encoded, example.into()).ok_or_else(|| failure(key, MALFORMED_LIST))?;
    Ok(values)
}

fn failure(key: &str, text: &str) -> Error {
    Error::invalid_argument(format!("Key: {key}.  {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::records::parse_example::testing::{asking_for, example, floats, int64s, strings};
    use crate::kernels::testing::{error_text, run, run_one};
    use crate::tensor::dtype::{DType, Numeric};
    use proptest::prelude::*;

    fn kernel(sparse: &[(&str, DType)], dense: &[(&str, DType, &[Option<usize>])]) -> ParseSingleExample {
        ParseSingleExample::from_attrs(&asking_for(sparse, dense)).unwrap()
    }

    fn vector<T: Numeric>(values: &[T]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    fn required(dtype: DType) -> Tensor {
        Tensor::empty(dtype, Shape::new(&[0])).unwrap()
    }

    #[test]
    fn dense_features_have_the_requested_shapes() {
        let bytes = example(&[("f", floats(&[1.0, 2.0, 3.0, 4.0])), ("i", int64s(&[7])), ("s", strings(&[b"xy"]))]);
        let kernel = kernel(
            &[],
            &[("i", DType::Int64, &[]), ("f", DType::Float32, &[Some(2), Some(2)]), ("s", DType::String, &[Some(1)])],
        );
        let defaults = [DType::Int64, DType::Float32, DType::String].map(required);
        let outputs = run(&kernel, &[&[Tensor::string(bytes)], &defaults[..]].concat()).unwrap();
        assert_eq!(outputs[0], Tensor::scalar(7_i64));
        assert_eq!(outputs[1], Tensor::from_values(Shape::new(&[2, 2]), vec![1.0_f32, 2.0, 3.0, 4.0]).unwrap());
        assert_eq!(outputs[2], Tensor::strings(Shape::new(&[1]), vec!["xy".into()]).unwrap());
    }

    #[test]
    fn sparse_features_come_before_dense_ones() {
        let bytes = example(&[("a", int64s(&[5, 6])), ("d", int64s(&[1]))]);
        let kernel = kernel(&[("a", DType::Int64), ("b", DType::String)], &[("d", DType::Int64, &[])]);
        let outputs = run(&kernel, &[Tensor::string(bytes), required(DType::Int64)]).unwrap();
        assert_eq!(outputs[0], Tensor::from_values(Shape::new(&[2, 1]), vec![0_i64, 1]).unwrap());
        assert_eq!(outputs[1], Tensor::empty(DType::Int64, Shape::new(&[0, 1])).unwrap());
        assert_eq!(outputs[2], vector(&[5_i64, 6]));
        assert_eq!(outputs[3], Tensor::empty(DType::String, Shape::new(&[0])).unwrap());
        assert_eq!(outputs[4..6], [vector(&[2_i64]), vector(&[0_i64])]);
        assert_eq!(outputs[6], Tensor::scalar(1_i64));
    }

    #[test]
    fn missing_feature_uses_its_default() {
        let kernel = kernel(&[], &[("a", DType::Int64, &[Some(2)])]);
        for bytes in [example(&[]), Bytes::new(), example(&[("a", vec![])])] {
            let default = vector(&[8_i64, 9]);
            assert_eq!(run_one(&kernel, &[Tensor::string(bytes), default.clone()]).unwrap(), default);
        }
        assert_eq!(
            error_text(&kernel, &[Tensor::string(Bytes::new()), required(DType::Int64)]),
            "InvalidArgument: Feature: a (data type: int64) is required but could not be found. The Example has: no \
             features. Correct the name, or set default_value"
        );
    }

    #[test]
    fn unknown_number_of_rows_follows_the_example() {
        let kernel = kernel(&[], &[("a", DType::Int64, &[None, Some(2)])]);
        let parse = |features: &[(&str, Vec<u8>)]| {
            run_one(&kernel, &[Tensor::string(example(features)), Tensor::scalar(0_i64)]).unwrap()
        };
        let rows = Tensor::from_values(Shape::new(&[2, 2]), vec![1_i64, 2, 3, 4]).unwrap();
        assert_eq!(parse(&[("a", int64s(&[1, 2, 3, 4]))]), rows);
        assert_eq!(parse(&[]), Tensor::empty(DType::Int64, Shape::new(&[0, 2])).unwrap());
    }

    #[test]
    fn mismatch_errors_name_the_key() {
        let text = |feature: Vec<u8>, dtype: DType, dims: &[Option<usize>], default: Tensor| {
            let bytes = Tensor::string(example(&[("a", feature)]));
            error_text(&kernel(&[], &[("a", dtype, dims)]), &[bytes, default])
        };
        assert_eq!(
            text(int64s(&[1, 2]), DType::Int64, &[Some(3)], required(DType::Int64)),
            "InvalidArgument: Key: a.  Can't parse serialized Example. Number of int64 values != expected.  \
             Values size: 2 but output shape: [3]"
        );
        // An empty list is not missing, so its default does not apply.
        assert_eq!(
            text(int64s(&[]), DType::Int64, &[], Tensor::scalar(5_i64)),
            "InvalidArgument: Key: a.  Can't parse serialized Example. Number of int64 values != expected.  \
             Values size: 0 but output shape: []"
        );
        assert_eq!(
            text(int64s(&[1, 2, 3]), DType::Int64, &[None, Some(2)], Tensor::scalar(0_i64)),
            "InvalidArgument: Key: a.  Can't parse serialized Example. Number of int64 values is not a multiple of \
             stride length. Saw 3 values but output shape is: [?,2]"
        );
        assert_eq!(
            text(int64s(&[1]), DType::Float32, &[], required(DType::Float32)),
            "InvalidArgument: Key: a.  Data types don't match. Data type: int64 but expected type: float"
        );
        assert_eq!(
            text(b"\x1a\x01\xff".to_vec(), DType::Int64, &[], required(DType::Int64)),
            "InvalidArgument: Key: a.  Can't parse serialized Example."
        );
        assert_eq!(
            error_text(&kernel(&[("a", DType::Float32)], &[]), &[Tensor::string(example(&[("a", int64s(&[1]))]))]),
            "InvalidArgument: Key: a.  Data types don't match. Expected type: float, Actual type: int64"
        );
    }

    #[test]
    fn non_scalar_is_rejected() {
        let pair = Tensor::strings(Shape::new(&[1]), vec![Bytes::new()]).unwrap();
        assert_eq!(
            error_text(&kernel(&[], &[]), &[pair]),
            "InvalidArgument: Expected serialized to be a scalar, got shape: [1]"
        );
    }

    #[test]
    fn image_shares_the_bytes_of_its_record() {
        let bytes = example(&[("image", strings(&[&[7; 784]])), ("label", int64s(&[3]))]);
        let kernel = kernel(&[], &[("image", DType::String, &[])]);
        let image = run_one(&kernel, &[Tensor::string(bytes.clone()), required(DType::String)]).unwrap();
        assert!(bytes.as_ptr_range().contains(&image.string_values()[0].as_ptr()));
    }

    proptest! {
        #[test]
        fn parsing_arbitrary_bytes_never_panics(bytes: Vec<u8>, entry: Vec<u8>) {
            let kernel = kernel(&[("a", DType::Int64), ("b", DType::Float32)], &[("c", DType::String, &[None])]);
            let wrapped = example(&[("a", entry.clone()), ("b", entry.clone()), ("c", entry)]);
            for bytes in [Bytes::from(bytes), wrapped] {
                let _ = run(&kernel, &[Tensor::string(bytes), Tensor::string("")]);
            }
        }

        #[test]
        fn parsing_a_damaged_example_never_panics(at in 0_usize..60, byte: u8) {
            let kernel = kernel(&[("a", DType::Int64), ("b", DType::Float32)], &[("c", DType::String, &[None])]);
            let features = [("a", int64s(&[1, -1])), ("b", floats(&[1.0, 2.0])), ("c", strings(&[b"x", b"yz"]))];
            let mut bytes = example(&features).to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = run(&kernel, &[Tensor::string(bytes), Tensor::string("")]);
        }
    }
}
