"""The memory use of queues and long runs is about the size of their data, and does not grow.

Each is measured in a process of its own, with an unused heap and an allocator that returns freed
memory at once.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.memory import queues  # noqa: E402

MIB = 2**20


def figures_of(*arguments):
    return json.loads(output_of("-m", "benchmarks.memory.queues", *map(str, arguments)))


def output_of(*arguments):
    """Returns the output of a Python program."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **queues.HELD},
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
    )
    return done.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("kind", queues.KINDS)
def test_records_need_little_more_than_their_size(kind):
    figures = figures_of("fill", kind, "many", "--mib=8")
    assert figures["grown_bytes"] < 2 * figures["count"] * figures["record_bytes"]


PARTS = """
import sys
import headrace.tf1 as tf
from benchmarks.memory.watching import anonymous_bytes

large = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x" * 100_000]))
small = tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"y" * 10]))
features = tf.train.Features(feature={"large": large, "small": small})
record = tf.placeholder(tf.string, [])
kinds = {name: tf.FixedLenFeature((), tf.string) for name in features.feature}
example = tf.parse_single_example(record, kinds)
pixels = tf.decode_raw(example["large"], tf.uint8)
part = eval(sys.argv[1])
queue = tf.FIFOQueue(300, [part.dtype])
enqueue = queue.enqueue([part])
serialized = tf.train.Example(features=features).SerializeToString()
with tf.Session() as session:
    session.run(enqueue, {record: serialized})
    before = anonymous_bytes()
    for _ in range(299):
        session.run(enqueue, {record: serialized})
    print(anonymous_bytes() - before)
"""


@pytest.mark.parametrize(
    ("part", "num_bytes"),
    [
        ("example['small']", 10),
        ("pixels[:99_000]", 99_000),
        ("pixels[:75_000]", 75_000),
        ("pixels[:75_000][:50_000][:30_000]", 30_000),
        ("pixels[:95_000][:90_000][:80_000][:70_000][:60_000][:50_000][:40_000]", 40_000),
        ("pixels[20_000:][::-1][:50_000]", 50_000),
    ],
)
def test_slice_of_a_record_keeps_at_most_twice_its_size_alive(part, num_bytes):
    grown_bytes = int(output_of("-c", PARTS, part))
    assert grown_bytes < 2 * 299 * num_bytes + MIB


# Keeps one short string of each of many batches, whose strings share a buffer.
BATCHES = """
import json
import sys
import numpy as np
import headrace.tf1 as tf
from headrace.tf1.ops.sparse.table import SparseTable
from benchmarks.memory.watching import anonymous_bytes

LENGTH, COUNT = 10_000, 60
source = tf.FIFOQueue(LENGTH, [tf.string], [[]])
fill = source.enqueue_many([np.array([b"%070d" % number for number in range(LENGTH)], object)])
batch = source.dequeue_many(LENGTH)
short = batch[7]
pixels = tf.decode_raw(short, tf.uint8)


def queued(components, shapes=None, kind=tf.FIFOQueue):
    queue = kind(COUNT, [part.dtype for part in components], shapes)
    return [queue.enqueue(components)] * COUNT


def queued_as_rows():
    queue = tf.FIFOQueue(2 * COUNT, [tf.string])
    return [queue.enqueue_many([batch[:2]])] * COUNT


def in_variables():
    return [tf.Variable(short, trainable=False).initializer for _ in range(COUNT)]


def in_a_sparse_table():
    return [SparseTable().add(tf.SparseTensor([[0]], batch[:1], [1]))] * COUNT


def grown_bytes(session, way):
    session.run(fill)
    session.run(batch)
    before = anonymous_bytes()
    for operation in way:
        session.run(fill)
        session.run(operation)
    return anonymous_bytes() - before


ways = {text: eval(text) for text in sys.argv[1:]}
with tf.Session() as session:
    print(json.dumps({text: grown_bytes(session, way) for text, way in ways.items()}))
"""

WAYS = [
    "queued([short])",
    "queued([batch[:3]])",
    "queued([short, tf.zeros([2_000])], [[], [2_000]])",
    "queued([batch[:3]], [[None]], tf.PaddingFIFOQueue)",
    "queued([pixels])",
    "queued([tf.cast(pixels, tf.float32) * 2.0])",
    "queued_as_rows()",
    "in_variables()",
    "in_a_sparse_table()",
]


@pytest.fixture(scope="module")
def grown_by_way():
    return json.loads(output_of("-c", BATCHES, *WAYS))


@pytest.mark.parametrize("way", WAYS)
def test_short_string_does_not_keep_its_batch_alive(grown_by_way, way):
    assert grown_by_way[way] < 4 * MIB


@pytest.mark.nightly
def test_memory_of_a_long_run_does_not_grow(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{number:030d}\n" for number in range(10_000)))
    figures = figures_of("last", "lines", path, "--count=1000000", "--soon=50000")
    assert figures["count"] >= 1_000_000
    assert figures["most_bytes"] < figures["soon_bytes"] + 4 * MIB
