"""Initializers: functions that create the initial values of variables for a given shape.

Source: `tf.constant_initializer`, `tf.glorot_uniform_initializer` and similar functions of
TensorFlow 1.15. Glorot and Bengio (2010) for the latter.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Final, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.graph import Tensor, TensorLike
from headrace.ops.array.fill import ones, zeros
from headrace.ops.framework.conversion import constant
from headrace.ops.random.numbers import random_normal, random_uniform, truncated_normal

__all__ = [
    "constant_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "ones_initializer",
    "random_normal_initializer",
    "random_uniform_initializer",
    "truncated_normal_initializer",
    "variance_scaling_initializer",
    "zeros_initializer",
]

# The standard deviation of the standard normal distribution truncated to [-2, 2].
_TRUNCATED_STDDEV: Final = 0.87962566103423978

_MODES: Final = ("fan_in", "fan_out", "fan_avg")
_DISTRIBUTIONS: Final = ("normal", "uniform", "truncated_normal", "untruncated_normal")


class _Initializer(ABC):
    """Creates initial values for any shape.

    Args:
        dtype: The dtype of the values, unless a call overrides it.
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: TensorLike, dtype: DTypeLike | None = None, partition_info: object = None
    ) -> Tensor:
        """Returns a tensor of initial values.

        Args:
            shape: The shape, which must be fully known.
            dtype: The dtype. Defaults to the dtype passed to the initializer.
            partition_info: Accepted for compatibility. Not used.
        """
        return self._make(shape, self.dtype if dtype is None else as_dtype(dtype))

    @abstractmethod
    def _make(self, shape: TensorLike, dtype: DType) -> Tensor: ...


class zeros_initializer(_Initializer):
    """Initializes with zeros, or with empty strings or False, depending on the type."""

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(dtype)

    def _make(self, shape: TensorLike, dtype: DType) -> Tensor:
        return zeros(shape, dtype)


class ones_initializer(_Initializer):
    """Initializes with ones, or with True for bool."""

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(dtype)

    def _make(self, shape: TensorLike, dtype: DType) -> Tensor:
        return ones(shape, dtype)


class constant_initializer(_Initializer):
    """Initializes with a given value.

    Args:
        value: A number, a list of numbers or an array. If there are too few elements, the last one
            is repeated.
        dtype: The type, unless a call specifies one.
        verify_shape: Whether the value must already have the shape.

    Raises:
        TypeError: If `value` has the wrong type. When called, if `verify_shape` is True and the
            shape is different.
        ValueError: When called, if the value has too many elements.
    """

    def __init__(
        self,
        value: npt.ArrayLike = 0,
        dtype: DTypeLike = dtypes.float32,
        verify_shape: bool = False,
    ) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or "
                "tuple of values, or numpy.ndarray)."
            )
        super().__init__(dtype)
        self.value = value
        self._verify_shape = verify_shape

    def __call__(
        self,
        shape: TensorLike,
        dtype: DTypeLike | None = None,
        partition_info: object = None,
        verify_shape: bool | None = None,
    ) -> Tensor:
        """Like other initializers, but `verify_shape` overrides the initializer's own setting."""
        kind = self.dtype if dtype is None else as_dtype(dtype)
        is_verified = self._verify_shape if verify_shape is None else verify_shape
        sizes = cast("Iterable[SupportsIndex]", shape)
        return constant(self.value, dtype=kind, shape=sizes, verify_shape=is_verified)

    def _make(self, shape: TensorLike, dtype: DType) -> Tensor:
        return self(shape, dtype)


class random_uniform_initializer(_Initializer):
    """Initializes with uniform random numbers; see `tf.random_uniform`.

    Args:
        minval: The smallest value.
        maxval: The upper bound, which is excluded. It defaults to 1 for floats and is required for
            integers.
        seed: The seed of the operation. Together with the seed of the graph, it determines the
            sequence.
        dtype: The type, unless a call specifies one.
    """

    def __init__(
        self,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        super().__init__(dtype)
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def _make(self, shape: TensorLike, dtype: DType) -> Tensor:
        return random_uniform(shape, self.minval, self.maxval, dtype, seed=self.seed)


class random_normal_initializer(_Initializer):
    """Initializes with normally distributed random numbers; see `tf.random_normal`.

    Args:
        mean: The mean.
        stddev: The standard deviation.
        seed: The seed of the operation. Together with the seed of the graph, it determines the
            sequence.
        dtype: The type, unless a call specifies one. It must be a floating-point type.

    Raises:
        ValueError: If the type is not a floating-point type.
    """

    _draw = staticmethod(random_normal)

    def __init__(
        self,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        super().__init__(dtype)
        _check_floating(self.dtype)
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def _make(self, shape: TensorLike, dtype: DType) -> Tensor:
        return self._draw(shape, self.mean, self.stddev, dtype, seed=self.seed)


class truncated_normal_initializer(random_normal_initializer):
    """Initializes with truncated normal random numbers; see `random_normal_initializer`."""

    _draw = staticmethod(truncated_normal)


class variance_scaling_initializer(_Initializer):
    """Initializes with random numbers whose variance depends on the size of a layer.

    Args:
        scale: A positive factor for the variance.
        mode: The divisor of the variance: "fan_in", "fan_out" or "fan_avg". If a weight has the
            shape (..., inputs, outputs), inputs and outputs are multiplied by the sizes of the
            leading dimensions.
        distribution: "uniform", "truncated_normal" (also called "normal") or "untruncated_normal".
        seed: The seed of the operation. Together with the seed of the graph, it determines the
            sequence.
        dtype: The type, unless a call specifies one. It must be a floating-point type.

    Raises:
        ValueError: If an argument is invalid.
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        if scale <= 0:
            raise ValueError(f"`scale` must be positive float, got {scale}.")
        if mode not in _MODES:
            raise ValueError(f"Invalid `mode` argument: {mode}, expected one of {_MODES}.")
        if distribution not in _DISTRIBUTIONS:
            raise ValueError(
                f"Invalid `distribution` argument: {distribution}, expected one of "
                f"{_DISTRIBUTIONS}."
            )
        super().__init__(dtype)
        _check_floating(self.dtype)
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def _make(self, shape: TensorLike, dtype: DType) -> Tensor:
        variance = self.scale / max(1.0, self._fan(cast("Sequence[int]", shape)))
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(variance), dtype, seed=self.seed)
        stddev = math.sqrt(variance) / _TRUNCATED_STDDEV
        return truncated_normal(shape, 0.0, stddev, dtype, seed=self.seed)

    def _fan(self, shape: Sequence[int]) -> float:
        """Returns the number of inputs or outputs, or the mean of both."""
        sizes = [min(int(size), sys.maxsize) for size in shape] or [1]
        if len(sizes) == 1:
            sizes *= 2
        field = math.prod(sizes[:-2])
        fans = {"fan_in": field * sizes[-2], "fan_out": field * sizes[-1]}
        return fans.get(self.mode, sum(fans.values()) / 2)


class glorot_uniform_initializer(variance_scaling_initializer):
    """Initializes with uniform random numbers that keep gradients similar in all layers.

    Args:
        seed: The seed of the operation. Together with the seed of the graph, it determines the
            sequence.
        dtype: The type, unless a call specifies one. It must be a floating-point type.

    Raises:
        ValueError: If the type is not a floating-point type.
    """

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class glorot_normal_initializer(variance_scaling_initializer):
    """Like `glorot_uniform_initializer`, but with a truncated normal distribution."""

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


def _check_floating(dtype: DType) -> None:
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
