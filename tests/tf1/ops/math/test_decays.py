"""Learning-rate schedules. `tensorflow_comparison/cases/schedules.py` compares their values."""

import math

import pytest

import headrace.tf1 as tf

STEPS = (0, 3, 10, 25)


def at_steps(build):
    step = tf.placeholder(tf.int64, [])
    rate = build(step)
    with tf.Session() as session:
        return [float(session.run(rate, {step: number})) for number in STEPS]


@pytest.mark.parametrize(
    ("build", "formula"),
    [
        (lambda s: tf.train.exponential_decay(0.1, s, 10, 0.5), lambda n: 0.1 * 0.5 ** (n / 10)),
        (
            lambda s: tf.train.exponential_decay(0.1, s, 10, 0.5, staircase=True),
            lambda n: 0.1 * 0.5 ** (n // 10),
        ),
        (
            lambda s: tf.train.natural_exp_decay(0.1, s, 10, 0.5),
            lambda n: 0.1 * math.exp(-0.5 * n / 10),
        ),
        (
            lambda s: tf.train.inverse_time_decay(0.1, s, 10, 0.5, staircase=True),
            lambda n: 0.1 / (1 + 0.5 * (n // 10)),
        ),
        (
            lambda s: tf.train.polynomial_decay(0.1, s, 10, 0.01, power=2.0),
            lambda n: 0.09 * (1 - min(n, 10) / 10) ** 2 + 0.01,
        ),
        (
            lambda s: tf.train.polynomial_decay(0.1, s, 10, 0.01, cycle=True),
            lambda n: 0.09 * (1 - n / (10 * max(math.ceil(n / 10), 1))) + 0.01,
        ),
        (
            lambda s: tf.train.cosine_decay(0.1, s, 10, alpha=0.2),
            lambda n: 0.1 * (0.4 * (1 + math.cos(math.pi * min(n, 10) / 10)) + 0.2),
        ),
        (
            lambda s: tf.train.cosine_decay_restarts(0.1, s, 10, t_mul=1.0, m_mul=0.5),
            lambda n: 0.1 * 0.5 ** (n // 10) * 0.5 * (1 + math.cos(math.pi * (n % 10) / 10)),
        ),
        (
            lambda s: tf.train.linear_cosine_decay(0.1, s, 10, beta=0.01),
            lambda n: (
                0.1
                * ((1 - min(n, 10) / 10) * 0.5 * (1 + math.cos(math.pi * min(n, 10) / 10)) + 0.01)
            ),
        ),
    ],
)
def test_decay_follows_its_formula(build, formula):
    assert at_steps(build) == pytest.approx([formula(number) for number in STEPS], abs=1e-7)


def test_cosine_restarts_occur_at_growing_intervals():
    # Periods of 4, 8 and 16 steps: 25 is 13 steps into the third one.
    result = at_steps(lambda step: tf.train.cosine_decay_restarts(1.0, step, 4))
    expected = [0, 3 / 4, 6 / 8, 13 / 16]
    assert result == pytest.approx(
        [0.5 * (1 + math.cos(math.pi * share)) for share in expected], abs=1e-5
    )


def test_decay_noise_is_redrawn_each_run_with_the_variance_of_the_step():
    tf.set_random_seed(3)
    step = tf.placeholder(tf.int64, [])
    rate = tf.train.noisy_linear_cosine_decay(1.0, step, 10, 4.0, 1.0, beta=0.0)
    with tf.Session() as session:
        drawn = [session.run(rate, {step: 3}) for _ in range(400)]
    wave = 0.5 * (1 + math.cos(0.3 * math.pi))
    mean = sum(drawn) / len(drawn)
    variance = sum((number - mean) ** 2 for number in drawn) / len(drawn)
    assert mean / wave == pytest.approx(0.7, abs=0.2)
    assert variance / wave**2 == pytest.approx(1.0, abs=0.25)


def test_piecewise_constant_includes_each_boundary_in_the_preceding_phase():
    result = at_steps(lambda step: tf.train.piecewise_constant(step, [2, 10], [1.0, 0.5, 0.25]))
    assert result == [1.0, 0.5, 0.5, 0.25]
    assert at_steps(lambda step: tf.train.piecewise_constant_decay(step, [], [0.5])) == [0.5] * 4


def test_decayed_rate_keeps_the_type_and_has_the_requested_name():
    rate = tf.train.exponential_decay(tf.constant(0.1, tf.float64), 3, 10, 0.5, name="rate")
    assert (rate.name, rate.dtype, rate.shape) == ("rate:0", tf.float64, ())


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: tf.train.exponential_decay(0.1, None, 10, 0.5), "global_step is required"),
        (lambda: tf.train.piecewise_constant(1, [1], [1.0]), "got 1 boundaries and 1 values"),
        (lambda: tf.train.piecewise_constant(1.0, [1], [1.0, 2.0]), "same dtype as x"),
        (lambda: tf.train.piecewise_constant(1, [1], [1.0, 2]), "elements all with the same dtype"),
    ],
)
def test_invalid_arguments_are_rejected(build, words):
    with pytest.raises(ValueError, match=words):
        build()


def test_decreasing_boundaries_end_a_run():
    rate = tf.train.piecewise_constant(15, [20, 10], [1.0, 2.0, 3.0])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(rate)
