"""Sparse tensors for the cases, and descriptions of results."""

from typing import Any

import numpy as np

__all__ = ["given", "outcome"]


def given(tf: Any, parts: Any, is_fed: bool) -> tuple[Any, dict[Any, Any]]:
    """A sparse tensor of constants, or one of placeholders without a known shape."""
    if not is_fed:
        return tf.SparseTensor(*parts), {}
    indices, values, dense_shape = parts
    values = np.array(values)
    dtype = tf.as_dtype(values.dtype) if values.dtype.kind != "U" else tf.string
    fed = tf.sparse_placeholder(dtype)
    return fed, {fed: tf.SparseTensorValue(indices, values, dense_shape)}


def outcome(tf: Any, result: Any, fed: dict[Any, Any], by_rank: bool = False) -> Any:
    """The static properties of a result, and its value.

    If `by_rank`, only includes the rank of the static shape, because headrace infers more sizes
    than TensorFlow.
    """
    shape = result.get_shape().ndims if by_rank else str(result.get_shape())
    expected = [str(result.indices.shape), str(result.values.shape), shape]
    with tf.Session() as session:
        return expected, result.dtype.name, session.run(result, fed)
