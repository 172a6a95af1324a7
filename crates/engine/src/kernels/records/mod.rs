//! Operations that decode records.

pub mod decode_compressed;
pub mod decode_csv;
pub mod decode_raw;
pub mod parse_example;
pub mod parse_sequence_example;
pub mod tensor_proto;

use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use std::sync::Arc;

/// Creates the kernel for operations of type `op_type`. Returns `None` if this module has none.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "DecodeCSV" => Arc::new(decode_csv::DecodeCsv::from_attrs(attrs)?),
        "DecodeCompressed" => Arc::new(decode_compressed::DecodeCompressed::from_attrs(attrs)?),
        "DecodeRaw" => Arc::new(decode_raw::DecodeRaw::from_attrs(attrs)?),
        "ParseExample" => Arc::new(parse_example::batch::ParseExample::from_attrs(attrs)?),
        "ParseSingleExample" => Arc::new(parse_example::single::ParseSingleExample::from_attrs(attrs)?),
        "ParseSequenceExample" => Arc::new(parse_sequence_example::batch::ParseSequenceExample::from_attrs(attrs)?),
        "ParseSingleSequenceExample" => {
            Arc::new(parse_sequence_example::ParseSingleSequenceExample::from_attrs(attrs)?)
        }
        "ParseTensor" => Arc::new(tensor_proto::ParseTensor::from_attrs(attrs)?),
        "SerializeTensor" => Arc::new(tensor_proto::SerializeTensor),
        _ => return Ok(None),
    }))
}
