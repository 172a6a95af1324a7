"""Tensor specs: dtype, shape and name.

Source: `tf.TensorSpec` in TensorFlow 1.15.
"""

from __future__ import annotations

from typing import Any

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.core.shapes import ShapeLike, TensorShape, as_shape
from headrace.graph import Tensor

__all__ = ["TensorSpec"]


class TensorSpec:
    """The type, the (possibly partial) shape and the name of a tensor.

    Args:
        shape: The shape, or None if it is unknown.
        dtype: The type of the elements.
        name: The name. Specs with different names are different.

    Raises:
        TypeError: If the type does not exist.
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(
        self, shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None
    ) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Returns a copy of a spec, optionally with a new name."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """Returns the spec of a tensor. The name defaults to the name of its operation.

        Raises:
            ValueError: If the argument is not a tensor.
        """
        if not isinstance(tensor, Tensor):
            raise ValueError(f"`tensor` should be a tf.Tensor, got {tensor!r}")
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name."""
        return self._name

    @property
    def value_type(self) -> type[Tensor]:
        """The class of the values that the spec describes."""
        return Tensor

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Returns whether a tensor or a spec is compatible with this spec."""
        other = spec_or_tensor
        return self._dtype.is_compatible_with(other.dtype) and self._shape.is_compatible_with(
            other.shape
        )

    def most_specific_compatible_type(self, other: TensorSpec) -> TensorSpec:
        """Returns the most specific spec that is compatible with both specs.

        Raises:
            ValueError: If the types or the names differ.
        """
        if self._dtype != other.dtype or self._name != other.name:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        shape = self._shape.most_specific_compatible_shape(other.shape)
        return TensorSpec(shape, self._dtype, self._name)

    def _key(self) -> tuple[object, ...]:
        sizes = None if self._shape.rank is None else tuple(self._shape.as_list())
        return sizes, self._dtype, self._name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorSpec, (self._shape, self._dtype, self._name)
