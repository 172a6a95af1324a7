"""Crossed features: combinations of the features of each example.

Source: `tf.sparse.cross` and `tf.sparse.cross_hashed` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, define
from headrace.ops.framework.arguments import Input, InputList, Outputs, apply_op
from headrace.ops.framework.attributes import int_attr
from headrace.ops.math.cast import cast
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["sparse_cross", "sparse_cross_hashed"]

_DEFAULT_KEY: Final = 0xDECAFCAFFE


def sparse_cross(inputs: Sequence[SparseTensor | Tensor], name: str | None = None) -> SparseTensor:
    """Returns all combinations of the features of each row, as strings joined by "_X_".

    Args:
        inputs: A list of matrices of strings or integers with the same number of rows, sparse or
            dense. In the result, sparse matrices come first, and the last matrix varies fastest.
        name: Name of the operation.

    Returns:
        Strings, (rows, maximum number of combinations): the combinations of each row.

    Raises:
        InvalidArgumentError: At run time, if the numbers of rows differ, or an input is not a
            matrix.
        TypeError: If `inputs` is not a list of tensors.
    """
    return _crossed(inputs, False, 0, None, name)


def sparse_cross_hashed(
    inputs: Sequence[SparseTensor | Tensor],
    num_buckets: int = 0,
    hash_key: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Returns all combinations of the features of each row, as hashes.

    Args:
        inputs: A list of matrices of strings or integers with the same number of rows, sparse or
            dense. In the result, sparse matrices come first, and the last matrix varies fastest.
        num_buckets: The number of different hashes. 0 uses all non-negative int64 numbers.
        hash_key: The initial value of each combination's hash. Defaults to TensorFlow's value.
        name: Name of the operation.

    Returns:
        int64, (rows, maximum number of combinations): the combinations of each row.

    Raises:
        InvalidArgumentError: At run time, if the numbers of rows differ, or an input is not a
            matrix.
        TypeError: If `inputs` is not a list of tensors, or a number is not an integer.
        ValueError: If the number of buckets is negative.
    """
    return _crossed(inputs, True, num_buckets, hash_key, name)


def _crossed(
    inputs: Sequence[SparseTensor | Tensor],
    is_hashed: bool,
    num_buckets: int,
    hash_key: int | None,
    name: str | None,
) -> SparseTensor:
    if not isinstance(inputs, list):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(each, (SparseTensor, Tensor)) for each in inputs):
        raise TypeError("All inputs must be SparseTensors")
    sparse = [each for each in inputs if isinstance(each, SparseTensor)]
    values = [_as_feature(each.values) for each in sparse]
    dense = [_as_feature(each) for each in inputs if isinstance(each, Tensor)]
    buckets = int_attr("num_buckets", num_buckets)
    if buckets < 0:
        raise ValueError(
            f"Attr 'num_buckets' of 'SparseCross' Op passed {buckets} less than minimum 0."
        )
    has_integers = any(each.dtype.base_dtype != dtypes.string for each in (*values, *dense))
    out_type = dtypes.int64 if is_hashed else dtypes.string
    attrs = {
        "N": len(sparse),
        "hashed_output": is_hashed,
        "num_buckets": buckets,
        "hash_key": int_attr("hash_key", hash_key or _DEFAULT_KEY),
        "out_type": out_type,
        "internal_type": dtypes.int64 if is_hashed and has_integers else dtypes.string,
    }

    def infer(*_: Tensor) -> Outputs:
        return [
            (dtypes.int64, TensorShape([None, 2])),
            (out_type, TensorShape([None])),
            (dtypes.int64, TensorShape([2])),
        ]

    op_inputs: list[Input | InputList] = [
        InputList("indices", [each.indices for each in sparse], dtypes.int64),
        InputList("values", values, var="sparse_types", is_mixed=True),
        InputList("shapes", [each.dense_shape for each in sparse], dtypes.int64),
        InputList("dense_inputs", dense, var="dense_types", is_mixed=True),
    ]
    return SparseTensor(*apply_op("SparseCross", op_inputs, infer, name=name, attrs=attrs).outputs)


def _as_feature(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype.base_dtype == dtypes.string else cast(tensor, dtypes.int64)


define("SparseCross")
