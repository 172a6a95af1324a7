"""Batches of alike lengths, and of other distributions."""

from collections import Counter

import numpy as np
import pytest

import headrace.tf1 as tf

training = tf.contrib.training


def taken(fetches):
    found = []
    with tf.train.MonitoredSession() as sess:
        while not sess.should_stop():
            found.append(sess.run(fetches))
    return found


def numbers(limit, num_epochs=1):
    return tf.train.range_input_producer(limit, num_epochs, shuffle=False).dequeue()


def test_a_batch_is_of_one_bucket():
    number = numbers(12)
    which, batch = training.bucket([number], number % 3, 2, 3)
    assert batch[0].shape.as_list() == [2]
    found = taken([which, batch])
    assert len(found) == 6
    for bucket, [values] in found:
        assert (values % 3 == bucket).all()
    assert sorted(value for _, [values] in found for value in values) == list(range(12))


def test_buckets_have_sizes_of_their_own_and_smaller_last_batches():
    number = numbers(10)
    which, batch = training.bucket(
        {"n": number}, number % 2, [2, 3], 2, allow_smaller_final_batch=True, keep_input=number > 0
    )
    found = sorted((bucket, batch["n"].tolist()) for bucket, batch in taken([which, batch]))
    assert found == [(0, [2, 4]), (0, [6, 8]), (1, [1, 3, 5]), (1, [7, 9])]


def test_sequences_are_padded_to_the_longest_of_their_bucket():
    length = numbers(8)
    lengths, batch = training.bucket_by_sequence_length(
        length, [tf.range(length)], 2, [3, 6], dynamic_pad=True, allow_smaller_final_batch=True
    )
    assert batch[0].shape.as_list() == [None, None]
    found = sorted((ls.tolist(), b.shape) for ls, [b] in taken([lengths, batch]))
    assert found == [
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
        (ValueError, {"bucket_boundaries": [3], "bucket_capacities": [1]}, "same length"),
    ],
)
def test_which_buckets_are_refused(error, arguments, message):
    with pytest.raises(error, match=message):
        training.bucket_by_sequence_length(
            **{"input_length": 1, "tensors": [1], "batch_size": 1} | arguments
        )


def test_one_bucket_is_too_few():
    with pytest.raises(ValueError, match="num_buckets must be >= 2"):
        training.bucket([1], 0, 1, 1)


def test_examples_are_kept_by_their_probability():
    values = tf.constant(np.arange(12))
    [batch] = training.rejection_sample(
        [values], lambda given: tf.to_float(given[0] % 2), 3, enqueue_many=True, runtime_checks=True
    )
    with tf.train.MonitoredSession() as sess:
        found = np.concatenate([sess.run(batch) for _ in range(4)])
    assert found.tolist() == [1, 3, 5, 7, 9, 11] * 2


def test_a_probability_above_one_is_an_error():
    [batch] = training.rejection_sample(
        [numbers(3)], lambda given: tf.to_float(given[0]) + 2.0, 1, runtime_checks=True
    )
    with pytest.raises(tf.errors.InvalidArgumentError), tf.train.MonitoredSession() as sess:
        sess.run(batch)


@pytest.mark.parametrize("init_probs", [None, [0.75, 0.25]])
def test_classes_have_the_probabilities_that_are_asked_for(init_probs):
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


@pytest.mark.parametrize(
    ("target", "initial", "message"),
    [
        ([0.5, 0.6], None, "target_probs is .* whose sum is 1"),
        ([0.5, 0.5], [1.0], "init_probs has 1 classes, target_probs 2"),
        ([0.5, 0.5], [1.0, 0.0], "a class that the input does not have"),
    ],
)
def test_which_probabilities_are_refused(target, initial, message):
    with pytest.raises(ValueError, match=message):
        training.stratified_sample([1], 0, target, 1, initial)
