"""Static shapes: the part of a tensor's shape that is known while the graph is being built.

A `TensorShape` is unknown, or a sequence of `Dimension`s that each have a size or are unknown. It
behaves as in TensorFlow 1 (for example, an item of a shape is a `Dimension`, not an int), with one
exception: two shapes that have unknown dimensions at the same positions compare equal.

Source: `tf.TensorShape` and `tf.Dimension` in TensorFlow 1.15.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NoReturn, SupportsIndex, TypeAlias, overload

import numpy as np

__all__ = [
    "Dimension",
    "DimensionLike",
    "ShapeLike",
    "ShapesLike",
    "TensorShape",
    "as_dimension",
    "as_shape",
    "bracketed",
    "describe_conflict",
    "dimension_at_index",
    "dimension_value",
    "matrix",
    "scalar",
    "unknown_shape",
    "vector",
]


class Dimension:
    """One dimension of a static shape, which has a size or is unknown.

    Arithmetic with an unknown dimension results in an unknown dimension, and a comparison results
    in None.

    Args:
        value: The size, or None if it is unknown. Another `Dimension` is copied.

    Raises:
        TypeError: If the value is not an integer.
        ValueError: If the value is negative.
    """

    __slots__ = ("_value",)

    def __init__(self, value: "DimensionLike") -> None:
        self._value: int | None = _size_of(value)

    @property
    def value(self) -> int | None:
        """The size, or None if it is unknown."""
        return self._value

    def is_compatible_with(self, other: "DimensionLike") -> bool:
        """Returns whether the dimensions are compatible: equal, or at least one unknown."""
        other = as_dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other: "DimensionLike") -> None:
        """Raises ValueError unless `is_compatible_with(other)`."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {as_dimension(other)} are not compatible")

    def merge_with(self, other: "DimensionLike") -> "Dimension":
        """Combines the information of two descriptions of the same dimension.

        Raises:
            ValueError: If they contradict each other.
        """
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other._value if self._value is None else self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, "__eq__")

    def __ne__(self, other: object) -> Any:
        return self._compare(other, "__ne__")

    def __lt__(self, other: "DimensionLike") -> bool | None:
        return self._compare(other, "__lt__")

    def __le__(self, other: "DimensionLike") -> bool | None:
        return self._compare(other, "__le__")

    def __gt__(self, other: "DimensionLike") -> bool | None:
        return self._compare(other, "__gt__")

    def __ge__(self, other: "DimensionLike") -> bool | None:
        return self._compare(other, "__ge__")

    def __hash__(self) -> int:
        return hash(self._value)

    def __int__(self) -> int:
        return self._value  # type: ignore[return-value]  # int() raises the TypeError on None

    def __index__(self) -> int:
        return self._value  # type: ignore[return-value]

    def __bool__(self) -> bool:
        return bool(self._value)

    def __add__(self, other: "DimensionLike") -> "Dimension":
        return self._combine(other, "__add__")

    def __radd__(self, other: "DimensionLike") -> "Dimension":
        return self._combine(other, "__add__")

    def __sub__(self, other: "DimensionLike") -> "Dimension":
        return self._combine(other, "__sub__")

    def __rsub__(self, other: "DimensionLike") -> "Dimension":
        return as_dimension(other)._combine(self, "__sub__")

    def __mul__(self, other: "DimensionLike") -> "Dimension":
        try:
            return self._combine(other, "__mul__")
        except (TypeError, ValueError):
            return NotImplemented

    def __rmul__(self, other: "DimensionLike") -> "Dimension":
        return self.__mul__(other)

    def __floordiv__(self, other: "DimensionLike") -> "Dimension":
        return self._combine(other, "__floordiv__")

    def __rfloordiv__(self, other: "DimensionLike") -> "Dimension":
        return as_dimension(other)._combine(self, "__floordiv__")

    def __truediv__(self, other: object) -> NoReturn:
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and {type(other).__name__!r}, "
            "please use // instead"
        )

    def __mod__(self, other: "DimensionLike") -> "Dimension":
        return self._combine(other, "__mod__")

    def __rmod__(self, other: "DimensionLike") -> "Dimension":
        return as_dimension(other)._combine(self, "__mod__")

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self._value,)

    def _combine(self, other: "DimensionLike", method: str) -> "Dimension":
        other = as_dimension(other)
        if self._value is None or other._value is None:
            return Dimension(None)
        return Dimension(getattr(self._value, method)(other._value))

    def _compare(self, other: object, method: str) -> bool | None:
        try:
            size = _size_of(other)
        except (TypeError, ValueError):
            return NotImplemented  # type: ignore[no-any-return]  # As an operator may.
        if self._value is None or size is None:
            return None
        result: bool = getattr(self._value, method)(size)
        return result


def as_dimension(value: "DimensionLike") -> Dimension:
    """Returns `value` if it is a `Dimension`, otherwise a `Dimension` of that size."""
    return value if isinstance(value, Dimension) else Dimension(value)


def _size_of(value: object) -> int | None:
    if value is None or (type(value) is int and value >= 0):
        return value
    if isinstance(value, Dimension):
        return value._value
    if not isinstance(value, (float, np.floating, str, bytes, SupportsIndex)):
        raise TypeError(
            "Dimension value must be integer or None or have an __index__ method, "
            f"got {value!r} of type {type(value).__name__!r}"
        )
    try:
        size = int(value)
    except OverflowError:
        raise ValueError(f"Ambiguous dimension: {value!s}") from None
    if size != value and not isinstance(value, (str, bytes)):
        raise ValueError(f"Ambiguous dimension: {value}")
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


class TensorShape:
    """The static shape of a tensor: unknown, partly known, or fully defined.

    Args:
        dims: None for an unknown shape, another shape, an iterable of sizes (None for an unknown
            size), or a single size for a vector.

    Raises:
        TypeError: If `dims` is a string, or an item is not a size.
        ValueError: If a size is negative.
    """

    __slots__ = ("_sizes",)

    def __init__(self, dims: "ShapeLike") -> None:
        self._sizes: Final[tuple[int | None, ...] | None] = _sizes_of(dims)

    @property
    def dims(self) -> list[Dimension] | None:
        """The dimensions, or None for an unknown shape."""
        return None if self._sizes is None else [Dimension(size) for size in self._sizes]

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None for an unknown shape."""
        return None if self._sizes is None else len(self._sizes)

    @property
    def ndims(self) -> int | None:
        """The same as `rank`."""
        return self.rank

    def as_list(self) -> list[int | None]:
        """Returns the sizes, with None for unknown ones.

        Raises:
            ValueError: If the shape is unknown.
        """
        if self._sizes is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._sizes)

    def num_elements(self) -> int | None:
        """Returns the number of elements, or None if the shape is not fully defined."""
        if self._sizes is None or None in self._sizes:
            return None
        return math.prod(size for size in self._sizes if size is not None)

    def is_fully_defined(self) -> bool:
        """Returns whether every dimension is known."""
        return self._sizes is not None and None not in self._sizes

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError unless `is_fully_defined()`."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: "ShapeLike") -> bool:
        """Returns whether a tensor could have both shapes."""
        other = as_shape(other)
        if self._sizes is None or other._sizes is None:
            return True
        return len(self._sizes) == len(other._sizes) and all(
            mine is None or theirs is None or mine == theirs
            for mine, theirs in zip(self._sizes, other._sizes, strict=True)
        )

    def admits(self, sizes: tuple[int, ...]) -> bool:
        """Returns whether a tensor with these sizes could have this shape."""
        mine = self._sizes
        return (
            mine is None
            or mine == sizes
            or (
                len(mine) == len(sizes)
                and all(size in (None, got) for size, got in zip(mine, sizes, strict=True))
            )
        )

    def assert_is_compatible_with(self, other: "ShapeLike") -> None:
        """Raises ValueError unless `is_compatible_with(other)`."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_same_rank(self, other: "ShapeLike") -> None:
        """Raises ValueError if both ranks are known and differ."""
        other = as_shape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError if the rank is known and differs."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def merge_with(self, other: "ShapeLike") -> "TensorShape":
        """Combines the information of two descriptions of the same shape.

        Raises:
            ValueError: If they contradict each other.
        """
        other = as_shape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        if self._sizes is None:
            return TensorShape(other)
        if other._sizes is None:
            return self
        pairs = zip(self._sizes, other._sizes, strict=True)
        return TensorShape([theirs if mine is None else mine for mine, theirs in pairs])

    def most_specific_compatible_shape(self, other: "ShapeLike") -> "TensorShape":
        """Returns the most specific shape that describes tensors of either shape."""
        other = as_shape(other)
        if self._sizes is None or other._sizes is None or self.rank != other.rank:
            return unknown_shape()
        pairs = zip(self._sizes, other._sizes, strict=True)
        return TensorShape([mine if mine == theirs else None for mine, theirs in pairs])

    def concatenate(self, other: "ShapeLike") -> "TensorShape":
        """Returns the concatenation of both shapes' dimensions."""
        other = as_shape(other)
        if self._sizes is None or other._sizes is None:
            return unknown_shape()
        return TensorShape(self._sizes + other._sizes)

    def with_rank(self, rank: int) -> "TensorShape":
        """Returns this shape with a known rank.

        Raises:
            ValueError: If the shape has a different rank.
        """
        self.assert_has_rank(rank)
        return unknown_shape(rank) if self._sizes is None else self

    def with_rank_at_least(self, rank: int) -> "TensorShape":
        """Returns this shape, if its rank is large enough.

        Raises:
            ValueError: If the rank of the shape is known to be smaller.
        """
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> "TensorShape":
        """Returns this shape, if its rank is small enough.

        Raises:
            ValueError: If the rank of the shape is known to be larger.
        """
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    @overload
    def __getitem__(self, key: SupportsIndex) -> Dimension: ...

    @overload
    def __getitem__(self, key: slice) -> "TensorShape": ...

    def __getitem__(self, key: SupportsIndex | slice) -> "Dimension | TensorShape":
        if self._sizes is not None:
            if isinstance(key, slice):
                return TensorShape(self._sizes[key])
            return Dimension(self._sizes[key])
        if not isinstance(key, slice):
            return Dimension(None)
        if key.step is not None:
            raise ValueError("Steps are not yet handled")
        start, stop = key.start or 0, key.stop
        if stop is None or start < 0 or stop < 0:
            return unknown_shape()
        return unknown_shape(max(stop - start, 0))

    def __len__(self) -> int:
        if self._sizes is None:
            raise ValueError("Cannot take the length of Shape with unknown rank.")
        return len(self._sizes)

    def __iter__(self) -> Iterator[Dimension]:
        if self._sizes is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return (Dimension(size) for size in self._sizes)

    def __bool__(self) -> bool:
        return self._sizes is not None

    def __eq__(self, other: object) -> bool:
        try:
            return self._sizes == _sizes_of(other)
        except TypeError:
            return NotImplemented

    def __ne__(self, other: object) -> bool:
        try:
            theirs = TensorShape(_sizes_of(other))
        except TypeError:
            return NotImplemented
        if self._sizes is None or theirs._sizes is None:
            raise ValueError("The inequality of unknown TensorShapes is undefined.")
        return self._sizes != theirs._sizes

    def __hash__(self) -> int:
        return hash(self._sizes)

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        if self._sizes is None:
            return "<unknown>"
        words = ["?" if size is None else str(size) for size in self._sizes]
        return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self._sizes,)


def _sizes_of(dims: object) -> tuple[int | None, ...] | None:
    if dims is None:
        return None
    if isinstance(dims, TensorShape):
        return dims._sizes
    if isinstance(dims, (str, bytes)):
        raise TypeError(
            f"A string has ambiguous TensorShape, please wrap in a list or convert to an int: "
            f"{dims!r}"
        )
    if isinstance(dims, Iterable):
        return tuple([_size_of(size) for size in dims])
    return (_size_of(dims),)


# A value for one dimension: a size, or None for an unknown size.
DimensionLike: TypeAlias = Dimension | SupportsIndex | None
# Shapes that `as_shape` accepts: a shape, its sizes, a single size for a vector, or None if it is
# unknown.
ShapeLike: TypeAlias = TensorShape | Iterable[DimensionLike] | DimensionLike
# One shape, or one for each of several components.
ShapesLike: TypeAlias = TensorShape | Sequence[ShapeLike] | SupportsIndex


def as_shape(shape: ShapeLike) -> TensorShape:
    """Returns `shape` if it is a `TensorShape`, otherwise `TensorShape(shape)`."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank: int | None = None, *, ndims: int | None = None) -> TensorShape:
    """Returns an unknown shape, optionally with a known rank."""
    rank = ndims if rank is None else rank
    return TensorShape(None if rank is None else [None] * rank)


def scalar() -> TensorShape:
    """Returns the shape ()."""
    return TensorShape([])


def vector(length: DimensionLike) -> TensorShape:
    """Returns the shape of a vector."""
    return TensorShape([length])


def matrix(rows: DimensionLike, cols: DimensionLike) -> TensorShape:
    """Returns the shape of a matrix."""
    return TensorShape([rows, cols])


def dimension_value(dimension: Dimension | int | None) -> int | None:
    """Returns the size of a `Dimension`. An int or None is returned unchanged."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """Returns one dimension of a shape, which is unknown if the shape is unknown."""
    return shape[index]


def bracketed(shape: TensorShape | Iterable[SupportsIndex | None] | None) -> str:
    """Formats a shape or a sequence of integers as kernels do: `[2,?]`, or `?` if unknown."""
    if isinstance(shape, TensorShape):
        shape = shape._sizes
    if shape is None:
        return "?"
    return f"[{','.join('?' if size is None else str(size) for size in shape)}]"


def describe_conflict(x: TensorShape, y: TensorShape) -> str:
    """Describes where two incompatible shapes differ."""
    mine, theirs = x.as_list(), y.as_list()
    if len(mine) != len(theirs):
        return f"Shapes must be equal rank, but are {len(mine)} and {len(theirs)}"
    axis = next(
        index
        for index, pair in enumerate(zip(mine, theirs, strict=True))
        if None not in pair and pair[0] != pair[1]
    )
    return (
        f"Dimension {axis} in both shapes must be equal, but are {mine[axis]} and "
        f"{theirs[axis]}. Shapes are {bracketed(x)} and {bracketed(y)}."
    )
