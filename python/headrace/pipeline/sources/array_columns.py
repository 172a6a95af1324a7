"""The arguments that `arrays` accepts.

These are a dict of arrays, a single array or list, a data frame, or an Arrow table.
"""

import mmap
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.pipeline.values.python_values import (
    native_order,
    of_python,
    refuse_masked,
    strings_of,
)
from headrace.pipeline.values.types import array_type, as_array

__all__ = ["BARE_NAME", "ArrayColumns", "array_columns"]

# The component name for an array without a name.
BARE_NAME: Final = "x"
_TABLES: Final = ("pandas", "polars", "pyarrow")


class ArrayColumns:
    """Columns in memory. Strings are stored as arrays of `bytes` objects.

    Attributes:
        arrays: The columns, all of the same length.
        texts: The names of the columns that contained `str`.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        arrays = {name: _array(f"arrays: '{name}'", value) for name, value in columns.items()}
        self.texts = frozenset(name for name, array in arrays.items() if _is_text(array))
        self.arrays = {name: _checked(f"arrays: '{name}'", a) for name, a in arrays.items()}
        lengths = {name: len(array) for name, array in self.arrays.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"arrays: the arrays have different lengths: {lengths}. Make them equally long."
            )


def array_columns(components: Any) -> ArrayColumns:
    """Converts the argument of `arrays` to columns.

    Raises:
        TypeError: If the argument has an unsupported type, or contains a value that a component
            cannot hold.
        ValueError: If there are no columns, or their lengths differ, or if a column is a scalar,
            has missing values, or is a list of lists of different lengths.
    """
    package = type(components).__module__.partition(".")[0]
    if isinstance(components, Mapping):
        columns = dict(components)
    elif package in _TABLES and hasattr(components, "columns"):
        columns = dict(_table(package, components))
    elif isinstance(components, list) or hasattr(components, "__array__"):
        columns = {BARE_NAME: components}
    else:
        raise TypeError(
            f"arrays: got {type(components).__name__}, expected a dict such as {{'x': x, 'y': y}}, "
            "an array, a list, a DataFrame or an Arrow table."
        )
    for name in columns:
        if not isinstance(name, str):
            raise TypeError(f"arrays: the name {name!r} is not a string. Rename the column.")
    if not columns:
        raise ValueError("arrays: there are no arrays, expected at least one.")
    return ArrayColumns(columns)


def _table(package: str, table: Any) -> Iterable[tuple[str, Any]]:
    """Yields the columns of a data frame or Arrow table. Missing values raise an error."""
    names = table.column_names if package == "pyarrow" else list(table.columns)
    if len(set(names)) < len(names):
        raise ValueError(f"arrays: two columns have the same name: {names}. Rename one.")
    for name in names:
        column = table[name]
        missing = _missing(package, column)
        # In pandas, NumPy float columns contain NaN rather than nulls.
        has_nan = package == "pandas" and getattr(column.dtype, "kind", "") == "f"
        if missing and not (has_nan and isinstance(column.dtype, np.dtype)):
            raise ValueError(
                f"arrays: the column {name!r} has {missing} missing values. Fill them in, or drop "
                "their rows first."
            )
        # By default, Arrow rejects conversions that need a copy, such as string conversions.
        options = {"zero_copy_only": False} if package == "pyarrow" else {}
        yield name, column.to_numpy(**options)


def _missing(package: str, column: Any) -> int:
    """Returns the number of missing values in a column."""
    if package == "pandas":
        return int(column.isna().sum())
    return int(column.null_count() if package == "polars" else column.null_count)


def _array(what: str, value: Any) -> npt.NDArray[Any]:
    """Returns a column as an array. Numeric arrays are not copied."""
    refuse_masked(what, value)
    is_python = isinstance(value, (list, tuple))
    array = of_python(what, value) if is_python else as_array(what, value)
    if array.ndim == 0:
        raise ValueError(f"{what} is a scalar, expected an array with one row for each example.")
    return array


def _is_text(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind == "U" or (array.size > 0 and isinstance(array.flat[0], str))


def _checked(what: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype.kind in "SUO":
        return strings_of(what, array)
    array_type(what, array.dtype)
    if not array.dtype.isnative or not (_has_whole_rows(array) or _is_larger_than_memory(array)):
        return np.ascontiguousarray(native_order(array))
    return array


def _has_whole_rows(array: npt.NDArray[Any]) -> bool:
    """Returns whether the elements of each row are contiguous in memory."""
    return array.size == 0 or bool(array[0].flags.c_contiguous)


def _is_larger_than_memory(array: npt.NDArray[Any]) -> bool:
    """Returns whether a copy could use more memory, as for mapped files and overlapping views."""
    steps = zip(array.shape, array.strides, strict=True)
    span = array.itemsize + sum((length - 1) * abs(stride) for length, stride in steps)
    return array.nbytes > span or _is_mapped(array)


def _is_mapped(array: npt.NDArray[Any]) -> bool:
    """Returns whether an array is a view of a mapped file."""
    owner: Any = array
    # A view made with custom strides refers to its array through another object.
    while hasattr(owner, "__array_interface__") and owner.base is not None:
        owner = owner.base
    return isinstance(owner, mmap.mmap)
