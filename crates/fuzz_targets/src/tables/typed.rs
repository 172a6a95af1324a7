//! Targets for Parquet and Arrow files.

use crate::file::File;
use crate::pipelines::read;
use headrace_engine::error::Result;
use headrace_engine::tensor::dtype::DType;
use headrace_pipeline::blocks::block::FileProvenance;
use headrace_pipeline::formats::component::{Component, Form};
use headrace_pipeline::formats::{
    ColumnKind, Condition, Ipc, Op, Parquet, TableQuery, Value, arrow_columns, parquet_columns,
};
use headrace_pipeline::records::Format;
use std::sync::Arc;

/// The maximum number of bytes of a page that a single byte of a file may expand to.
const MOST_TIMES: usize = 1024;

/// Reads a Parquet file: its columns as they are, as JSON, and the rows that meet a condition.
pub fn parquet(data: &[u8]) -> usize {
    let Ok(file) = File::new(data) else { return 0 };
    let file = file.file_provenance();
    let Ok(columns) = parquet_columns(&file, None) else { return data.len() };
    for query in queries(&columns) {
        if let Ok((format, parts)) = Parquet::new(&[Arc::clone(&file)], query) {
            read_all(&format, &parts);
        }
    }
    data.len() * MOST_TIMES
}

/// Reads an Arrow file or stream in the same ways.
pub fn arrow(data: &[u8]) -> usize {
    let Ok(file) = File::new(data) else { return 0 };
    let file = file.file_provenance();
    let Ok(columns) = arrow_columns(&file, None) else { return data.len() };
    for query in queries(&columns) {
        let format: Result<_> = Ipc::new(&[Arc::clone(&file)], &query);
        if let Ok((format, parts)) = format {
            read_all(&format, &parts);
        }
    }
    data.len() * MOST_TIMES
}

fn read_all(format: &dyn Format, parts: &[Arc<FileProvenance>]) {
    parts.iter().for_each(|part| drop(read(format, part, None)));
}

fn queries(columns: &[(String, ColumnKind)]) -> Vec<TableQuery> {
    let inferred = columns.iter().filter_map(|(_, kind)| kind.component.clone().ok());
    let components: Vec<_> = inferred.map(|component| Component { has_mask: true, ..component }).collect();
    let json = columns.iter().map(|(name, _)| Component::of(name, DType::String, Form::Json)).collect();
    let single = components
        .iter()
        .find(|component| component.dtype == DType::Int64 && !component.is_list() && component.shape.is_empty());
    let condition = |component: &Component| Condition {
        component: component.clone(),
        op: Op::AtLeast,
        values: vec![Value::Integer(3)],
    };
    let conditions = single.map(condition).into_iter().collect();
    let of = |components, conditions| TableQuery { components, conditions, constants: Vec::new() };
    vec![of(components.clone(), Vec::new()), of(json, Vec::new()), of(components, conditions)]
}
