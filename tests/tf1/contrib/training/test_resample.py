"""Examples that are repeated or dropped at random."""

import itertools

import numpy as np
import pytest

import headrace.tf1 as tf

training = tf.contrib.training


def test_copies_appear_in_rounds_at_their_rates():
    tf.set_random_seed(7)
    rates = np.array([0, 0.5, 1, 3, 100], np.float32)
    numbers, words = training.resample_at_rate([tf.range(5), tf.as_string(tf.range(5))], rates)
    totals = np.zeros(5)
    num_runs = 50
    with tf.Session() as session:
        for _ in range(num_runs):
            completed, texts = session.run([numbers, words])
            assert [str(number).encode() for number in completed] == texts.tolist()
            rounds = np.flatnonzero(np.diff(completed) <= 0) + 1
            parts = [set(part) for part in np.split(completed, rounds)]
            assert all(later <= earlier for earlier, later in itertools.pairwise(parts))
            totals += np.bincount(completed, minlength=5)
    assert (abs(totals / num_runs - rates) <= 3 * np.sqrt(rates / num_runs)).all()


def test_numbers_of_copies_have_the_expected_mean_and_variance():
    tf.set_random_seed(7)
    [rows] = training.resample_at_rate([tf.range(1000)], tf.fill([1000], 2.0))
    with tf.Session() as session:
        counts = np.bincount(session.run(rows), minlength=1000)
    assert (counts.mean(), counts.var()) == pytest.approx((2, 2), abs=0.3)


def test_batch_can_have_no_copies():
    [none] = training.resample_at_rate([tf.zeros([4, 2])], tf.zeros([4]))
    [empty] = training.resample_at_rate([tf.zeros([0, 2])], tf.zeros([0]))
    with tf.Session() as session:
        assert [value.shape for value in session.run([none, empty])] == [(0, 2), (0, 2)]


def test_seeds_determine_the_draws():
    def drawn():
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(1)
            return session.run(training.resample_at_rate([tf.range(50)], tf.ones([50]), seed=3)[0])

    assert drawn().tolist() == drawn().tolist()


def test_copies_are_proportional_to_weights():
    tf.set_random_seed(7)
    weights = tf.constant([1.0, 2.0, 3.0, 6.0])
    [numbers], rates = training.weighted_resample([tf.range(4)], weights, 0.5)
    totals = np.zeros(4)
    num_runs = 200
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for _ in range(num_runs):
            completed, each = session.run([numbers, rates])
            assert each == pytest.approx(np.array([1, 2, 3, 6])[completed] / 6)
            totals += np.bincount(completed, minlength=4)
    assert totals / num_runs == pytest.approx([1 / 6, 2 / 6, 3 / 6, 1], abs=0.2)


def test_mean_weight_covers_all_batches_during_warmup():
    weight = tf.placeholder(tf.float32, [1])
    training.weighted_resample([tf.zeros([1])], weight, 1.0, scope="mine", warmup=10)
    [_, mean] = tf.local_variables()
    assert mean.op.name == "mine/estimated_mean"
    update = next(op for op in tf.get_default_graph().get_operations() if op.type == "AssignSub")
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for number in (3.0, 6.0, 9.0):
            session.run(update, {weight: [number]})
        assert session.run(mean) == pytest.approx(6.0)
