"""Merges index and value features into sparse tensors.

Source: `tf.SparseFeature` and `tf.sparse_merge` in TensorFlow 1.15.
"""

import sys
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from headrace.core.dtypes import int64
from headrace.core.shapes import TensorShape
from headrace.graph import define, graph_of
from headrace.ops.array.join import concat
from headrace.ops.records.features import SparseFeature
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["merge_sparse_feature"]


def merge_sparse_feature(parsed: Mapping[str, Any], feature: SparseFeature) -> SparseTensor:
    """Creates one sparse tensor from the parsed parts of a `SparseFeature`.

    Args:
        parsed: A `SparseTensor` for each part of the feature, by the name of the part.
        feature: The feature, which defines the parts and the size of the result.

    Returns:
        The sparse tensor. Its static shape is taken from the sizes in `feature`. A batch adds a
        first dimension. Indices are not checked against the sizes.

    Raises:
        InvalidArgumentError: At run time, if an example has different numbers of indices and
            values.
        TypeError: If the size is not an integer, or, for a list of index keys, not a list of
            integers.
        ValueError: If the numbers of sizes and index keys differ.
    """
    keys, sizes = _dimensions(feature)
    values = parsed[feature.value_key]
    inputs = [values.indices, values.values]
    inputs += [part for key in keys for part in (parsed[key].indices, parsed[key].values)]
    # Each value's own index is its example (in a batch) and its position. The position is dropped.
    rank = len(sizes) + values.dense_shape.shape.as_list()[0] - 1

    op = graph_of(inputs).create_op(
        "SparseMerge",
        inputs,
        [int64, values.values.dtype],
        output_shapes=[TensorShape([None, rank]), TensorShape([None])],
        name="SparseMerge",
        attrs={
            "already_sorted": bool(feature.already_sorted),
            "feature": str(feature),
        },
    )
    dense_shape = concat([values.dense_shape[:-1], np.array(sizes, np.int64)], 0)
    return SparseTensor(op.outputs[0], op.outputs[1], dense_shape)


def _dimensions(feature: SparseFeature) -> tuple[list[str], list[int]]:
    """Returns the keys of the indices and the sizes, one for each dimension."""
    index_key, size = feature.index_key, feature.size
    keys = [index_key] if isinstance(index_key, str) else list(index_key)
    sizes = list(size) if isinstance(size, Sequence) else [size]
    is_one, is_list = isinstance(index_key, str), isinstance(size, Sequence)
    if is_one == is_list or not all(isinstance(size, Integral) for size in sizes):
        raise TypeError(
            "vocab_size has to be a list of Tensors or Python ints. Found "
            f"{type(feature.size)} as the size of {feature}."
        )
    if len(keys) != len(sizes):
        raise ValueError(
            f"sp_ids and vocab_size have to have equal lengths, got {feature}. Pass one size "
            "for each index_key."
        )
    if any(abs(int(size)) > sys.maxsize for size in sizes):
        raise ValueError(f"size of {feature}: Value out of range, expected 64-bit integers.")
    return keys, [int(size) for size in sizes]


define("SparseMerge", is_own=True)
