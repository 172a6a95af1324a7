//! `DecodeCompressed`: decompresses strings.

use crate::error::{Error, Result};
use crate::files::compression::{Compression, Inflate};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate::{self, Unread};
use crate::tensor::dtype::DType;
use bytes::Bytes;

/// Inflates each string of a tensor.
///
/// Source: `tf.decode_compressed` in TensorFlow 1.15.
pub struct DecodeCompressed {
    compression: Compression,
    /// True if strings are read to their end, which TensorFlow 1 does not do.
    reads_whole: bool,
}

impl DecodeCompressed {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let unknown = || Error::invalid_argument("Only ZLIB, GZIP or NONE are supported compressions");
        let compression = Compression::from_name(attrs.string("compression_type")?).ok_or_else(unknown)?;
        Ok(Self { compression, reads_whole: attrs.bool("reads_whole").unwrap_or(false) })
    }
}

impl Kernel for DecodeCompressed {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [strings] = expect_inputs(&inputs)?;
        if self.compression == Compression::None {
            return Ok(Step::one(strings.clone()));
        }
        let inflate = |(index, value): (usize, &Bytes)| {
            self.inflate(value).map_err(|error| match strings.shape().is_empty() {
                true => error,
                false => error.at_element(index),
            })
        };
        let values = strings.string_values().iter().enumerate().map(inflate);
        let values = allocate::elements(DType::String, strings.shape()).try_collect(values)?;
        Tensor::strings(strings.shape().clone(), values).map(Step::one)
    }
}

impl DecodeCompressed {
    fn inflate(&self, value: &[u8]) -> Result<Bytes> {
        let mut bytes = Vec::new();
        let mut stream = match self.reads_whole && !value.is_empty() {
            true => Inflate::whole(value, self.compression),
            false => Inflate::new(value, self.compression),
        };
        match allocate::read_to_end(&mut stream, &mut bytes) {
            Ok(()) => {
                bytes.shrink_to_fit();
                Ok(bytes.into())
            }
            Err(Unread::Refused(refusal)) => {
                let (num_inflated, num_bytes) = (bytes.len(), value.len());
                Err(refusal.at(format_args!("{num_bytes} bytes were inflated to {num_inflated} so far")))
            }
            Err(Unread::Failed(error)) => Err(Error::data_loss(format!("{error}. {}", stream.remedy()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::files::compression::Deflate;
    use crate::files::encoder::DeflateOptions;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};
    use crate::tensor::shape::Shape;
    use std::io::Write;

    fn decoder(name: &str) -> DecodeCompressed {
        DecodeCompressed::from_attrs(&attrs([("compression_type", Attr::String(name.into()))])).unwrap()
    }

    fn deflated(text: &str) -> Bytes {
        let mut bytes = Vec::new();
        let mut output = Deflate::new(&mut bytes, Compression::Zlib, DeflateOptions::default()).unwrap();
        output.write_all(text.as_bytes()).unwrap();
        output.finish().unwrap();
        drop(output);
        bytes.into()
    }

    #[test]
    fn each_string_is_inflated() {
        let strings = Tensor::strings(Shape::new(&[1, 2]), vec![deflated("one"), deflated("")]).unwrap();
        let result = run_one(&decoder("ZLIB"), std::slice::from_ref(&strings)).unwrap();
        assert_eq!((result.shape(), result.string_values()), (strings.shape(), &["one".into(), Bytes::new()][..]));
        assert_eq!(run_one(&decoder(""), std::slice::from_ref(&strings)).unwrap(), strings);
    }

    #[test]
    fn strings_are_read_to_their_end_if_requested() {
        let kernel = |is_whole| {
            let whole = ("reads_whole", Attr::Bool(is_whole));
            DecodeCompressed::from_attrs(&attrs([("compression_type", Attr::String("ZLIB".into())), whole])).unwrap()
        };
        let run = |is_whole, bytes: Vec<u8>| run_one(&kernel(is_whole), &[Tensor::string(Bytes::from(bytes))]);
        let one = deflated("one");
        let (twice, cut) = (one.repeat(2), one[..one.len() - 1].to_vec());
        for (is_whole, text) in [(false, "one"), (true, "oneone")] {
            assert_eq!(run(is_whole, twice.clone()).unwrap().string_values(), [Bytes::from(text)]);
        }
        assert!(run(false, cut.clone()).is_ok());
        let error = run(true, cut).unwrap_err();
        assert!(error.message().starts_with("the compressed data ends too early. It is damaged"), "{error}");
        assert_eq!(run(true, Vec::new()).unwrap().string_values(), [Bytes::new()]);
    }

    #[test]
    fn damage_and_unknown_compressions_are_rejected() {
        let text = "DataLoss: inflate() failed with error -3: incorrect header check. It looks like ZLIB; set the compression to ZLIB.";
        assert_eq!(error_text(&decoder("GZIP"), &[Tensor::string(deflated("one"))]), text);
        let attrs = attrs([("compression_type", Attr::String("BZ2".into()))]);
        let error = DecodeCompressed::from_attrs(&attrs).map(drop).unwrap_err();
        assert_eq!(error.message(), "Only ZLIB, GZIP or NONE are supported compressions");
    }
}
