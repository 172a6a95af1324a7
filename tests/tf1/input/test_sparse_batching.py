"""Sparse tensors in batchers: the queue contains a handle, and a table contains the tensor."""

from collections import Counter

import pytest

import headrace.tf1 as tf
from headrace.graph import KernelKind


def row_of(number):
    """A sparse vector of `number` + 1 in size whose last element is `number`."""
    wide = tf.cast(number, tf.int64)
    return tf.SparseTensor(
        tf.reshape(wide, [1, 1]), tf.reshape(number, [1]), tf.reshape(wide + 1, [1])
    )


def table_of(session):
    """The session's table of sparse tensors that wait."""
    ops = [op for op in session.graph.get_operations() if op.type == "SparseTensorsMap"]
    (table,) = {session._resources.get(op) for op in ops}
    return table


def is_empty_at_the_end(session):
    assert table_of(session).size() == 0


def parts_of(batch):
    return batch.indices.tolist(), batch.values.tolist(), batch.dense_shape.tolist()


@pytest.mark.parametrize(
    ("indices_shape", "enqueue_many", "rank"),
    [([None, 1], False, 2), ([None, 3], False, 4), ([None, 3], True, 3), (None, False, None)],
)
def test_batch_has_one_more_dimension_than_an_example(indices_shape, enqueue_many, rank):
    shape = None if indices_shape is None else [None] * indices_shape[1]
    sparse = tf.sparse_placeholder(tf.float32, shape)
    batch = tf.train.batch([sparse], 2, enqueue_many=enqueue_many)
    assert isinstance(batch, tf.SparseTensor)
    assert batch.indices.shape.as_list() == [None, rank]
    assert batch.values.shape.as_list() == [None]
    assert batch.dense_shape.shape.as_list() == [rank]
    assert (batch.dtype, batch.shape.ndims) == (tf.float32, rank)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    assert (runner.queue.dtypes, runner.queue.shapes) == ([tf.int64], [tf.TensorShape([])])


def test_rows_are_as_wide_as_the_widest_in_their_batch(pipeline, numbers):
    batch = tf.train.batch([row_of(numbers(5))], 2)
    first, second = pipeline.values(batch)
    assert parts_of(first) == ([[0, 0], [1, 1]], [0, 1], [2, 2])
    assert parts_of(second) == ([[0, 2], [1, 3]], [2, 3], [2, 4])


def test_sparse_and_dense_components_of_an_example_stay_together(pipeline, numbers):
    number = numbers(200)
    example = {"s": row_of(number), "d": number, "w": tf.as_string(number)}
    batch = tf.train.shuffle_batch(example, 10, 50, 20, num_threads=3)
    assert isinstance(batch["s"], tf.SparseTensor)
    seen = Counter()
    for values in pipeline.values(batch, then=is_empty_at_the_end):
        assert values["s"].values.tolist() == values["d"].tolist() == [int(w) for w in values["w"]]
        assert values["s"].indices.tolist() == [[i, n] for i, n in enumerate(values["d"])]
        seen.update(values["d"].tolist())
    assert seen == Counter(range(200))


def test_dequeuing_one_component_removes_the_others_from_the_table(pipeline, numbers):
    number = numbers(6)
    sparse, dense = tf.train.batch([row_of(number), number], 2)
    assert len(pipeline.values(dense, then=is_empty_at_the_end)) == 3
    assert len(pipeline.values(sparse.dense_shape, then=is_empty_at_the_end)) == 3


def test_queued_rows_wait_in_the_table(pipeline, numbers):
    batch = tf.train.batch([row_of(numbers(5))], 2)

    def one_is_left(session):
        assert table_of(session).size() == 1

    assert len(pipeline.values(batch, then=one_is_left)) == 2


def test_final_batch_can_be_smaller(pipeline, numbers):
    batch = tf.train.batch([row_of(numbers(3))], 2, allow_smaller_final_batch=True)
    _, last = pipeline.values(batch, then=is_empty_at_the_end)
    assert parts_of(last) == ([[0, 2]], [2], [1, 3])


def test_join_shares_the_table(pipeline, numbers):
    batch = tf.train.batch_join([[row_of(numbers(4))], [row_of(numbers(4) + 10)]], 1)
    batches = pipeline.values(batch, then=is_empty_at_the_end)
    values = sorted(value for batch in batches for value in batch.values.tolist())
    assert values == [0, 1, 2, 3, 10, 11, 12, 13]


def test_rows_of_a_sparse_tensor_become_examples(pipeline):
    sparse = tf.SparseTensor([[0, 0], [0, 1], [2, 1]], ["a", "b", "c"], [3, 4])
    batch = tf.train.batch([sparse, [0, 1, 2]], 3, enqueue_many=True)
    ((strings, rows),) = pipeline.values(batch, limit=1)
    assert rows.tolist() == [0, 1, 2]
    assert strings.indices.tolist() == [[0, 0], [0, 1], [2, 1]]
    assert strings.values.tolist() == [b"a", b"b", b"c"]
    assert strings.dense_shape.tolist() == [3, 4]


def test_only_kept_examples_are_stored(pipeline, numbers):
    number = numbers(10)
    keep = tf.equal(number % 2, 0)
    batch = tf.train.maybe_shuffle_batch([row_of(number)], 1, 20, 3, keep)
    batches = pipeline.values(batch, then=is_empty_at_the_end)
    assert sorted(int(batch.values[0]) for batch in batches) == [0, 2, 4, 6, 8]


def test_only_kept_rows_are_stored(pipeline, numbers):
    number = tf.cast(numbers(4), tf.int64)
    sparse = tf.SparseTensor(
        [[0, 0], [1, 1], [2, 2]], tf.stack([number] * 3) * 10 + [0, 1, 2], [3, 3]
    )
    batch = tf.train.maybe_batch([sparse, tf.range(3)], [True, False, True], 2, enqueue_many=True)
    batches = pipeline.values(batch, then=is_empty_at_the_end)
    assert [parts.values.tolist() for parts, _ in batches] == [
        [10 * n, 10 * n + 2] for n in range(4)
    ]
    assert all(rows.tolist() == [0, 2] for _, rows in batches)
    assert all(parts.indices.tolist() == [[0, 0], [1, 2]] for parts, _ in batches)


def test_shared_queue_yields_sparse_tensors_to_every_batcher():
    sparse = tf.SparseTensor([[1]], [7], [3])
    tf.train.batch([sparse], 2, shared_name="shared")
    other = tf.train.batch([sparse], 2, shared_name="shared")
    (fill,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[0].enqueue_ops
    with tf.Session() as session:
        session.run(fill)
        session.run(fill)
        batch = session.run(other, options=tf.RunOptions(timeout_in_ms=10_000))
    assert parts_of(batch) == ([[0, 1], [1, 1]], [7, 7], [2, 3])


@pytest.mark.parametrize(
    ("other", "error", "message"),
    [
        (lambda: tf.constant([1.0]), ValueError, "Inconsistent SparseTensors list: .* vs. "),
        (
            lambda: tf.sparse_placeholder(tf.float32, [None, None]),
            ValueError,
            "Inconsistent SparseTensors list: .* vs. ",
        ),
        (
            lambda: tf.sparse_placeholder(tf.string, [None]),
            TypeError,
            "Expected types to be consistent: float32 vs. string.",
        ),
    ],
)
def test_examples_of_a_join_must_be_sparse_in_the_same_positions(other, error, message):
    sparse = tf.sparse_placeholder(tf.float32, [None])
    with pytest.raises(error, match=message):
        tf.train.batch_join([[sparse], [other()]], 2)


def test_rank_known_from_one_example_applies_to_all():
    examples = [[tf.sparse_placeholder(tf.float32)], [tf.sparse_placeholder(tf.float32, [None])]]
    batch = tf.train.batch_join(examples, 2)
    assert batch.indices.shape.as_list() == [None, 2]


@pytest.mark.parametrize(
    ("sparse", "enqueue_many", "message"),
    [
        (
            ([[5]], [1], [4]),
            False,
            r"indices\[0\] = \[5\] is out of bounds: need 0 <= index < \[4\]",
        ),
        (([[0]], [1], [4]), True, "Rank of input SparseTensor should be > 1, but saw rank: 1"),
        (([[0, 0]], [1, 2], [4, 4]), True, "has indices of shape"),
    ],
)
def test_join_raises_the_error_of_an_invalid_sparse_tensor(pipeline, sparse, enqueue_many, message):
    parts = [tf.placeholder_with_default(tf.constant(p, tf.int64), None) for p in sparse]
    batch = tf.train.batch([tf.SparseTensor(*parts)], 2, enqueue_many=enqueue_many)
    assert pipeline.values(batch) == []
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        raise pipeline.failure


def test_rank_mismatch_at_run_time_fails_the_batch(pipeline, numbers):
    number = tf.cast(numbers(2), tf.int64)
    rank = tf.reshape(number + 1, [1])
    indices = tf.zeros(tf.concat([[1], tf.cast(rank, tf.int32)], 0), tf.int64)
    sparse = tf.SparseTensor(
        tf.placeholder_with_default(indices, [None, None]),
        [7],
        tf.fill(rank, tf.constant(2, tf.int64)),
    )
    batch = tf.train.batch([sparse], 2)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"Inconsistent rank across SparseTensors: rank prior to SparseTensor\[1\] was: 1 but "
        r"rank of SparseTensor\[1\] is: 2",
    ):
        pipeline.values(batch)


def test_stacking_zero_sparse_tensors_is_an_error(pipeline, numbers):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must have at least 1 serialized"):
        pipeline.values(tf.train.batch([row_of(numbers(2))], 0), limit=1)


def test_each_session_stores_its_own_sparse_tensors(pipeline, numbers):
    batch = tf.train.batch([row_of(numbers(4))], 2)
    assert [len(pipeline.values(batch, then=is_empty_at_the_end)) for _ in range(2)] == [2, 2]


def test_loop_over_sparse_tensors_runs_without_python(pipeline, numbers):
    sparse = tf.SparseTensor([[0, 0], [1, 1]], [1, 2], [2, 2])
    keep = tf.placeholder_with_default([True, False], [None])
    tf.train.maybe_batch([sparse, [1, 2]], keep, 2, enqueue_many=True, name="rows")
    tf.train.maybe_shuffle_batch([sparse], 2, 9, 3, tf.placeholder(tf.bool, []), name="whole")
    ops = tf.get_default_graph().get_operations()
    repeated = [op for op in ops if op.name.startswith(("rows/", "whole/"))]
    by_python = [op for op in repeated if op.definition.computed_by(op) is KernelKind.BY_NUMPY]
    assert repeated
    assert not by_python
