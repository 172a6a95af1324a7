"""Padding values and multiples, and checks that they fit their components."""

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from headrace.pipeline.stages.arguments import checked_int, checked_ints
from headrace.pipeline.values.types import Spec, carried, engine_code, exactly, type_name

__all__ = ["Values", "as_multiples", "as_values", "check_values", "fillers"]

# One value for all components of its kind, or a value for each component name.
Values: TypeAlias = tuple[tuple[str, Any], ...] | int | float | complex | bytes | str

_SCALARS: Final = (bool, int, float, complex, bytes, str, np.generic)


def as_values(where: str, values: object) -> Values:
    """Returns the user's padding values as plain data. None becomes 0.

    Raises:
        TypeError: If a value is neither a number nor a string.
    """
    if values is None:
        return 0
    if isinstance(values, Mapping):
        fill_values = {name: value for name, value in values.items() if value is not None}
    else:
        fill_values = {"": values}
    for name, value in fill_values.items():
        if not isinstance(name, str):
            raise TypeError(
                f"{where}: values has the key {name!r}, expected the names of components."
            )
        if not isinstance(value, _SCALARS):
            of_name = f" for {name!r}" if name else ""
            raise TypeError(
                f"{where}: values has {value!r}{of_name}, expected a number, a string, or a dict "
                "of them by component."
            )
    plain: dict[str, Any] = {
        n: v.item() if isinstance(v, np.generic) else v for n, v in fill_values.items()
    }
    return tuple(plain.items()) if isinstance(values, Mapping) else plain[""]


def as_multiples(
    where: str, multiple_of: int | Mapping[str, int | Sequence[int]]
) -> int | tuple[tuple[str, tuple[int, ...]], ...]:
    """Returns the multiples as plain data: one for the first axis, or a dict by component.

    Raises:
        TypeError: If a name is not a string.
        ValueError: If a multiple is not an int of at least 1.
    """
    if not isinstance(multiple_of, Mapping):
        return checked_int(where, "multiple_of", multiple_of, 1)
    multiples = []
    for name, each in multiple_of.items():
        if not isinstance(name, str):
            raise TypeError(
                f"{where}: multiple_of has the key {name!r}, expected the names of components."
            )
        sizes = each if isinstance(each, Sequence) else [each]
        multiples.append((name, checked_ints(where, f"multiple_of[{name!r}]", sizes, 1)))
    return tuple(multiples)


def check_values(
    where: str, values: Values, specs: Mapping[str, Spec], filled: Container[str]
) -> None:
    """Raises ValueError if a value is for a missing component or doesn't fit its component.

    Args:
        where: The stage's name.
        values: The padding values.
        specs: The components.
        filled: The components whose shape may vary between rows.
    """
    for name in dict(values) if isinstance(values, tuple) else ():
        if name not in specs:
            there = ", ".join(map(repr, specs))
            raise ValueError(
                f"{where}: values has an entry for {name!r}, expected one of the components "
                f"{there}."
            )
    if isinstance(values, (bytes, str)) and not any(
        isinstance(spec.dtype, type) and name in filled for name, spec in specs.items()
    ):
        raise ValueError(
            f"{where}: values is {values!r}, but there is no list of strings to pad. Use a number."
        )
    fillers(where, values, specs, filled)


def fillers(
    where: str, values: Values, specs: Mapping[str, Spec], filled: Container[str]
) -> list[tuple[Any, int]]:
    """Returns each component's padding value, with the engine's code for its type.

    Args:
        where: The stage's name.
        values: The padding values.
        specs: The components.
        filled: The components whose shape may vary between rows.

    Raises:
        ValueError: If a value doesn't fit.
    """
    return [
        (carried(_filler(where, values, name, spec, name in filled)), engine_code(spec.dtype))
        for name, spec in specs.items()
    ]


def _filler(where: str, values: Values, name: str, spec: Spec, is_filled: bool) -> Any:
    is_string = isinstance(spec.dtype, type)
    value: Any = None
    if isinstance(values, tuple):
        value = dict(values).get(name)
    elif isinstance(values, (bytes, str)) == is_string and is_filled:
        value = values
    if value is None:
        return np.array(b"" if is_string else 0, object if is_string else spec.dtype)
    exact = exactly(value, spec.dtype)
    if exact is None:
        raise ValueError(
            f"{where}: values has {value!r} for {name!r}, expected a value that "
            f"{type_name(spec.dtype)} can represent exactly. Set values per component: "
            f"values={{{name!r}: ...}}."
        )
    return exact
