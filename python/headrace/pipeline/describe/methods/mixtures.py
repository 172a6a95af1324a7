"""The arguments of `mix`."""

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from headrace.pipeline.describe.arguments import checked_int
from headrace.pipeline.describe.types import Spec

__all__ = ["Weights", "checked_part_names", "checked_schedule", "checked_unit"]

# In the order of the parts, or by their names.
Weights: TypeAlias = Sequence[float] | Mapping[str, float]


def checked_part_names(names: tuple[object, ...]) -> tuple[str, ...]:
    """Returns the names of parts; raises TypeError if one is not a string."""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"mix: {name!r} is not a name of a part, expected strings.")
    return tuple(map(str, names))


def checked_schedule(
    weights: object, schedule: object, names: tuple[str, ...], count: int
) -> tuple[tuple[float, ...], tuple[tuple[int, tuple[float, ...]], ...]]:
    """Returns the weights at the beginning, and the changes after it.

    Args:
        weights: As given to `mix`.
        schedule: As given to `mix`.
        names: The names of the parts, if they have some.
        count: The number of parts.
    """
    if schedule is None:
        if weights is None:
            return tuple(1.0 for _ in range(count)), ()
        return _checked("weights are", _weights(weights, names, count)), ()
    if weights is not None:
        raise ValueError("mix: weights and schedule are given, expected one of them.")
    if not isinstance(schedule, Mapping):
        raise TypeError(f"mix: schedule is {schedule!r}, expected a dict of weights by examples.")
    changes = []
    for position, given in schedule.items():
        what = f"weights from example {position} on are"
        chosen = _checked(what, _weights(given, names, count))
        changes.append((checked_int("mix", "a place of schedule", position, 0), chosen))
    changes.sort()
    if not changes or changes[0][0] != 0:
        raise ValueError("mix: schedule has no weights from example 0 on, expected some.")
    return changes[0][1], tuple(changes[1:])


def checked_unit(unit: object, specs: Sequence[Mapping[str, Spec] | None]) -> str | None:
    """Returns the component whose elements weights share out; None for examples.

    Args:
        unit: As given to `mix`.
        specs: The components of each part, if they are known.
    """
    if unit == "examples":
        return None
    match unit:
        case ("tokens", str(name)):
            for found in specs:
                if found is None:
                    continue
                if name not in found:
                    raise ValueError(
                        f"mix: unit names the component {name!r}, expected one of "
                        f"{', '.join(map(repr, found))}."
                    )
                if found[name].shape == ():
                    raise ValueError(
                        f"mix: unit names the component {name!r}, which is {found[name]}, expected "
                        "a list."
                    )
            return name
    raise ValueError(f"mix: unit is {unit!r}, expected 'examples' or ('tokens', NAME).")


def _checked(what: str, weights: tuple[float, ...]) -> tuple[float, ...]:
    """Returns the weights; raises ValueError if one is below 0 or not finite, or all are 0."""
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        raise ValueError(f"mix: {what} {weights}, expected numbers from 0 up, and one above it.")
    return weights


def _weights(given: object, names: tuple[str, ...], count: int) -> tuple[float, ...]:
    if isinstance(given, Mapping):
        if not names:
            raise ValueError("mix: weights have names, but the pipelines have none. Give a dict.")
        if set(given) != set(names):
            raise ValueError(
                f"mix: weights are of {', '.join(map(repr, given))}, expected one for each of "
                f"{', '.join(map(repr, names))}."
            )
        given = [given[name] for name in names]
    try:
        chosen = tuple(float(weight) for weight in given)  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise TypeError(f"mix: weights are {given!r}, expected numbers from 0 up.") from error
    if len(chosen) != count:
        raise ValueError(f"mix: there are {len(chosen)} weights, expected {count}.")
    return chosen
