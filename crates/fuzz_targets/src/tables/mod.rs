//! Targets for CSV and JSON.

pub mod typed;

use crate::file::File;
use crate::kernels::{attrs, nothing, run, string, strings};
use crate::packed::Packed;
use crate::pipelines::read;
use crate::records::in_order_and_shuffled;
use headrace_engine::error::Result;
use headrace_engine::kernels::attrs::Attr;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use headrace_pipeline::formats::component::times::TimeUnit;
use headrace_pipeline::formats::component::{Component, Form};
use headrace_pipeline::formats::{Columns, Csv, JsonArray, Lines};
use headrace_pipeline::records::{Codec, Format};
use headrace_pipeline::stages::csv::inference::{Inferred, infer_csv};
use headrace_pipeline::stages::csv::{CsvFields, Words};
use headrace_pipeline::stages::json::JsonFields;
use headrace_pipeline::stages::json::inference::{InferredKey, infer_json};
use std::sync::Arc;

const DELIMITERS: [u8; 4] = *b",;\t|";

/// `[compression, options, file...]`: reads a table with a header, with inferred and with fixed
/// columns, and parses its text as a record.
pub fn csv(data: &[u8]) -> usize {
    let [compression, options, data @ ..] = data else { return 0 };
    let delimiter = DELIMITERS[usize::from(options >> 2 & 3)];
    decode_csv(data, delimiter, options & 1 == 0);
    let Some(packed) = Packed::new(*compression, data.to_vec()) else { return 0 };
    let Ok(file) = File::new(&packed.bytes) else { return 0 };
    let missing = Words::new(if options & 32 == 0 { Vec::new() } else { vec![b"NA".to_vec()] });
    let inferred =
        infer_csv(&file.file_provenance(), packed.codec, delimiter, &missing).ok().flatten().unwrap_or_default();
    let components = fixed_components();
    for components in [inferred.into_iter().map(component).collect(), components] {
        let columns = match options & 16 == 0 {
            true => Columns::Named(components.iter().map(|component| component.name.clone()).collect()),
            false => Columns::All(components.len()),
        };
        let csv = Csv { codec: packed.codec, delimiter, columns };
        if let Ok(fields) = CsvFields::new(delimiter, components, missing.clone()) {
            read(&csv, &file.file_provenance(), Some(&fields));
        }
        in_order_and_shuffled(Arc::new(csv), &file, options & 2 == 2, packed.codec);
    }
    packed.num_bytes
}

/// Runs the operation on each line, and on all lines at once.
fn decode_csv(data: &[u8], delimiter: u8, use_quote_delim: bool) {
    let dtypes = [DType::Int64, DType::Float32, DType::String];
    let attributes = attrs([
        ("OUT_TYPE", Attr::List(dtypes.map(Attr::DType).to_vec())),
        ("select_cols", Attr::List(if use_quote_delim { Vec::new() } else { [0, 2, 5].map(Attr::Int).to_vec() })),
        ("field_delim", Attr::String(char::from(delimiter).to_string())),
        ("use_quote_delim", Attr::Bool(use_quote_delim)),
        ("na_value", Attr::String("NA".to_owned())),
    ]);
    let Ok(required) = nothing(DType::Float32) else { return };
    let defaults = [Tensor::scalar(7_i64), required, Tensor::string("none")];
    let decode = |records: Tensor| run("DecodeCSV", &attributes, [records].into_iter().chain(defaults.clone()));
    let lines: Vec<_> = data.split(|byte| *byte == b'\n').collect();
    let each: Vec<_> = lines.iter().map(|line| decode(string(line)).is_ok()).collect();
    let all = strings(lines).and_then(decode).is_ok();
    assert!(all == each.iter().all(|is_right| *is_right), "lines decode differently in a batch than alone");
}

/// `[compression, options, file...]`: reads a file of JSON objects in lines, with inferred and with
/// fixed columns.
pub fn json_lines(data: &[u8]) -> usize {
    json(data, |codec| Arc::new(Lines { codec, skips_blank: true }))
}

/// Like [`json_lines`], for a single array of objects.
pub fn json_array(data: &[u8]) -> usize {
    json(data, |codec| Arc::new(JsonArray { codec }))
}

fn json(data: &[u8], format: impl Fn(Codec) -> Arc<dyn Format>) -> usize {
    let [compression, options, data @ ..] = data else { return 0 };
    let Some(packed) = Packed::new(*compression, data.to_vec()) else { return 0 };
    let Ok(file) = File::new(&packed.bytes) else { return 0 };
    let format = format(packed.codec);
    let inferred = infer_json(&*format, &file.file_provenance(), &[]).ok().flatten().unwrap_or_default();
    for components in [inferred.into_iter().map(key).collect(), fixed_components()] {
        if let Ok(fields) = JsonFields::new(components) {
            read(&*format, &file.file_provenance(), Some(&fields));
        }
    }
    in_order_and_shuffled(format, &file, options & 2 == 2, packed.codec);
    packed.num_bytes
}

fn component(inferred: Inferred) -> Component {
    let Inferred { name, dtype, is_text, .. } = inferred;
    let form = if is_text && dtype == DType::String { Form::Text } else { Form::Plain };
    Component { is_inferred: true, ..Component::of(&name, dtype, form) }
}

fn key(inferred: InferredKey) -> Component {
    let InferredKey { name, dtype, is_json, num_lists } = inferred;
    let form = match dtype {
        _ if is_json => Form::Json,
        DType::String => Form::Text,
        _ => Form::Plain,
    };
    Component { num_lists, is_inferred: true, ..Component::of(&name, dtype, form) }
}

/// Creates components of many kinds.
fn fixed_components() -> Vec<Component> {
    let component = |name: &str, dtype: DType, shape: &[usize], default: Option<Tensor>| Component {
        num_lists: usize::from(name == "list"),
        shape: Shape::new(shape),
        default,
        ..Component::of(name, dtype, if name == "text" { Form::Text } else { Form::Plain })
    };
    let nested = Component { num_lists: 3, has_mask: true, ..Component::of("nested", DType::Int16, Form::Plain) };
    let json = Component { has_mask: true, ..Component::of("json", DType::String, Form::Json) };
    let time = Component { has_mask: true, ..Component::of("time", DType::Int64, Form::Instant(TimeUnit::Nanosecond)) };
    let zeros: Result<Tensor> = Tensor::from_values(Shape::new(&[2, 2]), vec![0_f32; 4]);
    vec![
        component("a", DType::Int64, &[], Some(Tensor::scalar(3_i64))),
        component("b", DType::Float32, &[], None),
        component("c", DType::Bool, &[], Some(Tensor::bool(true))),
        component("d", DType::UInt8, &[], Some(Tensor::scalar(3_u8))),
        component("text", DType::String, &[], Some(Tensor::string(""))),
        component("bytes", DType::String, &[], Some(Tensor::string(""))),
        component("list", DType::Int32, &[], Tensor::empty(DType::Int32, Shape::new(&[0])).ok()),
        component("o.p", DType::Float64, &[], Some(Tensor::scalar(0_f64))),
        component("square", DType::Float32, &[2, 2], zeros.ok()),
        nested,
        json,
        time,
    ]
}
