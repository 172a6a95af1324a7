"""Types of components: what an element of a pipeline is made of."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.core import dtypes

__all__ = [
    "ElementType",
    "Feature",
    "Ragged",
    "Spec",
    "Specs",
    "TypeWord",
    "array_type",
    "carried",
    "delivered",
    "element_of",
    "element_type",
    "engine_code",
    "exactly",
    "is_carried",
    "type_name",
]

# What a component holds: numbers of a NumPy type, or strings.
ElementType: TypeAlias = "np.dtype[Any] | type[bytes] | type[str]"
# How programs name an element type.
TypeWord: TypeAlias = "npt.DTypeLike | type[bytes] | type[str]"

_WORDS: Final[dict[object, np.dtype[Any]]] = {
    int: np.dtype(np.int64),
    float: np.dtype(np.float32),
    bool: np.dtype(np.bool_),
}
# The engine hands on the numbers of types that it does not know as those of types of their width.
_CARRIED: Final = {"bfloat16": np.dtype(np.uint16)}


class Spec(NamedTuple):
    """The dtype and shape of a component, as far as they are known before there is an example.

    Attributes:
        dtype: A NumPy type, `bytes` or `str`.
        shape: Its dimensions, None for each unknown one; None if even the rank is unknown.
        is_ragged: Whether it is a list whose length differs between examples.
    """

    dtype: ElementType
    shape: tuple[int | None, ...] | None
    is_ragged: bool = False

    @property
    def is_list(self) -> bool:
        """True if the length of its first axis may differ between examples."""
        return self.is_ragged or self.shape is None or self.shape[:1] == (None,)

    def merged(self, other: "Spec") -> "Spec":
        """Returns what is known of a component of this type that is as one of the two says."""
        is_ragged = self.is_ragged or other.is_ragged
        if self.shape is None or other.shape is None or len(self.shape) != len(other.shape):
            return Spec(self.dtype, None)
        shape = tuple(
            one if one == another else None
            for one, another in zip(self.shape, other.shape, strict=True)
        )
        return Spec(self.dtype, shape, is_ragged)

    def batched(self, size: int | None) -> "Spec":
        """Returns the spec with one more leading axis."""
        return Spec(self.dtype, None if self.shape is None else (size, *self.shape))

    def row(self) -> "Spec":
        """Returns the spec without the leading axis."""
        return Spec(self.dtype, None if self.shape is None else self.shape[1:])

    def __repr__(self) -> str:
        ragged = ", ragged" if self.is_ragged else ""
        return f"Spec({type_name(self.dtype)}, {self.shape}{ragged})"


# The components of an example, in order.
Specs: TypeAlias = dict[str, Spec]


def type_name(dtype: ElementType) -> str:
    """Returns what an element type is called in messages."""
    return dtype.__name__ if isinstance(dtype, type) else dtype.name


def element_type(where: str, word: TypeWord) -> ElementType:
    """Returns the type that `int`, `float`, `bool`, `bytes`, `str` or a NumPy type represents.

    Raises:
        TypeError: If it is not a type that a component can have.
    """
    if word is bytes or word is str:
        return word
    found = _WORDS.get(word) if isinstance(word, type) else None
    try:
        found = np.dtype(word) if found is None else found
        dtypes.as_dtype(found)
        is_number = found.kind in "biufc"
    except TypeError:
        is_number = False
    if found is None or not is_number:
        raise TypeError(
            f"{where}: {word!r} is no type of a component, expected int (int64), float (float32), "
            "bool, bytes, str or a NumPy type of numbers."
        )
    return found.newbyteorder("=")


def array_type(where: str, dtype: np.dtype[Any]) -> ElementType:
    """Returns the type of a component that an array has: as `element_type`, or `bfloat16`.

    Raises:
        TypeError: If it is not a type that a component can have.
    """
    return dtype if is_carried(dtype) else element_type(where, dtype)


@lru_cache(maxsize=256)
def engine_code(dtype: ElementType) -> int:
    """Returns the engine's number of an element type."""
    if isinstance(dtype, type):
        return dtypes.string.as_datatype_enum
    return dtypes.as_dtype(_CARRIED.get(dtype.name, dtype)).as_datatype_enum


# NumPy takes some microseconds to make the name of a type, and each batch has a few.
@lru_cache(maxsize=256)
def is_carried(dtype: ElementType) -> bool:
    """Returns whether the engine passes a type that it does not know on, such as `bfloat16`."""
    return not isinstance(dtype, type) and dtype.name in _CARRIED


def carried(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns an array as the engine takes it; see `delivered`."""
    return array.view(_CARRIED[array.dtype.name]) if is_carried(array.dtype) else array


def delivered(column: Any, spec: Spec) -> Any:
    """Returns arrays of the engine, or a scalar, with the type that their component has."""
    if not is_carried(spec.dtype):
        return column
    if isinstance(column, list):
        return [delivered(row, spec) for row in column]
    return column.view(spec.dtype)


def exactly(value: Any, dtype: ElementType) -> npt.NDArray[Any] | None:
    """Returns a value, or several, as an array of a type; None if that does not hold them.

    Floats are rounded to their type, but do not become infinite.
    """
    given = np.asarray(value, object)
    if isinstance(dtype, type):
        items = [item.encode() if isinstance(item, str) else item for item in given.ravel()]
        if not all(isinstance(item, bytes) for item in items):
            return None
        strings = np.empty(len(items), object)
        strings[:] = items
        return strings.reshape(given.shape)
    if any(isinstance(item, (bytes, str)) for item in given.ravel()):
        return None
    try:
        with np.errstate(all="ignore"):
            made = given.astype(dtype)
            if is_carried(dtype) or dtype.kind in "fc":
                is_held = np.isfinite(made) | ~np.isfinite(given.astype(np.complex128))
            else:
                is_held = made.astype(object) == given
    except (TypeError, ValueError, OverflowError):
        return None
    return made if np.all(is_held) else None


def element_of(code: int, is_text: bool) -> ElementType:
    """Returns the element type of the engine's number of it; strings may be text."""
    dtype = dtypes.as_dtype(code)
    if dtype == dtypes.string:
        return str if is_text else bytes
    return np.dtype(dtype.as_numpy_dtype)


@dataclass(frozen=True)
class Feature:
    """A component with as many elements as its shape has.

    Args:
        dtype: `int`, `float`, `bool`, `bytes`, `str` or a NumPy type.
        shape: Its dimensions; () for a scalar.
        default: The value where it is missing, of that shape or a scalar for all elements; None if
            it is required.

    Raises:
        TypeError: If `dtype` is not a type of a component.
        ValueError: If a dimension is negative, or the default does not fit type and shape.
    """

    dtype: Any
    shape: tuple[int, ...] = ()
    default: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        dtype = element_type("Feature", self.dtype)
        if any(not isinstance(size, int) or size < 0 for size in self.shape):
            raise ValueError(f"Feature: shape is {self.shape}, expected sizes from 0 up.")
        if self.default is None:
            return
        made = exactly(self.default, dtype)
        if made is None or made.shape not in ((), self.shape):
            raise ValueError(
                f"Feature: default is {self.default!r}, expected {type_name(dtype)} of shape "
                f"{self.shape} or a scalar."
            )


@dataclass(frozen=True)
class Ragged:
    """A component that is a list of any length.

    Args:
        dtype: `int`, `float`, `bytes`, `str` or a NumPy type.

    Raises:
        TypeError: If `dtype` is not a type of a component.
    """

    dtype: Any

    def __post_init__(self) -> None:
        element_type("Ragged", self.dtype)
