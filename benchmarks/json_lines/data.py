"""JSON lines of about 600 bytes with four keys: two numbers, a title and a text."""

import json
from pathlib import Path

import numpy as np

from benchmarks.json_lines.work import files_of, sums_of

NUM_WORDS = 50_000
TITLE, TEXT = (20, 40), (440, 560)
"""The least and the largest number of letters."""


def make(home: Path, count: int) -> list[int]:
    """Writes lines into files; returns sums over them."""
    rng = np.random.default_rng(11)
    letters = rng.integers(ord("a"), ord("z") + 1, (NUM_WORDS, 8), dtype=np.uint8)
    letters[np.arange(8) >= rng.integers(2, 8, NUM_WORDS)[:, np.newaxis]] = ord(" ")
    words = " ".join(letters.tobytes().decode().split())
    files = files_of(home)
    totals = np.zeros(3, np.int64)
    bounds = np.linspace(0, count, len(files) + 1).astype(int).tolist()
    for name, begin, end in zip(files, bounds, bounds[1:], strict=False):
        size = end - begin
        lengths = [rng.integers(*bound, size).tolist() for bound in (TITLE, TEXT)]
        positions = rng.integers(0, len(words) - TEXT[1], (2, size)).tolist()
        scores = rng.random(size).tolist()
        titles, texts = (
            [words[position : position + length] for position, length in zip(*pair, strict=True)]
            for pair in zip(positions, lengths, strict=True)
        )
        with open(name, "w") as file:
            for number, score, title, text in zip(
                range(begin, end), scores, titles, texts, strict=True
            ):
                line = {"id": number, "score": score, "title": title, "text": text}
                file.write(f"{json.dumps(line)}\n")
        totals += sums_of((np.arange(begin, end), texts))[1:]
    return totals.tolist()
