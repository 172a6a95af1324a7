"""The columns that a user selects, and the defaults for missing values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from headrace.core import engine
from headrace.pipeline.values.json_values import json_text
from headrace.pipeline.values.types import (
    ElementType,
    Feature,
    Json,
    Nullable,
    Ragged,
    Spec,
    carried,
    element_type,
    engine_code,
    exactly,
)

__all__ = [
    "NULL",
    "Component",
    "Pairs",
    "as_columns",
    "as_defaults",
    "as_dtypes",
    "components_of",
    "form_of",
    "native",
    "specs_of",
    "with_dtypes",
]

# A dict as plain data: pairs of a name and a value.
Pairs: TypeAlias = tuple[tuple[str, Any], ...]
# A default of null for `Json`, because None means that there is no default.
NULL: Final = object()


@dataclass(frozen=True)
class Component:
    """A component that is read from a table or parsed from text.

    Attributes:
        name: The component's name, both in examples and in the file.
        spec: The component's type and shape.
        default: The value to use if the component is missing, or None if it is required.
        is_inferred: Whether the type was inferred from the start of the files.
        has_mask: Whether the component is followed by a mask component that marks which values
            exist.
    """

    name: str
    spec: Spec
    default: Any = None
    is_inferred: bool = False
    has_mask: bool = False


def as_columns(where: str, columns: object) -> Pairs | None:
    """Returns the user's columns as plain data.

    Raises:
        TypeError: If `columns` is not a dict of types.
        ValueError: If `columns` is empty.
    """
    if columns is None:
        return None
    pairs = _typed(where, "columns", columns)
    if not pairs:
        raise ValueError(f"{where}: columns is empty, expected at least one column.")
    return pairs


def as_dtypes(where: str, dtypes: object, columns: object) -> Pairs:
    """Returns the user's types for some columns as plain data.

    Raises:
        TypeError: If `dtypes` is not a dict of types.
        ValueError: If `columns` already contains the types.
    """
    if dtypes is None:
        return ()
    if isinstance(columns, Mapping):
        raise ValueError(
            f"{where}: columns already has the types of all columns, so dtypes is not allowed. "
            "Put all types into columns."
        )
    return _typed(where, "dtypes", dtypes)


def _typed(where: str, argument: str, columns: object) -> Pairs:
    if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns):
        raise TypeError(
            f"{where}: {argument} is {columns!r}, expected a dict of types, such as "
            '{"a": int, "b": float}.'
        )
    pairs = tuple(columns.items())
    specs_of(where, pairs)
    return pairs


def with_dtypes(where: str, specs: Mapping[str, Spec], dtypes: Pairs) -> dict[str, Spec]:
    """Returns the inferred components, with the user's types for some of them.

    Raises:
        ValueError: If there is no such column, or a mask has the same name as another component.
    """
    words = dict(dtypes)
    for name in words:
        if name not in specs:
            there = ", ".join(map(repr, specs))
            raise ValueError(
                f"{where}: dtypes has a type for {name!r}, which is not a column. The columns "
                f"are {there}."
            )
    typed: dict[str, Spec] = {}
    for name, spec in specs.items():
        own = specs_of(where, ((name, words[name]),)) if name in words else {name: spec}
        for mask in own.keys() & (specs.keys() - {name}):
            raise ValueError(_of_mask(where, name, mask))
        typed |= own
    return typed


def as_defaults(where: str, defaults: object, columns: Pairs | None) -> Pairs:
    """Returns the defaults as plain data. If the columns are known, the defaults are checked.

    Raises:
        TypeError: If `defaults` is not a dict.
        ValueError: If there is no such column, or a default does not fit its column.
    """
    if defaults is None:
        return ()
    if not isinstance(defaults, Mapping):
        raise TypeError(f"{where}: defaults is {defaults!r}, expected a dict of values.")
    pairs = tuple(defaults.items())
    if columns is not None:
        specs = specs_of(where, columns)
        list(map(native, components_of(where, specs, columns, pairs)))
    return pairs


def components_of(
    where: str, specs: Mapping[str, Spec], columns: Pairs, defaults: Pairs
) -> list[Component]:
    """Returns the components with their defaults. Those without a type in `columns` are inferred.

    Raises:
        ValueError: If there is no component for a default.
    """
    values = dict(defaults)
    typed = dict(columns)
    masked = {name for name, word in columns if isinstance(word, Nullable)}
    masks = set(map(_mask_of, masked))
    for name in values:
        if name not in specs or name in masks:
            there = ", ".join(repr(name) for name in specs if name not in masks)
            raise ValueError(
                f"{where}: defaults has a value for {name!r}, which is not a column. The "
                f"columns are {there}."
            )
    for name, word in columns:
        feature = word.dtype if isinstance(word, Nullable) else word
        if isinstance(feature, Feature) and feature.default is not None:
            values.setdefault(name, feature.default)
    return [
        Component(name, spec, values.get(name), name not in typed, name in masked)
        for name, spec in specs.items()
        if name not in masks
    ]


def specs_of(where: str, columns: Pairs) -> dict[str, Spec]:
    """Returns the components that the user selects. A component's mask, if any, follows it.

    Raises:
        TypeError: If components don't support a type.
        ValueError: If a mask has the same name as another component.
    """
    specs: dict[str, Spec] = {}
    for name, word in columns:
        specs[name] = _spec(where, name, word)
        if isinstance(word, Nullable):
            mask = _mask_of(name)
            if mask in dict(columns):
                raise ValueError(_of_mask(where, name, mask))
            specs[mask] = Spec(np.dtype(np.bool_), ())
    return specs


def _of_mask(where: str, name: str, mask: str) -> str:
    return (
        f"{where}: the mask of the hr.Nullable column {name!r} would be called {mask!r}, but "
        "there is already a column of this name. Remove one of the two."
    )


def native(component: Component) -> engine.Component:
    """Converts a component to the engine's form.

    Raises:
        ValueError: If the default does not fit the component.
    """
    name, spec, default = component.name, component.spec, component.default
    shape = [size for size in spec.shape or () if size is not None]
    return engine.Component(
        name=name,
        code=engine_code(spec.dtype),
        form=form_of(spec.dtype),
        num_lists=len(spec.shape or ()) - len(shape),
        shape=shape,
        default=None if default is None else _default(name, spec, default),
        is_inferred=component.is_inferred,
        has_mask=component.has_mask,
    )


def form_of(dtype: ElementType) -> str:
    """Returns the engine's name for the form of a component's values."""
    if isinstance(dtype, type):
        return {bytes: "", str: "str", Json: "json"}[dtype]
    return dtype.name if dtype.kind in "mM" else ""


def _mask_of(name: str) -> str:
    return f"{name}_mask"


def _spec(where: str, name: str, word: Any) -> Spec:
    what = f"{where}: the column {name!r}"
    if isinstance(word, Nullable):
        return _spec(where, name, word.dtype)
    if word is Json:
        return Spec(Json, ())
    if isinstance(word, Ragged):
        return Spec(_type(what, word.dtype), (None,) * word.ndim, is_ragged=True)
    if isinstance(word, Feature):
        return Spec(_type(what, word.dtype), tuple(word.shape))
    return Spec(_type(what, word), ())


def _type(what: str, word: Any) -> ElementType:
    dtype = element_type(what, word)
    if not isinstance(dtype, type) and dtype.kind == "c":
        raise TypeError(
            f"{what} is {dtype}, but complex numbers are not supported. Use real numbers."
        )
    return dtype


def _default(name: str, spec: Spec, value: Any) -> Any:
    wrong = ValueError(f"the default of {name!r} is {value!r}, expected a value of {spec!r}.")
    if spec.dtype is Json:
        return np.array(b"null" if value is NULL else json_text("defaults", name, value), object)
    if spec.is_nested and _is_list(value) and len(value):
        raise ValueError(
            f"the default of {name!r} is {value!r}, expected [], which is the only possible "
            "default for lists of lists."
        )
    shape = (len(value),) if spec.is_ragged and _is_list(value) else spec.shape
    if spec.is_ragged and not _is_list(value):
        raise wrong
    if isinstance(spec.dtype, type):
        return _strings(spec, value, shape, wrong)
    if spec.dtype.kind in "mM":
        times = exactly(value, spec.dtype) if np.size(value) else np.empty(0, spec.dtype)
        if times is None or (spec.is_ragged and times.ndim != 1):
            raise wrong
        return _filled(carried(times), shape, wrong)
    exact = exactly(value, spec.dtype)
    if exact is None or (spec.is_ragged and exact.ndim != 1):
        raise wrong
    return _filled(exact, shape, wrong)


def _strings(spec: Spec, value: Any, shape: Any, wrong: ValueError) -> Any:
    items: Iterable[Any] = value if _is_list(value) else [value]
    encoded = [item.encode() if isinstance(item, str) else item for item in items]
    if not all(isinstance(item, bytes) for item in encoded):
        raise wrong
    array = np.empty(len(encoded), object)
    array[:] = encoded
    return _filled(array if _is_list(value) else array.reshape(()), shape, wrong)


def _filled(default: Any, shape: Any, wrong: ValueError) -> Any:
    try:
        return np.array(np.broadcast_to(default, shape), order="C")
    except ValueError as error:
        raise wrong from error


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))
