"""Batchers: threads put examples into a queue, which returns batches."""

import threading
import time
from collections import Counter

import numpy as np
import pytest

import headrace.tf1 as tf

# Each creates batches of two from one example, so that shared behaviour is tested once.
BATCHERS = {
    "batch": lambda tensors, **options: tf.train.batch(tensors, 2, **options),
    "batch_join": lambda tensors, **options: tf.train.batch_join([tensors], 2, **options),
    "shuffle_batch": lambda tensors, **options: tf.train.shuffle_batch(
        tensors, 2, 32, 4, **options
    ),
    "shuffle_batch_join": lambda tensors, **options: tf.train.shuffle_batch_join(
        [tensors], 2, 32, 4, **options
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


NO_RANK = (
    r"Cannot infer Tensor's rank: Tensor\(\"Placeholder:0\", dtype=int32\)\. Set its shape first, "
    r"for example with set_shape\(\[None, 3\]\), or pass shapes\."
)


# Names and structures


@pytest.mark.parametrize("name_argument", [None, "mine"])
def test_operations_are_named_after_the_batcher(name, batcher, name_argument):
    tensors = batcher([1, "a"], name=name_argument)
    scope = name_argument or name
    assert [tensor.name for tensor in tensors] == [f"{scope}:0", f"{scope}:1"]
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    kind = "random_shuffle_queue" if "shuffle" in name else "fifo_queue"
    assert runner.name == f"{scope}/{kind}"
    (summary,) = tf.get_collection(tf.GraphKeys.SUMMARIES)
    fraction = "over_4_of_28" if "shuffle" in name else "of_32"
    assert summary.name == f"{scope}/fraction_{fraction}_full:0"


def test_dynamic_pad_creates_a_padding_queue():
    tf.train.batch([[1]], 2, dynamic_pad=True)
    (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    assert runner.name == "batch/padding_fifo_queue"


@pytest.mark.parametrize(("num_threads", "expected"), [(1, 1), (3, 3)])
def test_batcher_has_one_enqueue_operation_per_thread(num_threads, expected):
    tf.train.batch([1], 2, num_threads=num_threads)
    tf.train.batch_join([[1]] * num_threads, 2)
    one, join = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    assert len(one.enqueue_ops) == len(join.enqueue_ops) == expected
    assert (len(set(one.enqueue_ops)), len(set(join.enqueue_ops))) == (1, expected)


def test_batches_have_the_structure_of_an_example(batcher):
    two = batcher([1, "a"])
    assert [tensor.dtype for tensor in two] == [tf.int32, tf.string]
    assert isinstance(batcher((1, "a")), list)
    one = batcher([1])
    assert (one.dtype, one.shape) == (tf.int32, [2])
    named = batcher({"b": "x", 3: 1, "a": [1.0, 2.0]})
    assert {key: value.dtype for key, value in named.items()} == {
        "b": tf.string,
        3: tf.int32,
        "a": tf.float32,
    }
    # Components are in the order of the keys as strings.
    outputs = {key: int(value.name[-1]) for key, value in named.items()}
    assert outputs == {3: 0, "a": 1, "b": 2}
    (single,) = batcher({"only": 1}).items()
    assert single[0] == "only"
    assert single[1].shape == [2]


# Static shapes


@pytest.mark.parametrize(
    ("size", "options", "expected"),
    [
        (3, {}, 3),
        (lambda: tf.constant(3), {}, 3),
        (lambda: tf.placeholder(tf.int32, []), {}, None),
        (3, {"allow_smaller_final_batch": True}, None),
        (0, {}, 0),
    ],
)
def test_first_dimension_is_the_batch_size(size, options, expected):
    batch = tf.train.batch([[1, 2]], size() if callable(size) else size, **options)
    assert batch.shape.as_list() == [expected, 2]


@pytest.mark.parametrize(
    ("shape", "options", "expected"),
    [
        ([5, 2], {}, [3, 5, 2]),
        ([5, 2], {"enqueue_many": True}, [3, 2]),
        ([None, 2], {"enqueue_many": True}, [3, 2]),
        ([None, 2], {"dynamic_pad": True}, [3, None, 2]),
        (None, {"shapes": [(4, 2)]}, [3, 4, 2]),
        ([None, 2], {"shapes": [(4, 2)]}, [3, 4, 2]),
        (None, {"shapes": [(None, 2)], "dynamic_pad": True}, [3, None, 2]),
        (None, {"shapes": [(2,)], "enqueue_many": True}, [3, 2]),
        (None, {"shapes": (4, 2)}, [3, 4, 2]),
    ],
)
def test_other_dimensions_match_the_example(shape, options, expected):
    batch = tf.train.batch([tf.placeholder(tf.int32, shape)], 3, **options)
    assert batch.shape.as_list() == expected


@pytest.mark.parametrize(
    ("shapes", "dynamic_pad", "expected"),
    [
        ([[2], [None]], False, [2]),
        ([[2], [None]], True, [2]),
        ([[None], [2]], True, [None]),
        ([[None], [2]], False, "All shapes must be fully defined"),
        ([[2], [3]], True, "are not compatible"),
        ([[2], [2, 2]], True, "are not compatible|same rank"),
        ([None, [2]], True, "Cannot infer Tensor's rank"),
    ],
)
def test_shape_of_a_join_comes_from_its_first_example(shapes, dynamic_pad, expected):
    examples = [[tf.placeholder(tf.int32, shape)] for shape in shapes]
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            tf.train.batch_join(examples, 3, dynamic_pad=dynamic_pad)
    else:
        batch = tf.train.batch_join(examples, 3, dynamic_pad=dynamic_pad)
        assert batch.shape.as_list() == [3, *expected]


# Errors


@pytest.mark.parametrize(
    ("example", "options", "error", "message"),
    [
        ([], {}, ValueError, r"Expected at least one tensor in batch\(\)\."),
        ({}, {}, ValueError, r"Expected at least one tensor in batch\(\)\."),
        (lambda: tf.constant([1, 2]), {}, TypeError, "iterable"),
        (lambda: [tf.placeholder(tf.int32)], {}, ValueError, NO_RANK),
        (
            lambda: [tf.placeholder(tf.int32, [None])],
            {},
            ValueError,
            "All shapes must be fully defined: .*Set the missing sizes with set_shape",
        ),
        ([1], {"enqueue_many": True}, ValueError, "must have rank at least 1"),
        ([[1, 2]], {"shapes": [(3,)]}, ValueError, "are incompatible"),
        ([1, 2], {"shapes": [()]}, ValueError, "must have the same length as dtypes"),
    ],
)
def test_invalid_examples_are_rejected(batcher, example, options, error, message):
    with pytest.raises(error, match=message):
        batcher(example() if callable(example) else example, **options)


@pytest.mark.parametrize(
    ("examples", "error", "message"),
    [
        ([], ValueError, "Expected at least one set of tensors"),
        ({}, ValueError, "Expected at least one set of tensors"),
        ({"a": [1]}, TypeError, "expected a list of examples, got a dict with keys"),
        ([{"a": 1}, {"b": 1}], ValueError, "All dictionaries in tensors_list must have the same"),
        ([{"a": 1}, [1]], ValueError, "All dictionaries in tensors_list must have the same keys"),
        ([[1], ["a"]], TypeError, r"Expected types to be consistent: int32 vs\. string\."),
        ([[1, 2], [1, 2.5]], TypeError, "consistent: int32, int32 vs. int32, float32"),
        ([[1, 2], [1]], ValueError, "Inconsistent SparseTensors list: .* vs. "),
    ],
)
def test_examples_of_a_join_must_match(examples, error, message):
    with pytest.raises(error, match=message):
        tf.train.batch_join(examples, 2)
    with pytest.raises(error, match=message):
        tf.train.shuffle_batch_join(examples, 2, 10, 3)


@pytest.mark.parametrize("capacity", [3, 4])
def test_capacity_must_exceed_min_after_dequeue(capacity):
    text = f"capacity {capacity} must be bigger than min_after_dequeue 4\\."
    with pytest.raises(ValueError, match=text):
        tf.train.shuffle_batch([1], 2, capacity, 4)
    with pytest.raises(ValueError, match=text):
        tf.train.shuffle_batch_join([[1]], 2, capacity, 4)


def test_zero_threads_and_negative_batch_sizes_are_rejected():
    with pytest.raises(ValueError, match="Must provide queue and enqueue_ops"):
        tf.train.batch([1], 2, num_threads=0)
    with pytest.raises(ValueError, match="must be >= 0"):
        tf.train.batch([1], -2)


# Output


def test_examples_come_in_order_and_a_smaller_final_batch_is_dropped(pipeline, numbers):
    number = numbers(7)
    values = pipeline.values(tf.train.batch([number, tf.as_string(number)], 3))
    assert [(n.tolist(), s.tolist()) for n, s in values] == [
        ([0, 1, 2], [b"0", b"1", b"2"]),
        ([3, 4, 5], [b"3", b"4", b"5"]),
    ]
    assert "is closed and has insufficient elements" in str(pipeline.end)
    assert pipeline.failure is None


@pytest.mark.parametrize("name", BATCHERS)
def test_final_batch_can_be_smaller(name, pipeline, numbers):
    batch = BATCHERS[name]([numbers(7)], allow_smaller_final_batch=True)
    batches = pipeline.values(batch)
    assert [len(batch) for batch in batches] == [2, 2, 2, 1]
    assert sorted(flat(batches)) == list(range(7))


@pytest.mark.parametrize("size", [0, 20])
def test_batch_can_be_empty_or_larger_than_the_queue(pipeline, numbers, size):
    (values,) = pipeline.values(tf.train.batch([numbers(50)], size, capacity=4), limit=1)
    assert values.tolist() == list(range(size))


def test_tensors_of_different_sizes_are_padded(pipeline, numbers):
    number = numbers(4)
    row = tf.fill([number], number)
    words = tf.fill([number, 1], tf.as_string(number))
    row.set_shape([None])
    words.set_shape([None, 1])
    first, second = pipeline.values(tf.train.batch([row, words], 2, dynamic_pad=True))
    assert first[0].tolist() == [[0], [1]]
    assert second[0].tolist() == [[2, 2, 0], [3, 3, 3]]
    assert second[1].tolist() == [[[b"2"], [b"2"], [b""]], [[b"3"]] * 3]


def test_enqueue_many_splits_an_example_into_any_number_of_rows(pipeline, numbers):
    number = numbers(5)
    rows = tf.fill([number], number)  # 0 none, 1 once, 2 twice
    rows.set_shape([None])
    batch = tf.train.batch([rows, rows * 10], 2, enqueue_many=True)
    assert flat(ones for ones, _ in pipeline.values(batch)) == [1, 2, 2, 3, 3, 3, 4, 4, 4, 4]


def test_examples_are_filtered_by_rows(pipeline, numbers):
    row = tf.expand_dims(numbers(20), 0)
    even = tf.boolean_mask(row, tf.equal(row % 2, 0))
    batches = pipeline.values(tf.train.batch([even], 5, enqueue_many=True))
    assert flat(batches) == list(range(0, 20, 2))


@pytest.mark.parametrize("name", ["batch", "shuffle_batch"])
def test_several_threads_do_not_lose_duplicate_or_tear_examples(name, pipeline, numbers):
    number = numbers(400)
    batch = BATCHERS[name]([number, number * number, tf.as_string(number)], num_threads=4)
    values = pipeline.values(batch)
    assert Counter(flat(n for n, _, _ in values)) == Counter(range(400))
    for ones, squares, words in values:
        assert (squares == ones * ones).all()
        assert [int(word) for word in words] == ones.tolist()


@pytest.mark.parametrize("name", ["batch_join", "shuffle_batch_join"])
def test_join_continues_until_its_last_source_ends(name, pipeline, numbers):
    sources = [[numbers(3)], [numbers(40) + 100]]
    options = {"capacity": 10, "min_after_dequeue": 3} if "shuffle" in name else {}
    batches = pipeline.values(getattr(tf.train, name)(sources, 1, **options))
    assert sorted(flat(batches)) == [*range(3), *range(100, 140)]


def test_shuffled_batch_is_drawn_from_the_whole_queue(pipeline, numbers):
    batches = pipeline.values(
        tf.train.shuffle_batch([numbers(100)], 10, capacity=100, min_after_dequeue=50)
    )
    assert sorted(flat(batches)) == list(range(100))
    assert flat(batches) != list(range(100))


# Seeds: see the docstring of `shuffle_batch`

TIMES = 20


def repeat(pipeline, make, **options):
    """The batches of several runs of one program with seeds."""
    runs = []
    for _ in range(TIMES):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            runs.append(flat(pipeline.values(make(), **options)))
    return runs


def shuffled(num_epochs, limit, capacity, min_after_dequeue, **options):
    number = tf.train.range_input_producer(limit, num_epochs, seed=2).dequeue()
    return tf.train.shuffle_batch([number], 5, capacity, min_after_dequeue, seed=3, **options)


@pytest.mark.parametrize("is_small_at_the_end", [False, True])
def test_shuffle_below_the_minimum_is_the_same_in_every_run(pipeline, is_small_at_the_end):
    def make():
        return shuffled(2, 21, 100, 50, allow_smaller_final_batch=is_small_at_the_end)

    runs = repeat(pipeline, make)
    assert runs == [runs[0]] * TIMES
    assert len(runs[0]) == (42 if is_small_at_the_end else 40)


def test_shuffle_with_one_element_above_the_minimum_is_the_same_in_every_run(pipeline):
    runs = repeat(pipeline, lambda: shuffled(None, 40, 21, 20), limit=50)
    assert runs == [runs[0]] * TIMES
    assert len(runs[0]) == 250


def test_shuffle_of_a_full_queue_is_the_same_in_every_run():
    def make():
        number = tf.train.range_input_producer(100, 1, seed=2).dequeue()
        batch = tf.train.shuffle_batch([number], 5, 60, 20, seed=3)
        return batch, tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[-1].queue

    runs = []
    for _ in range(TIMES):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(1)
            batch, queue = make()
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            runs.append([])
            for left in range(100, 0, -5):
                wait_for_size(session, queue, min(60, left))
                runs[-1] += session.run(batch).tolist()
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=10)
    assert runs == [runs[0]] * TIMES
    assert sorted(runs[0]) == list(range(100))


def wait_for_size(session, queue, size):
    """Waits until a queue has this many elements, or is closed because there are no more."""
    deadline = time.monotonic() + 10
    while True:
        stats = session.queue_statistics(queue)
        if stats.size == size and (stats.is_closed or size == stats.capacity):
            return
        assert time.monotonic() < deadline, f"there are {stats.size} elements, expected {size}"
        threading.Event().wait(0.001)


def test_error_in_an_example_is_raised_by_join(pipeline, numbers):
    number = numbers(100)
    # The check is of the example alone. A dequeue of the batch under it would draw numbers too.
    with tf.control_dependencies([tf.Assert(tf.not_equal(number, 6), ["six"])]):
        example = tf.identity(number)
    assert flat(pipeline.values(tf.train.batch([example], 4))) == [0, 1, 2, 3]
    assert isinstance(pipeline.end, tf.errors.OutOfRangeError)
    assert isinstance(pipeline.failure, tf.errors.InvalidArgumentError)
    assert "assertion failed: [six]" in str(pipeline.failure)


def test_shape_mismatch_at_run_time_is_raised_by_join(pipeline):
    value = tf.placeholder_with_default([1, 2, 3], None)
    assert pipeline.values(tf.train.batch([value], 2, shapes=[(2,)])) == []
    assert "Shape mismatch in tuple component 0. Expected [2], got [3]" in str(pipeline.failure)


# The promises of the guide


def test_shuffle_batch_join_reads_several_files_concurrently(pipeline, write_records):
    files = [write_records(f"{i}", [b"%d-%d" % (i, j) for j in range(10)]) for i in range(5)]
    names = tf.train.string_input_producer(files, num_epochs=2)
    examples = [[tf.TFRecordReader().read(names).value] for _ in range(3)]
    batch = tf.train.shuffle_batch_join(examples, batch_size=10, capacity=40, min_after_dequeue=10)
    records = Counter(record for values in pipeline.values(batch) for record in values)
    assert records == {b"%d-%d" % (i, j): 2 for i in range(5) for j in range(10)}


def test_shuffle_batch_with_threads_reads_one_file_at_a_time(pipeline, write_records):
    files = [write_records(f"{i}", [b"%d-%d" % (i, j) for j in range(50)]) for i in range(3)]
    names = tf.train.string_input_producer(files, num_epochs=1, shuffle=False)
    reader = tf.TFRecordReader()
    record = reader.read(names).value
    batch = tf.train.shuffle_batch([record], 10, 20, 5, num_threads=4)
    batches = pipeline.values(batch)
    records = [record for values in batches for record in values]
    assert sorted(records) == sorted(b"%d-%d" % (i, j) for i in range(3) for j in range(50))
    # So few elements wait that the last file has not been started when the first batch is taken.
    assert not any(record.startswith(b"2") for record in batches[0])


def test_serialized_examples_are_batched_and_parsed_together(pipeline, write_records):
    def example(values):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        features = tf.train.Features(feature={"v": feature})
        return tf.train.Example(features=features).SerializeToString()

    path = write_records("sparse", [example(range(n)) for n in range(4)])
    names = tf.train.string_input_producer([path], num_epochs=1)
    batch = tf.train.batch([tf.TFRecordReader().read(names).value], 2)
    parsed = tf.parse_example(batch, {"v": tf.VarLenFeature(tf.int64)})["v"]
    first, second = pipeline.values(parsed)
    assert (first.values.tolist(), first.dense_shape.tolist()) == ([0], [2, 1])
    assert second.indices.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]


@pytest.mark.parametrize("is_variable", [False, True])
def test_preloaded_data_is_sliced_and_batched(pipeline, is_variable):
    images = np.arange(60, dtype=np.float32).reshape(10, 6)
    labels = np.arange(10, dtype=np.int32)
    if is_variable:
        # Not in any collection, so that only the initializer is fed the data.
        tensors = [
            tf.Variable(tf.placeholder(value.dtype, value.shape), trainable=False, collections=[])
            for value in (images, labels)
        ]
    else:
        tensors = [tf.constant(images), tf.constant(labels)]
    image, label = tf.train.slice_input_producer(tensors, num_epochs=2)
    batch = tf.train.batch([image, label], batch_size=5, num_threads=2)

    def setup(session):
        session.run(tf.local_variables_initializer())
        for tensor, value in zip(tensors, (images, labels), strict=True):
            if is_variable:
                session.run(tensor.initializer, {tensor.initializer.inputs[1]: value})

    seen = []
    for rows, numbers in pipeline.values(batch, setup=setup):
        assert (rows == images[numbers]).all()
        seen += numbers.tolist()
    assert sorted(seen) == sorted([*range(10)] * 2)


def test_program_without_runners_waits(numbers):
    batch = tf.train.batch([numbers(5)], 2)
    with tf.Session() as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(batch, options=tf.RunOptions(timeout_in_ms=50))
