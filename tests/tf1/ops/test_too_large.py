"""Tensors that exceed any memory end their run, but not the process.

The sizes are far beyond any machine, so nothing is allocated where the test passes.
"""

import re

import numpy as np
import pytest

import headrace.tf1 as tf
from headrace.core import allocation_guard

MILLION = 10**6
BILLION = 2**30
COLUMN = np.zeros([MILLION, 1], np.float32)

TOO_LARGE = {
    "added": lambda items: items(COLUMN) + items(COLUMN.T),
    "compared": lambda items: tf.less(items(COLUMN), items(COLUMN.T)),
    "compared as truth values": lambda items: tf.logical_and(
        items(COLUMN > 0), items(COLUMN.T > 0)
    ),
    "computed by NumPy": lambda items: tf.atan2(items(COLUMN), items(COLUMN.T)),
    "gathered": lambda items: tf.gather(items(COLUMN.T), items(np.zeros(MILLION, np.int32))),
    "gathered along another axis": lambda items: tf.gather(
        items(COLUMN), items(np.zeros(MILLION, np.int32)), axis=1
    ),
    "gathered by coordinates": lambda items: tf.gather_nd(
        items(COLUMN.T), items(np.zeros([MILLION, 1], np.int32))
    ),
    "stitched": lambda items: tf.dynamic_stitch(
        [items(np.int32([2**31 - 1]))], [items(np.zeros([1, MILLION], np.float32))]
    ),
    "multiplied": lambda items: tf.matmul(items(COLUMN), items(COLUMN.T)),
    "an identity": lambda items: tf.eye(items(np.int32(MILLION))),
    "a mask": lambda items: tf.sequence_mask(
        items(np.zeros(2**20, np.int32)), items(np.int32(2**24))
    ),
    "one hot": lambda items: tf.one_hot(
        items(np.zeros(MILLION, np.int32)), items(np.int32(2**31 - 1))
    ),
    "filled": lambda items: tf.fill(items(np.int64([2**50])), 1.0),
    "filled with strings": lambda items: tf.fill(items(np.int64([2**50])), "a"),
    "a range": lambda items: tf.range(items(np.int64(2**50))),
    "a range of fractions": lambda items: tf.range(0.0, items(np.float32(1e6)), 1e-9),
    "evenly spaced": lambda items: tf.linspace(0.0, 1.0, items(np.int64(2**50))),
    "tiled": lambda items: tf.tile(items(np.zeros([8, 8])), items(np.int64([2**25, 2**25]))),
    "broadcast": lambda items: tf.broadcast_to(items(0.0), items(np.int64([2**25, 2**25]))),
    "padded": lambda items: tf.pad(items(np.zeros([1, 1])), items([[0, BILLION], [0, BILLION]])),
    "random": lambda items: tf.random_uniform(items([BILLION, BILLION])),
    "dense": lambda items: tf.sparse_to_dense(
        np.int64([[0, 0]]), items(np.int64([BILLION, BILLION])), [1.0]
    ),
    "resized": lambda items: tf.image.resize_images(
        items(np.zeros([2, 2, 3], np.float32)), items([BILLION // 64, BILLION // 64])
    ),
    "resized to the nearest": lambda items: tf.image.resize_nearest_neighbor(
        items(np.zeros([1, 2, 2, 3], np.uint8)), items([BILLION // 64, BILLION // 64])
    ),
    "an image padded": lambda items: tf.image.resize_image_with_crop_or_pad(
        items(np.zeros([2, 2, 3], np.uint8)), items(BILLION), items(BILLION)
    ),
    "parts of strings": lambda items: tf.substr(
        items(np.full([2**18, 1], b"a", object)),
        items(np.zeros([1, 2**18], np.int32)),
        items(np.zeros([1, 2**18], np.int32)),
    ),
}


@pytest.fixture
def items():
    """Creates a tensor of which the graph only knows the type and rank."""

    def make(value):
        array = np.asarray(value)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        array = array.astype(np.int32) if isinstance(value, (int, list)) else array
        return tf.placeholder_with_default(tf.constant(array), [None] * array.ndim)

    return make


@pytest.mark.parametrize("make", TOO_LARGE.values(), ids=TOO_LARGE)
def test_tensor_too_large_for_memory_ends_the_run(run, items, make):
    with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
        run(make(items))
    pattern = (
        r"OOM when allocating tensor with shape\[[\d,]+\] and type \w+: \d+ bytes were requested, "
        r"expected at most the \d+ of this .*\. Use less memory, or a machine"
    )
    assert re.match(pattern, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda items: tf.fill(items(np.int64([2**40, 2**40])), 1.0),
        lambda items: tf.tile(items(np.zeros([8, 8])), items(np.int64([2**40, 2**40]))),
        lambda items: tf.broadcast_to(items(0.0), items(np.int64([2**40, 2**40]))),
        lambda items: tf.pad(items(np.zeros([1, 1])), items(np.int64([[0, 2**62], [0, 2**62]]))),
        lambda items: tf.random_uniform(items(np.int64([2**40, 2**40]))),
        lambda items: tf.sparse_to_dense(
            np.int64([[0, 0]]), items(np.int64([2**40, 2**40])), [1.0]
        ),
    ],
    ids=["filled", "tiled", "broadcast", "padded", "random", "dense"],
)
def test_overflowing_number_of_elements_is_rejected(run, items, make):
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"Shape \[\d+,\d+\] would have more than 2\*\*63 - 1"
    ):
        run(make(items))


def test_constant_too_large_for_memory_is_rejected():
    with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating tensor"):
        tf.constant(0.0, shape=[BILLION, BILLION])
    with pytest.raises(ValueError, match=r"shape \[1099511627776,1099511627776\] has more than"):
        tf.constant(0.0, shape=[2**40, 2**40])


def test_padded_batch_too_large_for_memory_ends_the_run(run):
    queue = tf.PaddingFIFOQueue(2, [tf.uint8], [[None, None]])
    size = 2**22
    for shape in ([size, 1], [1, size]):
        run(queue.enqueue(np.zeros(shape, np.uint8)))
    with pytest.raises(
        tf.errors.ResourceExhaustedError, match=r"shape\[2,4194304,4194304\] and type uint8"
    ):
        run(queue.dequeue_many(2))


def test_padded_batch_with_an_overflowing_size_is_rejected(run):
    queue = tf.PaddingFIFOQueue(3, [tf.uint8], [[None, None, None]])
    size = 2**22
    for shape in ([size, 1, 1], [1, size, 1], [1, 1, size]):
        run(queue.enqueue(np.zeros(shape, np.uint8)))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"Shape \[3,4194304,4194304,4194304\] would have more"
    ):
        run(queue.dequeue_many(3))


def test_one_long_example_among_many_short_ones_ends_the_run(run):
    feature = tf.train.Feature(float_list=tf.train.FloatList(value=[0.0] * 2**22))
    features = tf.train.Features(feature={"a": feature})
    examples = np.full(2**18, b"", object)
    examples[0] = tf.train.Example(features=features).SerializeToString()
    kind = tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True)
    parsed = tf.parse_example(tf.constant(examples), {"a": kind})
    with pytest.raises(
        tf.errors.ResourceExhaustedError, match=r"shape\[262144,4194304\] and type float"
    ):
        run(parsed)


def test_huge_dequeue_allocates_no_memory_before_elements_arrive(run):
    queue = tf.FIFOQueue(2, [tf.int32], [[]])
    run([queue.enqueue(7), queue.close()])
    with pytest.raises(tf.errors.OutOfRangeError, match="requested 2147483647, current size 1"):
        run(queue.dequeue_many(2**31 - 1))


def test_memory_limit_comes_from_the_system(monkeypatch, run, items):
    monkeypatch.setattr(allocation_guard, "_LIMIT", 800)
    assert run(tf.linspace(0.0, 1.0, items(100))).size == 100
    text = (
        "OOM when allocating tensor with shape[101] and type float: 808 bytes were requested, "
        f"expected at most the 800 of {allocation_guard._OWNER}."
    )
    with pytest.raises(tf.errors.ResourceExhaustedError, match=re.escape(text)):
        run(tf.linspace(0.0, 1.0, items(101)))
