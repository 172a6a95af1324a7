//! Targets for TensorProto, raw bytes and compressed strings.

use crate::claims::tensor_bytes;
use crate::kernels::{attrs, run, string};
use headrace_engine::files::compression::{Compression, Inflate};
use headrace_engine::kernels::attrs::Attr;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use std::io::{self, Read};

/// A small message may describe two gigabytes of equal elements. Tensors larger than this take too
/// long.
const MOST_BYTES: usize = 1 << 22;

/// `[type, message...]`: parses the message as a tensor of this dtype, as raw numbers, and inflates
/// it.
pub fn tensor_proto(data: &[u8]) -> usize {
    let [code, message @ ..] = data else { return 0 };
    let claimed = tensor_bytes(message).unwrap_or(0);
    if let Ok(dtype) = DType::from_code(*code) {
        if claimed <= MOST_BYTES {
            parse(message, dtype);
        }
        let items = [("out_type", Attr::DType(dtype)), ("little_endian", Attr::Bool(code % 2 == 0))];
        let _ = run("DecodeRaw", &attrs(items), [string(message)]);
    }
    data.len() + claimed.min(MOST_BYTES) + inflate(message)
}

/// Checks that a parsed tensor can be serialized, and that parsing it again gives the same tensor.
fn parse(message: &[u8], dtype: DType) {
    let out_type = attrs([("out_type", Attr::DType(dtype))]);
    let Ok(tensors) = run("ParseTensor", &out_type, [string(message)]) else { return };
    let again = run("SerializeTensor", &attrs([]), tensors.clone())
        .and_then(|messages| run("ParseTensor", &out_type, messages))
        .unwrap_or_else(|error| panic!("what was written is not read: {error}"));
    let [first, second] = [&tensors[0], &again[0]];
    let is_same = |first: &Tensor, second: &Tensor| {
        first.bytes() == second.bytes() && first.string_values() == second.string_values()
    };
    assert!(first.shape() == second.shape() && is_same(first, second), "{first:?} is read as {second:?}");
}

/// Returns the number of inflated bytes.
fn inflate(data: &[u8]) -> usize {
    let mut total = 0;
    for (compression, name) in [(Compression::Gzip, "GZIP"), (Compression::Zlib, "ZLIB")] {
        let limited = Inflate::new(data, compression).take(MOST_BYTES as u64);
        let num_bytes = io::copy(&mut { limited }, &mut io::sink()).unwrap_or(0) as usize;
        if num_bytes < MOST_BYTES {
            let items = [("compression_type", Attr::String(name.to_owned()))];
            let _ = run("DecodeCompressed", &attrs(items), [string(data)]);
            total += num_bytes;
        }
    }
    total
}
