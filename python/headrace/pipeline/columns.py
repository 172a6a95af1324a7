"""Components on their way between the engine and Python functions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace import engine
from headrace.pipeline.elements import Spec, element_type, engine_code
from headrace.pipeline.specs import Specs

__all__ = [
    "as_value",
    "as_values",
    "batch_column",
    "check_components",
    "column_of",
    "decoded",
    "spec_of",
    "values_of",
]

_PYTHON_TYPES = {bool: np.bool_, int: np.int64, float: np.float32}


def values_of(column: engine.Column, spec: Spec) -> Iterable[Any]:
    """Returns the value of each row: NumPy scalars, `bytes`, `str`, or arrays not to be written."""
    rows: Iterable[Any] = column.to_python()
    for array in [rows] if isinstance(rows, np.ndarray) else rows:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return rows if spec.dtype is not str else (decoded(row) for row in rows)


def decoded(value: Any) -> Any:
    """Returns strings of bytes as text.

    Raises:
        ValueError: If they are not in UTF-8.
    """
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):  # rows of lengths of their own
        return [decoded(row) for row in value]
    texts = np.empty(value.shape, object)
    texts.ravel()[:] = [item.decode() for item in value.ravel()]
    return texts


def as_value(where: str, name: str, value: Any) -> Any:
    """Returns what a function gave for a component as `bytes` or an array of its own.

    Raises:
        TypeError: If no component can be that.
    """
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    kind = _PYTHON_TYPES.get(type(value))
    array = np.array(value, kind)
    if array.dtype.kind in "SUO":
        return _strings(where, name, array)
    element_type(f"{where}: the component {name!r}", array.dtype)
    return array


def spec_of(where: str, name: str, value: Any) -> Spec:
    """Returns the spec of a component of which a function gave this value."""
    made = as_value(where, name, value)
    if isinstance(made, bytes):
        return Spec(str if isinstance(value, str) else bytes, ())
    if made.dtype == object:
        texts = np.asarray(value, object).ravel()
        is_text = len(texts) > 0 and isinstance(texts[0], str)
        return Spec(str if is_text else bytes, (None,) * made.ndim)
    return Spec(made.dtype, (None,) * made.ndim)


def column_of(name: str, values: Sequence[Any]) -> engine.Column:
    """Makes a column of values as `as_value` gives them: one shape for all, if they have one.

    Raises:
        TypeError: If they have different types.
    """
    if all(isinstance(value, bytes) for value in values):
        strings = np.empty(len(values), object)
        strings[:] = values
        return engine.Column.dense(strings, engine_code(bytes))
    arrays = [np.asarray(value, object) if isinstance(value, bytes) else value for value in values]
    types = {array.dtype for array in arrays}
    if len(types) > 1:
        found = ", ".join(sorted(str(dtype) for dtype in types))
        raise TypeError(
            f"the component {name!r} has the types {found}, expected the same for each example."
        )
    code = _code(arrays[0])
    if len({array.shape for array in arrays}) == 1:
        return engine.Column.dense(np.ascontiguousarray(np.stack(arrays)), code)
    return engine.Column.each([np.asarray(array, order="C") for array in arrays], code)


def batch_column(value: Any) -> engine.Column:
    """Makes the column of one batch of a value as `as_value` gives it."""
    array = np.asarray(value, object) if isinstance(value, bytes) else value
    return engine.Column.batch(np.asarray(array, order="C"), _code(array))


def as_values(where: str, given: object, specs: Specs) -> list[Any]:
    """Returns the components that a function gave, in order, each as `as_value` does and copied.

    Raises:
        TypeError: If it gave no dict, no component can be such a value, or one has another type
            than that of the first example.
        ValueError: If the names are not those of the first example.
    """
    components = check_components(where, given)
    if components.keys() != specs.keys():
        raise ValueError(
            f"{where}: the function returned the components {sorted(components)}, expected "
            f"{sorted(specs)}, as for the first example."
        )
    values = [as_value(where, name, components[name]) for name in specs]
    for (name, spec), value in zip(specs.items(), values, strict=True):
        _check_type(name, spec, value)
    return values


def _check_type(name: str, spec: Spec, value: Any) -> None:
    """Refuses a value of another type than that of the first example, whichever came before."""
    found = np.dtype(object) if isinstance(value, bytes) else value.dtype
    expected = np.dtype(object) if isinstance(spec.dtype, type) else spec.dtype
    if found != expected:
        types = ", ".join(sorted(map(str, (found, expected))))
        raise TypeError(
            f"the component {name!r} has the types {types}, expected the same for each example."
        )


def check_components(where: str, given: object) -> Mapping[str, Any]:
    """Returns what a function gave.

    Raises:
        TypeError: If it is no dict.
    """
    if not isinstance(given, Mapping):
        raise TypeError(
            f"{where}: the function returned {type(given).__name__}, expected a dict of components."
        )
    return given


def _code(array: npt.NDArray[Any]) -> int:
    return engine_code(bytes if array.dtype == object else array.dtype)


def _strings(where: str, name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    items = [item.encode() if isinstance(item, str) else item for item in array.ravel()]
    if not all(isinstance(item, bytes) for item in items):
        raise TypeError(
            f"{where}: the component {name!r} holds objects, expected numbers, bytes or str."
        )
    strings = np.empty(array.size, object)
    strings[:] = items
    return strings.reshape(array.shape)
