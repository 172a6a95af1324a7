"""The columns that a program asks for, and what represents values that are missing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from headrace.core import engine
from headrace.pipeline.describe.types import (
    ElementType,
    Feature,
    Ragged,
    Spec,
    element_type,
    engine_code,
)

__all__ = ["Component", "Pairs", "as_columns", "as_defaults", "components_of", "native", "specs_of"]

# A dict as plain data: names and their values.
Pairs: TypeAlias = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Component:
    """A component that is parsed from text.

    Attributes:
        name: Its name, also in the file.
        spec: Its type and shape.
        default: The value where it is missing; None if it is required.
        is_inferred: Whether its type was inferred from the beginning of the files.
    """

    name: str
    spec: Spec
    default: Any = None
    is_inferred: bool = False


def as_columns(where: str, columns: object) -> Pairs | None:
    """Returns the columns that were asked for as plain data.

    Raises:
        TypeError: If it is not a dict of types.
        ValueError: If it is empty.
    """
    if columns is None:
        return None
    if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns):
        raise TypeError(
            f"{where}: columns is {columns!r}, expected a dict of types, such as "
            '{"a": int, "b": float}.'
        )
    if not columns:
        raise ValueError(f"{where}: columns is empty, expected at least one.")
    for name, word in columns.items():
        _spec(where, name, word)
    return tuple(columns.items())


def as_defaults(where: str, defaults: object, columns: Pairs | None) -> Pairs:
    """Returns defaults as plain data, checked against the columns if those are known.

    Raises:
        TypeError: If it is not a dict.
        ValueError: If there is no such column, or a default is not one of its values.
    """
    if defaults is None:
        return ()
    if not isinstance(defaults, Mapping):
        raise TypeError(f"{where}: defaults is {defaults!r}, expected a dict of values.")
    pairs = tuple(defaults.items())
    if columns is not None:
        specs = {name: _spec(where, name, word) for name, word in columns}
        list(map(native, components_of(where, specs, columns, pairs)))
    return pairs


def components_of(
    where: str, specs: Mapping[str, Spec], columns: Pairs | None, defaults: Pairs
) -> list[Component]:
    """Returns the components with their defaults.

    Raises:
        ValueError: If a default has no component.
    """
    found = dict(defaults)
    for name in found:
        if name not in specs:
            there = ", ".join(map(repr, specs))
            raise ValueError(f"{where}: there is no column {name!r} in {there}, as defaults has.")
    for name, word in columns or ():
        if isinstance(word, Feature) and word.default is not None:
            found.setdefault(name, word.default)
    return [
        Component(name, spec, found.get(name), is_inferred=columns is None)
        for name, spec in specs.items()
    ]


def specs_of(where: str, columns: Pairs) -> dict[str, Spec]:
    """Returns the components that were asked for."""
    return {name: _spec(where, name, word) for name, word in columns}


def native(component: Component) -> engine.Given:
    """Returns a component as the engine takes it.

    Raises:
        ValueError: If its default is not one of its values.
    """
    name, spec, default = component.name, component.spec, component.default
    shape = [size for size in spec.shape or () if size is not None]
    made = None if default is None else _default(name, spec, default)
    code, is_text = engine_code(spec.dtype), spec.dtype is str
    return name, code, is_text, spec.is_ragged, shape, made, component.is_inferred


def _spec(where: str, name: str, word: Any) -> Spec:
    what = f"{where}: the column {name!r}"
    if isinstance(word, Ragged):
        return Spec(_type(what, word.dtype), (None,), is_ragged=True)
    if isinstance(word, Feature):
        return Spec(_type(what, word.dtype), tuple(word.shape))
    return Spec(_type(what, word), ())


def _type(what: str, word: Any) -> ElementType:
    dtype = element_type(what, word)
    if not isinstance(dtype, type) and dtype.kind == "c":
        raise TypeError(f"{what} is {dtype}, expected numbers that are not complex.")
    return dtype


def _default(name: str, spec: Spec, value: Any) -> Any:
    wrong = ValueError(f"the default of {name!r} is {value!r}, expected a value of {spec!r}.")
    shape = (len(value),) if spec.is_ragged and _is_list(value) else spec.shape
    if spec.is_ragged and not _is_list(value):
        raise wrong
    if isinstance(spec.dtype, type):
        return _strings(spec, value, shape, wrong)
    try:
        made = np.asarray(value, spec.dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise wrong from error
    is_exact = spec.dtype.kind == "f" or np.array_equal(made, np.asarray(value))
    if not is_exact or (spec.is_ragged and made.ndim != 1):
        raise wrong
    return _filled(made, shape, wrong)


def _strings(spec: Spec, value: Any, shape: Any, wrong: ValueError) -> Any:
    items: Iterable[Any] = value if _is_list(value) else [value]
    encoded = [item.encode() if isinstance(item, str) else item for item in items]
    if not all(isinstance(item, bytes) for item in encoded):
        raise wrong
    made = np.empty(len(encoded), object)
    made[:] = encoded
    return _filled(made if _is_list(value) else made.reshape(()), shape, wrong)


def _filled(made: Any, shape: Any, wrong: ValueError) -> Any:
    try:
        return np.array(np.broadcast_to(made, shape), order="C")
    except ValueError as error:
        raise wrong from error


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))
