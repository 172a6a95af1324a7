"""A sparse tensor times or divided by a dense one."""

import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError
PLACES = [[0, 0], [0, 2], [1, 1]]


def matrix(dtype="float32"):
    return tf.SparseTensor(PLACES, np.array([1, 2, -3], dtype), [2, 3])


@pytest.mark.parametrize("shape", [[2, 3], [3], [2, 1], [1, 3], [1], []])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
def test_dense_operand_is_broadcast(run, shape, dtype):
    dense = (np.arange(np.prod(shape)) + 2).reshape(shape).astype(dtype)
    product, quotient = matrix(dtype) * dense, matrix(dtype) / dense
    assert product.get_shape() == [2, 3]
    values = run([product, quotient, tf.sparse_tensor_to_dense(matrix(dtype))])
    for value, expected in zip(values, [values[2] * dense, values[2] / dense], strict=False):
        assert value.indices.tolist() == PLACES
        rows, columns = np.array(PLACES).T
        assert value.values.tolist() == expected.astype(value.values.dtype)[rows, columns].tolist()


def test_integers_become_floats_on_division(run):
    assert run(matrix("int32") / 2).values.tolist() == [0.5, 1.0, -1.5]
    assert (matrix("int16") / 2).dtype == tf.float32
    assert (matrix("int64") / 2).dtype == tf.float64


def test_names_match_the_operators():
    assert (matrix() * 2).values.op.name == "mul"
    assert (matrix() / 2).values.op.name == "truediv"
    assert (matrix() * 2).values.op.type == "SparseDenseCwiseMul"


@pytest.mark.parametrize("shape", [[3, 3], [2], [1, 2, 3]])
def test_incompatible_shapes_are_rejected(run, shape):
    with pytest.raises(IAE, match="broadcasts dense to sparse only; got incompatible shapes"):
        run(matrix() * np.ones(shape, np.float32))


def test_index_out_of_range_is_rejected(run):
    with pytest.raises(IAE, match="out-of-bounds"):
        run(tf.SparseTensor([[0, 7]], [1.0], [2, 3]) * 2.0)


def test_second_operand_must_be_dense():
    for wrong in (matrix(), "a"):
        with pytest.raises(TypeError):
            matrix() * wrong
    with pytest.raises(TypeError, match="unsupported operand"):
        2.0 * matrix()


@pytest.mark.parametrize("name", ["abs", "negative", "sign", "sqrt", "square", "tanh", "identity"])
def test_unary_functions_keep_the_indices(run, name):
    function = getattr(tf, name)
    value, expected = run([function(matrix()), function(matrix().values)])
    assert value.indices.tolist() == PLACES
    np.testing.assert_array_equal(value.values, expected)
    assert value.dense_shape.tolist() == [2, 3]
