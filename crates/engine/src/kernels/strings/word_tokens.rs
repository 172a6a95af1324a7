//! A tokenizer that remembers the tokens of words.
//!
//! The crate `tokenizers` records where each byte of a text came from, and copies each word several
//! times. In byte-level BPE, the tokens of a word don't depend on the words around it, so the crate
//! needs to compute them only once per word.

use std::collections::HashMap;
use std::sync::RwLock;
use tokenizers::pattern::Pattern;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{
    Encoding, Model, ModelWrapper, NormalizerWrapper, OffsetReferential, OffsetType, PostProcessorWrapper,
    PreTokenizedString, PreTokenizer, PreTokenizerWrapper, Result, SplitDelimiterBehavior, Tokenizer,
};
use unicode_normalization_alignments::{IsNormalized, is_nfc_quick};

/// The maximum number of words that a tokenizer remembers. They need about 10 MB.
const MOST_WORDS: usize = 1 << 16;
/// Longer words are rarely repeated.
const MOST_BYTES: usize = 48;
/// The pattern of `ByteLevel` with `use_regex`.
const GPT2_PATTERN: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// Tokens and the bytes of the text that each of them comes from.
#[derive(Debug, Default, PartialEq)]
pub struct Encoded {
    /// The token numbers.
    pub ids: Vec<u32>,
    /// The first byte of each token, and the byte after the last one.
    pub offsets: Vec<(usize, usize)>,
}

/// The tokens of words.
type KnownWords = HashMap<Box<str>, Encoded>;

/// A tokenizer of the crate `tokenizers`, with the same results.
pub struct WordTokenizer {
    tokenizer: Tokenizer,
    /// `None` if the tokens of a word may depend on other words.
    words: Option<Words>,
}

/// How a tokenizer treats each word, and the words that it remembers.
struct Words {
    splits: Vec<Split>,
    bytes: ByteLevel,
    /// True if texts are converted to NFC first.
    is_composed: bool,
    /// All threads read it. A thread that cannot lock it at once goes on without it, because a fork
    /// may copy a lock that another thread holds.
    known: RwLock<KnownWords>,
}

impl WordTokenizer {
    /// Wraps a tokenizer.
    pub fn new(tokenizer: Tokenizer) -> Self {
        let words = Words::of(&tokenizer);
        Self { tokenizer, words }
    }

    /// The tokenizer of the crate.
    pub fn library(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// The tokens of a text, without special tokens around it.
    pub fn encode(&self, text: &str) -> Result<Encoded> {
        match self.by_words(text)? {
            Some(encoded) => Ok(encoded),
            None => Ok(self.tokenizer.encode(text, false)?.into()),
        }
    }

    /// The token numbers of a text.
    pub fn ids(&self, text: &str, adds_special_tokens: bool) -> Result<Vec<u32>> {
        let Some(Encoded { ids, .. }) = self.by_words(text)? else {
            return Ok(self.tokenizer.encode_fast(text, adds_special_tokens)?.get_ids().to_vec());
        };
        if !adds_special_tokens {
            return Ok(ids);
        }
        let encoding: Encoding = ids.into_iter().map(|id| (id, String::new(), (0, 0), None, 0)).collect();
        Ok(self.tokenizer.post_process(encoding, None, true)?.get_ids().to_vec())
    }

    fn by_words(&self, text: &str) -> Result<Option<Encoded>> {
        let Some(words) = self.words.as_ref().filter(|words| words.accepts(text)) else { return Ok(None) };
        let Ok(known) = words.known.try_read() else { return Ok(None) };
        let (mut encoded, mut new) = (Encoded::default(), KnownWords::new());
        let pieces = self.tokenizer.get_added_vocabulary().extract_and_normalize(None::<&NormalizerWrapper>, text);
        for (piece, (start, _), tokens) in pieces.get_splits(OffsetReferential::Original, OffsetType::Byte) {
            if let Some(tokens) = tokens {
                encoded.extend(start, &self.finished(Encoding::from_tokens(tokens.clone(), 0))?);
                continue;
            }
            words.split(piece, &words.splits, start, &mut |word, start| {
                if let Some(tokens) = known.get(word).or_else(|| new.get(word)) {
                    encoded.extend(start, tokens);
                } else {
                    let tokens = self.tokens_of(word, &words.bytes)?;
                    encoded.extend(start, &tokens);
                    new.insert(word.into(), tokens);
                }
                Ok(())
            })?;
        }
        let room = MOST_WORDS.saturating_sub(known.len());
        drop(known);
        if room > 0
            && !new.is_empty()
            && let Ok(mut known) = words.known.try_write()
        {
            known.extend(new.into_iter().filter(|(word, _)| word.len() <= MOST_BYTES).take(room));
        }
        Ok(Some(encoded))
    }

    fn tokens_of(&self, word: &str, bytes: &ByteLevel) -> Result<Encoded> {
        let mut pieces = PreTokenizedString::from(word);
        bytes.pre_tokenize(&mut pieces)?;
        pieces.tokenize(|piece| self.tokenizer.get_model().tokenize(piece.get()))?;
        self.finished(pieces.into_encoding(None, 0, OffsetType::Byte)?)
    }

    fn finished(&self, encoding: Encoding) -> Result<Encoded> {
        Ok(self.tokenizer.post_process(encoding, None, false)?.into())
    }
}

impl Words {
    /// `None` if the tokens of a word may depend on other words, or if texts are changed or cut.
    fn of(tokenizer: &Tokenizer) -> Option<Self> {
        let is_composed = match tokenizer.get_normalizer() {
            None => false,
            Some(NormalizerWrapper::NFC(_)) => true,
            Some(_) => return None,
        };
        let is_whole = tokenizer.get_truncation().is_none() && tokenizer.get_padding().is_none();
        let is_bpe = matches!(tokenizer.get_model(), ModelWrapper::BPE(_));
        let is_local = tokenizer.get_post_processor().is_none_or(is_local);
        // A template may repeat a text.
        let two: Encoding = [0, 1].into_iter().map(|id| (id, String::new(), (0, 0), None, 0)).collect();
        if !is_whole || !is_bpe || !is_local || tokenizer.post_process(two, None, false).ok()?.get_ids() != [0, 1] {
            return None;
        }
        let pre_tokenizer = std::slice::from_ref(tokenizer.get_pre_tokenizer()?);
        let steps = match pre_tokenizer {
            [PreTokenizerWrapper::Sequence(steps)] => steps.as_ref(),
            _ => pre_tokenizer,
        };
        let (PreTokenizerWrapper::ByteLevel(bytes), steps) = steps.split_last()? else { return None };
        let mut splits = steps.iter().map(independent_split).collect::<Option<Vec<_>>>()?;
        if bytes.add_prefix_space {
            return None;
        }
        if bytes.use_regex {
            let pattern = SplitPattern::Regex(GPT2_PATTERN.to_owned());
            splits.push(Split::new(pattern, SplitDelimiterBehavior::Isolated, false).ok()?);
        }
        Some(Self { splits, bytes: bytes.use_regex(false), is_composed, known: RwLock::default() })
    }

    /// True if the normalizer does not change the text.
    fn accepts(&self, text: &str) -> bool {
        !self.is_composed || is_nfc_quick(text.chars()) == IsNormalized::Yes
    }

    /// Calls a function with each word and its first byte.
    fn split(
        &self,
        text: &str,
        splits: &[Split],
        start: usize,
        each: &mut impl FnMut(&str, usize) -> Result<()>,
    ) -> Result<()> {
        let Some((split, others)) = splits.split_first() else { return each(text, start) };
        let removes = split.behavior == SplitDelimiterBehavior::Removed;
        for ((first, end), is_match) in (&split.regex).find_matches(text)? {
            if first < end && !(removes && is_match != split.invert) {
                self.split(&text[first..end], others, start + first, each)?;
            }
        }
        Ok(())
    }
}

impl Encoded {
    /// Appends the tokens of a word that begins at this byte.
    fn extend(&mut self, start: usize, word: &Self) {
        self.ids.extend_from_slice(&word.ids);
        self.offsets.extend(word.offsets.iter().map(|(first, end)| (start + first, start + end)));
    }
}

impl From<Encoding> for Encoded {
    fn from(encoding: Encoding) -> Self {
        Self { ids: encoding.get_ids().to_vec(), offsets: encoding.get_offsets().to_vec() }
    }
}

/// The step, if it only splits texts at the matches of a pattern.
fn independent_split(step: &PreTokenizerWrapper) -> Option<Split> {
    use SplitDelimiterBehavior::{Isolated, Removed};
    match step {
        PreTokenizerWrapper::Split(split) if matches!(split.behavior, Isolated | Removed) => Some(split.clone()),
        _ => None,
    }
}

/// True if a processor changes each token on its own.
fn is_local(processor: &PostProcessorWrapper) -> bool {
    match processor {
        // If a space is added to texts, the first token keeps its offsets.
        PostProcessorWrapper::ByteLevel(bytes) => !bytes.trim_offsets || !bytes.add_prefix_space,
        PostProcessorWrapper::Template(_) => true,
        PostProcessorWrapper::Sequence(steps) => (0..).map_while(|index| steps.get(index)).all(is_local),
        PostProcessorWrapper::Roberta(_) | PostProcessorWrapper::Bert(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const TEXTS: [&str; 9] = [
        "",
        "the water, the  water\n the",
        "it's <left> the<end> thé water e\u{301} 水 🌊🌊",
        "  <end><end>\tthe 123456",
        "e\u{301}\u{323} \u{1100}\u{1161} \u{344}",
        "the <end",
        "\u{a0}\u{2003} the \r\n\r\n x",
        "水の水の 水の",
        "the water, the  water\n the",
    ];

    /// Byte-level BPE with a few merges and added tokens.
    fn tokenizer(pre_tokenizer: &Value, normalizer: &Value, post_processor: &Value) -> Tokenizer {
        let mut letters: Vec<_> = ByteLevel::alphabet().into_iter().map(String::from).collect();
        letters.sort();
        let merges = [["t", "h"], ["th", "e"], ["Ġ", "the"], ["w", "a"], ["æ", "°"], ["æ°", "´"], ["Ġ", "Ġ"]];
        letters.extend(merges.iter().map(|[one, other]| format!("{one}{other}")));
        let vocabulary: serde_json::Map<_, _> =
            letters.into_iter().enumerate().map(|(id, token)| (token, id.into())).collect();
        let added = |id: usize, token: &str, left: bool| {
            json!({"id": id, "content": token, "single_word": false, "lstrip": left, "rstrip": false,
                "normalized": left, "special": !left})
        };
        let file = json!({"version": "1.0", "truncation": null, "padding": null, "decoder": null,
            "added_tokens": [added(300, "<end>", false), added(301, "<left>", true)],
            "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": post_processor,
            "model": {"type": "BPE", "vocab": vocabulary, "merges": merges}});
        Tokenizer::from_bytes(file.to_string()).unwrap()
    }

    fn bytes(add_prefix_space: bool, trim_offsets: bool, use_regex: bool) -> Value {
        json!({"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": trim_offsets,
            "use_regex": use_regex})
    }

    fn split(pattern: &str, behavior: &str, invert: bool) -> Value {
        json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert})
    }

    fn assert_like_the_library(tokenizer: Tokenizer) {
        let library = tokenizer.clone();
        let words = WordTokenizer::new(tokenizer);
        for text in TEXTS {
            assert_eq!(words.encode(text).unwrap(), library.encode(text, false).unwrap().into(), "{text:?}");
            for adds in [false, true] {
                assert_eq!(words.ids(text, adds).unwrap(), library.encode(text, adds).unwrap().get_ids(), "{text:?}");
            }
        }
        let num_known = words.words.as_ref().unwrap().known.read().unwrap().len();
        assert!(num_known > 5);
    }

    #[test]
    fn tokens_and_offsets_are_those_of_the_library() {
        let template = json!({"type": "TemplateProcessing", "pair": [],
            "single": [{"SpecialToken": {"id": "<end>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "special_tokens": {"<end>": {"id": "<end>", "ids": [300], "tokens": ["<end>"]}}});
        let both = json!({"type": "Sequence", "processors": [bytes(false, true, true), template]});
        let sequence = |steps: &[Value]| json!({"type": "Sequence", "pretokenizers": steps});
        let words = split(r"\p{N}{1,3}| ?[^\s\p{N}]+|\s+(?!\S)|\s+", "Isolated", false);
        let kept = split(r"\p{L}+|\p{N}", "Removed", true);
        let spaces = split(r"\s+", "Removed", false);
        let nfc = json!({"type": "NFC"});
        for normalizer in [&Value::Null, &nfc] {
            for post_processor in [&Value::Null, &both, &template, &bytes(true, false, true)] {
                for pre_tokenizer in [
                    bytes(false, false, true),
                    sequence(&[words.clone(), bytes(false, true, false)]),
                    sequence(&[spaces.clone(), kept.clone(), bytes(false, true, true)]),
                ] {
                    assert_like_the_library(tokenizer(&pre_tokenizer, normalizer, post_processor));
                }
            }
        }
    }

    #[test]
    fn words_that_depend_on_others_are_left_to_the_library() {
        let twice = json!({"type": "TemplateProcessing", "pair": [], "special_tokens": {},
            "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]});
        let merged = json!({"type": "Sequence",
            "pretokenizers": [split(" ", "MergedWithPrevious", false), bytes(false, false, false)]});
        let plain = bytes(false, false, true);
        for (pre_tokenizer, normalizer, post_processor) in [
            (&plain, &json!({"type": "Lowercase"}), &Value::Null),
            (&plain, &Value::Null, &twice),
            (&plain, &Value::Null, &bytes(true, true, true)),
            (&bytes(true, false, true), &Value::Null, &Value::Null),
            (&merged, &Value::Null, &Value::Null),
            (&Value::Null, &Value::Null, &Value::Null),
        ] {
            let tokenizer = tokenizer(pre_tokenizer, normalizer, post_processor);
            let expected = tokenizer.encode(TEXTS[2], false).unwrap().into();
            let words = WordTokenizer::new(tokenizer);
            assert!(words.words.is_none());
            assert_eq!(words.encode(TEXTS[2]).unwrap(), expected);
        }
    }

    #[test]
    fn locked_words_are_not_waited_for() {
        let library = tokenizer(&bytes(false, false, true), &Value::Null, &Value::Null);
        let words = WordTokenizer::new(library.clone());
        let known = &words.words.as_ref().unwrap().known;
        let lock = known.write().unwrap();
        assert_eq!(words.encode(TEXTS[1]).unwrap(), library.encode(TEXTS[1], false).unwrap().into());
        drop(lock);
        assert!(known.read().unwrap().is_empty());
    }
}
