import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import headrace.tf1 as tf

BINARY = [
    (tf.add, "Add", np.add),
    (tf.subtract, "Sub", np.subtract),
    (tf.multiply, "Mul", np.multiply),
    (tf.floordiv, "FloorDiv", np.floor_divide),
    (tf.floor_div, "FloorDiv", np.floor_divide),
    (tf.mod, "FloorMod", np.mod),
    (tf.maximum, "Maximum", np.maximum),
    (tf.minimum, "Minimum", np.minimum),
    (tf.pow, "Pow", np.power),
    (tf.squared_difference, "SquaredDifference", lambda a, b: (a - b) ** 2),
]
FLOAT_FUNCTIONS = [
    (tf.sqrt, "Sqrt", np.sqrt),
    (tf.rsqrt, "Rsqrt", lambda x: 1 / np.sqrt(x)),
    (tf.reciprocal, "Reciprocal", lambda x: 1 / x),
    (tf.exp, "Exp", np.exp),
    (tf.log, "Log", np.log),
    (tf.expm1, "Expm1", np.expm1),
    (tf.log1p, "Log1p", np.log1p),
    (tf.tanh, "Tanh", np.tanh),
    (tf.sigmoid, "Sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    (tf.floor, "Floor", np.floor),
    (tf.ceil, "Ceil", np.ceil),
    (tf.rint, "Rint", np.rint),
    (tf.round, "Round", np.rint),
]


@pytest.mark.parametrize(("function", "op_type", "reference"), BINARY)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_binary_functions_match_numpy(run, function, op_type, reference, dtype):
    x, y = np.array([[7], [3]], dtype), np.array([2, 3, 5], dtype)
    result = function(tf.constant(x), tf.constant(y))
    assert result.op.type == op_type
    assert result.shape == (2, 3)
    value = run(result)
    assert value.dtype == dtype
    np.testing.assert_allclose(value, reference(x, y))


@pytest.mark.parametrize(("function", "op_type", "reference"), FLOAT_FUNCTIONS)
def test_float_functions_match_numpy(run, function, op_type, reference):
    x = np.array([0.5, 1.0, 2.25], np.float32)
    result = function(tf.constant(x))
    assert (result.op.name, result.op.type) == (op_type, op_type)
    np.testing.assert_allclose(run(result), reference(x), rtol=1e-6)


@pytest.mark.parametrize("dtype", [tf.int32, tf.float32, tf.int64, tf.float64])
def test_unary_functions_keep_the_type(run, dtype):
    x = tf.constant([-2, 0, 3], dtype)
    for function, expected in (
        (tf.negative, [2, 0, -3]),
        (tf.abs, [2, 0, 3]),
        (tf.square, [4, 0, 9]),
        (tf.sign, [-1, 0, 1]),
    ):
        value = run(function(x))
        assert value.dtype == dtype.as_numpy_dtype
        assert value.tolist() == expected


def test_true_and_floor_division_are_distinguished(run):
    x = tf.constant([7, -7])
    assert run(tf.truediv(x, 2)).tolist() == [3.5, -3.5]
    assert run(tf.divide(x, 2)).tolist() == [3.5, -3.5]
    assert run(tf.divide(x, 2, name="d")).tolist() == [3.5, -3.5]
    assert run(tf.div(x, 2)).tolist() == [3, -4]
    assert run(tf.div(tf.constant(7.0), 2)) == 3.5
    assert run(tf.realdiv(7.0, 2.0)) == 3.5
    assert run(tf.div_no_nan([1.0, 4.0], [0.0, 2.0])).tolist() == [0.0, 2.0]


def test_division_rejects_different_types():
    words = "x and y must have the same dtype, got tf.int32 != tf.float32"
    for divide in (tf.truediv, tf.divide):
        with pytest.raises(TypeError, match=words):
            divide(tf.constant(1), 1.5)
    with pytest.raises(ValueError, match="Tensor conversion requested dtype int32"):
        tf.div(tf.constant(1), tf.constant(1.5))
    with pytest.raises(TypeError, match=r"Invalid dtype tf\.bool in __truediv__"):
        tf.truediv(True, False)


def test_divide_uses_the_type_of_the_tensor_operand(run):
    assert run(tf.divide(3, tf.constant(2.0))) == 1.5


@pytest.mark.parametrize(
    "make",
    [
        tf.abs,
        tf.sign,
        lambda x: -x,
        lambda x: tf.pow(x, 2),
        lambda x: tf.squared_difference(x, 2),
    ],
)
def test_operations_with_negative_results_require_a_signed_type(make):
    with pytest.raises(TypeError, match="'x' has DataType uint8 not in list of allowed values"):
        make(tf.constant(3, tf.uint8))


def test_division_by_zero_is_infinite_or_an_error(run, hidden):
    assert run(tf.constant(1.0) / hidden(0.0)) == np.inf
    for divide in (tf.floordiv, tf.floormod):
        with pytest.raises(tf.errors.InvalidArgumentError, match="nteger division by zero"):
            run(divide(1, hidden(0)))


def test_negative_integer_powers_are_rejected(run, hidden):
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="Integers to negative integer powers are not allowed",
    ):
        run(tf.pow(2, hidden(-1)))


def test_strings_can_be_added(run):
    assert run(tf.add(["a", "b"], "c")).tolist() == [b"ac", b"bc"]


def test_scalar_mul_converts_the_scalar_to_the_tensor_type(run):
    assert run(tf.scalar_mul(3, tf.constant([1.0, 2.0]))).tolist() == [3.0, 6.0]
    with pytest.raises(ValueError, match=re.escape("Only scalar multiply works, got shape (2,)")):
        tf.scalar_mul([1, 2], [1, 2])


def test_complex_numbers_are_supported(run):
    x = tf.constant([3 + 4j])
    assert run(tf.abs(x)).tolist() == [5.0]
    assert run(x * x).tolist() == [(3 + 4j) ** 2]


def test_rounding_integers_changes_nothing():
    x = tf.constant(3)
    assert tf.round(x) is x


def test_halves_are_rounded_to_even(run):
    assert run(tf.round([0.5, 1.5, 2.5, -0.5])).tolist() == [0.0, 2.0, 2.0, -0.0]


class TestAddN:
    def test_add_n_sums_a_list(self, run):
        total = tf.add_n([tf.constant([1, 2]), [3, 4], tf.constant([5, 6])])
        assert total.op.type == "AddN"
        assert run(total).tolist() == [9, 12]

    def test_add_n_returns_a_single_tensor_unchanged(self):
        x = tf.constant(1)
        assert tf.add_n([x]) is x

    @pytest.mark.parametrize("inputs", [[], 3, [None]])
    def test_add_n_requires_a_list_of_tensors(self, inputs):
        with pytest.raises(ValueError, match="inputs must be a list of at least one Tensor"):
            tf.add_n(inputs)

    def test_add_n_rejects_different_shapes(self, run, hidden):
        with pytest.raises(ValueError, match=re.escape("Shapes must be equal, but are")):
            tf.add_n([tf.zeros([2]), tf.zeros([3])])
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=re.escape("must have the same size and shape.  Input 0: [1] != input 1: [2]"),
        ):
            run(tf.add_n([hidden([1]), hidden([1, 2])]))


class TestClipByValue:
    def test_clip_by_value_limits_both_sides(self, run):
        assert run(tf.clip_by_value([1, 5, 9], 2, 6)).tolist() == [2, 5, 6]

    def test_clip_by_value_rejects_limits_that_would_broadcast(self):
        with pytest.raises(ValueError, match="are not compatible"):
            tf.clip_by_value(tf.constant(1), [0, 0], 6)


def test_shapes_that_do_not_broadcast_fail_at_run_time(run, hidden):
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=re.escape("Incompatible shapes: [2] vs. [3]")
    ):
        run(tf.pow(hidden([1, 2]), hidden([1, 2, 3])))


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=4), st.data())
def test_static_shape_matches_numpy(shapes, data):
    expected = [
        [size if data.draw(st.booleans()) else None for size in shape]
        for shape in shapes.input_shapes
    ]
    with tf.Graph().as_default():
        result = tf.add(*[tf.placeholder(tf.int32, shape) for shape in expected])
    assert result.shape.is_compatible_with(shapes.result_shape)
    with tf.Graph().as_default():
        exact = tf.add(*[tf.placeholder(tf.int32, shape) for shape in shapes.input_shapes])
    assert exact.shape == shapes.result_shape
