//! The kernels, one file a family, and the table that finds them by the type of an operation.

mod arithmetic;
pub mod attrs;
mod broadcast;
pub mod cast;
mod compare;
pub mod decode_compressed;
pub mod decode_csv;
pub mod decode_raw;
mod dims;
pub mod example;
mod file;
pub mod gather;
pub mod hash_bucket;
pub mod image;
mod join;
pub mod keep_rows;
pub mod math;
pub mod queue;
pub mod random;
pub mod reader;
pub mod regex;
pub mod select;
pub mod shape;
pub mod sparse;
pub mod sparse_table;
mod strided_slice;
pub mod string_split;
pub mod strings;
pub mod summary;
pub mod tensor_proto;
mod transpose;
pub mod variable;

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Tensors};
use crate::tensor::Tensor;
use attrs::Attrs;
use random::numbers::{Distribution, RandomFloats, RandomIntegers};
use std::sync::Arc;

/// The kernel for operations of type `op_type`, or `None` if the engine has none.
///
/// These kernels hold nothing but their own state; those that work on a session's resources are built elsewhere.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "Abs" => Arc::new(math::Unary::Abs),
        "Add" | "AddV2" => Arc::new(math::Binary::Add),
        "Cast" => Arc::new(cast::Cast::from_attrs(attrs)?),
        "ConcatV2" => Arc::new(join::Concat),
        "DecodeCompressed" => Arc::new(decode_compressed::DecodeCompressed::from_attrs(attrs)?),
        "DecodeCSV" => Arc::new(decode_csv::DecodeCsv::from_attrs(attrs)?),
        "DecodeRaw" => Arc::new(decode_raw::DecodeRaw::from_attrs(attrs)?),
        "Equal" => Arc::new(compare::Compare::Equal),
        "ExpandDims" => Arc::new(dims::ExpandDims),
        "FloorDiv" => Arc::new(math::Binary::FloorDiv),
        "FloorMod" => Arc::new(math::Binary::FloorMod),
        "GatherV2" => Arc::new(gather::Gather),
        "Greater" => Arc::new(compare::Compare::Greater),
        "GreaterEqual" => Arc::new(compare::Compare::GreaterEqual),
        "HistogramSummary" => Arc::new(summary::histogram::HistogramSummary::from_attrs(attrs)?),
        "Identity" | "PlaceholderWithDefault" => Arc::new(shape::Identity),
        "ImageSummary" => Arc::new(summary::image::ImageSummary::from_attrs(attrs)?),
        "KeepRows" => Arc::new(keep_rows::KeepRows),
        "Less" => Arc::new(compare::Compare::Less),
        "LessEqual" => Arc::new(compare::Compare::LessEqual),
        "LogicalAnd" => Arc::new(compare::Logical::And),
        "LogicalNot" => Arc::new(compare::LogicalNot),
        "LogicalOr" => Arc::new(compare::Logical::Or),
        "Maximum" => Arc::new(math::Binary::Maximum),
        "MergeSummary" => Arc::new(summary::merge::MergeSummary),
        "Minimum" => Arc::new(math::Binary::Minimum),
        "Mul" => Arc::new(math::Binary::Mul),
        "Neg" => Arc::new(math::Unary::Neg),
        "NoOp" => Arc::new(shape::NoOp),
        "NotEqual" => Arc::new(compare::Compare::NotEqual),
        "Pack" => Arc::new(join::Pack::from_attrs(attrs)?),
        "ParseExample" => Arc::new(example::batch::ParseExample::from_attrs(attrs)?),
        "ParseSingleExample" => Arc::new(example::single::ParseSingleExample::from_attrs(attrs)?),
        "ParseSingleSequenceExample" => Arc::new(example::sequence::ParseSingleSequenceExample::from_attrs(attrs)?),
        "ParseTensor" => Arc::new(tensor_proto::ParseTensor::from_attrs(attrs)?),
        "Placeholder" => Arc::new(shape::Placeholder::from_attrs(attrs)?),
        "Pow" => Arc::new(math::Binary::Pow),
        "RandomShuffle" => Arc::new(random::shuffle::RandomShuffle::from_attrs(attrs)?),
        "RandomStandardNormal" => Arc::new(RandomFloats::from_attrs(Distribution::Normal, attrs)?),
        "RandomUniform" => Arc::new(RandomFloats::from_attrs(Distribution::Uniform, attrs)?),
        "RandomUniformInt" => Arc::new(RandomIntegers::from_attrs(attrs)?),
        "Rank" | "Shape" | "Size" => Arc::new(dims::Measure::from_attrs(op_type, attrs)?),
        "ReadFile" => Arc::new(file::ReadFile),
        "RealDiv" => Arc::new(math::Binary::RealDiv),
        "RegexFullMatch" => Arc::new(regex::RegexFullMatch::default()),
        "RegexReplace" => Arc::new(regex::RegexReplace::from_attrs(attrs)?),
        "Reshape" => Arc::new(shape::Reshape),
        "ScalarSummary" => Arc::new(summary::scalar::ScalarSummary),
        "SerializeTensor" => Arc::new(tensor_proto::SerializeTensor),
        "Slice" => Arc::new(strided_slice::Slice),
        "SparseMerge" => Arc::new(sparse::merge::SparseMerge::from_attrs(attrs)?),
        "SparseReorder" => Arc::new(sparse::reorder::SparseReorder),
        "SparseToDense" => Arc::new(sparse::to_dense::SparseToDense::from_attrs(attrs)?),
        "Square" => Arc::new(math::Unary::Square),
        "Squeeze" => Arc::new(dims::Squeeze::from_attrs(attrs)?),
        "StaticRegexFullMatch" => Arc::new(regex::StaticRegexFullMatch::from_attrs(attrs)?),
        "StaticRegexReplace" => Arc::new(regex::StaticRegexReplace::from_attrs(attrs)?),
        "StridedSlice" => Arc::new(strided_slice::StridedSlice::from_attrs(attrs)?),
        "StringSplit" => Arc::new(string_split::StringSplit::from_attrs(attrs)?),
        "StringSplitV2" => Arc::new(string_split::StringSplit::from_attrs_of_v2(attrs)?),
        "StringToHashBucketFast" => Arc::new(hash_bucket::HashBucket::from_attrs(attrs)?),
        "StringToNumber" => Arc::new(strings::StringToNumber::from_attrs(attrs)?),
        "Sub" => Arc::new(math::Binary::Sub),
        "Transpose" => Arc::new(transpose::Transpose),
        "TruncatedNormal" => Arc::new(RandomFloats::from_attrs(Distribution::TruncatedNormal, attrs)?),
        "WriteFile" => Arc::new(file::WriteFile),
        _ => return image::build(op_type, attrs),
    }))
}

/// The inputs as an array. Fails if there are not `N` of them.
pub(crate) fn expect_inputs<const N: usize>(inputs: &Tensors) -> Result<&[Tensor; N]> {
    let text = || Error::internal(format!("{} inputs given, expected {N}", inputs.len()));
    inputs.as_slice().try_into().map_err(|_| text())
}

#[cfg(test)]
pub(crate) mod testing {
    //! Runs one kernel in a test.

    use super::attrs::{Attr, Attrs};
    use crate::cancellation::Cancellation;
    use crate::error::{Error, Result};
    use crate::kernel::{Kernel, Step};
    use crate::run::Run;
    use crate::tensor::Tensor;

    pub fn attrs<const N: usize>(items: [(&str, Attr); N]) -> Attrs {
        let mut attrs = Attrs::default();
        items.into_iter().for_each(|(name, value)| attrs.insert(name, value));
        attrs
    }

    pub fn run(kernel: &dyn Kernel, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        match kernel.run(&Run::new(&Cancellation::new()), inputs.iter().cloned().collect())? {
            Step::Done(outputs) => Ok(outputs.into_vec()),
            Step::Pending(_) => Err(Error::internal("the kernel waits")),
        }
    }

    pub fn run_one(kernel: &dyn Kernel, inputs: &[Tensor]) -> Result<Tensor> {
        let mut outputs = run(kernel, inputs)?;
        assert_eq!(outputs.len(), 1);
        outputs.pop().ok_or_else(|| Error::internal("no output"))
    }

    pub fn error_text(kernel: &dyn Kernel, inputs: &[Tensor]) -> String {
        format!("{:?}", run(kernel, inputs).unwrap_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_name_and_unknown_ones_are_not() {
        assert!(build("AddV2", &Attrs::default()).unwrap().is_some());
        assert!(build("Bogus", &Attrs::default()).unwrap().is_none());
        let error = build("Cast", &Attrs::default()).map(drop).unwrap_err();
        assert_eq!(format!("{error:?}"), "Internal: attribute 'DstT' is missing");
    }

    #[test]
    fn the_number_of_inputs_is_checked() {
        let error = expect_inputs::<2>(&Tensors::new()).unwrap_err();
        assert_eq!(format!("{error:?}"), "Internal: 0 inputs given, expected 2");
    }
}
