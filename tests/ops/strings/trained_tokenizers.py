"""Small tokenizers of each kind, trained with the Python package, and texts with rare cases."""

# ruff: noqa: RUF001 (the texts have letters that look alike)

import json
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from tests.ops.strings.charsmaps import charsmap, rules
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

# The text that the models are trained on.
_LEARNED = [
    "The water goes on, and the water's way isn't ours; we'll see 12345 things.",
    "Die Flüsse fließen – über Äcker, Öl und Übung: 3,14 €.",
    "Река течёт дальше, и вода шумит.",
    "水は流れ続ける。川の水、海の水。",
    "الماء يجري دائما",
    "नदी बहती रहती है",
    "def water(self, n=0):\n    return [n ** 2 for n in range(10)]\n",
    "🌊🌊 👩‍👩‍👧‍👦 e\u0301 ﬁ ½ Ⅷ",
]
SPECIAL = ["<|end|>", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "<s>", "</s>", "<unk>"]
# As in GPT-4 and Llama 3.
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

CORNERS = [
    "",
    " ",
    "\n",
    "\t \u00a0\u2003\u3000 \u200b\ufeff",
    "a\x00b\x01\x1f\x7f\x80\x9f",
    "line\r\nline\rline\u2028line\u2029line\x85line\x0b\x0c",
    "e\u0301\u0302\u0303 \u0301 a\u0338 q\u0307\u0323 q\u0323\u0307",
    "Å Å Å ﬁ ﬀ ½ ② Ⅷ ㎏ ㍿ ｶﾞ ガ",
    "\u1100\u1161\u11a8 각 \u1100\u1161 \ud7a3",
    "İstanbul ıI ß ẞ ΑΣ ας Ǆ ǅ ǆ",
    "👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 👍🏽 ☺︎ ☺️ #️⃣",
    "\u202eabc\u202c \u2066x\u2069 \u061c عربى עברית\u05b7",
    "\ufdd0\ufffe\uffff\U0001ffff\U0010ffff \ufffd \ue000\U000f0000",
    "𝒳𝟘 𐍈 𠜎 𐀀 \U0001d15e \U000e0001\U000e0041",
    "1234567 ١٢٣ १२३ ⅓ 10²³ 1,000.5e-7 0x1F",
    "don't DON'T we'LL I'ſ 'S 's''t",
    "a" * 3000,
    " " * 3000 + "x",
    "x" + "\n" * 1000 + " \n" * 500,
    "▁ ▁▁a ▁▁▁ Ġ Ċ ĠĠ",
    "<|end|> x<|end|>y <|end|><|end|> [MASK]s [MASK] </s><s> <|end |>",
    "##ing ing## ## @@ </w>",
    *_LEARNED,
]


def _bpe(tokenizer: Tokenizer, alphabet: list[str], size: int = 700) -> None:
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(_LEARNED * 3, trainer)


def _gpt2() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    _bpe(tokenizer, pre_tokenizers.ByteLevel.alphabet())
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return tokenizer


def _llama3() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    _bpe(tokenizer, pre_tokenizers.ByteLevel.alphabet())
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    return tokenizer


def _byte_fallback() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    _bpe(tokenizer, [], 400)
    # The vocabulary contains tokens for bytes, as in SentencePiece files.
    content = json.loads(tokenizer.to_str())
    vocabulary = content["model"]["vocab"]
    for byte in range(256):
        vocabulary.setdefault(f"<0x{byte:02X}>", len(vocabulary))
    return Tokenizer.from_str(json.dumps(content))


def _bert() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=500, special_tokens=SPECIAL, show_progress=False)
    tokenizer.train_from_iterator(_LEARNED * 3, trainer)
    ids = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=ids
    )
    return tokenizer


def _unigram() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(_LEARNED * 3, trainer)
    return tokenizer


def _words() -> Tokenizer:
    """Every pre-tokenizer and normalizer that looks at classes of characters, one after another."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Whitespace(),
            pre_tokenizers.Punctuation(),
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.UnicodeScripts(),
        ]
    )
    trainer = trainers.WordLevelTrainer(special_tokens=SPECIAL, show_progress=False)
    tokenizer.train_from_iterator(_LEARNED, trainer)
    return tokenizer


def _clip() -> Tokenizer:
    """BPE that marks the last piece of a word, as in CLIP."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    words = Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(words, "removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        end_of_word_suffix="</w>",
        show_progress=False,
    )
    tokenizer.train_from_iterator(_LEARNED * 3, trainer)
    return tokenizer


def _unigram_of_bytes() -> Tokenizer:
    """A unigram model that falls back to bytes, after the other normalizers, as in Gemma and T5."""
    pieces = [("<unk>", 0.0), *((f"<0x{byte:02X}>", -9.0) for byte in range(256))]
    words = {word for text in _LEARNED for word in text.split()}
    pieces += [(f"▁{word}", -4.0 - len(word) / 100) for word in sorted(words)]
    pieces += [(letter, -6.0) for letter in sorted(set("▁" + "".join(words)) - {"▁"})]
    tokenizer = Tokenizer(models.Unigram([*pieces, ("▁", -5.0)], 0, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKD(), normalizers.Strip(), normalizers.StripAccents()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    return tokenizer


def _t5() -> Tokenizer:
    """A unigram model behind a map of characters, as T5 and XLM-R have after their conversion."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(charsmap(rules(folds_case=False))),
            normalizers.Strip(left=False, right=True),
            normalizers.Replace(Regex(" {2,}"), "▁"),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(_LEARNED * 3, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", tokenizer.token_to_id("</s>"))]
    )
    return tokenizer


def _folded() -> Tokenizer:
    """BPE with bytes behind a map of characters that folds case, as in ALBERT and Marian."""
    tokenizer = _byte_fallback()
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace("``", '"'),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Precompiled(charsmap(rules(folds_case=True))),
            normalizers.Replace(Regex(r"\A +| +\z"), ""),
            normalizers.Replace(" ", "▁"),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
            pre_tokenizers.Split(Regex(r"<\|end\|>"), "isolated"),
        ]
    )
    return tokenizer


def _added() -> Tokenizer:
    """Byte-level BPE with various added tokens."""
    tokenizer = _gpt2()
    tokenizer.add_tokens(
        [
            AddedToken("water way", single_word=True),
            AddedToken("<left>", lstrip=True),
            AddedToken("<right>", rstrip=True, normalized=False),
            "水の",
        ]
    )
    tokenizer.add_special_tokens([AddedToken("<|extra|>", lstrip=True, rstrip=True)])
    return tokenizer


def _composed() -> Tokenizer:
    """Byte-level BPE of texts in NFC with various added tokens, as in Qwen."""
    tokenizer = _llama3()
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=True)
    tokenizer.add_tokens(
        [
            AddedToken("water way", single_word=True),
            AddedToken("<left>", lstrip=True),
            AddedToken("<right>", rstrip=True, normalized=False),
            "水の",
            "e\u0301",
        ]
    )
    return tokenizer


def _several_splits() -> Tokenizer:
    """Byte-level BPE of words that are split several times, as in DeepSeek."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated"),
            pre_tokenizers.Split(Regex(r"[一-龥぀-ゟ゠-ヿ]+"), "isolated", invert=True),
            pre_tokenizers.Split(Regex(r"\s?\p{L}+|\s?[^\s\p{L}]+"), "removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    _bpe(tokenizer, pre_tokenizers.ByteLevel.alphabet())
    return tokenizer


KINDS: dict[str, Callable[[], Tokenizer]] = {
    "gpt2": _gpt2,
    "llama3": _llama3,
    "byte fallback": _byte_fallback,
    "bert": _bert,
    "unigram": _unigram,
    "words": _words,
    "clip": _clip,
    "unigram of bytes": _unigram_of_bytes,
    "map of characters": _t5,
    "map of folded characters": _folded,
    "added tokens": _added,
    "composed": _composed,
    "several splits": _several_splits,
}


def saved(kind: str, directory: Path) -> Path:
    """Trains a tokenizer and returns the path of its file."""
    path = directory / f"{kind.replace(' ', '_')}.json"
    KINDS[kind]().save(str(path))
    return path


def all_characters() -> Iterator[str]:
    """Yields texts that have each character of Unicode between letters.

    Of planes that no version of Unicode has used, each hundredth one.
    """
    used = (*range(0xD800), *range(0xE000, 0x40000), *range(0xE0000, 0xE1000))
    points = [*used, *range(0x40000, 0xE0000, 100), *range(0xE1000, sys.maxunicode, 100)]
    for begin in range(0, len(points), 512):
        yield "".join(f"a{chr(point)} " for point in points[begin : begin + 512])


def odd_texts(seed: int = 0, num_texts: int = 120) -> Iterator[str]:
    """Yields random texts of characters that interact with their neighbours, in each normal form.

    They contain combining marks, joiners, variation selectors, direction marks, jamo, flags and
    skin tones, characters next to the surrogates, and unassigned code points.
    """
    random = Random(seed)
    by_category: dict[str, list[str]] = {}
    for point in (*range(0xD800), *range(0xE000, 0x32000), *range(0xE0000, 0xE0200)):
        by_category.setdefault(unicodedata.category(chr(point)), []).append(chr(point))
    pools = [
        *by_category.values(),
        [*"\u200b\u200c\u200d\u2060\ufe0e\ufe0f\u034f\u20e3", chr(0xE0100)],
        [chr(point) for point in (*range(0x1F1E6, 0x1F200), *range(0x1F3FB, 0x1F400))],
        [chr(point) for point in (*range(0x1100, 0x1200), *range(0xAC00, 0xAC40))],
        [*"\ud7ff\ue000\ufffe\uffff\U0001fffe\U0010fffd\U0010ffff"],
        [*"abc AB 12 .,'-_ \n\t"],
    ]
    for number in range(num_texts):
        length = random.randint(1, 60)
        text = "".join(random.choice(random.choice(pools)) for _ in range(length))
        yield unicodedata.normalize(("NFC", "NFD", "NFKC", "NFKD")[number % 4], text)
        yield text
