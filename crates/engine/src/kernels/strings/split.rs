//! `StringSplit` and `StringSplitV2`: split a vector of strings. The result is a sparse tensor.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::aliasing::alias_or_copy;
use crate::tensor::allocate::{self, Refusal};
use crate::tensor::shape::Shape;
use bytes::Bytes;

/// Maps `(strings, separator)` to the indices, values and shape of the parts, with one row per
/// string.
///
/// Source: `tf.string_split` and `tf.strings.split` in TensorFlow 1.15.
pub enum StringSplit {
    /// Splits at each byte that occurs in the separator, or between all bytes if it is empty.
    AtAny {
        /// True if empty parts are skipped.
        skips_empty: bool,
    },
    /// Splits at each occurrence of the whole separator, or at runs of white space if it is empty.
    AtWhole {
        /// The maximum number of splits. Negative means unlimited.
        limit: i64,
    },
}

impl StringSplit {
    /// Creates the kernel of `StringSplit`.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self::AtAny { skips_empty: attrs.bool("skip_empty")? })
    }

    /// Creates the kernel of `StringSplitV2`.
    pub fn from_attrs_of_v2(attrs: &Attrs) -> Result<Self> {
        Ok(Self::AtWhole { limit: attrs.int("maxsplit")? })
    }

    fn split<'a>(&self, text: &'a [u8], separator: &[u8]) -> std::result::Result<Vec<&'a [u8]>, Refusal> {
        match self {
            Self::AtAny { .. } if separator.is_empty() => allocate::gathered(text.chunks(1)),
            // An empty string has no parts, rather than one empty part.
            Self::AtAny { .. } if text.is_empty() => Ok(Vec::new()),
            Self::AtAny { skips_empty } => {
                let parts = text.split(|byte| separator.contains(byte));
                allocate::gathered(parts.filter(|part| !skips_empty || !part.is_empty()))
            }
            Self::AtWhole { limit: 0 } => Ok(vec![text]),
            Self::AtWhole { limit } if separator.is_empty() => split_at_spaces(text, *limit),
            Self::AtWhole { limit } => split_at_whole(text, separator, *limit),
        }
    }
}

fn split_at_spaces(text: &[u8], limit: i64) -> std::result::Result<Vec<&[u8]>, Refusal> {
    let mut parts = Vec::new();
    let mut rest = without_spaces(text);
    while !rest.is_empty() {
        allocate::grow(&mut parts, 2)?;
        let end = rest.iter().position(is_space).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = without_spaces(&rest[end..]);
        if parts.len() as i64 == limit {
            // The rest is a part even if it is empty.
            parts.push(rest);
            break;
        }
    }
    Ok(parts)
}

fn without_spaces(text: &[u8]) -> &[u8] {
    &text[text.iter().position(|byte| !is_space(byte)).unwrap_or(text.len())..]
}

fn is_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn split_at_whole<'a>(text: &'a [u8], separator: &[u8], limit: i64) -> std::result::Result<Vec<&'a [u8]>, Refusal> {
    let mut parts = Vec::new();
    let mut rest = text;
    while parts.len() as i64 != limit
        && let Some(end) = rest.windows(separator.len()).position(|window| window == separator)
    {
        allocate::grow(&mut parts, 2)?;
        parts.push(&rest[..end]);
        rest = &rest[end + separator.len()..];
    }
    allocate::grow(&mut parts, 1)?;
    parts.push(rest);
    Ok(parts)
}

impl Kernel for StringSplit {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [strings, separator] = expect_inputs(&inputs)?;
        if strings.shape().len() != 1 {
            let text = format!("input must be a vector, got shape: {}", strings.shape());
            return Err(Error::invalid_argument(text));
        }
        let ([separator], true) = (separator.string_values(), separator.shape().is_empty()) else {
            let text = format!("delimiter must be a scalar, got shape: {}", separator.shape());
            return Err(Error::invalid_argument(text));
        };
        let mut indices = Vec::new();
        let mut values: Vec<Bytes> = Vec::new();
        let mut longest = 0;
        for (row, text) in strings.string_values().iter().enumerate() {
            let parts = self.split(text, separator).map_err(|refusal| refusal.at("the parts of a string"))?;
            longest = longest.max(parts.len());
            let grown = allocate::grow(&mut indices, 2 * parts.len()).and(allocate::grow(&mut values, parts.len()));
            grown.map_err(|refusal| refusal.at("the parts of strings"))?;
            indices.extend((0..parts.len()).flat_map(|column| [row as i64, column as i64]));
            values.extend(parts.into_iter().map(|part| alias_or_copy(part, text)));
        }
        let count = values.len();
        Ok(Step::Done(Outputs::from_iter([
            Tensor::from_values(Shape::new(&[count, 2]), indices)?,
            Tensor::strings(Shape::new(&[count]), values)?,
            Tensor::from_values(Shape::new(&[2]), vec![strings.num_elements() as i64, longest as i64])?,
        ])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run};
    use proptest::prelude::*;

    fn split(kernel: &StringSplit, separator: &str, text: &str) -> Vec<String> {
        let parts = kernel.split(text.as_bytes(), separator.as_bytes()).unwrap();
        parts.into_iter().map(|part| String::from_utf8_lossy(part).into()).collect()
    }

    #[test]
    fn any_byte_of_a_separator_splits() {
        let (skipping, keeping) = (StringSplit::AtAny { skips_empty: true }, StringSplit::AtAny { skips_empty: false });
        assert_eq!(split(&skipping, ",;", ",a,;b;"), ["a", "b"]);
        assert_eq!(split(&keeping, ",;", ",a,;b;"), ["", "a", "", "b", ""]);
        for kernel in [skipping, keeping] {
            assert_eq!(split(&kernel, ",", ""), [""; 0]);
            assert_eq!(split(&kernel, "", "a b"), ["a", " ", "b"]);
        }
    }

    #[test]
    fn separator_can_be_a_word_or_whitespace() {
        let limited = |limit: i64| StringSplit::AtWhole { limit };
        assert_eq!(split(&limited(-1), "--", "a--b-c---d"), ["a", "b-c", "-d"]);
        assert_eq!(split(&limited(1), "--", "a--b--c"), ["a", "b--c"]);
        assert_eq!(split(&limited(-1), "--", ""), [""]);
        assert_eq!(split(&limited(-1), "", " a \t\n\x0b\x0c\r b  "), ["a", "b"]);
        assert_eq!(split(&limited(1), "", " a  b  c "), ["a", "b  c "]);
        assert_eq!(split(&limited(1), "", "a"), ["a", ""]);
        assert_eq!(split(&limited(-1), "", "  "), [""; 0]);
        assert_eq!(split(&limited(0), "", " a b "), [" a b "]);
    }

    #[test]
    fn split_returns_a_sparse_tensor() {
        let strings = Tensor::strings(Shape::new(&[3]), vec!["a b".into(), "".into(), "c".into()]).unwrap();
        let kernel = StringSplit::AtAny { skips_empty: true };
        let outputs = run(&kernel, &[strings.clone(), Tensor::string(" ")]).unwrap();
        assert_eq!(outputs[0].values::<i64>().unwrap(), [0, 0, 0, 1, 2, 0]);
        assert_eq!(outputs[1].string_values(), ["a", "b", "c"]);
        assert_eq!(outputs[2].values::<i64>().unwrap(), [3, 2]);
        assert_eq!(
            error_text(&kernel, &[Tensor::string(""), Tensor::string("")]),
            "InvalidArgument: input must be a vector, got shape: []"
        );
        assert_eq!(
            error_text(&kernel, &[strings.clone(), strings]),
            "InvalidArgument: delimiter must be a scalar, got shape: [3]"
        );
    }

    proptest! {
        #[test]
        fn splitting_matches_the_standard_library(text in "[ab,]{0,9}") {
            let whole = StringSplit::AtWhole { limit: -1 };
            prop_assert_eq!(split(&whole, "a,", &text), text.split("a,").collect::<Vec<_>>());
            let any = StringSplit::AtAny { skips_empty: true };
            let expected: Vec<_> = text.split(['a', ',']).filter(|part| !part.is_empty()).collect();
            prop_assert_eq!(split(&any, "a,", &text), expected);
        }
    }
}
