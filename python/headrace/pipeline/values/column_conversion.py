"""Conversion of components between the engine and Python functions."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.pipeline.values.json_values import json_text, json_value
from headrace.pipeline.values.nested import NestedList, nested_value
from headrace.pipeline.values.python_values import as_value, has_type
from headrace.pipeline.values.types import (
    ElementType,
    Json,
    Spec,
    Specs,
    carried,
    delivered,
    engine_code,
    type_name,
)

__all__ = [
    "as_components",
    "as_rows",
    "as_values",
    "batches_of",
    "check_components",
    "column_of",
    "decoded",
    "lists_of",
    "shown",
    "typed",
    "values_of",
]


def values_of(column: engine.Column, spec: Spec) -> Iterable[Any]:
    """Returns the value of each row: a NumPy scalar, `bytes`, `str` or a read-only array."""
    return as_rows(column.to_python(), spec)


def as_rows(rows: Iterable[Any], spec: Spec) -> Iterable[Any]:
    """Returns the value of each row in a result of `Column.to_python`."""
    if spec.dtype is Json:
        return map(json_value, rows)
    if spec.is_nested:
        return (nested_value(row, spec, is_given=True) for row in rows)
    if spec.is_listed:
        return (NestedList(as_rows(arrays, spec.row()), spec) for arrays in rows)
    for array in [rows] if isinstance(rows, np.ndarray) else rows:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return _texts(rows) if spec.dtype is str else delivered(rows, spec)


def _texts(rows: Iterable[Any]) -> Iterable[Any]:
    """Decodes rows, all at once if possible. If one is not valid UTF-8, only that one fails."""
    if isinstance(rows, np.ndarray):
        with suppress(UnicodeDecodeError):
            return iter(engine.decoded_strings(rows))
    return (decoded(row) for row in rows)


def shown(column: Any, spec: Spec) -> Any:
    """Converts a component of a batch or several examples to the form that the user receives."""
    if spec.dtype is Json:
        return json_value(column)
    if spec.is_nested:
        return [nested_value(row, spec, is_given=True) for row in column]
    value = decoded(column) if spec.dtype is str else delivered(column, spec)
    return NestedList(value, spec) if spec.is_listed else value


def decoded(value: Any) -> Any:
    """Decodes `bytes` to `str`, even in arrays and lists.

    Raises:
        ValueError: If a string is not valid UTF-8.
    """
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list):  # Rows of different lengths.
        return [decoded(row) for row in value]
    return engine.decoded_strings(value)


def column_of(name: str, values: Sequence[Any]) -> engine.Column:
    """Returns a column for several results of `as_value`, dense if all have the same shape.

    Raises:
        TypeError: If the values have different types.
    """
    if all(isinstance(value, bytes) for value in values):
        strings = np.empty(len(values), object)
        strings[:] = values
        return engine.Column.dense(strings, engine_code(bytes))
    arrays = [np.asarray(value, object) if isinstance(value, bytes) else value for value in values]
    types = {array.dtype for array in arrays}
    if len(types) > 1:
        types_text = ", ".join(sorted(str(dtype) for dtype in types))
        raise TypeError(
            f"the component {name!r} has the types {types_text}, but its type must be the same in "
            "all examples."
        )
    code = _code(arrays[0])
    arrays = list(map(carried, arrays))
    if len({array.shape for array in arrays}) == 1:
        return engine.Column.dense(np.ascontiguousarray(np.stack(arrays)), code)
    return engine.Column.each([np.asarray(array, order="C") for array in arrays], code)


def lists_of(values: Sequence[Iterable[Any]], spec: Spec) -> engine.Column:
    """Returns a column of batches. Each batch is a list of results of `as_value`."""
    code = engine_code(spec.dtype)
    return engine.Column.batches([[_for_engine(item) for item in value] for value in values], code)


def _for_engine(value: Any) -> npt.NDArray[Any]:
    array = np.asarray(value, object) if isinstance(value, bytes) else value
    return np.asarray(carried(array), order="C")


def batches_of(values: Sequence[Any]) -> engine.Column:
    """Returns a column of batches. Each batch is one result of `as_value`, all of one type."""
    first = np.asarray(values[0], object) if isinstance(values[0], bytes) else values[0]
    return engine.Column.batches([_for_engine(value) for value in values], _code(first))


def as_values(where: str, value: object, specs: Specs) -> list[Any]:
    """Returns copies of the components of a function's result, in order; see `as_value`.

    Raises:
        TypeError: In the same cases as `as_components` and `typed`.
        ValueError: In the same cases as `as_components`.
    """
    components = as_components(where, value, specs)
    return [typed(where, name, components[name], spec, True) for name, spec in specs.items()]


def as_components(where: str, value: object, specs: Specs) -> Mapping[str, Any]:
    """Returns the components of a function's result, after comparing them with the first example's.

    Raises:
        TypeError: If the result is not a dict.
        ValueError: If the names differ from the names in the first example.
    """
    if type(value) is dict and value.keys() == specs.keys():
        return value
    components = check_components(where, value)
    if components.keys() != specs.keys():
        if not specs:
            raise ValueError(
                f"{where}: there is an example now, although there was none when the iteration "
                "started. Start a new iteration."
            )
        raise ValueError(
            f"{where}: the function returned the components {sorted(components)}, expected "
            f"{sorted(specs)}, as for the first example."
        )
    return components


def typed(where: str, name: str, raw: Any, spec: Spec, is_separate: bool = False) -> Any:
    """Converts a value like `as_value`, but empty lists get the type of the first example.

    Raises:
        TypeError: If a component cannot hold the value, or its type differs from the first
            example's.
    """
    if spec.dtype is Json:
        return _json(where, name, raw, spec.shape or ())
    if spec.is_nested:
        try:
            return nested_value(raw, spec)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{where}: the component {name!r}: {error}") from error
    if spec.is_listed:
        return _arrays(where, name, raw, spec.row())
    value = as_value(where, name, raw, is_separate)
    is_of_strings = isinstance(spec.dtype, type)
    if not has_type(raw, value) and (is_of_strings or value.dtype != object):
        return np.empty(value.shape, object if is_of_strings else spec.dtype)
    _check_type(name, spec, raw, value)
    return value


def _arrays(where: str, name: str, value: Any, row: Spec) -> list[Any]:
    """Copies each array of a list."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"{where}: the component {name!r} is {type(value).__name__}, expected a list of "
            "arrays, one for each example of the batch, as before."
        )
    return [typed(where, name, item, row, is_separate=True) for item in value]


def _json(where: str, name: str, value: Any, shape: Sequence[int | None]) -> Any:
    """Returns an object as JSON text, or an array of texts for a batch."""
    if not shape:
        return json_text(where, name, value)
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise TypeError(
            f"{where}: the component {name!r} is {type(value).__name__}, expected a list of "
            "objects, one for each example of the batch."
        )
    rows = [_json(where, name, row, shape[1:]) for row in value]
    if len(shape) > 1:
        return np.stack(rows)
    texts = np.empty(len(rows), object)
    texts[:] = rows
    return texts


def _check_type(name: str, spec: Spec, raw: Any, value: Any) -> None:
    """Rejects a value if its type differs from the first example."""
    actual: ElementType
    if isinstance(value, bytes):
        actual = str if isinstance(raw, str) else bytes
    elif value.dtype == object:
        is_text = value.size > 0 and isinstance(np.asarray(raw, object).flat[0], str)
        is_either = value.size == 0 and isinstance(spec.dtype, type)
        actual = spec.dtype if is_either else str if is_text else bytes
    else:
        actual = value.dtype
    if actual != spec.dtype:
        types = ", ".join(sorted(map(type_name, (actual, spec.dtype))))
        raise TypeError(
            f"the component {name!r} has the types {types}, but its type must be the same in all "
            "examples."
        )


def check_components(where: str, value: object) -> Mapping[str, Any]:
    """Returns a function's result after checking that it is a dict of components.

    Raises:
        TypeError: If the result is not a dict, or a key is not a string.
    """
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        if where.startswith("flat_map"):
            raise TypeError(
                f"{where}: the function returned an iterable that contains {kind}, expected an "
                "iterable of dicts. Return [example] for one example, and [] for none."
            )
        raise TypeError(f"{where}: the function returned {kind}, expected a dict of components.")
    for name in value:
        if not isinstance(name, str):
            raise TypeError(
                f"{where}: the function returned a dict with the key {name!r}, but keys are the "
                "names of components. Use strings."
            )
    return value


def _code(array: npt.NDArray[Any]) -> int:
    return engine_code(bytes if array.dtype == object else array.dtype)
