"""The types of components: element types and shapes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from headrace.core import dtypes

__all__ = [
    "ElementType",
    "Feature",
    "Json",
    "Nullable",
    "Ragged",
    "Spec",
    "Specs",
    "TypeWord",
    "array_type",
    "as_array",
    "carried",
    "delivered",
    "element_of",
    "element_type",
    "engine_code",
    "exactly",
    "is_carried",
    "is_time",
    "type_name",
]


class Json:
    r"""A component that can hold any JSON value.

    Use it like `bytes` or `int`, as in `columns={"messages": hr.Json}`. In batches and Python
    functions, a value is a Python object: a dict, list, str, number, bool or None. A batch contains
    a list of these objects. In native functions, a value is its JSON text.

    Examples:
        >>> from pathlib import Path
        >>> length = Path("chat.jsonl").write_text('{"turn": {"role": "user", "n": 1}}\n')
        >>> next(iter(hr.json_lines("chat.jsonl", columns={"turn": hr.Json})))
        {'turn': {'role': 'user', 'n': 1}}
    """


# The element type of a component: a NumPy type for numbers or times, strings, or JSON values.
ElementType: TypeAlias = "np.dtype[Any] | type[bytes] | type[str] | type[Json]"
# Values that users can pass as an element type.
TypeWord: TypeAlias = "npt.DTypeLike | type[bytes] | type[str]"

_WORDS: Final[dict[object, np.dtype[Any]]] = {
    int: np.dtype(np.int64),
    float: np.dtype(np.float32),
    bool: np.dtype(np.bool_),
}
# Types that the engine does not support pass through it as supported types of the same width.
_CARRIED: Final = {"bfloat16": np.dtype(np.uint16)}
_TIME_UNITS: Final = ("D", "s", "ms", "us", "ns")
# The maximum number of axes in nested lists.
_MOST_AXES: Final = 3


class Spec(NamedTuple):
    """The dtype and shape of a component, as far as they are known before the iteration.

    Attributes:
        dtype: A NumPy dtype, `bytes`, `str` or `Json`.
        shape: The size of each axis, or None for an axis of unknown size. If the number of axes is
            unknown, the whole shape is None.
        is_ragged: True for a list whose length varies between examples, and for nested lists.
        is_listed: True if a batch stores the component as a Python list with one array per example.
            The first axis of the shape is then the number of examples.

    Examples:
        >>> hr.arrays({"x": [[1.0, 2.0]]}).spec["x"]
        Spec(float64, (2,))
    """

    dtype: ElementType
    shape: tuple[int | None, ...] | None
    is_ragged: bool = False
    is_listed: bool = False

    @property
    def is_list(self) -> bool:
        """Whether the length of the first axis may vary between examples."""
        return self.is_ragged or self.shape is None or self.shape[:1] == (None,)

    @property
    def is_open(self) -> bool:
        """Whether the size of any axis may vary between examples."""
        return self.is_ragged or self.shape is None or None in self.shape

    @property
    def is_nested(self) -> bool:
        """Whether the component consists of nested lists of any length."""
        return self.is_ragged and self.shape is not None and len(self.shape) > 1

    def merged(self, other: "Spec") -> "Spec":
        """Returns a spec that fits the values of both specs. The dtype is taken from this spec."""
        is_ragged = self.is_ragged or other.is_ragged
        if self.shape is None or other.shape is None or len(self.shape) != len(other.shape):
            return Spec(self.dtype, None, is_listed=self.is_listed)
        shape = tuple(
            one if one == another else None
            for one, another in zip(self.shape, other.shape, strict=True)
        )
        return Spec(self.dtype, shape, is_ragged, self.is_listed)

    def batched(self, size: int | None) -> "Spec":
        """Returns the spec with an additional first axis."""
        return Spec(self.dtype, None if self.shape is None else (size, *self.shape))

    def row(self) -> "Spec":
        """Returns the spec without its first axis."""
        return Spec(self.dtype, None if self.shape is None else self.shape[1:], self.is_nested)

    def __repr__(self) -> str:
        kind = ", ragged" if self.is_ragged else ", list" if self.is_listed else ""
        return f"Spec({type_name(self.dtype)}, {self.shape}{kind})"


# The components of an example, in order.
Specs: TypeAlias = dict[str, Spec]


def type_name(dtype: ElementType) -> str:
    """Returns an element type's name, for messages."""
    return dtype.__name__ if isinstance(dtype, type) else dtype.name


def element_type(where: str, word: TypeWord) -> ElementType:
    """Returns the element type for `int`, `float`, `bool`, `bytes`, `str` or a NumPy type.

    Times are `datetime64` and `timedelta64` with one of the units D, s, ms, us and ns.

    Raises:
        TypeError: If components don't support the type.
    """
    if word is bytes or word is str:
        return word
    dtype = _WORDS.get(word) if isinstance(word, type) else None
    try:
        dtype = np.dtype(word) if dtype is None else dtype
        if _is_known_time(dtype):
            return dtype.newbyteorder("=")
        dtypes.as_dtype(dtype)
        is_number = dtype.kind in "biufc"
    except TypeError:
        is_number = False
    if dtype is None or not is_number:
        raise TypeError(
            f"{where}: {word!r} is not a valid type, expected int (int64), float (float32), bool, "
            "bytes, str, a numeric NumPy type, or datetime64 or timedelta64 in D, s, ms, us or "
            "ns."
        )
    return dtype.newbyteorder("=")


def array_type(where: str, dtype: np.dtype[Any]) -> ElementType:
    """Returns the element type for an array's dtype. This includes `bfloat16`.

    Raises:
        TypeError: If components don't support the type.
    """
    return dtype if is_carried(dtype) else element_type(where, dtype)


def as_array(what: str, value: Any) -> npt.NDArray[Any]:
    """Converts another library's array to NumPy, without a copy if possible.

    PyTorch cannot convert bfloat16 tensors itself. They become arrays with the dtype from
    `ml_dtypes`.

    Args:
        what: A description of the value, for messages.
        value: An object with `__array__`, or anything else that NumPy can convert.

    Raises:
        ModuleNotFoundError: If a tensor is bfloat16 and ml_dtypes is not installed.
    """
    if str(getattr(value, "dtype", "")) != "torch.bfloat16":
        return np.asarray(value)
    try:
        ml_dtypes = import_module("ml_dtypes")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{what} is a torch.bfloat16 tensor, which NumPy supports only with ml_dtypes. "
            "Install it: pip install ml_dtypes"
        ) from error
    bits = value.detach().cpu().contiguous().view(import_module("torch").int16)
    array: npt.NDArray[Any] = bits.numpy().view(ml_dtypes.bfloat16)
    return array


def _engine_code(dtype: ElementType) -> int:
    """Returns the engine's code for an element type."""
    if isinstance(dtype, type):
        return dtypes.string.as_datatype_enum
    return dtypes.as_dtype(_carried_as(dtype) or dtype).as_datatype_enum


def _is_carried(dtype: ElementType) -> bool:
    """Returns whether the engine only passes this type through, as it does `bfloat16`."""
    return not isinstance(dtype, type) and _carried_as(dtype) is not None


# NumPy takes microseconds to build the name of a type, so the results are cached.
engine_code = cast("Callable[[ElementType], int]", lru_cache(maxsize=256)(_engine_code))
is_carried = cast("Callable[[ElementType], bool]", lru_cache(maxsize=256)(_is_carried))


def _carried_as(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    return np.dtype(np.int64) if dtype.kind in "mM" else _CARRIED.get(dtype.name)


def is_time(dtype: ElementType) -> bool:
    """Returns whether values are dates, times or durations."""
    return not isinstance(dtype, type) and dtype.kind in "mM"


def _is_known_time(dtype: np.dtype[Any]) -> bool:
    return is_time(dtype) and np.datetime_data(dtype) in [(unit, 1) for unit in _TIME_UNITS]


def carried(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Converts an array to the type that the engine passes through; see `delivered`."""
    code = _carried_as(array.dtype)
    return array if code is None else array.view(code)


def delivered(column: Any, spec: Spec) -> Any:
    """Converts the engine's arrays or scalars back to the component's type."""
    if not is_carried(spec.dtype):
        return column
    if isinstance(column, list):
        return [delivered(row, spec) for row in column]
    return column.view(spec.dtype)


def exactly(value: Any, dtype: ElementType) -> npt.NDArray[Any] | None:
    """Converts one or several values to an array. Returns None if the type cannot represent them.

    Fractions are rounded to the type, but whole numbers must be exact, and no number may overflow.
    """
    if not isinstance(dtype, type) and dtype.kind in "mM":
        return _exact_times(value, dtype)
    array = np.asarray(value, object)
    if isinstance(dtype, type):
        items = [item.encode() if isinstance(item, str) else item for item in array.ravel()]
        if not all(isinstance(item, bytes) for item in items):
            return None
        strings = np.empty(len(items), object)
        strings[:] = items
        return strings.reshape(array.shape)
    if any(isinstance(item, (bytes, str)) for item in array.ravel()):
        return None
    try:
        with np.errstate(all="ignore"):
            result = array.astype(dtype)
            if is_carried(dtype) or dtype.kind in "fc":
                wide = array.astype(np.complex128 if result.dtype.kind == "c" else np.float64)
                is_whole = (wide == np.trunc(wide.real)) & (np.abs(wide) < 2.0**64)
                is_kept = np.isfinite(result) & ~(is_whole & (result.astype(wide.dtype) != array))
                is_held = is_kept.astype(np.bool_) | ~np.isfinite(wide)
            else:
                is_held = result.astype(object) == array
    except (TypeError, ValueError, OverflowError):
        return None
    return result if np.all(is_held) else None


def _exact_times(value: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "mMUO" or (array.dtype.kind == "m") != (dtype.kind == "m"):
            # A number other than 0 has no unit.
            return np.zeros(array.shape, dtype) if not np.any(array) else None
        array = np.asarray(value, np.dtype(dtype.kind + "8"))
        result = array.astype(dtype)
        is_held = (result == array) | (np.isnat(result) & np.isnat(array))
    except (TypeError, ValueError, OverflowError):
        return None
    return result if np.all(is_held) else None


def element_of(code: int, is_text: bool) -> ElementType:
    """Returns the element type for the engine's type code. With `is_text`, strings become `str`."""
    dtype = dtypes.as_dtype(code)
    if dtype == dtypes.string:
        return str if is_text else bytes
    return np.dtype(dtype.as_numpy_dtype)


@dataclass(frozen=True)
class Feature:
    r"""A component with a fixed shape, for sources to which you pass types.

    Args:
        dtype: `int`, `float`, `bool`, `bytes`, `str` or a NumPy type.
        shape: The size of each axis, or () for a single value.
        default: The value to use if the component is missing: an array of this shape, or a single
            value for all elements. None if the component is required.

    Raises:
        TypeError: If components don't support `dtype`.
        ValueError: If a size is negative, or the default does not fit the type and shape.

    Examples:
        >>> from pathlib import Path
        >>> length = Path("boxes.jsonl").write_text('{"box": [0, 0, 8, 8]}\n')
        >>> next(iter(hr.json_lines("boxes.jsonl", columns={"box": hr.Feature(int, (4,))})))
        {'box': array([0, 0, 8, 8])}
    """

    dtype: Any
    shape: tuple[int, ...] = ()
    default: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        dtype = element_type("Feature", self.dtype)
        if any(not isinstance(size, int) or size < 0 for size in self.shape):
            raise ValueError(f"Feature: shape is {self.shape}, expected sizes of at least 0.")
        if self.default is None:
            return
        exact_default = exactly(self.default, dtype)
        if exact_default is None or exact_default.shape not in ((), self.shape):
            raise ValueError(
                f"Feature: default is {self.default!r}, expected {type_name(dtype)} of shape "
                f"{self.shape} or a scalar."
            )


@dataclass(frozen=True)
class Ragged:
    r"""A component that is a list of any length, or nested lists.

    If it has one axis, each example contains a one-dimensional array. If it has more, each example
    contains a list of arrays, or a list of lists of arrays.

    Args:
        dtype: `int`, `float`, `bytes`, `str` or a NumPy type.
        ndim: The number of axes, from 1 to 3.

    Raises:
        TypeError: If components don't support `dtype`.
        ValueError: If `ndim` is out of range.

    Examples:
        >>> from pathlib import Path
        >>> length = Path("texts.jsonl").write_text('{"tokens": [1, 2]}\n{"tokens": [3]}\n')
        >>> pipe = hr.json_lines("texts.jsonl", columns={"tokens": hr.Ragged(int)})
        >>> next(iter(pipe.padded_batch(2)))
        {'tokens': array([[1, 2],
               [3, 0]])}
    """

    dtype: Any
    ndim: int = 1

    def __post_init__(self) -> None:
        element_type("Ragged", self.dtype)
        if not isinstance(self.ndim, int) or not 1 <= self.ndim <= _MOST_AXES:
            raise ValueError(
                f"Ragged: ndim is {self.ndim!r}, expected 1 to {_MOST_AXES}. Read deeper lists as "
                "hr.Json."
            )


@dataclass(frozen=True)
class Nullable:
    r"""A component whose values may be missing. A second component masks the missing values.

    The mask is a bool component named `NAME_mask`, which follows the component. It is True if there
    is a value. Missing values are replaced with the column's default. If there is no default, they
    become 0, "", an empty list, or None for `Json`.

    Args:
        dtype: `int`, `float`, `bool`, `bytes`, `str`, a NumPy type, `Json`, a `Ragged` or a
            `Feature`.

    Raises:
        TypeError: If components don't support `dtype`.

    Examples:
        >>> from pathlib import Path
        >>> length = Path("ages.csv").write_text("name,age\nAda,36\nBob,\n")
        >>> columns = {"age": hr.Nullable(int)}
        >>> next(iter(hr.csv("ages.csv", columns=columns).batch(2)))
        {'age': array([36,  0]), 'age_mask': array([ True, False])}
    """

    dtype: Any

    def __post_init__(self) -> None:
        if isinstance(self.dtype, Nullable):
            raise TypeError("Nullable: dtype is itself Nullable, expected the type of the values.")
        if self.dtype is not Json and not isinstance(self.dtype, (Ragged, Feature)):
            element_type("Nullable", self.dtype)
