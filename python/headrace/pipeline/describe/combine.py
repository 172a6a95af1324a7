"""Pipelines put together: one after the other, mixed, side by side."""

import math
import secrets
from collections.abc import Iterable, Sequence
from typing import Literal

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.arguments import check_bool, checked_int
from headrace.pipeline.describe.pipeline import Pipeline
from headrace.pipeline.describe.specs import batch_depth, static_specs, zipped
from headrace.pipeline.describe.stages import Stage

__all__ = ["concat", "mix", "zip"]


def concat(pipelines: Iterable[Pipeline]) -> Pipeline:
    """Gives the examples of pipelines one after the other.

    Raises:
        TypeError: If one is not a pipeline.
        ValueError: If there are none, or they are known to have different components.
    """
    parts = _parts("concat", pipelines)
    _check_alike("concat", parts)
    return Pipeline((stages.Concat(parts),))


def mix(
    pipelines: Iterable[Pipeline],
    weights: Sequence[float] | None = None,
    seed: int | None = None,
    stop: Literal["first", "all"] = "first",
) -> Pipeline:
    """Draws each example from one of several pipelines, each of which keeps its order.

    Args:
        pipelines: At least one.
        weights: The relative frequency of each, in any unit; None for equal ones.
        seed: From 0 to 2^63 - 1. The same seed gives the same draws, which differ in each epoch.
            None draws a seed now.
        stop: "first" ends when an example is drawn from a pipeline that has no more; "all"
            continues with the remaining pipelines.

    Raises:
        TypeError: If one is not a pipeline.
        ValueError: If there are none, they are known to have different components, or another
            argument is out of range.
    """
    parts = _parts("mix", pipelines)
    _check_alike("mix", parts)
    chosen = tuple(1.0 for _ in parts) if weights is None else _weights(weights)
    if len(chosen) != len(parts):
        raise ValueError(f"mix: there are {len(chosen)} weights, expected {len(parts)}.")
    if not all(math.isfinite(weight) and weight > 0 for weight in chosen):
        raise ValueError(f"mix: weights are {chosen}, expected numbers above 0.")
    if stop not in ("first", "all"):
        raise ValueError(f"mix: stop is {stop!r}, expected 'first' or 'all'.")
    drawn = secrets.randbits(63) if seed is None else checked_int("mix", "seed", seed, 0)
    return Pipeline((stages.Mix(parts, chosen, drawn, stop, seed is not None),))


def zip(pipelines: Iterable[Pipeline], strict: bool = True) -> Pipeline:
    """Gives the components of pipelines side by side: example n has those of example n of each.

    Args:
        pipelines: At least one. Their components must have different names.
        strict: True to raise an error where the shortest ends if the others are longer; False to
            stop there.

    Raises:
        TypeError: If one is not a pipeline.
        ValueError: If there are none, some give batches and others examples, or two are known to
            have components of the same name.
    """
    parts = _parts("zip", pipelines)
    depths = {batch_depth(part) for part in parts}
    if len(depths) > 1:
        raise ValueError("zip: some pipelines give batches, others examples, expected the same.")
    check_bool("zip", "strict", strict)
    zipped([specs for part in parts if (specs := static_specs(part)) is not None])
    return Pipeline((stages.Zip(parts, strict),))


def _parts(where: str, pipelines: Iterable[Pipeline]) -> tuple[tuple[Stage, ...], ...]:
    if isinstance(pipelines, Pipeline) or not isinstance(pipelines, Iterable):
        raise TypeError(
            f"{where}: got {pipelines!r}, expected several pipelines, such as {where}([a, b])."
        )
    parts = list(pipelines)
    for part in parts:
        if not isinstance(part, Pipeline):
            raise TypeError(f"{where}: got {part!r}, expected pipelines.")
    if not parts:
        raise ValueError(f"{where}: no pipelines given, expected at least one.")
    return tuple(part.stages for part in parts)


def _weights(weights: object) -> tuple[float, ...]:
    try:
        return tuple(float(weight) for weight in weights)  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise TypeError(f"mix: weights are {weights!r}, expected numbers above 0.") from error


def _check_alike(where: str, parts: Sequence[tuple[Stage, ...]]) -> None:
    known = [specs for part in parts if (specs := static_specs(part)) is not None]
    for other in known[1:]:
        if other != known[0]:
            raise ValueError(
                f"{where}: the components are {known[0]} and {other}, expected the same."
            )
    if len({batch_depth(part) for part in parts}) > 1:
        raise ValueError(f"{where}: some give batches, others examples, expected the same.")
