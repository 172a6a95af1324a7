"""Producers: queues of names, numbers and slices, filled once per epoch."""

import threading

import numpy as np
import pytest

import headrace.tf1 as tf


def runners():
    return tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)


def local_variables():
    return tf.get_collection(tf.GraphKeys.LOCAL_VARIABLES)


def summary_names():
    return [summary.name for summary in tf.get_collection(tf.GraphKeys.SUMMARIES)]


# limit_epochs


def test_limit_epochs_without_num_epochs_does_nothing():
    value = object()
    assert tf.train.limit_epochs(value) is value
    assert not local_variables()


@pytest.mark.parametrize("num_epochs", [0, -1])
def test_num_epochs_must_be_positive(num_epochs):
    with pytest.raises(ValueError, match=f"num_epochs must be > 0 not {num_epochs}\\."):
        tf.train.limit_epochs(tf.constant(1), num_epochs)


def test_epoch_counter_is_a_local_variable():
    limited = tf.train.limit_epochs(tf.constant(1), 2)
    (epochs,) = local_variables()
    assert (limited.name, epochs.name) == ("limit_epochs:0", "limit_epochs/epochs:0")
    assert (epochs.dtype.base_dtype, epochs.trainable) == (tf.int64, False)
    assert not tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
    named = tf.train.limit_epochs(tf.constant(1), 2, name="passes")
    assert (named.name, local_variables()[1].name) == ("passes:0", "passes/epochs:0")


def test_limit_epochs_repeats_a_tensor(pipeline):
    assert pipeline.values(tf.train.limit_epochs(tf.constant(7), 3)) == [7, 7, 7]
    assert "Reached limit of 3" in str(pipeline.end)


# input_producer


def test_input_producer_yields_the_rows_of_a_tensor(pipeline):
    queue = tf.train.input_producer(tf.constant([[1, 2], [3, 4]]), num_epochs=2, shuffle=False)
    values = pipeline.values(queue.dequeue())
    assert np.array(values).tolist() == [[1, 2], [3, 4], [1, 2], [3, 4]]
    assert pipeline.failure is None


def test_input_producer_has_one_runner_with_one_operation():
    cancel = tf.no_op(name="mine")
    queue = tf.train.input_producer(
        tf.constant([1.0]), num_epochs=1, capacity=7, summary_name="full", cancel_op=cancel
    )
    (runner,) = runners()
    assert runner.queue is queue
    assert runner.cancel_op is cancel
    assert [op.type for op in runner.enqueue_ops] == ["QueueEnqueueManyV2"]
    assert (queue.dtypes, queue.shapes) == ([tf.float32], [tf.TensorShape([])])
    assert queue.name == "input_producer/FIFOQueueV2"
    assert local_variables()[0].name == "input_producer/limit_epochs/epochs:0"
    assert summary_names() == ["input_producer/full:0"]


def test_input_producer_without_a_summary_name_adds_no_summary():
    tf.train.input_producer(tf.constant([1]))
    assert summary_names() == []


@pytest.mark.parametrize(
    ("shape", "element_shape", "message"),
    [
        (None, None, "Either `input_tensor` must have a fully defined shape or `element_shape`"),
        ([None, None], None, "Either `input_tensor` must have a fully defined shape"),
        ([], None, "must have rank at least 1"),
        ([2, 3], [4], "are not compatible"),
        ([2, 3], [], "are not compatible|must have the same rank"),
    ],
)
def test_row_shape_must_be_known_and_match(shape, element_shape, message):
    with pytest.raises(ValueError, match=message):
        tf.train.input_producer(tf.placeholder(tf.int32, shape), element_shape)


@pytest.mark.parametrize(
    ("shape", "element_shape"), [(None, [3]), ([None, 3], None), ([2, None], [3])]
)
def test_row_shape_comes_from_the_tensor_and_the_argument(shape, element_shape):
    queue = tf.train.input_producer(tf.placeholder(tf.int32, shape), element_shape)
    assert queue.shapes == [tf.TensorShape([3])]


def test_each_epoch_is_reshuffled(pipeline):
    queue = tf.train.range_input_producer(50, num_epochs=3, seed=1)
    values = np.array(pipeline.values(queue.dequeue())).reshape(3, 50)
    assert [sorted(epoch) for epoch in values.tolist()] == [list(range(50))] * 3
    assert len({tuple(epoch) for epoch in values.tolist()}) == 3


def test_seed_makes_the_order_repeatable(pipeline):
    value = tf.train.string_input_producer(list("abcdefgh"), num_epochs=2, seed=3).dequeue()
    assert pipeline.values(value) == pipeline.values(value)


def test_tensor_is_computed_once_per_epoch(pipeline):
    calls = []

    def rows():
        calls.append(None)
        return np.array([len(calls)] * 3, np.int32)

    tensor = tf.py_func(rows, [], tf.int32)
    queue = tf.train.input_producer(tensor, [], num_epochs=2)
    assert pipeline.values(queue.dequeue()) == [1, 1, 1, 2, 2, 2]


def test_empty_tensor_ends_the_input_at_once(pipeline):
    queue = tf.train.input_producer(tf.zeros([0], tf.int32), num_epochs=5)
    assert pipeline.values(queue.dequeue()) == []
    assert pipeline.failure is None


@pytest.mark.parametrize(
    ("produce", "name"),
    [
        (
            lambda: tf.train.input_producer(tf.zeros([0], tf.int32)).dequeue(),
            "input_producer/FIFOQueueV2",
        ),
        (lambda: tf.train.range_input_producer(0, shuffle=False).dequeue(), "input_producer"),
        (
            lambda: tf.train.slice_input_producer([tf.zeros([0, 2])]),
            "input_producer/input_producer",
        ),
    ],
)
def test_producer_without_epochs_or_rows_fails_instead_of_looping_forever(pipeline, produce, name):
    assert pipeline.values(produce()) == []
    assert isinstance(pipeline.end, tf.errors.OutOfRangeError)
    assert isinstance(pipeline.failure, tf.errors.InvalidArgumentError)
    assert pipeline.end.__cause__ is pipeline.failure
    text = str(pipeline.failure)
    assert f"_{name}': its producer got no rows, expected at least one: without num_epochs" in text
    assert "(does any file match the pattern?), or set num_epochs." in text


def test_small_queue_does_not_block_any_epoch(pipeline):
    queue = tf.train.range_input_producer(20, num_epochs=3, shuffle=False, capacity=2)
    assert pipeline.values(queue.dequeue()) == list(range(20)) * 3


# string_input_producer


@pytest.mark.parametrize("strings", [[], (), None, ""])
def test_empty_string_list_is_rejected(strings):
    with pytest.raises(ValueError, match="string_input_producer requires a non-null input tensor"):
        tf.train.string_input_producer(strings)


@pytest.mark.parametrize(
    ("strings", "error", "message"),
    [
        ("a", ValueError, "must have rank at least 1"),
        ([["a"]], ValueError, "are not compatible|same rank"),
        (np.array(["a", "b"]), ValueError, "ambiguous"),
        ([1, 2], TypeError, "Expected string"),
    ],
)
def test_strings_must_be_a_vector(strings, error, message):
    with pytest.raises(error, match=message):
        tf.train.string_input_producer(strings)


@pytest.mark.parametrize("make", [list, tuple, tf.constant])
def test_strings_can_be_lists_or_tensors(pipeline, make):
    queue = tf.train.string_input_producer(make(["a", "b"]), num_epochs=1, shuffle=False)
    assert pipeline.values(queue.dequeue()) == [b"a", b"b"]


def test_zero_capacity_is_rejected():
    with pytest.raises(ZeroDivisionError):
        tf.train.string_input_producer(["a"], capacity=0)


def test_empty_file_name_list_at_run_time_fails_the_runner(pipeline):
    strings = tf.placeholder_with_default(tf.zeros([0], tf.string), [None])
    queue = tf.train.string_input_producer(strings)
    assert pipeline.values(queue.dequeue()) == []
    assert isinstance(pipeline.failure, tf.errors.InvalidArgumentError)
    assert "string_input_producer requires a non-null input tensor" in str(pipeline.failure)


@pytest.mark.parametrize(
    ("name", "capacity", "queue_name", "summary"),
    [
        (None, 32, "input_producer", "input_producer/fraction_of_32_full:0"),
        ("files", 7, "files", "files/fraction_of_7_full:0"),
    ],
)
def test_string_queue_is_named_after_its_scope(name, capacity, queue_name, summary):
    queue = tf.train.string_input_producer(["a"], num_epochs=1, capacity=capacity, name=name)
    assert queue.name == queue_name
    assert summary_names() == [summary]
    assert local_variables()[0].name == f"{queue_name}/limit_epochs/epochs:0"
    assert (queue.dtypes, queue.shapes) == ([tf.string], [tf.TensorShape([])])


def test_second_producer_gets_its_own_name():
    queues = [tf.train.string_input_producer(["a"]) for _ in range(2)]
    assert [queue.name for queue in queues] == ["input_producer", "input_producer_1"]


def test_summary_shows_how_full_the_queue_is(pipeline):
    tf.train.string_input_producer(["a", "b", "c"], num_epochs=1, capacity=4)
    queue = runners()[0].queue
    fill = queue.enqueue_many([["x", "y", "z"]])
    with tf.Session() as session:
        session.run(fill)
        summary = tf.Summary.FromString(session.run(tf.summary.merge_all()))
    (value,) = summary.value
    assert (value.tag, value.simple_value) == ("input_producer/fraction_of_4_full", 0.75)


# range_input_producer and slice_input_producer


def test_range_has_the_type_of_its_limit():
    queues = [tf.train.range_input_producer(limit) for limit in (3, tf.constant(3, tf.int64))]
    assert [queue.dtypes for queue in queues] == [[tf.int32], [tf.int64]]


def test_empty_range_ends_at_once(pipeline):
    assert pipeline.values(tf.train.range_input_producer(0, num_epochs=1).dequeue()) == []


def test_slices_of_all_tensors_stay_aligned(pipeline):
    letters, pairs = tf.train.slice_input_producer(
        [["a", "b", "c"], [[0, 0], [1, 10], [2, 20]]], num_epochs=2
    )
    assert (letters.shape, pairs.shape) == ([], [2])
    values = pipeline.values([letters, pairs])
    rows = [(letter, pair.tolist()) for letter, pair in values]
    assert sorted(rows) == sorted([(b"a", [0, 0]), (b"b", [1, 10]), (b"c", [2, 20])] * 2)
    assert local_variables()[0].name == "input_producer/input_producer/limit_epochs/epochs:0"
    assert summary_names() == ["input_producer/input_producer/fraction_of_32_full:0"]


def test_slices_of_one_tensor_are_a_list_of_one():
    (piece,) = tf.train.slice_input_producer([tf.placeholder(tf.int32, [None, 3])])
    assert piece.shape == [3]


def test_shorter_tensor_is_an_error_at_its_end(pipeline):
    pieces = tf.train.slice_input_producer([[1, 2, 3], ["a", "b"]], num_epochs=1, shuffle=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices = 2 is not in \[0, 2\)"):
        pipeline.values(pieces)


def test_longer_tensor_is_truncated(pipeline):
    pieces = tf.train.slice_input_producer([[1, 2], ["a", "b", "c"]], num_epochs=1, shuffle=False)
    assert pipeline.values(pieces) == [[1, b"a"], [2, b"b"]]


def test_slicing_no_tensors_is_rejected():
    with pytest.raises(ValueError, match="Expected at least one tensor in slice_input_producer"):
        tf.train.slice_input_producer([])


# An uninitialized epoch counter


def test_failed_producer_ends_its_consumers_and_join_raises_the_error(pipeline):
    queue = tf.train.string_input_producer(["a"], num_epochs=1)
    assert pipeline.values(queue.dequeue(), setup=lambda session: None) == []
    assert isinstance(pipeline.end, tf.errors.OutOfRangeError)
    assert isinstance(pipeline.failure, tf.errors.FailedPreconditionError)
    text = "Attempting to use uninitialized value input_producer/limit_epochs/epochs"
    assert text in str(pipeline.failure)


def test_failed_producer_ends_its_consumers_without_a_coordinator(monkeypatch):
    raised = []
    monkeypatch.setattr(threading, "excepthook", lambda args: raised.append(args.exc_value))
    queue = tf.train.string_input_producer(["a"], num_epochs=1)
    with tf.Session() as session:
        (thread,) = tf.train.start_queue_runners(session)
        thread.join(10)
        with pytest.raises(tf.errors.OutOfRangeError) as caught:
            session.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=10_000))
    assert [type(error) for error in raised] == [tf.errors.FailedPreconditionError]
    assert caught.value.__cause__ is raised[0]
    assert (
        "because a queue runner failed: FailedPreconditionError: Attempting to use uninitialized "
        "value input_producer/limit_epochs/epochs. It is a local variable: run "
        "tf.local_variables_initializer() before anything else"
    ) in str(caught.value)


def test_sessions_count_epochs_separately(pipeline):
    value = tf.train.string_input_producer(["a", "b"], num_epochs=1, shuffle=False).dequeue()
    assert [pipeline.values(value) for _ in range(2)] == [[b"a", b"b"]] * 2
