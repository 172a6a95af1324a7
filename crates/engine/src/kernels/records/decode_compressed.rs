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
/// Source: `tf.decode_compressed` of TensorFlow 1.15.
pub struct DecodeCompressed {
    compression: Compression,
}

impl DecodeCompressed {
    /// The kernel for an operation with these attributes. Fails if one is missing or makes no sense.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let unknown = || Error::invalid_argument("Only ZLIB, GZIP or NONE are supported compressions");
        let compression = Compression::from_name(attrs.string("compression_type")?).ok_or_else(unknown)?;
        Ok(Self { compression })
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
        let mut stream = Inflate::new(value, self.compression);
        match allocate::read_to_end(&mut stream, &mut bytes) {
            Ok(()) => {
                bytes.shrink_to_fit();
                Ok(bytes.into())
            }
            Err(Unread::Refused(refusal)) => {
                let (made, given) = (bytes.len(), value.len());
                Err(refusal.at(format_args!("{given} bytes have been inflated to {made}, and it is not the end")))
            }
            Err(Unread::Failed(error)) => Err(Error::data_loss(format!("{error}. {}", stream.remedy()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::files::compression::Deflate;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};
    use crate::tensor::shape::Shape;
    use std::io::Write;

    fn decoder(name: &str) -> DecodeCompressed {
        DecodeCompressed::from_attrs(&attrs([("compression_type", Attr::String(name.into()))])).unwrap()
    }

    fn deflated(text: &str) -> Bytes {
        let mut bytes = Vec::new();
        let mut output = Deflate::new(&mut bytes, Compression::Zlib, None).unwrap();
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
    fn damage_and_unknown_compressions_are_refused() {
        let text = "DataLoss: inflate() failed with error -3: incorrect header check. It looks like ZLIB; give that as its \
                    compression.";
        assert_eq!(error_text(&decoder("GZIP"), &[Tensor::string(deflated("one"))]), text);
        let attrs = attrs([("compression_type", Attr::String("BZ2".into()))]);
        let error = DecodeCompressed::from_attrs(&attrs).map(drop).unwrap_err();
        assert_eq!(error.message(), "Only ZLIB, GZIP or NONE are supported compressions");
    }
}
