import re

import numpy as np
import pytest

import headrace.tf1 as tf


def test_seed_reproduces_tensorflow_shuffles():
    shuffled = tf.random_shuffle(tf.range(10), seed=7)
    for _ in range(2):  # each session begins the sequence again
        with tf.Session() as session:
            assert session.run(shuffled).tolist() == [7, 2, 0, 9, 8, 4, 5, 1, 6, 3]
            assert session.run(shuffled).tolist() == [3, 7, 9, 5, 8, 4, 2, 0, 6, 1]


def test_rows_stay_together(run):
    rows = np.arange(20).reshape(10, 2)
    shuffled = run(tf.random_shuffle(rows, seed=1))
    assert shuffled.tolist() != rows.tolist()
    assert sorted(shuffled.tolist()) == rows.tolist()


def test_fractional_seed_is_truncated():
    assert tf.get_seed(1.5) == tf.get_seed(1)
    assert {type(half) for half in tf.get_seed(1.5)} == {int}


def test_seeds_are_attributes():
    assert tf.random_shuffle([1], seed=7).op.get_attr("seed") == 87654321
    assert tf.random_shuffle([1], seed=7).op.get_attr("seed2") == 7
    assert tf.random_shuffle([1]).op.get_attr("seed2") == 0
    tf.set_random_seed(5)
    count = len(tf.get_default_graph().get_operations())
    op = tf.random_shuffle([1]).op
    assert (op.get_attr("seed"), op.get_attr("seed2")) == (5, count)


def test_shape_and_type_are_kept():
    shuffled = tf.random_shuffle(tf.placeholder(tf.string, [None, 2]))
    assert (shuffled.dtype, shuffled.shape.as_list()) == (tf.string, [None, 2])


# The first three numbers of TensorFlow with `seed=7`.
FIRST = [
    (tf.random_uniform, "float16", [0.4443359375, 0.8154296875, 0.1376953125]),
    (tf.random_uniform, "float32", [0.48394096, 0.50620306, 0.25514376]),
    (tf.random_uniform, "float64", [0.8715283824246434, 0.041150670730960126, 0.46408134636396414]),
    (tf.random_normal, "float32", [-0.04694568, -1.2039024, 1.1668352]),
    (tf.random_normal, "float64", [0.1340862416655279, 0.5069857732211678, -1.0712938719508789]),
    (tf.truncated_normal, "float32", [-0.04694568, -1.2039024, 1.1668352]),
    (tf.truncated_normal, "float64", [0.1340862416655279, 0.5069857732211678, -0.3353157984791955]),
]


@pytest.mark.parametrize(("function", "dtype", "expected"), FIRST)
def test_seed_reproduces_tensorflow_numbers(function, dtype, expected):
    numbers = function([3], dtype=dtype, seed=7)
    assert (numbers.dtype, numbers.shape) == (dtype, [3])
    for _ in range(2):  # each session begins the sequence again
        with tf.Session() as session:
            tolerance = 1e-13 if dtype == "float64" else 1e-6
            np.testing.assert_allclose(session.run(numbers), expected, rtol=tolerance)
            assert session.run(numbers).tolist() != expected


def test_random_integers_match_tensorflow(run):
    assert run(tf.random_uniform([3], -5, 1000, tf.int32, seed=7)).tolist() == [442, 62, 110]
    assert run(tf.random_uniform([3], -5, 1000, tf.int64, seed=7)).tolist() == [509, 294, 103]


def test_limits_mean_and_deviation_shift_and_scale_the_numbers(run):
    unit = run(tf.random_uniform([2, 3], seed=1))
    scaled = run(tf.random_uniform([2, 3], [1.0, 2.0, 3.0], 4.0, seed=1))
    np.testing.assert_allclose(scaled, unit * [3.0, 2.0, 1.0] + [1.0, 2.0, 3.0], rtol=1e-6)
    for function in (tf.random_normal, tf.truncated_normal):
        standard, moved = run([function([9], seed=1), function([9], 3.0, 0.5, seed=1)])
        np.testing.assert_allclose(moved, standard * 0.5 + 3.0, rtol=1e-6)


def test_moments_match_the_distribution(run):
    size = [100_000]
    uniform, normal, truncated = run(
        [f(size, seed=1) for f in (tf.random_uniform, tf.random_normal, tf.truncated_normal)]
    )
    assert 0 <= uniform.min() < 0.001
    assert 0.999 < uniform.max() < 1
    for numbers, mean, deviation in (
        (uniform, 0.5, 12**-0.5),
        (normal, 0, 1),
        (truncated, 0, 0.88),
    ):
        assert abs(numbers.mean() - mean) < 0.01
        assert abs(numbers.std() - deviation) < 0.01
    assert np.abs(truncated).max() < 2 < np.abs(normal).max()


def test_one_sequence_is_shared_by_all_programs_of_a_session():
    numbers = tf.random_uniform([2], seed=3)
    doubled = numbers * 2
    with tf.Session() as session:
        expected = [session.run(numbers).tolist() for _ in range(2)]
    with tf.Session() as session:
        assert session.run(numbers).tolist() == expected[0]
        assert session.run(doubled).tolist() == [2 * number for number in expected[1]]


def test_sessions_without_seeds_differ():
    numbers = tf.random_uniform([4])
    values = []
    for _ in range(2):
        with tf.Session() as session:
            values.append(session.run(numbers).tolist())
    assert values[0] != values[1]


def test_operation_names_match_tensorflow():
    assert tf.random_uniform([2]).op.name == "random_uniform"
    assert tf.random_uniform([2], maxval=3, dtype=tf.int32).op.type == "RandomUniformInt"
    assert tf.random_normal([2], name="noise").op.name == "noise"
    names = [op.name for op in tf.get_default_graph().get_operations()]
    assert {"random_uniform/RandomUniform", "noise/RandomStandardNormal", "noise/stddev"} <= {
        *names
    }


def test_new_names_are_the_same_functions():
    assert tf.random.uniform is tf.random_uniform
    assert tf.random.normal is tf.random_normal
    assert tf.random.truncated_normal is tf.truncated_normal
    assert tf.random.shuffle is tf.random_shuffle
    assert tf.random.set_random_seed is tf.set_random_seed


def test_static_shapes_are_inferred():
    assert tf.random_uniform([]).shape == []
    assert tf.random_normal([tf.placeholder(tf.int32, []), 3]).shape.as_list() == [None, 3]
    assert tf.random_uniform(tf.placeholder(tf.int32, [2])).shape.as_list() == [None, None]
    assert tf.truncated_normal(tf.placeholder(tf.int64)).shape.rank is None


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: tf.random_uniform([2], dtype=tf.int32), ValueError, "Must specify maxval for int"),
        (lambda: tf.random_uniform([2], 0, 3, tf.uint8), ValueError, "Invalid dtype tf.uint8"),
        (lambda: tf.random_uniform(3), ValueError, "Shape must be rank 1 but is rank 0"),
        (lambda: tf.random_uniform([-2]), ValueError, "Invalid value in tensor used for shape: -2"),
        (lambda: tf.random_normal([2.5]), TypeError, "'shape' has DataType float32 not in list"),
        (lambda: tf.random_normal([2], dtype=tf.int32), TypeError, "Expected int32, got 0.0"),
        (
            lambda: tf.random_uniform([2], [0, 1], 3, tf.int32),
            ValueError,
            "minval must be a scalar; got a tensor of shape [2]",
        ),
    ],
)
def test_invalid_arguments_are_rejected(make, error, words):
    with pytest.raises(error, match=re.escape(words)):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda hidden: tf.random_uniform([2], 5, 5, tf.int32), "Need minval < maxval, got 5 >= 5"),
        (lambda hidden: tf.random_uniform(hidden([-2])), "Dimension -2 must be >= 0"),
        (lambda hidden: tf.truncated_normal(hidden(2)), "shape must be a vector of {int32,int64}"),
        (
            lambda hidden: tf.random_uniform([2], hidden([0, 1]), 4, tf.int32),
            "minval must be 0-D, got shape [2]",
        ),
    ],
)
def test_arguments_known_only_at_run_time_are_checked_there(run, hidden, make, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
        run(make(hidden))
