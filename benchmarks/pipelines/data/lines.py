"""Text files: lines of about 30 bytes, of words as unevenly frequent as those of a language."""

import numpy as np

from benchmarks.pipelines import dataset

NUM_PARTS = 8
PART_COUNT = 250_000
NUM_WORDS = 5_000


def make() -> None:
    """Writes 2,000,000 lines into 8 files."""
    rng = np.random.default_rng(5)
    letters = rng.integers(ord("a"), ord("z") + 1, (NUM_WORDS, 8), dtype=np.uint8)
    words = [
        row[:length].tobytes()
        for row, length in zip(letters, rng.integers(2, 9, NUM_WORDS), strict=True)
    ]
    parts = []
    for number in range(NUM_PARTS):
        ends = rng.integers(2, 9, PART_COUNT).cumsum()
        chosen = [words[rank % NUM_WORDS] for rank in rng.zipf(1.3, ends[-1]).tolist()]
        starts = [0, *ends[:-1].tolist()]
        texts = [b" ".join(chosen[i:j]) for i, j in zip(starts, ends.tolist(), strict=True)]
        name = f"lines-{number}.txt"
        (dataset.ROOT / "lines" / name).write_bytes(b"\n".join(texts) + b"\n")
        parts.append(dataset.Part([name], PART_COUNT, [sum(map(len, texts))]))
    dataset.write("lines", parts)
