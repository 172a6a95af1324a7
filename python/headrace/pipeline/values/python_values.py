"""Conversion of Python values to components, for functions, iterables and `arrays`.

The same rule applies everywhere, and nothing is rounded. `bool` becomes bool, `int` becomes int64,
`float` becomes float64, `complex` becomes complex128, and `str` and `bytes` become strings. This
also applies to lists, whose items must have equal lengths. NumPy arrays and scalars keep their
types. An empty list gets the type that the component has elsewhere.
"""

import sys
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.pipeline.values.json_values import is_object
from headrace.pipeline.values.nested import NestedList
from headrace.pipeline.values.types import Json, Spec, array_type, as_array
from headrace.pipeline.values.unchanged import Unchanged

__all__ = [
    "as_value",
    "has_type",
    "is_masked",
    "learned",
    "native_order",
    "of_python",
    "refuse_masked",
    "spec_of",
    "strings_of",
]

_PYTHON_TYPES: Final = {bool: np.bool_, int: np.int64, float: np.float64}
# A float64 can represent all integers up to this one exactly.
_MOST_EXACT: Final = 2**53


def as_value(where: str, name: str, value: Any, is_separate: bool = True) -> Any:
    """Converts a component of a function's result to `bytes` or an array.

    Args:
        where: The stage and its function, for messages.
        name: The name of the component.
        value: The value that the function returned.
        is_separate: Whether to copy the value, so that the array does not share memory with it.

    Raises:
        TypeError: If a component cannot hold the value.
        ValueError: If the value is a list of lists of different lengths, has masked elements, or is
            an int of more than 64 bits.
    """
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    what = f"{where}: the component {name!r}"
    # PyTorch warns if NumPy requests a copy, because tensors don't support that argument.
    refuse_masked(what, value)
    converted = as_array(what, value) if hasattr(value, "__array__") else value
    if isinstance(converted, np.ndarray):
        array = native_order(np.array(converted) if is_separate else converted)
    else:
        array = of_python(what, converted)
    if array.dtype.kind in "SUO":
        return strings_of(what, array)
    array_type(what, array.dtype)
    return array


def is_masked(value: object) -> bool:
    """Returns whether a value is a masked array of NumPy."""
    # Loading the module takes long, but a program that has masked arrays has already loaded it.
    module = sys.modules.get("numpy.ma")
    return module is not None and isinstance(value, module.MaskedArray)


def refuse_masked(what: str, value: Any) -> None:
    """Raises ValueError if a NumPy mask hides elements, because the result would show them."""
    if is_masked(value) and (hidden := int(np.sum(value.mask))):
        raise ValueError(
            f"{what} has {hidden} masked values, which are not supported. Fill them in with "
            "value.filled(...), and return the mask as another component if you need it."
        )


def has_type(array: Any, value: Any) -> bool:
    """Returns whether the type of a value is clear from the value itself.

    An empty list has no clear type, and an empty array of objects may hold `str` or `bytes`.

    Args:
        array: The original value.
        value: The result of `as_value`.
    """
    if isinstance(value, bytes) or value.size > 0:
        return True
    return hasattr(array, "dtype") and (value.dtype != object or array.dtype.kind != "O")


def spec_of(where: str, name: str, value: Any) -> Spec:
    """Returns the spec of a component for which a function returned this value."""
    if isinstance(value, NestedList) and value.spec.is_listed:
        return _spec_of_list(where, name, value)
    if (spec := _spec_of_known(value)) is not None:
        return spec
    array = as_value(where, name, value)
    if isinstance(array, bytes):
        return Spec(str if isinstance(value, str) else bytes, ())
    if array.dtype == object:
        texts = np.asarray(value, object).ravel()
        is_text = isinstance(texts[0], str) if len(texts) else np.asarray(value).dtype.kind == "U"
        return Spec(str if is_text else bytes, (None,) * array.ndim)
    return Spec(array.dtype, (None,) * array.ndim)


def _spec_of_list(where: str, name: str, arrays: NestedList) -> Spec:
    """Returns the spec of a batch's list of arrays, from the first array whose type is clear."""
    specs = [spec_of(where, name, array) for array in arrays]
    typed = [s for a, s in zip(arrays, specs, strict=True) if _tells_type(where, name, a)]
    if not specs:
        return arrays.spec
    row = reduce(Spec.merged, specs, (typed or specs)[0])
    return row.batched(None)._replace(is_listed=True)


def _tells_type(where: str, name: str, value: Any) -> bool:
    if isinstance(value, NestedList) and value.spec.is_listed:
        return any(_tells_type(where, name, array) for array in value)
    return _spec_of_known(value) is not None or has_type(value, as_value(where, name, value))


def _spec_of_known(value: Any) -> Spec | None:
    """Returns the spec of a JSON value or of lists of lists, or None for other values."""
    if isinstance(value, (Unchanged, NestedList)):
        return value.spec
    return Spec(Json, ()) if is_object(value) else None


def learned(
    where: str, examples: Iterable[Mapping[str, Any]], is_batched: bool = False
) -> dict[str, Spec] | None:
    """Returns the components of the first example, or None if there are no examples.

    If `is_batched` is set, a list of JSON values is a component of a batch.

    If a component is an empty list in the first example, more examples are read until one has items
    that determine its type. If all lists are empty, the type is float64.
    """
    specs: dict[str, Spec] | None = None
    empty: set[str] = set()
    for example in examples:
        if specs is None:
            specs = {name: spec_of(where, name, value) for name, value in example.items()}
            empty = set(specs)
        for name in sorted(empty & example.keys()):
            value = example[name]
            if _tells_type(where, name, value):
                spec = spec_of(where, name, value)
                is_new = spec.dtype is Json and not isinstance(value, Unchanged)
                specs[name] = spec.batched(None) if is_batched and is_new else spec
                empty.discard(name)
        if not empty:
            break
    return specs


def native_order(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Converts an array to the machine's byte order."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def strings_of(what: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Converts an array of strings to an array of `bytes` objects.

    Raises:
        TypeError: If the array holds objects other than strings, or both `bytes` and `str`.
    """
    elements = array.ravel().tolist()
    kinds = {type(item) for item in elements}
    if not all(issubclass(kind, (bytes, str)) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"{what} contains objects ({names}), expected numbers, bytes or str.")
    if any(issubclass(kind, str) for kind in kinds) and len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"{what} contains {names}, expected only str or only bytes.")
    items = [item.encode() if isinstance(item, str) else item for item in elements]
    strings = np.empty(array.size, object)
    strings[:] = items
    return strings.reshape(array.shape)


def of_python(what: str, value: Any) -> npt.NDArray[Any]:
    """Converts a Python object, such as a number or a list, to an array. Strings become objects.

    Raises:
        ValueError: If the object is a list of lists of different lengths, or has an int of more
            than 64 bits.
    """
    try:
        array = np.array(value, _PYTHON_TYPES.get(type(value)))
    except OverflowError as error:
        raise _too_large(what) from error
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(
            f"{what} is a list whose items have different lengths. Pad them, or return them as "
            "several components."
        ) from error
    except TypeError as error:
        # PyTorch cannot convert bfloat16 tensors, which `as_array` can.
        if "BFloat16" not in str(error):
            raise
        return of_python(what, _with_arrays(what, value))
    if array.dtype.kind in "SU":
        # NumPy strings would lose trailing zero bytes, and would accept numbers among the strings.
        return np.array(value, object)
    is_list = isinstance(value, (list, tuple))
    if is_list and array.dtype.kind in "Ouf" and array.size and _has_too_large(value, array):
        raise _too_large(what)
    return native_order(array)


def _with_arrays(what: str, value: Any) -> Any:
    """Returns nested lists with an array in place of each tensor."""
    if isinstance(value, (list, tuple)):
        return [_with_arrays(what, item) for item in value]
    return as_array(what, value) if hasattr(value, "__array__") else value


def _has_too_large(value: Any, array: npt.NDArray[Any]) -> bool:
    """Returns whether a list has an int outside of int64, or one that became an inexact float."""
    if array.dtype.kind == "f" and not np.any(np.abs(array) >= _MOST_EXACT):
        return False
    return any(type(item) is int and not _fits(item, array) for item in _leaves(value))


def _fits(item: int, array: npt.NDArray[Any]) -> bool:
    return abs(item) <= _MOST_EXACT if array.dtype.kind == "f" else -(2**63) <= item < 2**63


def _leaves(value: Any) -> Iterable[Any]:
    if not isinstance(value, (list, tuple)):
        yield value
        return
    for item in value:
        yield from _leaves(item)


def _too_large(what: str) -> ValueError:
    return ValueError(
        f"{what} has an int that cannot be represented exactly as int64 (or as float64, if it is "
        "among floats). Return a NumPy value, such as np.uint64(value), or a str."
    )
