//! Regular expressions over strings: `RegexReplace`, `RegexFullMatch`, and variants with a
//! constant pattern.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::sync::Mutex;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::text::re2::{Pattern, Rewrite, WholePattern};
use bytes::Bytes;
use std::sync::Arc;

/// Compiles a pattern.
type Compile<T> = fn(&[u8]) -> Result<T>;

/// Caches the most recently compiled pattern.
struct Cache<T> {
    compile: Compile<T>,
    /// Locked while a pattern is looked up or compiled, but not while it is used.
    last: Mutex<Option<(Bytes, Arc<T>)>>,
}

impl<T> Cache<T> {
    fn new(compile: Compile<T>) -> Self {
        Self { compile, last: Mutex::new(None) }
    }

    fn get(&self, pattern: &Bytes) -> Result<Arc<T>> {
        let mut last = self.last.lock();
        if let Some((_, compiled)) = last.as_ref().filter(|(other, _)| other == pattern) {
            return Ok(Arc::clone(compiled));
        }
        let compiled = Arc::new((self.compile)(pattern)?);
        *last = Some((Bytes::copy_from_slice(pattern), Arc::clone(&compiled)));
        Ok(compiled)
    }
}

/// Maps `(strings, pattern, rewrite)` to the strings with matches replaced.
///
/// Source: `tf.strings.regex_replace` in TensorFlow 1.15.
pub struct RegexReplace {
    patterns: Cache<Pattern>,
    is_global: bool,
}

/// [`RegexReplace`] with a constant pattern.
pub struct StaticRegexReplace {
    pattern: Pattern,
    rewrite: Rewrite,
    is_global: bool,
}

/// Maps `(strings, pattern)` to a bool per string, which is true if the pattern matches the entire
/// string.
///
/// Source: `tf.strings.regex_full_match` in TensorFlow 1.15.
pub struct RegexFullMatch(Cache<WholePattern>);

/// [`RegexFullMatch`] with a constant pattern.
pub struct StaticRegexFullMatch(WholePattern);

impl RegexReplace {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { patterns: Cache::new(Pattern::new), is_global: attrs.bool("replace_global")? })
    }
}

impl StaticRegexReplace {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self {
            pattern: Pattern::new(attrs.bytes("pattern")?)?,
            rewrite: Rewrite::new(attrs.bytes("rewrite")?)?,
            is_global: attrs.bool("replace_global")?,
        })
    }
}

impl Default for RegexFullMatch {
    fn default() -> Self {
        Self(Cache::new(WholePattern::new))
    }
}

impl StaticRegexFullMatch {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        WholePattern::new(attrs.bytes("pattern")?).map(Self)
    }
}

impl Kernel for RegexReplace {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [strings, pattern, rewrite] = expect_inputs(&inputs)?;
        let pattern = self.patterns.get(scalar(pattern, "Pattern")?)?;
        let rewrite = Rewrite::new(scalar(rewrite, "Rewrite")?)?;
        replace(strings, &pattern, &rewrite, self.is_global)
    }
}

impl Kernel for StaticRegexReplace {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [strings] = expect_inputs(&inputs)?;
        replace(strings, &self.pattern, &self.rewrite, self.is_global)
    }
}

impl Kernel for RegexFullMatch {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [strings, pattern] = expect_inputs(&inputs)?;
        let pattern = self.0.get(scalar(pattern, "Pattern")?)?;
        match_all(strings, &pattern)
    }
}

impl Kernel for StaticRegexFullMatch {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [strings] = expect_inputs(&inputs)?;
        match_all(strings, &self.0)
    }
}

fn scalar<'a>(tensor: &'a Tensor, what: &str) -> Result<&'a Bytes> {
    match (tensor.string_values(), tensor.shape().is_empty()) {
        ([value], true) => Ok(value),
        _ => Err(Error::invalid_argument(format!("{what} must be scalar, but received {}", tensor.shape()))),
    }
}

fn replace(strings: &Tensor, pattern: &Pattern, rewrite: &Rewrite, is_global: bool) -> Result<Step> {
    let change = |text: &Bytes| match pattern.replace(text, rewrite, is_global) {
        Ok(Some(mut changed)) => {
            changed.shrink_to_fit();
            Ok(changed.into())
        }
        Ok(None) => Ok(text.clone()),
        Err(refusal) => Err(refusal.at("a string whose matches are replaced")),
    };
    let changed = allocate::try_gathered_small("strings", strings.string_values().iter().map(change))?;
    Tensor::strings_from_small_vec(strings.shape().clone(), changed).map(Step::one)
}

fn match_all(strings: &Tensor, pattern: &WholePattern) -> Result<Step> {
    let matches = strings.string_values().iter().map(|text| u8::from(pattern.matches(text)));
    let matches = allocate::elements(DType::Bool, strings.shape()).collect(matches)?;
    Tensor::from_bytes(DType::Bool, strings.shape().clone(), matches.into()).map(Step::one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};
    use crate::tensor::shape::Shape;

    fn vector(values: &[&str]) -> Tensor {
        let values = values.iter().map(|value| Bytes::copy_from_slice(value.as_bytes())).collect();
        Tensor::strings(Shape::new(&[2]), values).unwrap()
    }

    fn replacing(is_global: bool) -> RegexReplace {
        RegexReplace::from_attrs(&attrs([("replace_global", Attr::Bool(is_global))])).unwrap()
    }

    #[test]
    fn matches_are_replaced_in_each_string() {
        let inputs = [vector(&["abab", "c"]), Tensor::string("(a)b"), Tensor::string(r"\1-")];
        assert_eq!(run_one(&replacing(true), &inputs).unwrap(), vector(&["a-a-", "c"]));
        let kernel = replacing(false);
        assert_eq!(run_one(&kernel, &inputs).unwrap(), vector(&["a-ab", "c"]));
        // A new pattern replaces the old one.
        let inputs = [vector(&["abab", "c"]), Tensor::string("c"), Tensor::string("d")];
        assert_eq!(run_one(&kernel, &inputs).unwrap(), vector(&["abab", "d"]));
    }

    #[test]
    fn pattern_is_compiled_once() {
        let cache = Cache::new(Pattern::new);
        let first = cache.get(&Bytes::from_static(b"a")).unwrap();
        assert!(Arc::ptr_eq(&first, &cache.get(&Bytes::copy_from_slice(b"a")).unwrap()));
        assert!(!Arc::ptr_eq(&first, &cache.get(&Bytes::from_static(b"b")).unwrap()));
        assert!(cache.get(&Bytes::from_static(b"(")).is_err());
    }

    #[test]
    fn constant_pattern_is_compiled_with_the_kernel() {
        let string = |text: &str| Attr::String(text.to_owned());
        let attributes = attrs([
            ("pattern", string("b+")),
            ("rewrite", Attr::Bytes(b"\xff".to_vec())),
            ("replace_global", Attr::Bool(true)),
        ]);
        let kernel = StaticRegexReplace::from_attrs(&attributes).unwrap();
        let expected = Tensor::string(&b"a\xffc"[..]);
        assert_eq!(run_one(&kernel, &[Tensor::string("abbc")]).unwrap(), expected);
        let kernel = StaticRegexFullMatch::from_attrs(&attributes).unwrap();
        let expected = Tensor::from_bytes(DType::Bool, Shape::new(&[2]), vec![1, 0].into()).unwrap();
        assert_eq!(run_one(&kernel, &[vector(&["bb", "ab"])]).unwrap(), expected);
        let error = StaticRegexFullMatch::from_attrs(&attrs([("pattern", string("("))])).map(drop).unwrap_err();
        assert!(error.message().starts_with("Invalid pattern: (, error: missing ): (. Use RE2"), "{error:?}");
    }

    #[test]
    fn patterns_and_rewrites_must_be_scalars() {
        let (one, two) = (Tensor::string("a"), vector(&["a", "b"]));
        let text = error_text(&replacing(true), &[one.clone(), two.clone(), one.clone()]);
        assert_eq!(text, "InvalidArgument: Pattern must be scalar, but received [2]");
        let text = error_text(&replacing(true), &[one.clone(), one.clone(), two.clone()]);
        assert_eq!(text, "InvalidArgument: Rewrite must be scalar, but received [2]");
        let text = error_text(&RegexFullMatch::default(), &[one, two]);
        assert_eq!(text, "InvalidArgument: Pattern must be scalar, but received [2]");
    }
}
