"""Batchers that keep only some examples."""

import re
from collections import Counter

import pytest

import headrace.tf1 as tf

# Each creates batches of two from one example if a condition is true.
BATCHERS = {
    "batch": lambda tensors, keep, **options: tf.train.maybe_batch(tensors, keep, 2, **options),
    "batch_join": lambda tensors, keep, **options: tf.train.maybe_batch_join(
        [tensors], keep, 2, **options
    ),
    "shuffle_batch": lambda tensors, keep, **options: tf.train.maybe_shuffle_batch(
        tensors, 2, 32, 4, keep, **options
    ),
    "shuffle_batch_join": lambda tensors, keep, **options: tf.train.maybe_shuffle_batch_join(
        [tensors], 2, 32, 4, keep, **options
    ),
}


@pytest.fixture(params=BATCHERS)
def name(request):
    return request.param


@pytest.fixture
def batcher(name):
    return BATCHERS[name]


def flat(batches):
    return [int(value) for batch in batches for value in batch]


def test_maybe_batcher_is_named_like_the_plain_one(name, batcher):
    keep = tf.placeholder(tf.bool, [])
    assert [tensor.name for tensor in batcher([1, 2], keep)] == [f"{name}:0", f"{name}:1"]
    assert batcher({"a": 1}, keep, name="mine")["a"].name == "mine:0"
    runner, mine = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    queue = "random_shuffle_queue" if "shuffle" in name else "fifo_queue"
    assert (runner.name, mine.name) == (f"{name}/{queue}", f"mine/{queue}")
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 2


def test_examples_are_kept_if_the_condition_holds(batcher, pipeline, numbers):
    number = numbers(40)
    keep = tf.less(number % 4, 2)
    values = pipeline.values(batcher([number, tf.as_string(number)], keep))
    kept = [n for n in range(40) if n % 4 < 2]
    assert sorted(flat(ones for ones, _ in values)) == kept
    assert all(list(map(int, words)) == ones.tolist() for ones, words in values)
    assert pipeline.failure is None


@pytest.mark.parametrize("keep", [False, lambda: tf.constant(False)])
def test_dropped_examples_are_still_computed(batcher, pipeline, numbers, keep):
    calls = []

    def count(number):
        calls.append(number)
        return number

    number = tf.py_func(count, [numbers(5)], tf.int32)
    number.set_shape([])
    assert pipeline.values(batcher([number], keep() if callable(keep) else keep)) == []
    assert calls == list(range(5))


@pytest.mark.parametrize("keep", [True, lambda: tf.constant(True)])
def test_constant_true_condition_adds_no_conditional_enqueue(batcher, pipeline, numbers, keep):
    batch = batcher([numbers(6)], keep() if callable(keep) else keep)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[1:]
    assert [op.type for op in runner.enqueue_ops] == ["QueueEnqueueV2"]
    assert sorted(flat(pipeline.values(batch))) == list(range(6))


def test_scalar_condition_keeps_all_rows_or_none(batcher, pipeline, numbers):
    number = numbers(6)
    rows = tf.stack([number, number + 100])
    batches = pipeline.values(batcher([rows], tf.equal(number % 2, 0), enqueue_many=True))
    assert sorted(flat(batches)) == [0, 2, 4, 100, 102, 104]


def test_vector_condition_keeps_some_rows(batcher, pipeline, numbers):
    number = numbers(6)
    rows = tf.stack([number, number + 100, number + 200])
    keep = tf.stack([True, False, True])
    batches = pipeline.values(batcher([rows, tf.as_string(rows)], keep, enqueue_many=True))
    assert sorted(flat(ones for ones, _ in batches)) == [*range(6), *range(200, 206)]
    assert all([int(word) for word in words] == ones.tolist() for ones, words in batches)


def test_join_uses_one_condition_for_all_its_examples(pipeline, numbers):
    keep = tf.placeholder_with_default(True, [])
    batch = tf.train.maybe_batch_join([[numbers(5)], [numbers(5)]], keep, 1)
    runner = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[-1]
    assert len(runner.enqueue_ops) == 2
    assert sorted(flat(pipeline.values(batch))) == sorted([*range(5)] * 2)


@pytest.mark.parametrize("name", ["batch", "shuffle_batch"])
def test_several_threads_keep_each_example_once(name, pipeline, numbers):
    number = numbers(300)
    batch = BATCHERS[name]([number], tf.equal(number % 3, 0), num_threads=4)
    assert Counter(flat(pipeline.values(batch))) == Counter(range(0, 300, 3))


def test_final_batch_of_kept_examples_can_be_smaller(batcher, pipeline, numbers):
    number = numbers(9)
    batch = batcher([number], tf.less(number, 5), allow_smaller_final_batch=True)
    assert [len(values) for values in pipeline.values(batch)] == [2, 2, 1]


def test_kept_examples_are_padded(pipeline, numbers):
    number = numbers(4)
    row = tf.fill([number], number)
    row.set_shape([None])
    batch = tf.train.maybe_batch([row], tf.not_equal(number, 1), 3, dynamic_pad=True)
    (values,) = pipeline.values(batch)
    assert values.tolist() == [[0, 0, 0], [2, 2, 0], [3, 3, 3]]


def test_argument_order_matches_tensorflow():
    keep, many, shapes = tf.placeholder(tf.bool, []), True, [()]
    rows = [tf.placeholder(tf.int32, [None])]
    batches = [
        tf.train.maybe_batch(rows, keep, 3, 2, 9, many, shapes, False, True, None, "a"),
        tf.train.maybe_batch_join([rows] * 2, keep, 3, 9, many, shapes, False, True, None, "b"),
        tf.train.maybe_shuffle_batch(rows, 3, 9, 4, keep, 2, 1, many, shapes, True, None, "c"),
        tf.train.maybe_shuffle_batch_join(
            [rows] * 2, 3, 9, 4, keep, 1, many, shapes, True, None, "d"
        ),
    ]
    assert [batch.name for batch in batches] == ["a:0", "b:0", "c:0", "d:0"]
    assert all(batch.shape.as_list() == [None] for batch in batches)
    runners = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    assert [len(runner.enqueue_ops) for runner in runners] == [2] * 4
    tags = [summary.name for summary in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert tags == [
        "a/fraction_of_9_full:0",
        "b/fraction_of_9_full:0",
        "c/fraction_over_4_of_5_full:0",
        "d/fraction_over_4_of_5_full:0",
    ]


@pytest.mark.parametrize(
    ("shape", "enqueue_many", "message"),
    [
        ([None], False, "`keep_input` cannot be a vector when `enqueue_many=False`."),
        ([2, 2], False, "`keep_input` must be 0 or 1 dimensions."),
        ([2, 2], True, "`keep_input` must be 0 or 1 dimensions."),
        (None, False, "`keep_input` dimensions must be known at graph construction."),
        (None, True, "`keep_input` dimensions must be known at graph construction."),
        ([3], True, "Dimensions must be equal, but are 2 and 3"),
    ],
)
def test_condition_of_the_wrong_shape_is_rejected(batcher, shape, enqueue_many, message):
    with pytest.raises(ValueError, match=message):
        batcher([[1, 2]], tf.placeholder(tf.bool, shape), enqueue_many=enqueue_many)


def test_invalid_plain_arguments_are_rejected():
    keep = tf.placeholder(tf.bool, [])
    with pytest.raises(ValueError, match=r"Expected at least one tensor in batch\(\)\."):
        tf.train.maybe_batch([], keep, 2)
    with pytest.raises(ValueError, match="Expected at least one set of tensors"):
        tf.train.maybe_batch_join([], keep, 2)
    with pytest.raises(ValueError, match="capacity 4 must be bigger than"):
        tf.train.maybe_shuffle_batch([1], 2, 4, 4, keep)


def test_join_raises_the_error_for_a_condition_of_the_wrong_length(pipeline):
    keep = tf.placeholder_with_default([True], [None])
    batch = tf.train.maybe_batch([[1, 2]], keep, 2, enqueue_many=True)
    assert pipeline.values(batch) == []
    text = (
        "data.shape must start with partitions.shape, got data.shape = [2], partitions.shape = [1]"
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(text)):
        raise pipeline.failure
