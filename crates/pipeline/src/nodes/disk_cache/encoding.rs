//! Encodes blocks as bytes without loss, including columns of every kind and the provenance of
//! rows.
//!
//! All numbers are little-endian. The elements of a tensor begin at a multiple of 64 bytes, so that
//! they can be used without a copy. Arrow's format isn't used because it has no complex numbers,
//! tensors of varying shape or batches of batches.

use crate::blocks::block::Block;
use crate::blocks::column::{Column, Lists, Ragged, Text};
use crate::blocks::rows::Rows;
use crate::nodes::disk_cache::formats::Formats;
use crate::nodes::disk_cache::numbers::{ALIGNMENT, Input, put, put_all};
use crate::nodes::disk_cache::provenance;
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

/// The approximate size of a chunk, unless a single row is larger. A full shuffle reads one chunk
/// per row.
const CHUNK_BYTES: usize = 32 << 10;
const MOST_CHUNK_ROWS: usize = 1 << 12;
/// The maximum nesting depth of columns.
const MOST_DEPTH: usize = 16;
/// The maximum number of dimensions of a tensor.
const MOST_DIMS: usize = 64;

/// Some rows encoded as bytes, which can be read on their own.
pub struct Chunk {
    /// The number of rows.
    pub num_rows: u32,
    /// The block.
    pub bytes: Vec<u8>,
}

/// Rows as chunks.
pub fn chunks(rows: &Rows) -> Result<Vec<Chunk>> {
    let row_bytes = rows.num_bytes() / rows.len().max(1);
    let most_rows = (CHUNK_BYTES / row_bytes.max(1)).clamp(1, MOST_CHUNK_ROWS);
    let mut rest = rows.clone();
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let block = rest.take_front(most_rows).gather()?;
        chunks.push(Chunk { num_rows: block.num_rows() as u32, bytes: encoded(&block)? });
    }
    Ok(chunks)
}

/// A block as bytes.
pub fn encoded(block: &Block) -> Result<Vec<u8>> {
    let mut output = Vec::new();
    put(&mut output, block.num_rows() as u64);
    provenance::encode(&mut output, block.provenance(), block.num_rows())?;
    put(&mut output, block.columns.len() as u64);
    block.columns.iter().try_for_each(|column| encode_column(&mut output, column))?;
    Ok(output)
}

/// Decodes a block. Returns `None` if the bytes are damaged. Fails if there is not enough memory.
pub fn decoded(bytes: Bytes, formats: &Formats) -> Result<Option<Block>> {
    let mut input = Input::new(bytes);
    let block = decode_block(&mut input, formats);
    input.outcome(block)
}

fn decode_block(input: &mut Input, formats: &Formats) -> Option<Block> {
    let num_rows = input.size()?;
    let provenance = provenance::decode(input, num_rows, formats)?;
    let num_columns = input.count(1)?;
    let columns = input.list(num_columns, |input| decode_column(input, 0))?;
    input.is_over().then(|| Block::new(columns, num_rows, provenance).ok())?
}

fn encode_column(output: &mut Vec<u8>, column: &Column) -> Result<()> {
    match column {
        Column::Dense(tensor) => {
            output.push(0);
            encode_tensor(output, tensor)?;
        }
        Column::Packed(packed) => encode_column(output, &Column::Dense(packed.to_tensor()?))?,
        Column::Text(text) => {
            output.push(1);
            encode_strings(output, text.rows())?;
        }
        Column::Ragged(ragged) => {
            output.push(2);
            put_all(output, (0..ragged.len()).map(|row| ragged.range(row).end as u64));
            encode_tensor(output, ragged.values())?;
        }
        Column::Lists(lists) => {
            output.push(3);
            put_all(output, (0..lists.len()).map(|row| lists.range(row).end as u64));
            encode_column(output, lists.inner())?;
        }
        Column::Each(tensors) => {
            output.push(4);
            put(output, tensors.len() as u64);
            tensors.iter().try_for_each(|tensor| encode_tensor(output, tensor))?;
        }
        Column::Batches(columns) => {
            output.push(5);
            put(output, columns.len() as u64);
            columns.iter().try_for_each(|column| encode_column(output, column))?;
        }
        Column::Opaque(_) => return Err(Error::internal("cache: the columns of a row were not made yet")),
    }
    Ok(())
}

fn decode_column(input: &mut Input, depth: usize) -> Option<Column> {
    if depth > MOST_DEPTH {
        return None;
    }
    Some(match input.byte()? {
        0 => Some(Column::Dense(decode_tensor(input)?)).filter(|column| !is_scalar(column))?,
        1 => {
            let (bytes, ends) = decode_strings(input)?;
            Column::Text(Text::joined_of(bytes, &ends))
        }
        2 => {
            let ends = input.ends()?;
            let values = decode_tensor(input)?;
            let is_vector = values.shape().len() == 1 && values.num_elements() == ends.last().copied().unwrap_or(0);
            is_vector.then(|| Column::Ragged(Ragged::new(values, ends)))?
        }
        3 => {
            let ends = input.ends()?;
            let inner = decode_column(input, depth + 1)?;
            let is_whole = inner.len() == ends.last().copied().unwrap_or(0);
            let is_list = matches!(inner, Column::Ragged(_) | Column::Lists(_));
            (is_whole && is_list).then(|| Column::Lists(Lists::new(inner, ends)))?
        }
        4 => {
            let count = input.count(1)?;
            Column::Each(input.list(count, decode_tensor)?.into())
        }
        5 => {
            let count = input.count(1)?;
            Column::Batches(input.list(count, |input| decode_column(input, depth + 1))?.into())
        }
        _ => return None,
    })
}

/// Returns true for a tensor without rows.
fn is_scalar(column: &Column) -> bool {
    matches!(column, Column::Dense(tensor) if tensor.shape().is_empty())
}

fn encode_tensor(output: &mut Vec<u8>, tensor: &Tensor) -> Result<()> {
    output.push(tensor.dtype() as u8);
    put_all(output, tensor.shape().iter().map(|size| *size as u64));
    if tensor.dtype() == DType::String {
        return encode_strings(output, tensor.string_values().iter().map(|string| &string[..]));
    }
    let bytes = tensor.stored()?;
    let padding = output.len().next_multiple_of(ALIGNMENT) - output.len();
    make_room(output, padding + bytes.len())?;
    output.extend_from_slice(&[0; ALIGNMENT][..padding]);
    output.extend_from_slice(bytes);
    Ok(())
}

fn decode_tensor(input: &mut Input) -> Option<Tensor> {
    let dtype = DType::from_code(input.byte()?).ok()?;
    let dims = input.numbers()?;
    if dims.len() > MOST_DIMS {
        return None;
    }
    let shape = Shape::new(&dims);
    let num_elements = shape.checked_num_elements().ok()?;
    if dtype == DType::String {
        let (bytes, ends) = decode_strings(input)?;
        let mut start = 0;
        let mut strings = input.room(ends.len())?;
        strings.extend(ends.iter().map(|end| bytes.slice(std::mem::replace(&mut start, *end)..*end)));
        return Tensor::strings(shape, strings).ok();
    }
    input.align()?;
    let bytes = input.take(num_elements.checked_mul(dtype.size())?)?;
    if dtype == DType::Bool && bytes.iter().any(|byte| *byte > 1) {
        return None;
    }
    input.noted(Tensor::from_bytes(dtype, shape, bytes))
}

fn encode_strings<'a>(output: &mut Vec<u8>, strings: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Result<()> {
    let num_bytes: usize = strings.clone().map(|string| string.len() + size_of::<u64>()).sum();
    make_room(output, size_of::<u64>() + num_bytes)?;
    let mut end = 0;
    put_all(
        output,
        strings.clone().map(|string| {
            end += string.len() as u64;
            end
        }),
    );
    strings.for_each(|string| output.extend_from_slice(string));
    Ok(())
}

/// Reserves memory for `num_bytes` more bytes.
fn make_room(output: &mut Vec<u8>, num_bytes: usize) -> Result<()> {
    allocate::grow(output, num_bytes).map_err(|refusal| refusal.at("cache"))
}

/// Decodes strings that are stored end to end, and where each of them ends.
fn decode_strings(input: &mut Input) -> Option<(Bytes, Vec<usize>)> {
    let ends = input.ends()?;
    let bytes = input.take(ends.last().copied().unwrap_or(0))?;
    Some((bytes, ends))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::block::Provenance;
    use std::sync::Arc;

    fn tensor(shape: &[usize], values: &[f32]) -> Tensor {
        Tensor::from_values(Shape::new(shape), values.to_vec()).unwrap()
    }

    fn block() -> Block {
        let strings = Tensor::strings(Shape::new(&[2, 1]), vec!["a".into(), "".into()]).unwrap();
        let ragged = || Ragged::new(tensor(&[3], &[1., 2., 3.]), vec![1, 3]);
        let columns = vec![
            Column::Dense(tensor(&[2, 2], &[0.5, f32::NAN, -0., 7.])),
            Column::Dense(strings.clone()),
            Column::Dense(tensor(&[2, 0], &[])),
            Column::Dense(Tensor::from_bytes(DType::Bool, Shape::new(&[2]), Bytes::from_static(&[0, 1])).unwrap()),
            Column::Dense(Tensor::copied(DType::Complex128, Shape::new(&[2]), &[7; 32]).unwrap()),
            Column::Text(Text::joined_of("word".into(), &[0, 4])),
            Column::Ragged(ragged()),
            Column::Lists(Lists::new(Column::Ragged(ragged()), vec![0, 2])),
            Column::Each(Arc::new([tensor(&[1], &[1.]), strings])),
            Column::Batches(Arc::new([Column::Ragged(ragged()), Column::Text(Text::joined_of("x".into(), &[1]))])),
        ];
        Block::new(columns, 2, Provenance::Unknown).unwrap()
    }

    #[test]
    fn columns_of_every_kind_round_trip() {
        let bytes = encoded(&block()).unwrap();
        let again = decoded(bytes.clone().into(), &Formats::none()).unwrap().unwrap();
        assert_eq!(format!("{:?}", again.columns), format!("{:?}", block().columns));
        assert_eq!(encoded(&again).unwrap(), bytes);
    }

    #[test]
    fn truncated_or_overlong_block_is_rejected() {
        let bytes = encoded(&block()).unwrap();
        for length in 0..bytes.len() {
            assert!(decoded(bytes[..length].to_vec().into(), &Formats::none()).unwrap().is_none(), "cut at {length}");
        }
        assert!(decoded([&bytes[..], &[0]].concat().into(), &Formats::none()).unwrap().is_none());
    }

    #[test]
    fn changed_byte_never_panics() {
        let bytes = encoded(&block()).unwrap();
        for position in 0..bytes.len() {
            for change in [1, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[position] ^= change;
                if let Ok(Some(block)) = decoded(changed.into(), &Formats::none()) {
                    assert!(encoded(&block).is_ok());
                }
            }
        }
    }
}
