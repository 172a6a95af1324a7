//! `StringLower`, `StringUpper` and `StringStrip`: convert each string.
//!
//! Source: `tf.strings.lower`, `upper` and `strip` in TensorFlow 1.15.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::aliasing::alias_or_copy;
use crate::tensor::allocate::{self, Refusal};
use bytes::Bytes;

/// Converts strings to lower or upper case.
pub struct ChangeCase {
    is_upper: bool,
    /// "utf-8" to convert the letters of all languages, or empty for ASCII letters only.
    encoding: String,
}

/// Removes white space at both ends of strings.
pub struct Strip;

impl ChangeCase {
    /// Creates the upper-case or lower-case kernel. Fails if an attribute is missing or invalid.
    pub fn from_attrs(is_upper: bool, attrs: &Attrs) -> Result<Self> {
        Ok(Self { is_upper, encoding: String::from_utf8_lossy(attrs.bytes("encoding")?).into_owned() })
    }

    fn change(&self, text: &Bytes) -> std::result::Result<Bytes, Refusal> {
        if !self.encoding.is_empty() {
            // A letter becomes at most three times as long, and a vector grows by copying.
            allocate::probe(text.len().saturating_mul(6))?;
            let text = String::from_utf8_lossy(text);
            let changed = if self.is_upper { text.to_uppercase() } else { text.to_lowercase() };
            return Ok(changed.into());
        }
        let is_other = |byte: &u8| if self.is_upper { byte.is_ascii_lowercase() } else { byte.is_ascii_uppercase() };
        if !text.iter().any(is_other) {
            return Ok(text.clone());
        }
        let change = |byte: &u8| if self.is_upper { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
        allocate::collected(text.len(), text.iter().map(change)).map(Bytes::from)
    }
}

impl Kernel for ChangeCase {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [strings] = expect_inputs(&inputs)?;
        if !matches!(self.encoding.as_str(), "" | "utf-8") && strings.num_elements() > 0 {
            let text = format!("only utf-8 or '' (no encoding) is supported, received {}", self.encoding);
            return Err(Error::invalid_argument(text));
        }
        changed(strings, |text| self.change(text))
    }
}

impl Kernel for Strip {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [strings] = expect_inputs(&inputs)?;
        changed(strings, |text| Ok(alias_or_copy(stripped(text), text)))
    }
}

fn changed(strings: &Tensor, change: impl Fn(&Bytes) -> std::result::Result<Bytes, Refusal>) -> Result<Step> {
    let changed = strings.string_values().iter().map(|text| change(text).map_err(|refusal| refusal.at("a string")));
    let changed = allocate::try_gathered_small("strings", changed)?;
    Tensor::strings_from_small_vec(strings.shape().clone(), changed).map(Step::one)
}

fn stripped(text: &[u8]) -> &[u8] {
    let is_kept = |byte: &u8| !matches!(byte, b' ' | b'\t'..=b'\r');
    let first = text.iter().position(is_kept).unwrap_or(text.len());
    let end = text.iter().rposition(is_kept).map_or(first, |last| last + 1);
    &text[first..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};
    use crate::tensor::dtype::DType;
    use crate::tensor::shape::Shape;

    fn change(is_upper: bool, encoding: &str) -> ChangeCase {
        ChangeCase::from_attrs(is_upper, &attrs([("encoding", Attr::String(encoding.to_owned()))])).unwrap()
    }

    fn one(kernel: &dyn Kernel, text: &[u8]) -> Bytes {
        let strings = Tensor::strings(Shape::new(&[1, 1]), vec![Bytes::copy_from_slice(text)]).unwrap();
        let changed = run_one(kernel, &[strings]).unwrap();
        assert_eq!(changed.shape()[..], [1, 1]);
        changed.string_values()[0].clone()
    }

    #[test]
    fn only_ascii_letters_are_converted() {
        assert_eq!(one(&change(false, ""), "ABÄ\u{0}z".as_bytes()), "abÄ\u{0}z");
        assert_eq!(one(&change(true, ""), b"aB\xff"), &b"AB\xff"[..]);
        assert_eq!(one(&change(true, ""), b""), "");
    }

    #[test]
    fn letters_of_all_languages_are_converted_in_utf8() {
        assert_eq!(one(&change(false, "utf-8"), "ÄΣΑΣ".as_bytes()), "äσας");
        assert_eq!(one(&change(true, "utf-8"), "straße".as_bytes()), "STRASSE");
        assert_eq!(one(&change(true, "utf-8"), b"a\xff"), "A\u{fffd}");
    }

    #[test]
    fn unsupported_encodings_are_rejected_unless_the_input_is_empty() {
        let text = error_text(&change(false, "latin"), &[Tensor::string("A")]);
        assert_eq!(text, "InvalidArgument: only utf-8 or '' (no encoding) is supported, received latin");
        let nothing = Tensor::empty(DType::String, Shape::new(&[0])).unwrap();
        assert_eq!(run_one(&change(false, "latin"), std::slice::from_ref(&nothing)).unwrap(), nothing);
    }

    #[test]
    fn white_space_is_stripped_at_both_ends() {
        for (text, expected) in
            [(" \t\n\u{b}\u{c}\ra b ", "a b"), ("", ""), ("  ", ""), ("a", "a"), ("\u{a0}a", "\u{a0}a")]
        {
            assert_eq!(one(&Strip, text.as_bytes()), expected);
        }
    }
}
