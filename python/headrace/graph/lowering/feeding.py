"""Checks and converts the values that are fed to a run.

Source: The rules of `tf.Session.run` in TensorFlow 1.15.
"""

import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

import numpy as np

from headrace.core.dtypes import DType, resource, string
from headrace.core.engine import native_array
from headrace.graph import Graph, GraphElementLike, Operation, Tensor
from headrace.graph.lowering.composites import composite_for
from headrace.graph.lowering.conversion import LossyValue, as_numpy_does, without_loss

__all__ = ["LossyFeeds", "as_array", "convert_feeds", "feed_tensors"]


class LossyFeeds:
    """How a session treats fed numbers that a tensor's type cannot represent.

    TensorFlow silently changes such numbers: 1.5 becomes the int32 1, and 300 the uint8 44.
    """

    def __init__(self, are_allowed: bool | None) -> None:
        """Creates the rule.

        Args:
            are_allowed: True to convert as TensorFlow does, False to reject such numbers, None to
                convert with one warning per tensor.
        """
        self._are_allowed = are_allowed
        self._warned: set[Tensor] = set()

    def convert(self, tensor: Tensor, value: object, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Returns the array to feed.

        Raises:
            LossyValue: If the type cannot represent a number and the rule rejects such numbers.
            OverflowError: If a Python int has more than 64 bits.
            TypeError: If the value contains something other than numbers.
            ValueError: If the value contains something other than numbers, or its rows differ in
                length.
        """
        if self._are_allowed:
            return as_numpy_does(value, dtype)
        try:
            return without_loss(value, dtype)
        except LossyValue as misfit:
            if self._are_allowed is not None:
                raise
            with np.errstate(all="ignore"):
                array = as_numpy_does(value, dtype)
            self._warn(tensor, misfit, array[misfit.index])
            return array

    def _warn(self, tensor: Tensor, misfit: LossyValue, fed: object) -> None:
        if tensor in self._warned:
            return
        self._warned.add(tensor)
        warnings.warn(
            f"Tensor {tensor.name!r}: feed value {misfit.value!r}{_at(misfit.index)} of type "
            f"{type(misfit.value).__name__} does not fit into type "
            f"{tensor.dtype.base_dtype.name}. It becomes {fed}, as in TensorFlow. This "
            "warning appears once for each tensor. Set "
            "tf.ConfigProto(allow_lossy_feeds=False) to raise an error instead, or "
            "allow_lossy_feeds=True to silence the warning.",
            RuntimeWarning,
            stacklevel=7,
        )


def convert_feeds(
    graph: Graph, feed_dict: Mapping[Any, Any] | None, lossy_feeds: LossyFeeds
) -> dict[Tensor, np.ndarray[Any, Any]]:
    """Returns the array to feed for each tensor.

    Args:
        graph: The graph that contains the tensors.
        feed_dict: The values, by tensor.
        lossy_feeds: The rule for numbers that a tensor's type cannot represent.

    Raises:
        TypeError: If `feed_dict` is not a mapping, a key or value cannot be fed, or a tensor's type
            cannot represent a value.
        ValueError: If a value does not fit its tensor, or the tensor must not be fed.
    """
    if feed_dict is None:
        return {}
    # Checking for `dict` is faster than checking for `Mapping`.
    if not isinstance(feed_dict, (dict, Mapping)):
        raise TypeError(
            f"feed_dict must be a dictionary mapping tensors to values, got {type(feed_dict)}."
        )
    feeds: dict[Tensor, np.ndarray[Any, Any]] = {}
    for key, value in feed_dict.items():
        if isinstance(key, Tensor) and key.graph is graph:
            feeds[key] = _convert(graph, key, value, lossy_feeds)
            continue
        for item, part in _expand(key, value):
            tensor = feed_tensor(graph, item)
            feeds[tensor] = _convert(graph, tensor, part, lossy_feeds)
    return feeds


def _expand(key: object, value: object) -> list[tuple[Any, object]]:
    """Splits a feed: a composite object into its tensors, and a tuple into its items."""
    composite = composite_for(key)
    if composite is not None and composite.feed is not None:
        return [part for pair in composite.feed(key, value) for part in _expand(*pair)]
    if not isinstance(key, tuple):
        return [(key, value)]
    keys, values = _flatten(key), _flatten(value)
    if len(keys) != len(values):
        raise ValueError(
            f"Could not flatten dictionary. Key had {len(keys)} elements, but value had "
            f"{len(values)} elements. Key: {keys}, value: {values}."
        )
    return [part for pair in zip(keys, values, strict=True) for part in _expand(*pair)]


def feed_tensors(graph: Graph, key: object) -> list[Tensor]:
    """Returns the tensors that a feed key refers to: one, or all tensors of a composite object.

    Raises:
        TypeError: If the key does not refer to a tensor.
    """
    composite = composite_for(key)
    if composite is None or composite.parts is None:
        return [feed_tensor(graph, cast("GraphElementLike", key))]
    return [tensor for part in composite.parts(key) for tensor in feed_tensors(graph, part)]


def _flatten(value: object) -> list[object]:
    if not isinstance(value, (list, tuple)):
        return [value]
    return [part for item in value for part in _flatten(item)]


def feed_tensor(graph: Graph, key: GraphElementLike) -> Tensor:
    """Returns the tensor that a feed key refers to.

    Raises:
        TypeError: If the key is not a tensor and does not represent one.
    """
    try:
        return graph.as_graph_element(key, allow_operation=False)
    except Exception as error:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None


def _convert(
    graph: Graph, tensor: Tensor, value: object, lossy_feeds: LossyFeeds
) -> np.ndarray[Any, Any]:
    if isinstance(value, (Tensor, Operation)) or hasattr(type(value), "_as_graph_element"):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, the "
            f"tensor object was {value} which was passed to the feed with key {tensor}."
        )
    dtype = tensor.dtype.base_dtype
    if dtype == resource or not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor} may not be fed.")
    array = _as_array_of(tensor, dtype, value, lossy_feeds)
    if not tensor.shape.admits(array.shape):
        raise ValueError(
            f"Cannot feed value of shape {array.shape!r} for Tensor {tensor.name!r}, which has "
            f"shape '{tensor.shape}'"
        )
    return array


def _as_array_of(
    tensor: Tensor, dtype: DType, value: object, lossy_feeds: LossyFeeds
) -> np.ndarray[Any, Any]:
    numpy_dtype = _numpy_dtype(dtype)
    if type(value) is np.ndarray and value.dtype == numpy_dtype:
        return value
    if isinstance(value, int) and not _fits(value, dtype):
        raise TypeError(_incompatible(tensor, value))
    if dtype == string or _is_ordinary(value, dtype):
        return np.asarray(value, dtype=numpy_dtype)
    try:
        return lossy_feeds.convert(tensor, value, numpy_dtype)
    except LossyValue as misfit:
        raise TypeError(_incompatible(tensor, misfit.value, misfit.index, _SWITCH)) from None
    except OverflowError:
        raise TypeError(_incompatible(tensor, value)) from None


def _fits(value: int, dtype: DType) -> bool:
    """Returns whether a type can represent a Python int, which NumPy might wrap around."""
    if dtype.is_integer:
        smallest, largest = _bounds(dtype)
        return smallest <= value <= largest
    return value in (0, 1) if dtype.is_bool else dtype != string


def _is_ordinary(value: object, dtype: DType) -> bool:
    """Returns whether a value is an int or float that certainly fits. Most values are."""
    if type(value) is int:
        return dtype.is_integer or -_LARGEST_ORDINARY <= value <= _LARGEST_ORDINARY
    return type(value) is float and dtype.is_floating and abs(value) <= _LARGEST_ORDINARY


# All floating-point types have at least this range.
_LARGEST_ORDINARY: Final = 65504


@cache
def _numpy_dtype(dtype: DType) -> np.dtype[Any]:
    return np.dtype(dtype.as_numpy_dtype)


@cache
def _bounds(dtype: DType) -> tuple[int, int]:
    return int(dtype.min), int(dtype.max)


_SWITCH: Final = (
    " Remove tf.ConfigProto(allow_lossy_feeds=False) to convert such values as TensorFlow does."
)


def _incompatible(
    tensor: Tensor, value: object, index: tuple[int, ...] = (), remedy: str = ""
) -> str:
    dtype = tensor.dtype.base_dtype
    return (
        f"Type of feed value {value!r}{_at(index)} with type {type(value)} is not compatible "
        f"with Tensor type {dtype.as_numpy_dtype}. Try explicitly setting the type of the "
        f"feed tensor to a larger type (e.g. int64). Tensor {tensor.name!r} accepts "
        f"{_values_of(dtype)}.{remedy}"
    )


def _at(index: tuple[int, ...]) -> str:
    return f" at {list(index)}" if index else ""


def _values_of(dtype: DType) -> str:
    """Returns the values that a type can hold."""
    if dtype.is_integer:
        return "whole numbers from {} to {}".format(*_bounds(dtype))
    if dtype.is_floating or dtype.is_complex:
        kind = "numbers" if dtype.is_complex else "real numbers"
        return f"{kind} from {dtype.real_dtype.min:g} to {dtype.real_dtype.max:g}"
    return "True and False" if dtype.is_bool else "strings"


def as_array(value: object, dtype: DType) -> np.ndarray[Any, Any]:
    """Returns `value` as a C-contiguous array that the engine accepts for `dtype`."""
    return native_array(np.asarray(value, dtype=dtype.base_dtype.as_numpy_dtype))
