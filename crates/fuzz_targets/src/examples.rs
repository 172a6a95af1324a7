//! Targets for `Example` and `SequenceExample`.

use crate::kernels::{attrs, nothing, run, string, strings};
use bytes::Bytes;
use headrace_engine::error::Result;
use headrace_engine::kernels::attrs::{Attr, Attrs};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::{PartialShape, Shape};
use headrace_pipeline::blocks::block::{Block, Provenance};
use headrace_pipeline::blocks::column::{Column, Span, Text};
use headrace_pipeline::blocks::rows::Rows;
use headrace_pipeline::stages::Stage;
use headrace_pipeline::stages::parse::Parse;

const TYPES: [DType; 3] = [DType::Int64, DType::Float32, DType::String];
/// The keys of three kinds of features: any number of values, two rows, and any number of pairs.
const KEYS: [[&str; 3]; 3] = [["i", "f", "s"], ["i2", "f2", "s2"], ["ip", "fp", "sp"]];

/// Parses an Example, alone and in a batch, first with required features and then with defaults.
pub fn example(data: &[u8]) -> usize {
    for is_required in [true, false] {
        let _ = parse_example(data, is_required);
    }
    data.len()
}

fn parse_example(data: &[u8], is_required: bool) -> Result<()> {
    let mut attributes = Attrs::default();
    ask("", &mut attributes);
    let defaults = defaults(is_required)?;
    let single = run("ParseSingleExample", &attributes, [string(data)].into_iter().chain(defaults.clone()));
    let inputs = [strings([data, data])?, strings([])?];
    let batch = run("ParseExample", &attributes, inputs.into_iter().chain(defaults.clone()));
    // Lists of several examples are padded, so a batch may accept what a single example cannot, but
    // not vice versa.
    assert!(single.is_ok() || batch.is_err(), "only a single example fails: {:?}", single.err());
    let rows = Rows::all(Block::new(vec![text(data)], 1, Provenance::Unknown)?);
    let parsed = Parse::new(&attributes, defaults, 0, Vec::new())?.apply(rows).and_then(|rows| rows.gather());
    assert!(parsed.is_ok() == single.is_ok(), "{:?} and {:?}", parsed.err(), single.err());
    Ok(())
}

/// Creates a column with one record.
fn text(data: &[u8]) -> Column {
    let span = Span { start: 0, length: data.len() };
    Column::Text(Text::new(Bytes::copy_from_slice(data), vec![span]))
}

/// Parses a SequenceExample with features in its context and in lists.
pub fn sequence_example(data: &[u8]) -> usize {
    let parse = |is_required| {
        let mut attributes = attrs([("feature_list_dense_missing_assumed_empty", optional(is_required))]);
        ask("context_", &mut attributes);
        ask_lists(&mut attributes);
        let inputs = [string(data), string(b"")];
        run("ParseSingleSequenceExample", &attributes, inputs.into_iter().chain(defaults(is_required)?))
    };
    for is_required in [true, false] {
        let _ = parse(is_required);
    }
    data.len()
}

/// The optional lists.
fn optional(is_required: bool) -> Attr {
    let names = if is_required { &[][..] } else { &KEYS[1] };
    Attr::List(names.iter().map(|name| Attr::String((*name).to_owned())).collect())
}

fn ask(prefix: &str, attributes: &mut Attrs) {
    let mut insert = |name: &str, items: Vec<Attr>| attributes.insert(format!("{prefix}{name}"), Attr::List(items));
    let types = TYPES.map(Attr::DType).to_vec();
    insert("sparse_keys", named(&KEYS[0]));
    insert("sparse_types", types.clone());
    insert("dense_keys", named(KEYS[1..].as_flattened()));
    insert("dense_types", [types.clone(), types].concat());
    let shape = |dims: &[Option<usize>]| Attr::Shape(Some(PartialShape::new(dims.to_vec())));
    let shapes = [shape(&[Some(2)]), shape(&[None, Some(2)])];
    insert("dense_shapes", shapes.iter().flat_map(|shape| [shape, shape, shape]).cloned().collect());
}

fn ask_lists(attributes: &mut Attrs) {
    let mut insert =
        |name: &str, items: Vec<Attr>| attributes.insert(format!("feature_list_{name}"), Attr::List(items));
    let types = TYPES.map(Attr::DType).to_vec();
    insert("sparse_keys", named(&KEYS[0]));
    insert("sparse_types", types.clone());
    insert("dense_keys", named(&KEYS[1]));
    insert("dense_types", types);
    insert("dense_shapes", vec![Attr::Shape(Some(PartialShape::new(vec![Some(2)]))); 3]);
}

fn named(keys: &[&str]) -> Vec<Attr> {
    keys.iter().map(|key| Attr::String((*key).to_owned())).collect()
}

/// Creates one default per dense feature.
fn defaults(is_required: bool) -> Result<Vec<Tensor>> {
    let pair = Shape::new(&[2]);
    let fixed = match is_required {
        true => TYPES.map(nothing).into_iter().collect::<Result<Vec<_>>>()?,
        false => vec![
            Tensor::from_values(pair.clone(), vec![1_i64, 2])?,
            Tensor::from_values(pair.clone(), vec![1_f32, 2.0])?,
            Tensor::strings(pair, vec![Bytes::from("a"), Bytes::from("b")])?,
        ],
    };
    let padding = [Tensor::scalar(0_i64), Tensor::scalar(0_f32), Tensor::string("")];
    Ok(fixed.into_iter().chain(padding).collect())
}
