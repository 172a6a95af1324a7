//! `ParseSingleSequenceExample`: the features of one serialized `tf.train.SequenceExample` as
//! tensors.
//!
//! ```text
//! SequenceExample = { context: Features = 1, feature_lists: FeatureLists = 2 }
//! FeatureLists    = { feature_list: map<string, FeatureList> = 1 }
//! FeatureList     = { repeated feature: Feature = 1 }
//! ```
//!
//! Source: `tensorflow/core/example/example.proto`; `tf.parse_single_sequence_example` of
//! TensorFlow 1.15. The features themselves are decoded as in
//! [`parse_example`](super::parse_example).

pub mod batch;

use super::parse_example::column::Column;
use super::parse_example::feature::{DenseFeature, Extent, SparseFeature, check_type};
use super::parse_example::features::{FeatureBytes, Features, keys, malformed};
use super::parse_example::single::{dense, push_sparse, scalar};
use super::parse_example::values::MALFORMED_LIST;
use super::parse_example::wire::{Feature, for_each_entry};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::text::excerpt::excerpt;
use crate::wire::{Value, for_each_field};
use bytes::Bytes;

/// Maps `(serialized, name, default of each dense context feature)` to the features of the context,
/// as from [`ParseSingleExample`], and then the features of the lists in the same order.
///
/// A list, sparse or dense, has one row for each of its features; the rows of a dense list have the
/// requested shape. A missing sparse list is empty, and so is a missing dense list that is
/// optional. `name` is for messages; the empty string means none.
///
/// [`ParseSingleExample`]: super::parse_example::single::ParseSingleExample
pub struct ParseSingleSequenceExample {
    context: Features,
    lists: Features,
    /// The dense lists that may be missing.
    optional: Vec<String>,
}

impl ParseSingleSequenceExample {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self {
            context: Features::from_attrs(attrs, "context_")?,
            lists: Features::from_attrs(attrs, "feature_list_")?,
            optional: keys(attrs, "feature_list_dense_missing_assumed_empty")?,
        })
    }

    /// Finds the requested features. If a key occurs more than once, the last one counts.
    fn find<'a>(&self, example: &'a [u8]) -> Result<(FeatureBytes<'a>, FeatureBytes<'a>)> {
        let (mut context, mut lists) = (self.context.nothing(), self.lists.nothing());
        let is_well_formed = for_each_field(example, |number, part| match (number, part) {
            (1, Value::Bytes(part)) => {
                for_each_entry(part, |key, feature| self.context.note(key, feature, &mut context))
            }
            (2, Value::Bytes(part)) => for_each_entry(part, |key, list| self.lists.note(key, list, &mut lists)),
            _ => Some(()),
        });
        is_well_formed.ok_or_else(|| malformed(example))?;
        Ok((context, lists))
    }
}

impl Kernel for ParseSingleSequenceExample {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        self.parse(inputs.as_slice()).map(Step::Done)
    }
}

impl ParseSingleSequenceExample {
    /// Parses the kernel's inputs into its outputs.
    fn parse(&self, inputs: &[Tensor]) -> Result<Outputs> {
        let [serialized, name, defaults @ ..] = inputs else {
            return Err(Error::internal("the serialized SequenceExample or its name is missing"));
        };
        let example = Example { bytes: scalar(serialized)?, name: shown_name(name.string_scalar("debug_name")?) };
        self.context.check_defaults(defaults)?;
        let (context, lists) = self.find(example.bytes)?;
        let failure = |key: &str, text: &str| example.failure(&format!("Context feature: {key}"), text);
        let mut outputs = Outputs::new();
        push_sparse(&self.context, &context, example.bytes, &failure, &mut outputs)?;
        for ((feature, bytes), default) in self.context.with_dense(&context).zip(defaults) {
            let encoded = Feature::parse(bytes.unwrap_or_default())?;
            if let Some(encoded) = encoded {
                check_type(feature.dtype, encoded.dtype).map_err(|misfit| failure(&feature.key, &misfit))?;
            }
            let value = dense(feature, encoded, default, example.bytes, &failure)?;
            outputs.push(value.ok_or_else(|| example.missing_feature(feature))?);
        }
        self.push_sparse_lists(&lists, &example, &mut outputs)?;
        for (feature, bytes) in self.lists.with_dense(&lists) {
            if bytes.is_none() && !self.optional.contains(&feature.key) {
                return Err(example.missing_list(feature));
            }
            outputs.push(dense_list(feature, bytes, &example)?);
        }
        Ok(outputs)
    }

    fn push_sparse_lists(&self, lists: &FeatureBytes, example: &Example, outputs: &mut Outputs) -> Result<()> {
        let columns = self.lists.with_sparse(lists).map(|(feature, bytes)| sparse_list(feature, bytes, example));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        for column in &columns {
            outputs.push(column.indices()?);
        }
        let shapes = columns.iter().map(Column::dense_shape).collect::<Result<Vec<_>>>()?;
        for column in columns {
            outputs.push(column.into_values()?);
        }
        outputs.extend(shapes);
        Ok(())
    }
}

/// The SequenceExample that is being parsed.
struct Example<'a> {
    bytes: &'a Bytes,
    name: String,
}

impl Example<'_> {
    fn failure(&self, what: &str, text: &str) -> Error {
        Error::invalid_argument(format!("Name: {}, {what}.  {text}", self.name))
    }

    fn list_failure(&self, key: &str, row: usize, text: &str) -> Error {
        self.failure(&format!("Feature list: {key}, Index: {row}"), text)
    }

    fn missing_feature(&self, DenseFeature { key, dtype, .. }: &DenseFeature) -> Error {
        Error::invalid_argument(format!(
            "Name: {}, Context feature '{key}' (data type: {dtype}) is required but could not be found. Correct the \
             name, or set default_value",
            self.name
        ))
    }

    fn missing_list(&self, DenseFeature { key, .. }: &DenseFeature) -> Error {
        Error::invalid_argument(format!(
            "Name: {}, Feature list '{key}' is required but could not be found.  Did you mean to include it in \
             feature_list_dense_missing_assumed_empty or feature_list_dense_defaults? Set allow_missing=True in its \
             FixedLenSequenceFeature",
            self.name
        ))
    }
}

fn shown_name(name: &[u8]) -> String {
    match name {
        [] => "<unknown>".to_owned(),
        _ => excerpt(name),
    }
}

/// Calls `visit` with each feature of a list and its number.
fn for_each_row<'a>(
    list: Option<&'a [u8]>,
    example: &Example,
    mut visit: impl FnMut(usize, Option<Feature<'a>>) -> Result<()>,
) -> Result<()> {
    let mut row = 0;
    let mut result = Ok(());
    let is_well_formed = for_each_field(list.unwrap_or_default(), |number, value| {
        if let (1, Value::Bytes(feature)) = (number, value) {
            result = Feature::parse(feature).and_then(|feature| visit(row, feature));
            row += 1;
        }
        result.is_ok().then_some(())
    });
    result?;
    is_well_formed.ok_or_else(|| malformed(example.bytes))
}

fn sparse_list(feature: &SparseFeature, list: Option<&[u8]>, example: &Example) -> Result<Column> {
    let mut column = Column::new(feature.dtype)?;
    column.check_room(list.unwrap_or_default())?;
    for_each_row(list, example, |row, encoded| {
        if let Some(encoded) = encoded {
            let failure = |text: &str| example.list_failure(&feature.key, row, text);
            feature.check_type(encoded.dtype).map_err(|misfit| failure(&misfit))?;
            column.push(encoded, example.bytes).ok_or_else(|| failure(MALFORMED_LIST))?;
        }
        column.end_row();
        Ok(())
    })?;
    Ok(column)
}

fn dense_list(feature: &DenseFeature, list: Option<&[u8]>, example: &Example) -> Result<Tensor> {
    let Extent::Fixed(shape) = &feature.extent else {
        return Err(Error::internal(format!("the rows of feature list '{}' have no fixed shape", feature.key)));
    };
    let mut column = Column::new(feature.dtype)?;
    column.check_room(list.unwrap_or_default())?;
    for_each_row(list, example, |row, encoded| {
        let failure = |text: &str| example.list_failure(&feature.key, row, text);
        let count = match encoded {
            Some(encoded) => {
                check_type(feature.dtype, encoded.dtype).map_err(|misfit| failure(&misfit))?;
                column.push(encoded, example.bytes).ok_or_else(|| failure(MALFORMED_LIST))?
            }
            None => 0,
        };
        let misfit = |misfit: String| example.failure(&format!("Key: {}, Index: {row}", feature.key), &misfit);
        feature.check_count(count).map_err(misfit)?;
        column.end_row();
        Ok(())
    })?;
    column.into_rows(shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::records::parse_example::testing::{ask_for, field, floats, int64s, map, strings};
    use crate::kernels::testing::{error_text, run};
    use crate::tensor::dtype::DType;
    use crate::tensor::shape::Shape;
    use proptest::prelude::*;

    type Sparse<'a> = &'a [(&'a str, DType)];
    type Dense<'a> = &'a [(&'a str, DType, &'a [Option<usize>])];

    fn kernel(context: (Sparse, Dense), lists: (Sparse, Dense), optional: &[&str]) -> ParseSingleSequenceExample {
        let mut attrs = Attrs::default();
        ask_for("context_", context.0, context.1, &mut attrs);
        ask_for("feature_list_", lists.0, lists.1, &mut attrs);
        let optional = optional.iter().map(|key| Attr::String((*key).to_owned())).collect();
        attrs.insert("feature_list_dense_missing_assumed_empty", Attr::List(optional));
        ParseSingleSequenceExample::from_attrs(&attrs).unwrap()
    }

    fn sequence(context: &[(&str, Vec<u8>)], lists: &[(&str, &[Vec<u8>])]) -> Tensor {
        let list = |rows: &[Vec<u8>]| rows.iter().flat_map(|row| field(1, row)).collect();
        let lists: Vec<_> = lists.iter().map(|(key, rows)| (*key, list(rows))).collect();
        Tensor::string([field(1, &map(context)), field(2, &map(&lists))].concat())
    }

    fn int64s_of(dims: &[usize], values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    fn unnamed() -> Tensor {
        Tensor::string("")
    }

    #[test]
    fn context_comes_before_the_lists_and_sparse_features_before_dense_ones() {
        let kernel = kernel(
            (&[("s", DType::String)], &[("d", DType::Int64, &[Some(2)])]),
            (&[("v", DType::Int64)], &[("q", DType::Int64, &[Some(1)])]),
            &[],
        );
        let example = sequence(
            &[("s", strings(&[b"x"])), ("d", int64s(&[1, 2]))],
            &[("q", &[int64s(&[5]), int64s(&[6])]), ("v", &[int64s(&[7, 8]), vec![], int64s(&[9])])],
        );
        let outputs =
            run(&kernel, &[example, unnamed(), Tensor::empty(DType::Int64, Shape::new(&[0])).unwrap()]).unwrap();
        assert_eq!(outputs[0], int64s_of(&[1, 1], &[0]));
        assert_eq!(outputs[1].string_values(), ["x"]);
        assert_eq!(outputs[2..4], [int64s_of(&[1], &[1]), int64s_of(&[2], &[1, 2])]);
        assert_eq!(outputs[4..6], [int64s_of(&[3, 2], &[0, 0, 0, 1, 2, 0]), int64s_of(&[3], &[7, 8, 9])]);
        assert_eq!(outputs[6..], [int64s_of(&[2], &[3, 2]), int64s_of(&[2, 1], &[5, 6])]);
    }

    #[test]
    fn optional_features_that_are_missing_are_empty() {
        let kernel = kernel(
            (&[], &[("d", DType::Int64, &[])]),
            (&[("v", DType::Int64)], &[("q", DType::Int64, &[Some(2)])]),
            &["q"],
        );
        let outputs = run(&kernel, &[unnamed(), unnamed(), Tensor::scalar(7_i64)]).unwrap();
        assert_eq!(outputs[0], Tensor::scalar(7_i64));
        assert_eq!(outputs[1..3], [int64s_of(&[0, 2], &[]), int64s_of(&[0], &[])]);
        assert_eq!(outputs[3..], [int64s_of(&[2], &[0, 0]), int64s_of(&[0, 2], &[])]);
    }

    #[test]
    fn duplicate_key_uses_the_last_feature() {
        let kernel = kernel((&[], &[("d", DType::Int64, &[])]), (&[], &[]), &[]);
        let parts = [[("d", int64s(&[1])), ("d", int64s(&[2]))], [("x", vec![]), ("d", int64s(&[3]))]];
        let bytes: Vec<u8> = parts.iter().flat_map(|part| field(1, &map(part))).collect();
        let outputs = run(&kernel, &[Tensor::string(bytes), unnamed(), Tensor::scalar(7_i64)]).unwrap();
        assert_eq!(outputs, [Tensor::scalar(3_i64)]);
    }

    #[test]
    fn mismatch_errors_name_the_feature_and_its_index() {
        let example = sequence(&[("c", int64s(&[1]))], &[("l", &[int64s(&[1]), floats(&[2.0])])]);
        let text = |context: (Sparse, Dense), lists: (Sparse, Dense), name: &str| {
            let defaults: Vec<_> =
                context.1.iter().map(|(_, dtype, _)| Tensor::empty(*dtype, Shape::new(&[0])).unwrap()).collect();
            let inputs = [&[example.clone(), Tensor::string(name.to_owned())], &defaults[..]].concat();
            error_text(&kernel(context, lists, &[]), &inputs)
        };
        let mismatch = "Data types don't match. Expected type:";
        for context in [(&[("c", DType::String)][..], &[][..]), (&[], &[("c", DType::String, &[][..])])] {
            assert_eq!(
                text(context, (&[], &[]), "n"),
                format!("InvalidArgument: Name: n, Context feature: c.  {mismatch} string, Actual type: int64")
            );
        }
        for lists in [(&[("l", DType::Int64)][..], &[][..]), (&[], &[("l", DType::Int64, &[][..])])] {
            assert_eq!(
                text((&[], &[]), lists, ""),
                format!(
                    "InvalidArgument: Name: <unknown>, Feature list: l, Index: 1.  {mismatch} int64, Actual type: float"
                )
            );
        }
        assert_eq!(
            text((&[], &[]), (&[], &[("l", DType::Int64, &[Some(2)])]), ""),
            "InvalidArgument: Name: <unknown>, Key: l, Index: 0.  Number of int64 values != expected.  Values size: 1 \
             but output shape: [2]"
        );
        let missing = text((&[], &[("z", DType::Int64, &[])]), (&[], &[]), "n");
        assert!(missing.starts_with(
            "InvalidArgument: Name: n, Context feature 'z' (data type: int64) is required but could not be found. "
        ));
        let missing = text((&[], &[]), (&[], &[("z", DType::Int64, &[])]), "n");
        assert!(
            missing.starts_with("InvalidArgument: Name: n, Feature list 'z' is required but could not be found.  Did")
        );
    }

    #[test]
    fn malformed_bytes_are_rejected() {
        let kernel = kernel((&[], &[]), (&[("l", DType::Int64)], &[]), &[]);
        for bytes in [&b"\x0a\x05ab"[..], b"\x0b", b"\x12\x07\x0a\x05\x0a\x01l\x12\x02"] {
            let text = error_text(&kernel, &[Tensor::string(bytes), unnamed()]);
            assert!(text.starts_with("InvalidArgument: Could not parse example input, value: '"), "{text}");
        }
        let list = sequence(&[], &[("l", &[b"\x1a\x02\x0a\xff".to_vec()])]);
        let text = error_text(&kernel, &[list, unnamed()]);
        assert_eq!(
            text,
            "InvalidArgument: Name: <unknown>, Feature list: l, Index: 0.  Can't parse serialized Example."
        );
    }

    proptest! {
        #[test]
        fn parsing_a_damaged_example_never_panics(at in 0_usize..60, byte: u8, cut: bool) {
            let kernel = kernel(
                (&[("s", DType::Int64)], &[("d", DType::Int64, &[])]),
                (&[("v", DType::Float32)], &[("q", DType::String, &[])]),
                &["q"],
            );
            let lists: [(&str, &[Vec<u8>]); 2] = [("v", &[floats(&[1.0]), vec![]]), ("q", &[strings(&[b"x"])])];
            let example = sequence(&[("s", int64s(&[1, -1])), ("d", int64s(&[3]))], &lists);
            let mut bytes = example.string_values()[0].to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(if cut { at } else { bytes.len() });
            let _ = run(&kernel, &[Tensor::string(bytes), unnamed(), Tensor::scalar(7_i64)]);
        }
    }
}
