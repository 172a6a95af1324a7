"""Draws of classes."""

import numpy as np
import pytest

import headrace.tf1 as tf


def test_class_frequencies_match_the_probabilities(run):
    probabilities = np.array([[0.1, 0.2, 0.7], [0.5, 0.0, 0.5]])
    with np.errstate(divide="ignore"):
        logits = np.log(probabilities)
    values = run(tf.random.categorical(logits, 20_000, seed=1))
    shares = [np.bincount(row, minlength=3) / len(row) for row in values]
    np.testing.assert_allclose(shares, probabilities, atol=0.02)


def test_runs_continue_and_sessions_restart_the_sequence():
    tf.set_random_seed(1)
    drawn = tf.multinomial([[0.0] * 10], 20, seed=2, output_dtype=tf.int32)
    results = []
    for _ in range(2):
        with tf.Session() as session:
            results.append([session.run(drawn).tolist() for _ in range(2)])
    assert results[0] == results[1]
    assert results[0][0] != results[0][1]
    assert drawn.dtype == tf.int32


def test_logits_can_be_integers(run):
    assert run(tf.multinomial([[-1000, 0], [0, -1000]], 3)).tolist() == [[1] * 3, [0] * 3]


@pytest.mark.parametrize(
    ("logits", "count", "text"),
    [
        (np.zeros([2, 0]), 1, "num_classes should be positive, got 0"),
        (np.zeros([2]), 1, r"logits should be a matrix, got shape \[2\]"),
        (np.zeros([2, 2]), [1], r"num_samples should be a scalar, got shape \[1\]"),
        (np.zeros([2, 2]), -1, "num_samples should be nonnegative, got -1"),
    ],
)
def test_invalid_logits_are_rejected(run, logits, count, text):
    rows, number = tf.placeholder(tf.float64), tf.placeholder(tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(tf.multinomial(rows, number), {rows: logits, number: count})


def test_huge_number_of_draws_is_rejected(run):
    with pytest.raises(tf.errors.ResourceExhaustedError):
        run(tf.multinomial([[0.0]] * 1000, 2**31 - 1))
