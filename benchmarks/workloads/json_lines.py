"""W11: two of four keys of JSON lines, in shuffled batches."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.dataset import bounds_of
from benchmarks.libraries import datasets_stream, polars_slices, text_bytes
from benchmarks.manual_loaders import epochs_of, lines_of, shuffled
from benchmarks.workload import BY_HAND, Part, Workload

WINDOW = 10_000
BATCH_SIZE = 256
NUM_FILES = 8
NUMBER, TEXT = "id", "text"
"""The keys to read, out of four."""
NUM_WORDS = 50_000
TITLE_LENGTHS, TEXT_LENGTHS = (20, 40), (440, 560)
"""The smallest and largest number of letters."""


def make(home: Path, count: int) -> list[Part]:
    """Writes lines of about 600 bytes with four keys: two numbers, a title and text."""
    rng = np.random.default_rng(11)
    letters = rng.integers(ord("a"), ord("z") + 1, (NUM_WORDS, 8), dtype=np.uint8)
    letters[np.arange(8) >= rng.integers(2, 8, NUM_WORDS)[:, np.newaxis]] = ord(" ")
    words = " ".join(letters.tobytes().decode().split())
    totals = np.zeros(3, np.int64)
    for name, (begin, end) in zip(files_of(home), bounds_of(count, NUM_FILES), strict=True):
        size = end - begin
        lengths = [rng.integers(*bound, size).tolist() for bound in (TITLE_LENGTHS, TEXT_LENGTHS)]
        positions = rng.integers(0, len(words) - TEXT_LENGTHS[1], (2, size)).tolist()
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
    return [Part([], count, totals.tolist())]


def files_of(home: Path) -> list[str]:
    """Returns the files of a directory of data."""
    return [str(home / f"lines-{number}.jsonl") for number in range(NUM_FILES)]


def sums_of(batch: Any) -> list[int]:
    """Sums numbers, int64, (n,), and text lengths, in any form that `text_bytes` accepts."""
    numbers, texts = batch
    wide = np.asarray(numbers)
    return [len(wide), int(wide.sum()), int(wide @ wide), text_bytes(texts)]


W11 = Workload(
    __name__,
    "W11",
    "json_lines",
    "JSON lines of 600 bytes, two of four keys: shuffle 10,000, two epochs, batches of 256",
    "lines",
    sums_of,
    count=500_000,
    make=make,
    num_epochs=2,
)


@W11.program(
    "headrace-objects",
    "headrace, strings as `str`",
    "`hr.json_lines`, a window; one thread for each core",
    strings="numpy",
)
@W11.program(
    "headrace",
    "headrace, Arrow strings",
    '`hr.json_lines`, a window, `options(strings="arrow")`; one thread for each core',
    strings="arrow",
)
def with_headrace(home: Path, num_epochs: int, strings: str) -> Iterable[Any]:
    import headrace as hr

    lines = hr.json_lines(files_of(home), {NUMBER: int, TEXT: str})
    pipeline = lines.shuffle(window=WINDOW, seed=1).epochs(num_epochs).batch(BATCH_SIZE)
    return ((batch[NUMBER], batch[TEXT]) for batch in pipeline.options(strings=strings))


@W11.program(
    BY_HAND,
    "orjson by hand",
    "one thread; lines are shuffled as bytes; strings as `str`",
    "orjson",
    ["orjson"],
)
def with_orjson(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches. Lines are shuffled in plain Python and parsed batch by batch."""
    import orjson

    lines = lines_of(epochs_of(files_of(home), num_epochs))
    for batch in shuffled(lines, BATCH_SIZE, WINDOW):
        parsed = [orjson.loads(line) for line in batch]
        numbers = np.array([line[NUMBER] for line in parsed], np.int64)
        yield numbers, [line[TEXT] for line in parsed]


@W11.program(
    "polars",
    "polars",
    "`scan_ndjson` with a schema, a file at a time; `sample` shuffles; polars' strings",
    "polars",
    ["polars"],
)
def with_polars(home: Path, num_epochs: int) -> Iterator[Any]:
    import polars as pl

    schema = {NUMBER: pl.Int64, TEXT: pl.String}

    def read(name: str) -> pl.DataFrame:
        return pl.scan_ndjson(name, schema=schema).collect()

    for batch in polars_slices(epochs_of(files_of(home), num_epochs), read, WINDOW, BATCH_SIZE):
        yield batch[NUMBER].to_numpy(), batch[TEXT]


@W11.program(
    "datasets",
    "Hugging Face datasets",
    '`load_dataset(streaming=True)`, `with_format("arrow")`, '
    "`shuffle(buffer_size=10000)`, no wait between epochs; Arrow strings",
    "datasets",
    ["datasets"],
)
def with_datasets(home: Path, num_epochs: int) -> Iterator[Any]:
    files, cache = files_of(home), f"{home}-cache"
    for table in datasets_stream("json", files, cache, num_epochs, WINDOW, BATCH_SIZE):
        yield table[NUMBER].to_numpy(), table[TEXT]


W11.limit("json_lines")
