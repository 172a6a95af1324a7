"""Batches of similar lengths, and with other distributions."""

from collections import Counter

import numpy as np
import pytest
from tests.calls import waiting_call

import headrace.tf1 as tf

training = tf.contrib.training


def taken(fetches):
    results = []
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            results.append(sess.run(fetches))
    return results


def numbers(limit, num_epochs=1):
    return tf.train.range_input_producer(limit, num_epochs, shuffle=False).dequeue()


def test_batch_contains_examples_of_one_bucket():
    number = numbers(12)
    which, batch = training.bucket([number], number % 3, 2, 3)
    assert batch[0].shape.as_list() == [2]
    result = taken([which, batch])
    assert len(result) == 6
    for bucket, [values] in result:
        assert (values % 3 == bucket).all()
    assert sorted(value for _, [values] in result for value in values) == list(range(12))


def test_buckets_can_have_their_own_sizes_and_smaller_final_batches():
    number = numbers(10)
    which, batch = training.bucket(
        {"n": number}, number % 2, [2, 3], 2, allow_smaller_final_batch=True, keep_input=number > 0
    )
    results = sorted((bucket, batch["n"].tolist()) for bucket, batch in taken([which, batch]))
    assert results == [(0, [2, 4]), (0, [6, 8]), (1, [1, 3, 5]), (1, [7, 9])]


def test_sequences_are_padded_to_the_longest_in_their_bucket():
    length = numbers(8)
    lengths, batch = training.bucket_by_sequence_length(
        length, [tf.range(length)], 2, [3, 6], dynamic_pad=True, allow_smaller_final_batch=True
    )
    assert batch[0].shape.as_list() == [None, None]
    results = sorted((ls.tolist(), b.shape) for ls, [b] in taken([lengths, batch]))
    assert results == [
        ([0, 1], (2, 1)),
        ([2], (1, 2)),
        ([3, 4], (2, 4)),
        ([5], (1, 5)),
        ([6, 7], (2, 7)),
    ]


@pytest.mark.parametrize(
    ("error", "arguments", "message"),
    [
        (TypeError, {"bucket_boundaries": 3}, "must be a list or tuple"),
        (ValueError, {"bucket_boundaries": []}, "must not be empty"),
        (ValueError, {"bucket_boundaries": [3, 3]}, "sequential increasing"),
        (TypeError, {"bucket_boundaries": [3, 4.5]}, "must be integers"),
        (ValueError, {"bucket_boundaries": [3], "batch_size": [1]}, "must have num_buckets"),
        (TypeError, {"bucket_boundaries": [4.5]}, "must be integers, but saw: 4.5"),
        (TypeError, {"bucket_boundaries": [4.0, 5]}, "must be integers, but saw: 4.0 and 5"),
        (ValueError, {"bucket_boundaries": [3], "bucket_capacities": [1]}, "exactly num_buckets"),
        (ValueError, {"bucket_boundaries": [3], "tensors": []}, "at least one tensor"),
        (ValueError, {"bucket_boundaries": [3], "keep_input": [True]}, "cannot be a vector"),
    ],
)
def test_invalid_buckets_are_rejected(error, arguments, message):
    with pytest.raises(error, match=message):
        training.bucket_by_sequence_length(
            **{"input_length": 1, "tensors": [1], "batch_size": 1} | arguments
        )


def test_single_bucket_batches_its_examples_and_drops_the_rest():
    number = numbers(7)
    which, batch = training.bucket([number], number % 2, tf.constant(2), 1)
    assert batch[0].shape.as_list() == [2]
    assert [(bucket, values.tolist()) for bucket, [values] in taken([which, batch])] == [
        (0, [0, 2]),
        (0, [4, 6]),
    ]


def test_zero_buckets_are_rejected():
    with pytest.raises(ValueError, match="num_buckets must be >= 1, but saw: 0"):
        training.bucket([1], 0, 1, 0)


def test_batch_size_can_be_a_tensor():
    size = tf.placeholder_with_default(tf.constant(3), [])
    _, batch = training.bucket([numbers(6)], 0, size, 1)
    assert batch[0].shape.as_list() == [None]
    assert [values.tolist() for (values,) in taken(batch)] == [[0, 1, 2], [3, 4, 5]]


def test_sparse_tensors_are_batched_by_bucket():
    number = numbers(6)
    indices = tf.to_int64(tf.range(number))[:, None]
    ids = tf.SparseTensor(indices, tf.range(number) + 10, tf.to_int64([number]))
    which, batch = training.bucket({"ids": ids, "n": number}, number % 2, 3, 2)
    for bucket, result in taken([which, batch]):
        assert result["n"].tolist() == [bucket, bucket + 2, bucket + 4]
        assert result["ids"].dense_shape.tolist() == [3, bucket + 4]
        assert len(result["ids"].values) == sum(result["n"])


def test_buckets_can_be_shared_by_name():
    training.bucket([numbers(6)], 0, 3, 2, shared_name="words")
    names = {op.attrs.get("shared_name") for op in tf.get_default_graph().get_operations()}
    assert {"words", "words_0", "words_1"} <= names


def test_examples_are_accepted_by_their_probability():
    values = tf.constant(np.arange(12))
    [batch] = training.rejection_sample(
        [values], lambda value: tf.to_float(value[0] % 2), 3, enqueue_many=True, runtime_checks=True
    )
    with tf.train.MonitoredSession() as sess:
        result = np.concatenate([sess.run(batch) for _ in range(4)])
    assert result.tolist() == [1, 3, 5, 7, 9, 11] * 2


def test_probability_above_one_is_an_error():
    [batch] = training.rejection_sample(
        [numbers(3)], lambda value: tf.to_float(value[0]) + 2.0, 1, runtime_checks=True
    )
    with pytest.raises(tf.errors.InvalidArgumentError), tf.train.MonitoredSession() as sess:
        sess.run(batch)


@pytest.mark.parametrize("init_probs", [None, [0.75, 0.25]])
def test_classes_have_the_requested_probabilities(init_probs):
    tf.set_random_seed(5)
    label = tf.cast(tf.equal(numbers(4, None), 3), tf.int32)
    [data], labels = training.stratified_sample([label * 10], label, [0.25, 0.75], 100, init_probs)
    with tf.train.MonitoredSession() as sess:
        counts = Counter()
        for _ in range(10):
            values, classes = sess.run([data, labels])
            assert (values == classes * 10).all()
            counts.update(classes.tolist())
    assert 0.65 < counts[1] / 1000 < 0.85


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.uint8])
@pytest.mark.parametrize("enqueue_many", [False, True])
@pytest.mark.parametrize("init_probs", [None, [0.5, 0.5]])
def test_samples_keep_their_dtypes(dtype, enqueue_many, init_probs):
    label = tf.cast(numbers(2, None), dtype)
    label = label[None] if enqueue_many else label
    [data], labels = training.stratified_sample(
        [label + 1], label, [0.5, 0.5], 4, init_probs, enqueue_many
    )
    [kept] = training.rejection_sample([label], lambda _: 1.0, 4, enqueue_many=enqueue_many)
    assert [data.dtype, labels.dtype, kept.dtype] == [dtype] * 3
    with tf.train.MonitoredSession() as sess:
        values, classes = sess.run([data, labels])
    assert values.dtype == classes.dtype == dtype.as_numpy_dtype
    assert (values == classes + 1).all()


def test_non_integer_labels_are_rejected():
    with pytest.raises(TypeError, match="labels have dtype float32, expected integers"):
        training.stratified_sample([1], 0.0, [0.5, 0.5], 1)
    with pytest.raises(ValueError, match="int32"):
        training.bucket_by_sequence_length(tf.constant(3, tf.int64), [1], 1, [3])


@pytest.mark.parametrize(
    ("target", "initial", "message"),
    [
        ([0.5, 0.6], None, "target_probs is .* that sum to 1"),
        ([0.5, 0.5], [1.0], "init_probs has 1 classes, but target_probs has 2"),
        ([0.5, 0.5], [1.0, 0.0], "a class that the input never"),
    ],
)
def test_invalid_probabilities_are_rejected(target, initial, message):
    with pytest.raises(ValueError, match=message):
        training.stratified_sample([1], 0, target, 1, initial)


def sequences(lengths, num_epochs=1):
    """Sequences of given lengths: the number of each, and its steps."""
    number = numbers(len(lengths), num_epochs)
    length = tf.gather(tf.constant(lengths), number)
    return number, 10 * number + tf.range(length)


class TestSequences:
    def test_sequences_are_split_and_keep_their_state(self):
        lengths = [1, 5, 2, 4, 3]
        number, steps = sequences(lengths)
        batch = training.batch_sequences_with_states(
            tf.as_string(number),
            {"steps": steps},
            {"n": number},
            None,
            {"sum": tf.constant(0), "count": tf.zeros([2])},
            num_unroll=2,
            batch_size=2,
            num_threads=1,
        )
        assert batch.sequences["steps"].shape.as_list() == [None, 2]
        sums = batch.state("sum") + tf.reduce_sum(batch.sequences["steps"], 1)
        count = batch.save_state("count", batch.state("count") + 1.0)
        fetches = {
            "key": batch.key,
            "n": batch.context["n"],
            "length": batch.length,
            "total": batch.total_length,
            "sequence": batch.sequence,
            "of": batch.sequence_count,
            "next": batch.next_key,
            "steps": batch.sequences["steps"],
            "count": batch.state("count"),
            "size": batch.batch_size,
            "sum": tf.identity(sums),
            "save": [batch.save_state("sum", sums), count],
        }
        seen = Counter()
        for actual in taken(fetches):
            assert actual["size"] == len(actual["key"])
            for row, n in enumerate(actual["n"].tolist()):
                position, length = seen[n], lengths[n]
                of = -(-length // 2)
                assert actual["key"][row] == f"{position:05d}_of_{of:05d}:{n}".encode()
                end = position + 1 == of
                assert (
                    actual["next"][row]
                    == (f"STOP:{n}" if end else f"{position + 1:05d}_of_{of:05d}:{n}").encode()
                )
                real = min(2, length - 2 * position)
                assert (actual["length"][row], actual["total"][row]) == (real, length)
                assert (actual["sequence"][row], actual["of"][row]) == (position, of)
                expected = [10 * n + step for step in range(2 * position, 2 * position + real)]
                assert actual["steps"][row].tolist() == expected + [0] * (2 - real)
                assert actual["count"][row].tolist() == [position] * 2
                steps_so_far = range(min(2 * position + 2, length))
                assert actual["sum"][row] == sum(10 * n + step for step in steps_so_far)
                seen[n] += 1
        assert [seen[n] for n in range(5)] == [-(-length // 2) for length in lengths]

    def test_sequences_can_be_sparse_and_have_sparse_contexts(self):
        number, steps = sequences([3, 1, 2])
        length = tf.size(steps)
        last = tf.cast(tf.stack([[length - 1, 1]]), tf.int64)
        shape = tf.cast(tf.stack([length, 2]), tf.int64)
        batch = training.batch_sequences_with_states(
            tf.as_string(number),
            {"dense": steps, "last": tf.SparseTensor(last, tf.stack([number]), shape)},
            {"n": tf.SparseTensor([[1]], tf.stack([number]), [3])},
            None,
            {"s": 0.0},
            num_unroll=2,
            batch_size=1,
            num_threads=1,
        )
        result = taken(
            [
                tf.sparse_tensor_to_dense(batch.sequences["last"]),
                tf.sparse_tensor_to_dense(batch.context["n"]),
                batch.save_state("s", batch.state("s")),
            ]
        )
        last = [one.tolist() for one, *_ in result]
        assert last == [
            [[[0, 0], [0, 0]]],
            [[[0, 0], [0, 0]]],
            [[[0, 1], [0, 0]]],
            [[[0, 0], [0, 2]]],
        ]
        assert [one.tolist() for _, one, _ in result] == [[[0, n, 0]] for n in (0, 0, 1, 2)]

    def test_sequences_wait_for_states_and_for_capacity(self):
        number, steps = sequences([4] * 6)
        saver = training.SequenceQueueingStateSaver(
            2, 2, 4, tf.as_string(number), {"a": steps}, {}, {"s": 0}, capacity=2
        )
        batch, prefetch = saver.next_batch, saver.prefetch_op
        save, ready = batch.save_state("s", batch.state("s") + 1), saver.barrier.ready_size()
        short = tf.RunOptions(timeout_in_ms=50)
        with tf.Session() as sess:
            sess.run(tf.local_variables_initializer())
            coord = tf.train.Coordinator()
            tf.train.start_queue_runners(sess, coord)
            for _ in range(2):
                sess.run(prefetch)
            sess.run(batch.key)
            assert sess.run(ready) == 0
            assert sess.run(saver.barrier.incomplete_size()) == 2
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(prefetch, options=short)
            coord.request_stop()
            sess.close()
            coord.join()
        assert save.type == "BarrierInsertMany"

    def test_sequences_end_with_a_small_batch_while_a_run_waits(self):
        _, steps = sequences([2])
        saver = training.SequenceQueueingStateSaver(
            batch_size=2,
            num_unroll=1,
            input_length=2,
            input_key="k",
            input_sequences={"a": steps},
            input_context={},
            initial_states={"s": 0},
            allow_small_batch=True,
        )
        batch, prefetch, close = saver.next_batch, saver.prefetch_op, saver.close()
        step = [batch.key, batch.save_state("s", batch.state("s") + 1)]
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess, coord)
            sess.run(prefetch)
            call = waiting_call(lambda: sess.run(step), "barrier")
            sess.run(close)
            assert call.result()[0].tolist() == [b"00000_of_00002:k"]
            assert sess.run(step)[0].tolist() == [b"00001_of_00002:k"]
            with pytest.raises(tf.errors.OutOfRangeError):
                sess.run(step)
            coord.request_stop()
            coord.join(threads)

    def test_sequences_with_equal_keys_get_unique_keys(self):
        _, steps = sequences([1, 1, 1, 1])
        batch = training.batch_sequences_with_states(
            tf.constant("same"),
            {"a": steps},
            {},
            None,
            {"s": 0},
            num_unroll=1,
            batch_size=4,
            make_keys_unique=True,
            make_keys_unique_seed=7,
        )
        ((keys, _),) = taken([batch.key, batch.save_state("s", batch.state("s"))])
        assert len(set(keys.tolist())) == 4
        assert all(key.startswith(b"00000_of_00001:same") for key in keys)

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"pad": False, "input_length": 3}, "should be a multiple of: 2"),
            ({"input_length": 9}, "Input length should be <= than length from sequences"),
            ({"sequences": {"b": tf.range(2)}}, "All sequence lengths must match"),
        ],
    )
    def test_sequence_of_a_wrong_length_ends_the_input(self, arguments, text):
        arguments = {"input_length": None, **arguments}
        more = {key: [1, 2] for key in arguments.pop("sequences", {})}
        batch = training.batch_sequences_with_states(
            "k",
            {"a": tf.placeholder_with_default([1, 2, 3], [None]), **more},
            {},
            initial_states={"s": 0},
            num_unroll=2,
            batch_size=1,
            **arguments,
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            taken(batch.key)

    @pytest.mark.parametrize(
        ("arguments", "kind", "text"),
        [
            ({"input_sequences": {}}, ValueError, "at least one sequence tensor"),
            ({"input_sequences": {"a:": [1]}}, ValueError, "may not have a colon: 'a:'"),
            ({"input_context": {1: [1]}}, TypeError, "context key must be string: 1"),
            ({"initial_states": {}}, ValueError, "initial_states may not be empty"),
            ({"initial_states": {"s": None}}, ValueError, "None values not supported"),
            ({"input_length": 1.0}, TypeError, "length dtype must be int32"),
            ({"input_key": 3}, TypeError, "key dtype must be string"),
            ({"num_unroll": 1.5}, ValueError, "Unsupported num_unroll expected int, got: 1.5"),
            ({"capacity": 1, "batch_size": 2}, ValueError, "larger or equal to batch_size"),
            ({"pad": False}, ValueError, "input_length is None"),
        ],
    )
    def test_invalid_sequence_arguments_are_rejected(self, arguments, kind, text):
        inputs = {
            "input_key": "k",
            "input_sequences": {"a": [1, 2]},
            "input_context": {},
            "input_length": None,
            "initial_states": {"s": 0},
            "num_unroll": 2,
            "batch_size": 1,
        }
        with pytest.raises(kind, match=text):
            training.batch_sequences_with_states(**{**inputs, **arguments})

    def test_sequence_shapes_must_be_fully_defined(self):
        unknown = tf.placeholder(tf.float32)
        for where in ("input_sequences", "input_context", "initial_states"):
            arguments = {
                "input_sequences": {"a": [1, 2]},
                "input_context": {},
                "initial_states": {"s": 0},
            }
            arguments[where] = {"x": unknown}
            with pytest.raises(ValueError, match="is not fully defined"):
                training.batch_sequences_with_states(
                    "k", input_length=2, num_unroll=2, batch_size=1, pad=False, **arguments
                )

    def test_saved_states_must_match_the_initial_states(self):
        batch = training.batch_sequences_with_states(
            "k", {"a": [1, 2]}, {}, None, {"s": [0, 0]}, num_unroll=2, batch_size=1
        )
        with pytest.raises(KeyError, match="state was not declared: t"):
            batch.save_state("t", [[1, 2]])
        with pytest.raises(ValueError, match="are incompatible"):
            batch.save_state("s", [[1, 2, 3]])
