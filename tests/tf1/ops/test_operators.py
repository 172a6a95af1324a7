import numpy as np
import pytest

import headrace.tf1 as tf


@pytest.mark.parametrize(
    ("apply", "name", "op_type", "value"),
    [
        (lambda x: x + 1, "add", "Add", [8, -6]),
        (lambda x: 1 + x, "add", "Add", [8, -6]),
        (lambda x: x - 1, "sub", "Sub", [6, -8]),
        (lambda x: 1 - x, "sub", "Sub", [-6, 8]),
        (lambda x: x * 2, "mul", "Mul", [14, -14]),
        (lambda x: 2 * x, "mul", "Mul", [14, -14]),
        (lambda x: x / 2, "truediv", "RealDiv", [3.5, -3.5]),
        (lambda x: 14 / x, "truediv", "RealDiv", [2.0, -2.0]),
        (lambda x: x // 2, "floordiv", "FloorDiv", [3, -4]),
        (lambda x: 15 // x, "floordiv", "FloorDiv", [2, -3]),
        (lambda x: x % 3, "mod", "FloorMod", [1, 2]),
        (lambda x: 15 % x, "mod", "FloorMod", [1, -6]),
        (lambda x: x**2, "pow", "Pow", [49, 49]),
        (lambda x: -x, "Neg", "Neg", [-7, 7]),
        (abs, "Abs", "Abs", [7, 7]),
        (lambda x: x < 1, "Less", "Less", [False, True]),
        (lambda x: x <= 7, "LessEqual", "LessEqual", [True, True]),
        (lambda x: x > 1, "Greater", "Greater", [True, False]),
        (lambda x: x >= 7, "GreaterEqual", "GreaterEqual", [True, False]),
        (lambda x: 1 < x, "Greater", "Greater", [True, False]),  # noqa: SIM300
        (lambda x: x[1], "strided_slice", "StridedSlice", -7),
    ],
)
def test_operators_have_tensorflow_names_and_python_values(run, apply, name, op_type, value):
    result = apply(tf.constant([7, -7]))
    assert (result.op.name, result.op.type) == (name, op_type)
    assert run(result).tolist() == value


def test_number_can_be_raised_to_the_power_of_a_tensor(run):
    assert run(2 ** tf.constant([0, 3])).tolist() == [1, 8]


@pytest.mark.parametrize(
    ("apply", "name", "op_type", "value"),
    [
        (lambda x: x & [True, True], "and", "LogicalAnd", [True, False]),
        (lambda x: [False, False] | x, "or", "LogicalOr", [True, False]),
        (lambda x: x ^ [True, True], "xor", "LogicalAnd", [False, True]),
        (lambda x: ~x, "LogicalNot", "LogicalNot", [False, True]),
    ],
)
def test_logical_operators_have_tensorflow_names(run, apply, name, op_type, value):
    result = apply(tf.constant([True, False]))
    assert (result.op.name, result.op.type) == (name, op_type)
    assert run(result).tolist() == value


def test_at_operator_multiplies_matrices(run):
    product = tf.constant([[1, 2]]) @ tf.constant([[3], [4]])
    assert product.op.name == "matmul"
    assert run(product).tolist() == [[11]]
    assert run(np.array([[1, 2]], np.int32) @ tf.constant([[3], [4]])).tolist() == [[11]]


def test_arrays_on_the_left_become_tensors(run):
    result = np.array([1, 2]) - tf.constant([3, 4])
    assert isinstance(result, tf.Tensor)
    assert run(result).tolist() == [-2, -2]


def test_numbers_adopt_the_type_of_the_tensor(run):
    assert run(tf.constant(1.5) + 1).dtype == np.float32
    assert run(tf.constant(3, tf.uint8) + 1).dtype == np.uint8
    assert run(tf.constant("a") + "b") == b"ab"


@pytest.mark.parametrize(
    ("dtype", "quotient"),
    [
        (tf.int8, tf.float32),
        (tf.uint16, tf.float32),
        (tf.int32, tf.float64),
        (tf.int64, tf.float64),
        (tf.float16, tf.float16),
    ],
)
def test_true_division_of_integers_yields_floats(dtype, quotient):
    assert (tf.placeholder(dtype) / 2).dtype == quotient


def test_true_division_casts_inside_its_scope():
    _ = tf.placeholder(tf.int32, name="x") / 2
    names = [op.name for op in tf.get_default_graph().get_operations()]
    assert names == ["x", "truediv/y", "truediv/Cast", "truediv/Cast_1", "truediv"]


@pytest.mark.parametrize(
    ("apply", "error", "words"),
    [
        (lambda x: x + 1.5, TypeError, "Expected int32, got 1.5 of type 'float' instead"),
        (lambda x: x + "a", TypeError, "Expected int32, got 'a' of type 'str' instead"),
        (lambda x: 1.5 * x, TypeError, "Expected int32, got 1.5 of type 'float' instead"),
        (lambda x: x + None, ValueError, "None values not supported"),
        (
            lambda x: x - tf.constant(1.5),
            TypeError,
            "Input 'y' of 'Sub' Op has type float32 that does not match type int32 of argument 'x'",
        ),
        (lambda x: x / tf.constant(1.5), TypeError, "x and y must have the same dtype, got"),
        (lambda x: x & x, TypeError, "does not match expected type of bool"),
    ],
)
def test_operands_of_different_types_are_rejected(apply, error, words):
    with pytest.raises(error, match=words):
        apply(tf.constant([1, 2]))


def test_equality_is_identity():
    x, y = tf.constant(1), tf.constant(1)
    assert x == x  # noqa: PLR0124
    assert x != y


def test_reflected_operator_of_another_object_is_called():
    class Unit:
        def __rmul__(self, other):
            return ("unit", other)

    x = tf.constant(1)
    assert x * Unit() == ("unit", x)
    with pytest.raises(TypeError, match="Expected int32, got <object"):
        _ = x * object()
