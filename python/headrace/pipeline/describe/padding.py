"""Padding values of lists, and checks that they fit their components."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.types import Spec, carried, engine_code, exactly, type_name

__all__ = ["Values", "as_values", "check_values", "fillers"]

# Stages that pad.
_Padded: TypeAlias = stages.PaddedBatch | stages.BucketByLength | stages.Pack
# One value for all components of its kind, or values by the names of components.
Values: TypeAlias = tuple[tuple[str, Any], ...] | int | float | complex | bytes | str

_SCALARS: Final = (bool, int, float, complex, bytes, str, np.generic)


def as_values(where: str, values: object) -> Values:
    """Returns given padding values as plain data; None means zeros.

    Raises:
        TypeError: If one is neither a number nor a string.
    """
    if values is None:
        return 0
    if isinstance(values, Mapping):
        given = {name: value for name, value in values.items() if value is not None}
    else:
        given = {"": values}
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(f"{where}: values has the name {name!r}, expected names of components.")
        if not isinstance(value, _SCALARS):
            of_name = f" for {name!r}" if name else ""
            raise TypeError(
                f"{where}: values has {value!r}{of_name}, expected a number or a string, or a dict "
                "of them by component."
            )
    plain: dict[str, Any] = {
        n: v.item() if isinstance(v, np.generic) else v for n, v in given.items()
    }
    return tuple(plain.items()) if isinstance(values, Mapping) else plain[""]


def check_values(stage: _Padded, specs: Mapping[str, Spec]) -> None:
    """Raises ValueError if a value names a missing component, or does not fit it."""
    for name in dict(stage.values) if isinstance(stage.values, tuple) else ():
        if name not in specs:
            there = ", ".join(map(repr, specs))
            raise ValueError(
                f"{stage.name}: values has a component {name!r}, expected one of {there}."
            )
    if isinstance(stage.values, (bytes, str)) and not any(
        isinstance(spec.dtype, type) and _is_filled(stage, name, spec)
        for name, spec in specs.items()
    ):
        raise ValueError(
            f"{stage.name}: values has {stage.values!r}, but no list of strings is filled up, "
            "expected a number."
        )
    fillers(stage, specs)


def fillers(stage: _Padded, specs: Mapping[str, Spec]) -> list[tuple[Any, int]]:
    """Returns for each component the padding value, and the engine's number of its type.

    Raises:
        ValueError: If one does not fit.
    """
    return [
        (carried(_filler(stage, name, spec)), engine_code(spec.dtype))
        for name, spec in specs.items()
    ]


def _filler(stage: _Padded, name: str, spec: Spec) -> Any:
    is_string = isinstance(spec.dtype, type)
    value: Any = None
    if isinstance(stage.values, tuple):
        value = dict(stage.values).get(name)
    elif isinstance(stage.values, (bytes, str)) == is_string and _is_filled(stage, name, spec):
        value = stage.values
    if value is None:
        return np.array(b"" if is_string else 0, object if is_string else spec.dtype)
    made = exactly(value, spec.dtype)
    if made is None:
        raise ValueError(
            f"{stage.name}: values has {value!r} for {name!r}, expected a value that "
            f"{type_name(spec.dtype)} holds exactly. Give one by name: values={{{name!r}: ...}}."
        )
    return made


def _is_filled(stage: _Padded, name: str, spec: Spec) -> bool:
    """Returns whether rows of a component may differ in length."""
    is_bound = isinstance(stage, stages.BucketByLength) and stage.component == name
    return spec.is_list or is_bound or isinstance(stage, stages.Pack)
