//! `Tokenize`: splits a text into tokens, as specified by the content of a `tokenizer.json`.
//!
//! Source: the crate `tokenizers`, on which the PyPI package of the same name is based.
//!
//! Like that package, it uses Oniguruma. `fancy-regex` would not need a C compiler, but patterns in
//! a `tokenizer.json` are written for Oniguruma. And if `fancy-regex` gives up on a text (after a
//! million backtracking steps), the crate silently leaves the rest in one piece. Oniguruma panics
//! in that case, which is turned into an error here.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::strings::word_tokens::WordTokenizer;
use crate::run::{Run, catch_library_panic};
use crate::sync::{Arc, Mutex};
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::shape::Shape;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;
use std::sync::OnceLock;
use tokenizers::utils::parallelism::set_parallelism;
use tokenizers::{ModelWrapper, Tokenizer};

/// The maximum memory that the crate needs per byte of text, measured with one-byte words.
const BYTES_FOR_BYTE: usize = 250;

/// Maps `text`, a scalar UTF-8 string, to an int32 vector of its tokens.
pub struct Tokenize {
    path: String,
    tokenizer: Arc<WordTokenizer>,
    adds_special_tokens: bool,
}

/// A hash of a file's content and of the options.
type Key = (u128, bool, bool);

/// A `tokenizer.json`, and the operation that reads it, for errors.
pub struct TokenizerFile<'a> {
    /// The operation.
    pub op: &'static str,
    /// The path of the file.
    pub path: &'a str,
    /// Its content.
    pub content: &'a [u8],
}

/// A tokenizer with the key it was created for.
type KeyedTokenizer = (Key, Arc<WordTokenizer>);

impl Tokenize {
    /// Creates the kernel. Fails if the content is not a `tokenizer.json`, or if the tokenizer
    /// chooses tokens at random.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let path = String::from_utf8_lossy(attrs.bytes("path")?).into_owned();
        let options = (attrs.bool("truncation")?, attrs.bool("padding")?);
        let file = TokenizerFile { op: "tokenize", path: &path, content: attrs.bytes("content")? };
        let tokenizer = cached_tokenizer(&file, options)?;
        Ok(Self { path, tokenizer, adds_special_tokens: attrs.bool("add_special_tokens")? })
    }

    fn tokens(&self, text: &[u8]) -> Result<Vec<i32>> {
        let text = std::str::from_utf8(text).map_err(|error| {
            Error::invalid_argument(format!(
                "tokenize: the text is not UTF-8 at byte {}, expected UTF-8 text. Correct the record, or decode it \
                 first in a Python function",
                error.valid_up_to()
            ))
        })?;
        // The crate aborts the process if there is not enough memory.
        allocate::probe(text.len().saturating_mul(BYTES_FOR_BYTE)).map_err(|refusal| refusal.at("tokenize"))?;
        let failed = |reason: String| {
            Error::invalid_argument(format!("tokenize: {}: the text cannot be tokenized: {reason}", self.path))
        };
        // Oniguruma panics if a pattern takes too long.
        let ids = catch_library_panic(|| self.tokenizer.ids(text, self.adds_special_tokens))
            .map_err(failed)?
            .map_err(|error| failed(error.to_string()))?;
        let mut tokens = allocate::room(ids.len()).map_err(|refusal| refusal.at("tokenize"))?;
        for id in ids {
            tokens.push(i32::try_from(id).map_err(|_| failed(format!("the token ID {id} does not fit into int32")))?);
        }
        Ok(tokens)
    }
}

impl Kernel for Tokenize {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [text] = expect_inputs(&inputs)?;
        let tokens = self.tokens(text.string_scalar("input")?)?;
        Tensor::from_values(Shape::new(&[tokens.len()]), tokens).map(Step::one)
    }
}

/// Returns the tokenizer of a file, which truncates and pads if `options` allow it. All programs
/// with the same content share one, because its caches belong to threads and are skipped while
/// another thread is writing.
pub fn cached_tokenizer(file: &TokenizerFile<'_>, options: (bool, bool)) -> Result<Arc<WordTokenizer>> {
    // The most recently created one. A function is traced for several stages, and for a preview.
    static LAST: OnceLock<Mutex<Option<KeyedTokenizer>>> = OnceLock::new();
    let mut hasher = SipHasher13::new();
    hasher.write(file.content);
    let key = (hasher.finish128().as_u128(), options.0, options.1);
    let mut last = LAST.get_or_init(Mutex::default).lock();
    if let Some((_, tokenizer)) = last.as_ref().filter(|(other, _)| *other == key) {
        return Ok(Arc::clone(tokenizer));
    }
    let tokenizer = Arc::new(WordTokenizer::new(parsed(file, options)?));
    *last = Some((key, Arc::clone(&tokenizer)));
    Ok(tokenizer)
}

fn parsed(file: &TokenizerFile<'_>, (truncation, padding): (bool, bool)) -> Result<Tokenizer> {
    let TokenizerFile { op, path, content } = file;
    // Otherwise even padding starts one thread per core, and a forked process has none of them.
    set_parallelism(false);
    if let Some(detected) = crate::files::content::content(content) {
        return Err(Error::invalid_argument(format!(
            "{op}: {path}: the file is {detected}, expected a tokenizer.json. {}",
            detected.unpacked_remedy().trim_end_matches('.')
        )));
    }
    let refused = |reason: String| {
        Error::invalid_argument(format!(
            "{op}: {path}: the file is not a tokenizer.json: {reason}. Save the tokenizer with \
             Tokenizer.save(\"tokenizer.json\") from tokenizers, or save_pretrained from transformers"
        ))
    };
    let mut tokenizer = catch_library_panic(|| Tokenizer::from_bytes(content))
        .map_err(refused)?
        .map_err(|error| refused(error.to_string()))?;
    if let ModelWrapper::BPE(model) = tokenizer.get_model()
        && let Some(dropout) = model.dropout.filter(|share| *share > 0.0)
    {
        return Err(Error::invalid_argument(format!(
            "{op}: {path}: the model uses dropout {dropout}, which makes tokenization random. Set \"dropout\" to \
             null in the file"
        )));
    }
    if !truncation {
        tokenizer.with_truncation(None).map_err(|error| refused(error.to_string()))?;
    }
    if !padding {
        tokenizer.with_padding(None);
    }
    Ok(tokenizer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, run_one};

    const WORDS: &str = r#"{"version": "1.0", "truncation": {"direction": "Right", "max_length": 3,
        "strategy": "LongestFirst", "stride": 0}, "padding": null, "added_tokens": [],
        "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
        "decoder": null, "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1, "b": 2}, "unk_token": "[UNK]"}}"#;

    fn tokenize(content: &str, truncation: bool) -> Result<Tokenize> {
        Tokenize::from_attrs(&attrs([
            ("path", Attr::String("words/tokenizer.json".to_owned())),
            ("content", Attr::String(content.to_owned())),
            ("add_special_tokens", Attr::Bool(false)),
            ("truncation", Attr::Bool(truncation)),
            ("padding", Attr::Bool(true)),
        ]))
    }

    #[test]
    fn text_becomes_tokens() {
        for (truncation, expected) in [(true, &[2, 1, 0][..]), (false, &[2, 1, 0, 2])] {
            let kernel = tokenize(WORDS, truncation).unwrap();
            let tokens = run_one(&kernel, &[Tensor::string("B a c b")]).unwrap();
            assert_eq!(tokens.values::<i32>().unwrap(), expected);
        }
    }

    #[test]
    fn equal_tokenizer_files_share_one_tokenizer() {
        let (one, other) = (tokenize(WORDS, true).unwrap(), tokenize(WORDS, true).unwrap());
        let whole = tokenize(WORDS, false).unwrap();
        assert!(!Arc::ptr_eq(&one.tokenizer, &whole.tokenizer));
        // Another test may have created one between the two calls.
        assert_eq!(one.tokens(b"a b").unwrap(), other.tokens(b"a b").unwrap());
    }

    #[test]
    fn non_utf8_text_is_an_error() {
        let kernel = tokenize(WORDS, true).unwrap();
        let error = run_one(&kernel, &[Tensor::string(&b"ab\xff"[..])]).unwrap_err();
        assert!(error.message().contains("not UTF-8 at byte 2"), "{}", error.message());
    }

    #[test]
    fn error_for_a_non_tokenizer_file_names_its_path() {
        for content in ["", "{}", "[1]", "{\"model\": 3}"] {
            let error = tokenize(content, true).err().unwrap();
            assert!(
                error.message().contains("words/tokenizer.json: the file is not a tokenizer.json"),
                "{}",
                error.message()
            );
        }
    }
}
