import re

import numpy as np
import pytest

import headrace.tf1 as tf

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("flip_a", [False, True])
@pytest.mark.parametrize("flip_b", [False, True])
def test_factors_can_be_transposed(run, flip_a, flip_b):
    a, b = (A.T if flip_a else A), (B.T if flip_b else B)
    result = tf.matmul(a, b, transpose_a=flip_a, transpose_b=flip_b)
    assert (result.op.name, result.op.type, result.shape) == ("MatMul", "MatMul", (2, 4))
    np.testing.assert_allclose(run(result), A @ B)


def test_adjoint_factor_is_conjugated(run):
    a = np.array([[1j, 2]], np.complex64)
    assert run(tf.matmul(a, a, adjoint_b=True)).tolist() == [[5 + 0j]]


def test_matrices_can_be_multiplied_in_batches(run):
    a, b = np.stack([A] * 5), np.stack([B] * 5)
    result = tf.matmul(a, b)
    assert (result.op.type, result.shape) == ("BatchMatMulV2", (5, 2, 4))
    np.testing.assert_allclose(run(result), a @ b)


def test_matmul_supports_unknown_shapes(run, hidden):
    result = tf.matmul(hidden(A), hidden(B))
    assert result.shape.rank is None
    np.testing.assert_allclose(run(result), A @ B)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda hidden: tf.matmul(A, A),
            ValueError,
            "Dimensions must be equal, but are 3 and 2 for 'MatMul' (op: 'MatMul')",
        ),
        (lambda hidden: tf.matmul([1.0], A), ValueError, "Shape must be rank 2 but is rank 1"),
        (
            lambda hidden: tf.matmul(A, B, transpose_a=True, adjoint_a=True),
            ValueError,
            "Only one of transpose_a and adjoint_a can be True.",
        ),
        (
            lambda hidden: tf.matmul(A, B, transpose_b=True, adjoint_b=True),
            ValueError,
            "Only one of transpose_b and adjoint_b can be True.",
        ),
        (
            lambda hidden: tf.matmul(hidden(A), hidden(A)),
            tf.errors.InvalidArgumentError,
            "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]",
        ),
        (
            lambda hidden: tf.matmul(hidden([1.0]), hidden(A)),
            tf.errors.InvalidArgumentError,
            "In[0] ndims must be >= 2: 1",
        ),
    ],
)
def test_incompatible_factors_are_rejected(run, hidden, make, error, words):
    with pytest.raises(error, match=re.escape(words)):
        run(make(hidden))


class TestSparseMatmul:
    @pytest.mark.parametrize(("flip_a", "flip_b"), [(False, False), (True, False), (False, True)])
    def test_sparse_matmul_equals_the_dense_product(self, run, flip_a, flip_b):
        a, b = np.array([[1, 2], [3, 4]], np.float32), np.array([[5, 6], [7, 8]], np.float32)
        product = tf.sparse_matmul(a, b, flip_a, flip_b, a_is_sparse=True, name="n")
        assert (product.op.name, product.shape) == ("n", [2, 2])
        expected = (a.T if flip_a else a) @ (b.T if flip_b else b)
        assert run(product).tolist() == expected.tolist()

    def test_sparse_matmul_accepts_other_float_types_only_as_constants(self, run):
        assert run(tf.sparse_matmul([[1, 2]], np.ones([2, 1]))).tolist() == [[3]]
        with pytest.raises(TypeError, match="DataType float64 not in list of allowed values"):
            tf.sparse_matmul(tf.constant(np.ones([2, 1])), [[1.0]])

    def test_sparse_matmul_rejects_incompatible_factors(self, run, hidden):
        with pytest.raises(ValueError, match="Shape must be rank 2 but is rank 1"):
            tf.sparse_matmul([1.0], [[1.0]])
        with pytest.raises(ValueError, match="Dimensions must be equal, but are 2 and 1"):
            tf.sparse_matmul([[1.0, 2.0]], [[1.0]])
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"Matrix size-incompatible: In\[0\]: \[1,2\]"
        ):
            run(tf.sparse_matmul(hidden([[1.0, 2.0]]), hidden([[1.0]])))
