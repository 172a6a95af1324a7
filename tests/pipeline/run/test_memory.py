"""The memory of a pipeline stays within `memory_bytes`, measured from outside its process.

Each runs in its own process and reads a sparse file of 10 GB. `SLACK_BYTES` allows for differences
between machines and runs.
"""

import json
import os
import re
from pathlib import Path

import pytest
from benchmarks.memory import watching

MIB = 1 << 20
FILE_BYTES = 10 * 10**9
SHARE = 1.1
SLACK_BYTES = 3 * MIB
ROOT = Path(__file__).parents[3]

PROGRAM = """
import json, sys
import numpy as np
import headrace as hr

path, what, memory_bytes, num_batches = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])


def records(num_bytes):
    return hr.fixed_length_records(path, num_bytes)


def large(example):
    return {"array": np.full(1 << 18, len(example["record"]), np.float32)}


def lists(example):
    return [{"list": np.arange(length)} for length in [1] * 300 + [1_000, 5]]


PIPELINES = {
    "in order": lambda: records(1_000).batch(500),
    "shuffled": lambda: records(10_000).shuffle(seed=1).batch(50),
    "window": lambda: records(50).shuffle(window=100_000, seed=1).batch(500),
    "wide window": lambda: records(500).shuffle(window=100_000, seed=1).batch(50),
    "function": lambda: records(100).map(large).batch(4),
    "function of batches": lambda: records(100).batch(4).map(large),
    "shard": lambda: records(1_000).shard(3, 100).batch(100),
    "window of parquet": lambda: hr.parquet(path).shuffle(window=50, seed=1).batch(10),
    "window of arrow": lambda: hr.arrow(path).shuffle(window=50, seed=1).batch(10),
    "buckets": lambda: records(100).flat_map(lists).bucket_by_length("list", [1, 9], size=400),
}


def size_of(array):
    return sum(map(sys.getsizeof, array)) if array.dtype == object else array.nbytes


tiny = hr.arrays({"x": np.arange(8)}).map(lambda example: example).shuffle(window=4, seed=1)
list(tiny.batch(2))
print("ready", flush=True)
sys.stdin.readline()
count, largest, error = 0, 0, ""
try:
    with iter(PIPELINES[what]().options(memory_bytes=memory_bytes, num_threads=2)) as batches:
        for batch in batches:
            count, largest = count + 1, max(largest, sum(map(size_of, batch.values())))
            if count == num_batches:
                break
except hr.errors.ResourceExhaustedError as raised:
    error = str(raised)
print(json.dumps([count, largest, error]))
"""


@pytest.fixture
def grown(tmp_path):
    """Runs a pipeline, and returns its memory, number of batches, largest batch and error."""
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, FILE_BYTES)

    def run(what, memory_bytes, num_batches, path=path):
        arguments = map(str, (path, what, memory_bytes, num_batches))
        most, line = watching.growth("-c", PROGRAM, *arguments, directory=ROOT)
        return most, *json.loads(line)

    return run


@pytest.mark.parametrize(
    ("what", "num_batches"),
    [
        ("in order", 100),
        ("shuffled", 100),
        ("window", 250),
        ("function", 15),
        ("function of batches", 15),
        ("shard", 8),
        ("buckets", 15),
    ],
)
def test_large_file_is_read_within_memory_bytes(grown, what, num_batches):
    most, count, batch_bytes, error = grown(what, 32 * MIB, num_batches)
    assert (count, error) == (num_batches, "")
    assert most <= SHARE * 32 * MIB + batch_bytes + SLACK_BYTES


def test_error_for_an_oversized_window_reports_the_required_memory(grown):
    most, count, _, error = grown("wide window", 32 * MIB, 100)
    assert count == 0
    assert most <= SHARE * 32 * MIB + SLACK_BYTES
    needed = int(re.search(r"needs about (\d+) bytes", error)[1])
    assert 100_000 * 500 < needed < 3 * 100_000 * 500
    most, count, batch_bytes, error = grown("wide window", needed, 100)
    assert (count, error) == (100, "")
    assert most <= SHARE * needed + batch_bytes + SLACK_BYTES


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_window_over_large_row_groups_holds_one_at_a_time(grown, tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    num_groups, group_rows, length = 20, 100, 60_000
    path = tmp_path / f"a.{kind}"
    schema = pa.schema({"image": pa.binary()})
    with (
        pytest.importorskip("pyarrow.parquet").ParquetWriter(path, schema)
        if kind == "parquet"
        else pa.ipc.new_file(path, schema)
    ) as writer:
        for group in range(num_groups):
            rows = range(group * group_rows, (group + 1) * group_rows)
            writer.write_table(pa.table({"image": [b"%6d" % n * (length // 6) for n in rows]}))
    what = f"window of {kind}"
    most, count, batch_bytes, error = grown(what, 32 * MIB, 100, path)
    assert (count, error) == (100, "")
    # As stored, decompressed, and twice as much for a while as its dictionary is copied.
    most_of_group = 4 * group_rows * length
    assert most <= SHARE * 32 * MIB + most_of_group + batch_bytes + SLACK_BYTES
