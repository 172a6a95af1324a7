"""Helpers for tests of pipelines: small data sets, and several ways to run a pipeline."""

import tarfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.archives import add_members
from tests.pipeline.generated.source_files import write_files

from headrace.io.records import TFRecordWriter
from headrace.pipeline import Pipeline
from headrace.protos import Example

pa = pq = None
if find_spec("pyarrow"):  # Parquet is an extra.
    import pyarrow as pa
    import pyarrow.parquet as pq

NUM_EXAMPLES = 1000


def example(number: int) -> bytes:
    """An `Example` with a number, a string, three floats and a list of 0 to 3 integers."""
    message = Example()
    features = message.features.feature
    features["number"].int64_list.value.append(number)
    features["text"].bytes_list.value.append(b"text %d" % number)
    features["floats"].float_list.value.extend([number, number + 0.25, -number])
    features["list"].int64_list.value.extend(range(number % 4))
    return message.SerializeToString()


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with 1,000 examples in three files."""
    directory = tmp_path_factory.mktemp("records")
    for index, numbers in enumerate([range(700), range(700, 700), range(700, NUM_EXAMPLES)]):
        with TFRecordWriter(directory / f"{index}.tfrecord") as writer:
            for number in numbers:
                writer.write(example(number))
    return directory


def write_damaged(path: Path, numbers: Sequence[int]) -> None:
    """Writes examples, every 90th with a wrong checksum, every 77th invalid."""
    path.parent.mkdir(exist_ok=True)
    with TFRecordWriter(path) as writer:
        for number in numbers:
            writer.write(b"nothing of this kind" if number % 77 == 5 else example(number))
    raw = bytearray(path.read_bytes())
    position = 0
    for number in numbers:
        length = int.from_bytes(raw[position : position + 8], "little")
        if number % 90 == 7:
            raw[position + 12] ^= 1
        position += 12 + length + 4
    path.write_bytes(raw)


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the numbers of 1,000 examples, in one directory per format."""
    directory = tmp_path_factory.mktemp("tables")
    for index, numbers in enumerate([range(600), range(600, 600), range(600, NUM_EXAMPLES)]):
        path = directory / "csv" / f"{index}.csv"
        path.parent.mkdir(exist_ok=True)
        lines = (f'{{"number": {n}, "list": [{n}]}}\n\n' for n in numbers)
        (directory / f"{index}.jsonl").write_text("".join(lines))
        for number in numbers:
            image = directory / "images" / "ab"[index // 2] / f"{number:03}.png"
            image.parent.mkdir(parents=True, exist_ok=True)
            image.write_bytes(b"%d" % number)
        write_damaged(directory / "damaged" / f"{index}.tfrecord", numbers)
        path.write_text("number,text\n" + "".join(f'{n},"a\n{n}"\n\n' for n in numbers))
        with tarfile.open(directory / f"{index}.tar", "w") as archive:
            for number in numbers:
                texts = (f"{number}.number", b"%d" % number), (f"{number}.txt", b"x" * (number % 7))
                add_members(archive, texts)
        if pq is not None:
            columns = {"number": pa.array(numbers, pa.int64()), "text": [str(n) for n in numbers]}
            pq.write_table(pa.table(columns), directory / f"{index}.parquet", row_group_size=70)
    return directory


@pytest.fixture(scope="session")
def generated_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files that generated pipelines read."""
    directory = tmp_path_factory.mktemp("generated")
    write_files(directory)
    return directory


def same(one: Any, other: Any) -> bool:
    """Returns whether two lists of examples or batches are equal, types and shapes included."""
    return len(one) == len(other) and all(map(_same_components, one, other))


def _same_components(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return list(one) == list(other) and all(_same_value(one[name], other[name]) for name in one)


def _same_value(one: Any, other: Any) -> bool:
    if isinstance(one, list) and any(isinstance(item, np.ndarray) for item in one):
        is_list = isinstance(other, list) and len(one) == len(other)
        return is_list and all(map(_same_value, one, other))
    return np.asarray(one).dtype == np.asarray(other).dtype and np.array_equal(one, other)


WAYS = (
    {"num_threads": 1},
    {"num_threads": 2, "memory_bytes": 300_000},
    {"num_threads": 8, "memory_bytes": 1},
)
# For pipelines that need some memory, such as windows. A block of one row takes 300 bytes.
LARGE_WAYS = (
    {"num_threads": 1},
    {"num_threads": 2, "memory_bytes": 500_000},
    {"num_threads": 8, "memory_bytes": 400_000},
)
# For pipelines that keep all their rows.
CACHE_WAYS = (
    {"num_threads": 1},
    {"num_threads": 2, "memory_bytes": 40_000_000},
    {"num_threads": 8, "memory_bytes": 20_000_000},
)


@pytest.fixture
def items_of() -> Callable[..., list[dict[str, Any]]]:
    """Returns the items of a pipeline. Checks that no thread count or budget changes them."""

    def run(pipeline: Pipeline, ways: Sequence[dict[str, int]] = WAYS) -> list[dict[str, Any]]:
        first, *others = (list(pipeline.options(**way)) for way in ways)
        for other in others:
            assert same(first, other)
        return first

    return run
