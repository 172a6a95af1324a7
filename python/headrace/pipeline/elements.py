"""Types of components: what an element of a pipeline is made of."""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace import dtypes

__all__ = [
    "ElementType",
    "Feature",
    "Ragged",
    "Spec",
    "TypeWord",
    "element_of",
    "element_type",
    "engine_code",
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


class Spec(NamedTuple):
    """What is known of a component before an example is there.

    Attributes:
        dtype: A NumPy type, `bytes` or `str`.
        shape: Its dimensions, None for each unknown one; None if even the rank is unknown.
        is_ragged: Whether it is a list whose length differs between examples.
    """

    dtype: ElementType
    shape: tuple[int | None, ...] | None
    is_ragged: bool = False

    def batched(self, size: int | None) -> "Spec":
        """Returns the spec with one more leading axis."""
        return Spec(self.dtype, None if self.shape is None else (size, *self.shape))

    def row(self) -> "Spec":
        """Returns the spec without the leading axis."""
        return Spec(self.dtype, None if self.shape is None else self.shape[1:])

    def __repr__(self) -> str:
        name = self.dtype.__name__ if isinstance(self.dtype, type) else self.dtype.name
        ragged = ", ragged" if self.is_ragged else ""
        return f"Spec({name}, {self.shape}{ragged})"


def element_type(where: str, word: TypeWord) -> ElementType:
    """Returns the type that `int`, `float`, `bool`, `bytes`, `str` or a NumPy type stands for.

    Raises:
        TypeError: If it is no type that a component can have.
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
    return found


def engine_code(dtype: ElementType) -> int:
    """Returns the engine's number of an element type."""
    if isinstance(dtype, type):
        return dtypes.string.as_datatype_enum
    return dtypes.as_dtype(dtype).as_datatype_enum


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
        default: What stands for it where it is missing, of that shape or a scalar for all elements;
            None if it must be there.

    Raises:
        TypeError: If `dtype` is no type of a component.
        ValueError: If a dimension is negative.
    """

    dtype: Any
    shape: tuple[int, ...] = ()
    default: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        element_type("Feature", self.dtype)
        if any(not isinstance(size, int) or size < 0 for size in self.shape):
            raise ValueError(f"Feature: shape is {self.shape}, expected sizes from 0 up.")


@dataclass(frozen=True)
class Ragged:
    """A component that is a list of any length.

    Args:
        dtype: `int`, `float`, `bytes`, `str` or a NumPy type.

    Raises:
        TypeError: If `dtype` is no type of a component.
    """

    dtype: Any

    def __post_init__(self) -> None:
        element_type("Ragged", self.dtype)
