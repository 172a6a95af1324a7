"""`PaddingFIFOQueue`: elements of different sizes in one batch."""

import re

import numpy as np
import pytest

import headrace.tf1 as tf

INVALID = tf.errors.InvalidArgumentError


def enqueue(sess, queue, *elements):
    """Enqueues elements whose shapes are unknown to the graph."""
    fed = [tf.placeholder(dtype) for dtype in queue.dtypes]
    operation = queue.enqueue(fed)
    for element in elements:
        sess.run(operation, dict(zip(fed, element, strict=True)))


@pytest.mark.parametrize(
    ("dtype", "values", "filler"),
    [
        *[(f"{kind}{bits}", [1, 2], 0) for kind in ("int", "uint") for bits in (8, 16, 32, 64)],
        *[(f"float{bits}", [0.5, -2], 0) for bits in (16, 32, 64)],
        *[(f"complex{bits}", [1j, 2], 0) for bits in (64, 128)],
        ("bool", [True, True], False),
        ("string", [b"a", b"bc"], b""),
    ],
)
@pytest.mark.parametrize("method", ["dequeue_many", "dequeue_up_to"])
def test_batch_is_padded_to_its_largest_element(sess, dtype, values, filler, method):
    queue = tf.PaddingFIFOQueue(9, [dtype], [[None]])
    a, b = values
    enqueue(sess, queue, [[a]], [[a, b]], [[]], [[b] * 5])
    batch = sess.run(getattr(queue, method)(3))
    assert batch.dtype == tf.as_dtype(dtype).as_numpy_dtype
    assert batch.tolist() == [[a, filler], [a, b], [filler, filler]]
    # A single element is not padded.
    assert sess.run(queue.dequeue()).tolist() == [b] * 5


def test_unknown_dimensions_are_padded_separately_and_known_ones_stay(sess):
    queue = tf.PaddingFIFOQueue(9, [tf.int32, tf.string], [[None, 2, None], [3, None]])
    first = np.arange(2).reshape(1, 2, 1), [["a"]] * 3
    second = np.arange(12).reshape(2, 2, 3), [[]] * 3
    enqueue(sess, queue, first, second)
    numbers, words = sess.run(queue.dequeue_many(2))
    assert numbers.shape == (2, 2, 2, 3)
    assert numbers[0, :1, :, :1].tolist() == first[0].tolist()
    assert (numbers[0].sum(), numbers[1].sum()) == (1, second[0].sum())
    assert words.tolist() == [[[b"a"]] * 3, [[b""]] * 3]


@pytest.mark.parametrize("rank", range(5))
def test_up_to_four_dimensions_are_padded(sess, rank):
    queue = tf.PaddingFIFOQueue(9, [tf.int32], [[None] * rank])
    enqueue(sess, queue, [np.ones([1] * rank)], [np.ones([2] * rank)])
    batch = sess.run(queue.dequeue_many(2))
    assert batch.shape == (2, *[2] * rank)
    assert batch.sum() == 1 + 2**rank


@pytest.mark.parametrize("rank", [5, 6])
def test_padding_more_than_four_dimensions_is_unimplemented(sess, rank):
    queue = tf.PaddingFIFOQueue(9, [tf.int32], [[None] + [1] * (rank - 1)])
    enqueue(sess, queue, [np.ones([1] * rank)], [np.ones([1] * rank)])
    assert sess.run(queue.dequeue()).shape == (1,) * rank
    text = f"CopyElementToLargerSlice Unhandled rank: {rank}"
    with pytest.raises(tf.errors.UnimplementedError, match=text):
        sess.run(queue.dequeue_many(1))


def test_fully_known_shapes_of_any_rank_need_no_padding(sess):
    queue = tf.PaddingFIFOQueue(9, [tf.int32], [[1] * 6])
    enqueue(sess, queue, [np.ones([1] * 6)])
    assert sess.run(queue.dequeue_many(1)).shape == (1,) * 7


def test_unknown_dimensions_of_an_empty_batch_are_0(sess):
    queue = tf.PaddingFIFOQueue(9, [tf.int32, tf.string], [[None, 2], [3, None, 4]])
    for n in (queue.dequeue_many(0), queue.dequeue_up_to(0)):
        assert [batch.shape for batch in sess.run(n)] == [(0, 0, 2), (0, 3, 0, 4)]


def test_batches_can_have_rows_of_different_sizes(sess):
    queue = tf.PaddingFIFOQueue(9, [tf.int32], [[None]])
    sess.run(queue.enqueue_many([[[1, 2], [3, 4]]]))
    sess.run(queue.enqueue_many([[[5, 6, 7]]]))
    assert sess.run(queue.dequeue_many(3)).tolist() == [[1, 2, 0], [3, 4, 0], [5, 6, 7]]


def test_elements_left_in_a_closed_queue_are_padded_to_each_other(sess):
    queue = tf.PaddingFIFOQueue(9, [tf.int32], [[None]])
    enqueue(sess, queue, [[1]], [[2, 3]], [[4, 5, 6]])
    assert sess.run(queue.dequeue_many(2)).tolist() == [[1, 0], [2, 3]]
    sess.run(queue.close())
    assert sess.run(queue.dequeue_up_to(5)).tolist() == [[4, 5, 6]]


def test_rank_and_known_dimensions_must_match():
    queue = tf.PaddingFIFOQueue(9, [tf.int32], [[None, 2]])
    for shape in ([2], [2, 3], []):
        with pytest.raises(ValueError, match="are incompatible"):
            queue.enqueue(tf.zeros(shape, tf.int32))
    with pytest.raises(ValueError, match="are incompatible"):
        queue.enqueue_many(tf.zeros([4, 2], tf.int32))


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ([2], "Expected [?,2], got [2]"),
        ([2, 3], "Expected [?,2], got [2,3]"),
        ([], "Expected [?,2], got []"),
    ],
)
def test_mismatched_element_is_a_run_time_error(sess, shape, text):
    queue = tf.PaddingFIFOQueue(9, [tf.int32], [[None, 2]])
    text = re.escape(f"Shape mismatch in tuple component 0. {text}")
    with pytest.raises(INVALID, match=text):
        enqueue(sess, queue, [np.zeros(shape)])


def test_mismatched_batch_is_a_run_time_error(sess):
    queue = tf.PaddingFIFOQueue(9, [tf.int32], [[None, 2]])
    fed = tf.placeholder(tf.int32)
    text = re.escape("Shape mismatch in tuple component 0. Expected [1,?,2], got [1,2]")
    with pytest.raises(INVALID, match=text):
        sess.run(queue.enqueue_many([fed]), {fed: [[1, 2]]})
