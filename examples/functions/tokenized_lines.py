"""Tokenizes lines with Hugging Face's `tokenizers`, and batches them by length.

The program trains a tokenizer on the same lines. To load one, use
`Tokenizer.from_file("tokenizer.json")`. For such short lines, the tokenizer holds the GIL, so
processes help. Needs tokenizers.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from callers import compare
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import headrace as hr

WORDS = ["queue", "thread", "batch", "record", "shard", "epoch", "of", "the", "a", "is", "reads"]


def lines(count: int) -> list[str]:
    """Returns lines of random words."""
    rng = np.random.default_rng(1)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 60))) for _ in range(count)]


class Tokenize:
    """Converts a line to tokens. It can be pickled, so worker processes can use it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def __call__(self, example: dict[str, Any]) -> dict[str, Any]:
        """Returns the token ids: int32, (tokens,)."""
        return {"tokens": np.array(self.tokenizer.encode(example["text"].decode()).ids, np.int32)}


def learned(texts: list[str]) -> Tokenizer:
    """Returns a tokenizer that was trained on these texts."""
    tokenizer = Tokenizer(models.BPE(unk_token="[?]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(vocab_size=60, special_tokens=["[?]"], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        texts = lines(4_000)
        (Path(folder) / "lines.txt").write_text("\n".join(texts) + "\n")
        tokenize = Tokenize(learned(texts))
        source = hr.text_lines(Path(folder) / "lines.txt").shuffle(seed=1)
        compare(lambda callers: source.map(tokenize, **callers).padded_batch(100), __doc__)
