"""Padding: its values, the multiples of sizes, and checks that they fit their components."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final, TypeAlias

import numpy as np

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.arguments import checked_int, checked_ints
from headrace.pipeline.describe.types import Spec, carried, engine_code, exactly, type_name

__all__ = [
    "Values",
    "as_multiples",
    "as_values",
    "check_padding",
    "fillers",
    "multiples_of",
    "padded_names",
]

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


def as_multiples(
    where: str, multiple_of: int | Mapping[str, int | Sequence[int]]
) -> int | tuple[tuple[str, tuple[int, ...]], ...]:
    """Returns the multiples of padded sizes as plain data: of the first axis, or by component.

    Raises:
        TypeError: If a name is not a string.
        ValueError: If a multiple is not an int from 1 up.
    """
    if not isinstance(multiple_of, Mapping):
        return checked_int(where, "multiple_of", multiple_of, 1)
    multiples = []
    for name, each in multiple_of.items():
        if not isinstance(name, str):
            raise TypeError(
                f"{where}: multiple_of has the name {name!r}, expected names of components."
            )
        sizes = each if isinstance(each, Sequence) else [each]
        multiples.append((name, checked_ints(where, f"multiple_of[{name!r}]", sizes, 1)))
    return tuple(multiples)


def multiples_of(stage: _Padded, name: str, spec: Spec) -> list[int] | None:
    """Returns the multiple of the padded size of each axis, 0 for an axis of known size.

    Returns None if no axis is padded.
    """
    if not spec.is_open:
        return None
    multiple_of = stage.multiple_of if isinstance(stage, stages.PaddedBatch) else 1
    if not isinstance(multiple_of, int):
        multiples = dict(multiple_of).get(name, ())
    else:
        multiples = (multiple_of,) * (len(spec.shape or ()) if spec.is_nested else 1)
    if spec.shape is None:
        return list(multiples)
    pairs = zip_longest(multiples, spec.shape, fillvalue=1)
    return [multiple if size is None else 0 for multiple, size in pairs]


def padded_names(stage: _Padded) -> list[tuple[str, str]]:
    """Returns the names of components in arguments, each after its argument."""
    values = stage.values if isinstance(stage.values, tuple) else ()
    multiples = stage.multiple_of if isinstance(stage, stages.PaddedBatch) else ()
    by_name = multiples if isinstance(multiples, tuple) else ()
    return [*(("values", name) for name, _ in values), *(("multiple_of", n) for n, _ in by_name)]


def _check_multiples(stage: stages.PaddedBatch, specs: Mapping[str, Spec]) -> None:
    for name, multiples in stage.multiple_of if isinstance(stage.multiple_of, tuple) else ():
        shape = specs[name].shape
        if shape is None:
            continue
        if len(multiples) > len(shape):
            raise ValueError(
                f"{stage.name}: multiple_of[{name!r}] has {len(multiples)} numbers, expected at "
                f"most one for each axis of {specs[name]}."
            )
        for axis, (multiple, size) in enumerate(zip(multiples, shape, strict=False)):
            if multiple > 1 and size is not None:
                raise ValueError(
                    f"{stage.name}: multiple_of[{name!r}] is {multiple} for axis {axis}, expected "
                    f"1, as its size is known and it is not padded: {specs[name]}."
                )


def check_padding(stage: _Padded, specs: Mapping[str, Spec]) -> None:
    """Raises ValueError if a value or a multiple has no component, or does not fit it."""
    for argument, name in padded_names(stage):
        if name not in specs:
            there = ", ".join(map(repr, specs))
            raise ValueError(
                f"{stage.name}: {argument} has a component {name!r}, expected one of {there}."
            )
    if isinstance(stage, stages.PaddedBatch):
        _check_multiples(stage, specs)
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
    """Returns whether rows of a component may differ in shape."""
    is_bound = isinstance(stage, stages.BucketByLength) and stage.component == name
    return spec.is_open or is_bound or isinstance(stage, stages.Pack)
