"""Values that a run is given: checked against their tensors and converted.

Source: the rules of `tf.Session.run` of TensorFlow 1.15.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from headrace.dtypes import DType, resource, string
from headrace.engine import native_array
from headrace.graph import Graph, Operation, Tensor
from headrace.ops.sparse import SparseTensor, SparseTensorValue

__all__ = ["as_array", "convert_feeds"]


def convert_feeds(graph: Graph, feed_dict: Any) -> dict[Tensor, np.ndarray[Any, Any]]:
    """Returns the array to feed for each tensor.

    Raises:
        TypeError: If `feed_dict` is no mapping, or a key or value is of a type that cannot be fed.
        ValueError: If a value does not fit its tensor, or the tensor may not be fed.
    """
    if feed_dict is None:
        return {}
    # A plain dict is told at once; looking for other mappings takes longer.
    if not isinstance(feed_dict, (dict, Mapping)):
        raise TypeError(
            f"feed_dict must be a dictionary mapping tensors to values, got {type(feed_dict)}."
        )
    feeds: dict[Tensor, np.ndarray[Any, Any]] = {}
    for key, value in feed_dict.items():
        if isinstance(key, Tensor) and key.graph is graph:
            feeds[key] = _convert(graph, key, value)
            continue
        for item, part in _expand(key, value):
            tensor = _find(graph, item)
            feeds[tensor] = _convert(graph, tensor, part)
    return feeds


def _expand(key: Any, value: Any) -> list[tuple[Any, Any]]:
    """A sparse tensor is fed by feeding its three parts, a tuple by feeding what is in it."""
    if isinstance(key, SparseTensor):
        if not (isinstance(value, tuple) and len(value) == len(SparseTensorValue._fields)):
            raise TypeError(
                f"feed_dict: got {value!r} for a sparse tensor, expected a SparseTensorValue or "
                "(indices, values, dense_shape)."
            )
        return list(zip((key.indices, key.values, key.dense_shape), value, strict=True))
    if not isinstance(key, tuple):
        return [(key, value)]
    keys, values = _flatten(key), _flatten(value)
    if len(keys) != len(values):
        raise ValueError(
            f"Could not flatten dictionary. Key had {len(keys)} elements, but value had "
            f"{len(values)} elements. Key: {keys}, value: {values}."
        )
    return [part for pair in zip(keys, values, strict=True) for part in _expand(*pair)]


def _flatten(value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        return [value]
    return [part for item in value for part in _flatten(item)]


def _find(graph: Graph, key: Any) -> Tensor:
    try:
        tensor: Tensor = graph.as_graph_element(key, allow_operation=False)
    except Exception as error:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None
    return tensor


def _convert(graph: Graph, tensor: Tensor, value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, (Tensor, Operation)):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, the "
            f"tensor object was {value} which was passed to the feed with key {tensor}."
        )
    dtype = tensor.dtype.base_dtype
    if dtype == resource or not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor} may not be fed.")
    if isinstance(value, int) and not _fits(value, dtype):
        raise TypeError(_incompatible(value, dtype))
    try:
        array = np.asarray(value, dtype=dtype.as_numpy_dtype)
    except OverflowError:
        raise TypeError(_incompatible(value, dtype)) from None
    if not tensor.shape.admits(array.shape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape!r} for Tensor {tensor.name!r}, which has "
            f"shape '{tensor.shape}'"
        )
    return array


def _fits(value: int, dtype: DType) -> bool:
    """Whether a Python int is a value of a type. NumPy would cut it down for some."""
    if dtype.is_integer:
        smallest, largest = _bounds(dtype)
        return smallest <= value <= largest
    return value in (0, 1) if dtype.is_bool else dtype != string


@cache
def _bounds(dtype: DType) -> tuple[int, int]:
    return int(dtype.min), int(dtype.max)


def _incompatible(value: Any, dtype: DType) -> str:
    return (
        f"Type of feed value {value!r} with type {type(value)} is not compatible with Tensor type "
        f"{dtype.as_numpy_dtype}. Try explicitly setting the type of the feed tensor to a larger "
        "type (e.g. int64)."
    )


def as_array(value: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """Returns `value` as the array that the engine takes for `dtype`: C-contiguous, of its type."""
    return native_array(np.asarray(value, dtype=dtype.base_dtype.as_numpy_dtype))
