import re

import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.mark.parametrize(
    ("initializer", "shape", "dtype", "expected"),
    [
        (tf.zeros_initializer(), [2], None, [0.0, 0.0]),
        (tf.zeros_initializer(tf.int32), [2], None, [0, 0]),
        (tf.zeros_initializer(), [1], tf.string, [b""]),
        (tf.ones_initializer(), [], tf.bool, True),
        (tf.ones_initializer(), (2,), "int64", [1, 1]),
        (tf.constant_initializer(), [1], None, [0.0]),
        (tf.constant_initializer(3), [1, 2], tf.int32, [[3, 3]]),
        (tf.constant_initializer([1, 2]), [4], None, [1.0, 2.0, 2.0, 2.0]),
        (tf.constant_initializer([[1, 2], [3, 4]], tf.int8), [4], None, [1, 2, 3, 4]),
        (tf.constant_initializer(np.array([1.5])), [1], tf.float64, [1.5]),
        (tf.constant_initializer("a", tf.string), [2], None, [b"a", b"a"]),
    ],
)
def test_constant_initializers_use_the_requested_shape_and_type(
    run, initializer, shape, dtype, expected
):
    tensor = initializer(shape, dtype=dtype, partition_info=None)
    assert tensor.dtype == (initializer.dtype if dtype is None else tf.as_dtype(dtype))
    assert np.asarray(run(tensor)).tolist() == expected


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: tf.constant_initializer(object()),
            TypeError,
            "Invalid type for initial value: <class 'object'> (expected Python scalar, list or "
            "tuple of values, or numpy.ndarray).",
        ),
        (
            lambda: tf.constant_initializer([1, 2, 3])([2]),
            ValueError,
            "Too many elements provided. Needed at most 2, but received 3",
        ),
        (
            lambda: tf.constant_initializer([1, 2], verify_shape=True)([4]),
            TypeError,
            "Expected Tensor's shape: (4,), got (2,).",
        ),
        (
            lambda: tf.constant_initializer([1, 2])([4], verify_shape=True),
            TypeError,
            "Expected Tensor's shape: (4,), got (2,).",
        ),
        (
            lambda: tf.random_normal_initializer(dtype=tf.int32),
            ValueError,
            "Expected floating point type, got <dtype: 'int32'>.",
        ),
        (lambda: tf.truncated_normal_initializer(dtype=tf.bool), ValueError, "got <dtype: 'bool'>"),
        (lambda: tf.glorot_uniform_initializer(dtype=tf.int8), ValueError, "got <dtype: 'int8'>"),
        (
            lambda: tf.variance_scaling_initializer(0),
            ValueError,
            "`scale` must be positive float, got 0.",
        ),
        (lambda: tf.variance_scaling_initializer(mode="x"), ValueError, "Invalid `mode` argument"),
        (
            lambda: tf.variance_scaling_initializer(distribution="x"),
            ValueError,
            "Invalid `distribution` argument: x",
        ),
    ],
)
def test_initializer_rejects_invalid_arguments(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()


# The values of TensorFlow's initializers with seed 3, for shapes of one, two and three dimensions.
UNIFORM = [-0.22614121437072754, -0.27994751930236816, 0.9537591934204102, -0.8269672393798828]
NORMAL = [1.0616620779037476, -0.8785783052444458, 0.11187215894460678, 0.18511717021465302]


@pytest.mark.parametrize(
    ("initializer", "shape", "expected"),
    [
        (tf.random_uniform_initializer(-1, 1, seed=3), [4], UNIFORM),
        (tf.random_uniform_initializer(0, 10, seed=3, dtype=tf.int32), [4], [7, 3, 0, 0]),
        (tf.random_normal_initializer(seed=3), [4], NORMAL),
        (tf.random_normal_initializer(1.0, 2.0, seed=3), [3], [3.123324, -0.757157, 1.223744]),
        (tf.truncated_normal_initializer(seed=3), [4], NORMAL),
        (tf.glorot_uniform_initializer(seed=3), [], [-0.391688]),
        (tf.glorot_uniform_initializer(seed=3), [3], UNIFORM[:3]),
        (
            tf.glorot_uniform_initializer(seed=3),
            [2, 3],
            [-0.247725, -0.306667, 1.044791, -0.905897],
        ),
        (
            tf.glorot_uniform_initializer(seed=3),
            [2, 2, 3],
            [-0.175168, -0.216846, 0.738779, -0.640566],
        ),
        (tf.glorot_normal_initializer(seed=3), [2, 3], [0.763341, -0.631702, 0.080437, 0.1331]),
        (
            tf.variance_scaling_initializer(seed=3),
            [2, 3],
            [0.853441, -0.706265, 0.089931, 0.148811],
        ),
        (
            tf.variance_scaling_initializer(2.0, "fan_out", "uniform", seed=3),
            [2, 3],
            [-0.319812, -0.395906, 1.348819, -1.169508],
        ),
        (
            tf.variance_scaling_initializer(2.0, "fan_avg", "untruncated_normal", seed=3),
            [2, 2, 3],
            [0.671454, -0.555662, 0.070754, 0.117078],
        ),
        (
            tf.variance_scaling_initializer(2.0, "fan_avg", "normal", seed=3),
            [3],
            [0.985469, -0.815524, 0.103843],
        ),
    ],
)
def test_random_initial_values_match_tensorflow(run, initializer, shape, expected):
    assert run(initializer(shape)).ravel()[:4] == pytest.approx(expected, abs=2e-6)


def test_newer_names_are_equivalent():
    names = ["constant", "glorot_normal", "glorot_uniform", "ones", "random_normal"]
    names += ["random_uniform", "truncated_normal", "variance_scaling", "zeros"]
    assert all(getattr(tf.initializers, n) is getattr(tf, f"{n}_initializer") for n in names)
    assert tf.initializers.variables is tf.variables_initializer
    assert tf.initializers.global_variables is tf.global_variables_initializer
    assert tf.initializers.local_variables is tf.local_variables_initializer
