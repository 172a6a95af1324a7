"""Combinations of pipelines: one after the other, mixed, or side by side."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.arguments import check_bool, checked_int
from headrace.pipeline.describe.methods.mixtures import (
    Weights,
    checked_part_names,
    checked_schedule,
    checked_unit,
)
from headrace.pipeline.describe.other_libraries import with_explained_calls
from headrace.pipeline.describe.pipeline import Pipeline
from headrace.pipeline.describe.specs import batch_depth, static_specs, zipped
from headrace.pipeline.describe.stages import Stage

__all__ = ["concat", "mix", "zip"]


@with_explained_calls
def concat(pipelines: Iterable[Pipeline]) -> Pipeline:
    """Gives the examples of pipelines one after the other.

    Raises:
        TypeError: If one is not a pipeline.
        ValueError: If there are none, or they are known to have different components.
    """
    parts = _parts("concat", pipelines)
    _check_alike("concat", parts)
    return Pipeline((stages.Concat(parts),))


@with_explained_calls
def mix(
    pipelines: Iterable[Pipeline] | Mapping[str, Pipeline],
    weights: Weights | None = None,
    seed: int | None = None,
    stop: Literal["first", "all"] = "first",
    schedule: Mapping[int, Weights] | None = None,
    unit: Literal["examples"] | tuple[Literal["tokens"], str] = "examples",
) -> Pipeline:
    """Draws each example from one of several pipelines, each of which keeps its order.

    Args:
        pipelines: At least one; as a dict, each with its name. `Batches.counts` says how many
            examples of each were delivered. Parts with names may be added or removed when a program
            resumes: `resume(state, allow={"parts"})`.
        weights: The relative frequency of each, in any unit: numbers in the order of the
            pipelines, or a dict by their names. None for equal ones. With 0, nothing is drawn from
            a pipeline; at least one must be above 0.
        seed: From 0 to 2^63 - 1. The same seed gives the same draws, which differ in each epoch.
            None draws a seed now.
        stop: "first" ends when a pipeline is drawn that has no more examples; "all" continues with
            the remaining pipelines whose weight is above 0.
        schedule: In place of `weights`: other weights from some examples on, counted in the order
            of the mixture from the beginning of each pass, as `{0: {…}, 100_000: {…}}`. 0 must be
            among them.
        unit: "examples" if weights are shares of the examples; ("tokens", NAME) if they are shares
            of the elements of the component NAME, a list. Then nothing is drawn: the next example
            comes from the pipeline that is furthest behind its share since the weights changed.

    Raises:
        TypeError: If one is not a pipeline, or weights are not numbers.
        ValueError: If there are none, they are known to have different components, a name is
            missing or unknown, or another argument is out of range.
    """
    names: tuple[str, ...] = ()
    if isinstance(pipelines, Mapping):
        names = checked_part_names(tuple(pipelines))
        pipelines = list(pipelines.values())
    parts = _parts("mix", pipelines)
    _check_alike("mix", parts)
    chosen, changes = checked_schedule(weights, schedule, names, len(parts))
    if stop not in ("first", "all"):
        raise ValueError(f"mix: stop is {stop!r}, expected 'first' or 'all'.")
    measured = checked_unit(unit, [static_specs(part) for part in parts])
    drawn = secrets.randbits(63) if seed is None else checked_int("mix", "seed", seed, 0)
    stage = stages.Mix(parts, chosen, drawn, stop, seed is not None, names, changes, measured)
    return Pipeline((stage,))


@with_explained_calls
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


def _check_alike(where: str, parts: Sequence[tuple[Stage, ...]]) -> None:
    known = [specs for part in parts if (specs := static_specs(part)) is not None]
    for other in known[1:]:
        if other != known[0]:
            raise ValueError(
                f"{where}: the components are {known[0]} and {other}, expected the same."
            )
    if len({batch_depth(part) for part in parts}) > 1:
        raise ValueError(f"{where}: some give batches, others examples, expected the same.")
