"""Lines become tokens by a tokenizer of Hugging Face's `tokenizers`, in batches of similar lengths.

The tokenizer is learned from the lines themselves; `Tokenizer.from_file("tokenizer.json")` loads
one. It keeps Python's lock for a line of this length, so processes help. Needs tokenizers.
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
    """Turns a line into tokens. It can be sent to a worker process, as the tokenizer can."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def __call__(self, example: dict[str, Any]) -> dict[str, Any]:
        """Returns the numbers of the tokens: int32, (tokens,)."""
        return {"tokens": np.array(self.tokenizer.encode(example["text"].decode()).ids, np.int32)}


def learned(texts: list[str]) -> Tokenizer:
    """Returns a tokenizer for texts."""
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
