//! `EncodeBase64` and `DecodeBase64`: encode bytes as letters that are safe in URLs and file
//! names, and decode them.
//!
//! Source: RFC 4648, section 5. Accepts the same texts as `tf.decode_base64` in TensorFlow 1.15.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use bytes::Bytes;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const PADDING: u8 = b'=';

/// Encodes each string.
pub struct EncodeBase64 {
    /// True if the output is padded to a multiple of four letters.
    is_padded: bool,
}

/// Decodes each string, with or without padding.
pub struct DecodeBase64;

impl EncodeBase64 {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { is_padded: attrs.bool("pad")? })
    }
}

impl Kernel for EncodeBase64 {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        each_string(&inputs, |value| encode(value, self.is_padded))
    }
}

impl Kernel for DecodeBase64 {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        each_string(&inputs, decode)
    }
}

fn each_string(inputs: &Tensors, change: impl Fn(&[u8]) -> Result<Vec<u8>>) -> Result<Step> {
    let [strings] = expect_inputs(inputs)?;
    let mut changed = allocate::elements(strings.dtype(), strings.shape()).room()?;
    for value in strings.string_values() {
        changed.push(Bytes::from(change(value)?));
    }
    Tensor::strings(strings.shape().clone(), changed).map(Step::one)
}

fn encode(value: &[u8], is_padded: bool) -> Result<Vec<u8>> {
    let mut letters = allocate::room(value.len().div_ceil(3) * 4).map_err(|refusal| refusal.at("encode_base64"))?;
    for group in value.chunks(3) {
        let bits =
            group.iter().enumerate().fold(0, |bits, (position, byte)| bits | u32::from(*byte) << (16 - 8 * position));
        letters.extend((0..=group.len()).map(|position| LETTERS[(bits >> (18 - 6 * position) & 63) as usize]));
        if is_padded {
            letters.extend((group.len()..3).map(|_| PADDING));
        }
    }
    Ok(letters)
}

fn decode(letters: &[u8]) -> Result<Vec<u8>> {
    let letters = match letters {
        [start @ .., PADDING, PADDING] if letters.len().is_multiple_of(4) => start,
        [start @ .., PADDING] if letters.len().is_multiple_of(4) => start,
        _ => letters,
    };
    let mut value = allocate::room(letters.len().div_ceil(4) * 3).map_err(|refusal| refusal.at("decode_base64"))?;
    for group in letters.chunks(4) {
        if group.len() == 1 {
            return Err(Error::invalid_argument("Base64 string length cannot be 1 modulo 4."));
        }
        let mut bits = 0;
        for (position, letter) in group.iter().enumerate() {
            let number = number_of(*letter).ok_or_else(|| {
                Error::invalid_argument(format!(
                    "Invalid character found in base64: {:?}, expected letters, digits, '-' and '_'",
                    char::from(*letter)
                ))
            })?;
            bits |= number << (18 - 6 * position);
        }
        value.extend((1..group.len()).map(|position| (bits >> (24 - 8 * position)) as u8));
    }
    Ok(value)
}

/// The number that a letter represents.
fn number_of(letter: u8) -> Option<u32> {
    let number = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    };
    Some(u32::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use proptest::prelude::*;

    fn decoded(text: &str) -> Result<Vec<u8>> {
        decode(text.as_bytes())
    }

    /// The test vectors of RFC 4648, section 10, and letters that only occur in the URL-safe
    /// alphabet.
    #[test]
    fn strings_are_encoded_as_in_the_rfc() {
        for (value, letters) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
            ("~~?", "fn4_"),
            ("~~>", "fn4-"),
        ] {
            assert_eq!(encode(value.as_bytes(), true).unwrap(), letters.as_bytes());
            assert_eq!(decoded(letters).unwrap(), value.as_bytes());
            assert_eq!(encode(value.as_bytes(), false).unwrap(), letters.trim_end_matches('=').as_bytes());
        }
    }

    #[test]
    fn error_names_an_invalid_character() {
        let text = error_text(&DecodeBase64, &[Tensor::string("ab+=")]);
        assert!(text.starts_with("InvalidArgument: Invalid character found in base64: '+', expected"), "{text}");
        assert_eq!(decoded("abcde").unwrap_err().message(), "Base64 string length cannot be 1 modulo 4.");
        assert!(decoded("ab=c").is_err() && decoded("a===").is_err() && decoded("ab=").is_err());
    }

    #[test]
    fn each_string_of_a_tensor_is_converted() {
        let encoded = run_one(&EncodeBase64 { is_padded: true }, &[Tensor::string("fo")]).unwrap();
        assert_eq!(encoded, Tensor::string("Zm8="));
    }

    proptest! {
        #[test]
        fn encoded_bytes_round_trip(value: Vec<u8>, is_padded: bool) {
            prop_assert_eq!(decode(&encode(&value, is_padded).unwrap()).unwrap(), value);
        }

        #[test]
        fn decoding_arbitrary_bytes_never_panics(letters: Vec<u8>) {
            let _ = decode(&letters);
        }
    }
}
