//! Encodes Examples for tests, and creates the attributes of the kernels that decode them.

use crate::kernels::attrs::{Attr, Attrs};
use crate::tensor::dtype::DType;
use crate::tensor::shape::PartialShape;
use crate::wire::Message;
use bytes::Bytes;

/// Encodes a number, without a tag.
fn varint(value: u64) -> Vec<u8> {
    Message::default().varint(1, value).into_bytes().split_off(1)
}

/// Encodes field `number`: a tag, a length, and `body`.
pub fn field(number: u64, body: &[u8]) -> Vec<u8> {
    Message::default().bytes(number, body).into_bytes()
}

/// Encodes a map from keys to messages, which is field 1 of its message.
pub fn map(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let entry = |(key, value): &(&str, Vec<u8>)| field(1, &[field(1, key.as_bytes()), field(2, value)].concat());
    entries.iter().flat_map(entry).collect()
}

/// Encodes an Example with features made by the functions below. A feature without bytes has no
/// list.
pub fn example(features: &[(&str, Vec<u8>)]) -> Bytes {
    field(1, &map(features)).into()
}

pub fn int64s(values: &[i64]) -> Vec<u8> {
    let packed: Vec<u8> = values.iter().flat_map(|value| varint(*value as u64)).collect();
    field(3, &field(1, &packed))
}

pub fn unpacked_int64s(values: &[i64]) -> Vec<u8> {
    let list: Vec<u8> = values.iter().flat_map(|value| [&[8][..], &varint(*value as u64)].concat()).collect();
    field(3, &list)
}

pub fn floats(values: &[f32]) -> Vec<u8> {
    let packed: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    field(2, &field(1, &packed))
}

pub fn unpacked_floats(values: &[f32]) -> Vec<u8> {
    let list: Vec<u8> = values.iter().flat_map(|value| [&[13][..], &value.to_le_bytes()].concat()).collect();
    field(2, &list)
}

pub fn strings(values: &[&[u8]]) -> Vec<u8> {
    let list: Vec<u8> = values.iter().flat_map(|value| field(1, value)).collect();
    field(1, &list)
}

/// Returns the attributes that request `sparse` and `dense` features.
pub fn asking_for(sparse: &[(&str, DType)], dense: &[(&str, DType, &[Option<usize>])]) -> Attrs {
    let mut attrs = Attrs::default();
    ask_for("", sparse, dense, &mut attrs);
    attrs
}

/// Adds the attributes that request `sparse` and `dense` features. Their names begin with `prefix`.
pub fn ask_for(prefix: &str, sparse: &[(&str, DType)], dense: &[(&str, DType, &[Option<usize>])], attrs: &mut Attrs) {
    let key = |key: &&str| Attr::String((*key).to_owned());
    let shape = |dims: &[Option<usize>]| Attr::Shape(Some(PartialShape::new(dims.to_vec())));
    let mut insert = |name: &str, items: Vec<Attr>| attrs.insert(format!("{prefix}{name}"), Attr::List(items));
    insert("sparse_keys", sparse.iter().map(|(name, _)| key(name)).collect());
    insert("sparse_types", sparse.iter().map(|(_, dtype)| Attr::DType(*dtype)).collect());
    insert("dense_keys", dense.iter().map(|(name, ..)| key(name)).collect());
    insert("dense_types", dense.iter().map(|(_, dtype, _)| Attr::DType(*dtype)).collect());
    insert("dense_shapes", dense.iter().map(|(.., dims)| shape(dims)).collect());
}
