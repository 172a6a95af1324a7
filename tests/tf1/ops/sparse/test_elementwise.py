"""Elementwise operations on two tensors, at least one of them sparse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


def one():
    return tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 3])


def other():
    return tf.SparseTensor([[0, 1], [1, 2]], [-5, 20], [2, 3])


def dense(sparse):
    return tf.sparse_tensor_to_dense(sparse)


class TestAdd:
    def test_sum_has_the_elements_of_both(self, run):
        total = tf.sparse_add(one(), other())
        assert (total.get_shape(), total.indices.shape.as_list()) == ([2, 3], [None, 2])
        value = run(total)
        assert value.indices.tolist() == [[0, 1], [1, 0], [1, 2]]
        assert value.values.tolist() == [0, 6, 20]

    def test_sums_below_the_threshold_are_dropped(self, run):
        for options in ({"threshold": 1}, {"thresh": 1}):
            value = run(tf.sparse.add(one(), other(), **options))
            assert value.indices.tolist() == [[1, 0], [1, 2]]
        with pytest.raises(ValueError, match="Cannot specify both 'thresh' and 'threshold'"):
            tf.sparse_add(one(), other(), 1, 1)

    @pytest.mark.parametrize(
        "dtype", ["uint8", "int16", "int64", "float16", "float32", "float64", "complex64"]
    )
    def test_any_numeric_type_can_be_added(self, run, dtype):
        numbers = tf.SparseTensor([[0], [2]], np.array([1, 2], dtype), [3])
        assert run(tf.sparse_add(numbers, numbers)).values.tolist() == [2, 4]
        ones = np.ones([3], dtype)
        assert run(tf.sparse_add(numbers, ones)).tolist() == [2, 1, 3]

    def test_one_operand_can_be_dense(self, run):
        ones = np.ones([2, 3], np.int32)
        for total in (tf.sparse_add(one(), ones), tf.sparse_add(ones, one())):
            assert total.shape == [2, 3]
            assert run(total).tolist() == [[1, 6, 1], [7, 1, 1]]

    def test_sparse_add_rejects_incompatible_tensors(self, run):
        with pytest.raises(ValueError, match="incompatible"):
            tf.sparse_add(one(), tf.SparseTensor([[0, 1]], [1], [2, 4]))
        with pytest.raises(TypeError, match="At least one input should be SparseTensor"):
            tf.sparse_add([1], [2])
        with pytest.raises(TypeError, match="float32 that does not match type int32"):
            tf.sparse_add(one(), tf.SparseTensor([[0, 1]], [1.0], [2, 3]))
        with pytest.raises(IAE, match="sparse side 3 vs dense side 4"):
            run(tf.sparse_add(one(), np.ones([2, 4], np.int32)))
        fed = tf.sparse_placeholder(tf.int32)
        with pytest.raises(IAE, match="got 2 and 4 for dimension 0"):
            run(tf.sparse_add(one(), fed), {fed: tf.SparseTensorValue([[0, 1]], [1], [4, 3])})


class TestExtremes:
    def test_sparse_maximum_and_minimum_treat_missing_elements_as_0(self, run):
        larger, smaller = tf.sparse_maximum(one(), other(), name="n"), tf.sparse_minimum
        assert larger.values.op.name == "n"
        assert run(larger).values.tolist() == [5, 6, 20]
        assert run(smaller(one(), other())).values.tolist() == [-5, 0, 0]

    def test_sparse_maximum_rejects_incompatible_tensors(self, run):
        with pytest.raises(IAE, match="got 2 and 3 for dimension 0"):
            run(tf.sparse.maximum(one(), tf.SparseTensor([[0, 1]], [1], [3, 3])))
        with pytest.raises(IAE, match=r"not have the same ranks; got shapes: \[2,3\] and \[3\]"):
            run(tf.sparse.minimum(one(), tf.SparseTensor([[0]], [1], [3])))
        with pytest.raises(TypeError, match="Input must be a SparseTensor"):
            tf.sparse_maximum([3], one())
        text = tf.SparseTensor([[0, 1]], ["a"], [2, 3])
        with pytest.raises(TypeError, match="DataType string not in list of allowed values"):
            tf.sparse_maximum(text, text)


MATRIX = st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=2, max_size=2)


@given(MATRIX, MATRIX)
def test_elementwise_results_match_dense_tensors(one, other):
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = (tf.sparse.from_dense(tf.constant(each)) for each in (one, other))
        completed = session.run(
            [
                dense(tf.sparse_add(x, y)),
                dense(tf.sparse_maximum(x, y)),
                dense(tf.sparse_minimum(x, y)),
                tf.sparse_add(x, other),
            ]
        )
    a, b = np.array(one), np.array(other)
    expected = [a + b, np.maximum(a, b), np.minimum(a, b), a + b]
    assert [each.tolist() for each in completed] == [each.tolist() for each in expected]
