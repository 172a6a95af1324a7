//! Names integer columns that Arrow's crates cannot read, such as `Int128` of polars.

use arrow_ipc::{Field, Schema, Type, root_as_message};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The bytes before a message in a stream: the continuation marker, and the length.
const PREFIX: [u8; 4] = [0xff; 4];
const PREFIX_BYTES: usize = 8;

/// The error for the first column with integers of more than 64 bits.
pub fn refusal(schema: Schema<'_>) -> Option<String> {
    let (name, bits) = schema.fields()?.iter().find_map(|field| Some((field.name()?, bits_of(&field)?)))?;
    Some(format!(
        "the column '{name}' has {bits}-bit integers, expected at most 64 bits. Write the file without this column, or \
         with another type."
    ))
}

/// The same error for the schema in the metadata of a Parquet file.
pub fn refusal_in_metadata(encoded: &str) -> Option<String> {
    let bytes = STANDARD.decode(encoded).ok()?;
    let bytes = if bytes.starts_with(&PREFIX) { bytes.get(PREFIX_BYTES..)? } else { &bytes };
    refusal(root_as_message(bytes).ok()?.header_as_schema()?)
}

fn bits_of(field: &Field<'_>) -> Option<i32> {
    match field.type_type() {
        Type::Int => Some(field.type_as_int()?.bitWidth()).filter(|bits| *bits > 64),
        _ => field.children()?.iter().find_map(|child| bits_of(&child)),
    }
}
