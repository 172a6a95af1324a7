"""Examples drawn from several pipelines."""

import hashlib
import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, TypeAlias

from headrace.core import engine
from headrace.pipeline.sources.combination import Combination, check_alike, parts_of
from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import static_specs
from headrace.pipeline.stages.random_access import is_reordered, pieces_before
from headrace.pipeline.stages.source import Source, SourcePlanning
from headrace.pipeline.stages.stage import Stages, named
from headrace.pipeline.values.types import Spec

__all__ = ["Mix", "mix", "mixture_of"]

# In the order of the parts, or by their names.
Weights: TypeAlias = Sequence[float] | Mapping[str, float]

_ID_BYTES: Final = 6


@dataclass(frozen=True)
class Mix(Combination):
    """Examples drawn from pipelines, each given as its stages.

    Attributes:
        parts: The stages of each.
        weights: The relative frequency of each.
        seed: The seed of the draws.
        stop: "first" to end with the first that ends, "all" to continue with the others.
        is_seed_given: Whether the program gave the seed.
        part_names: The name of each part; empty if they have none.
        schedule: Later weights, each with the number of the example from which they apply.
        measured: The component whose elements the weights share out; None for examples.
    """

    draws: ClassVar = True

    weights: tuple[float, ...]
    seed: int
    stop: Literal["first", "all"] = "first"
    is_seed_given: bool = field(default=False, compare=False, repr=False)
    part_names: tuple[str, ...] = named(())
    schedule: tuple[tuple[int, tuple[float, ...]], ...] = named(())
    measured: str | None = named(None)

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "mix"

    @property
    def called(self) -> tuple[str, ...]:
        """The names of the parts: their numbers if they have none."""
        return self.part_names or tuple(map(str, range(len(self.parts))))

    @property
    def exhausted(self) -> list[Stages] | None:
        """The parts that `stop="all"` draws to their end; None if one may have examples left."""
        weights = zip(self.weights, *(changed for _, changed in self.schedule), strict=True)
        drawn = [
            (part, of_part)
            for part, of_part in zip(self.parts, weights, strict=True)
            if any(of_part)
        ]
        return [part for part, _ in drawn] if all(of_part[-1] for _, of_part in drawn) else None

    @property
    def obstacle(self) -> str:
        """Why there is no random access to its examples."""
        return "mix yields its examples only in order"

    @property
    def is_reordered(self) -> bool:
        """Whether a shuffle after it permutes examples of files."""
        return all(map(is_reordered, self.parts))

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Returns what a window after it may read in another order, as text."""
        return [name for part in self.parts for name in pieces_before(part, block_bytes)]

    def combined_length(
        self, lengths: Callable[[Sequence[Stages]], Iterator[float]]
    ) -> float | None:
        """Returns the number of examples, if parts are drawn to their end; None otherwise."""
        is_known = self.stop == "all" and self.exhausted is not None
        return sum(lengths(self.exhausted or ())) if is_known else None

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan of examples drawn from the parts."""
        schedule = [(0, self.weights), *self.schedule]
        ids = list(map(_id, self.part_names)) or None
        specs, measured = planning.specs, None
        if self.measured is not None:
            if self.measured not in specs or specs[self.measured].shape == ():
                raise ValueError(
                    f"mix: unit names the component {self.measured!r}, expected one that is a list."
                )
            measured = list(specs).index(self.measured)
        parts = planning.part_plans()
        return engine.Plan.mix(
            parts, schedule, self.stop, self.seed, ids, measured, planning.resumed_mixture
        )


def mixture_of(source: Source) -> Mix | None:
    """Returns the source if its examples are drawn from parts; None otherwise."""
    return source if isinstance(source, Mix) else None


def mix(
    pipelines: Iterable[Chain] | Mapping[str, Chain],
    weights: Weights | None = None,
    seed: int | None = None,
    stop: Literal["first", "all"] = "first",
    schedule: Mapping[int, Weights] | None = None,
    unit: Literal["examples"] | tuple[Literal["tokens"], str] = "examples",
) -> Mix:
    """Draws each example from one of several pipelines. Each pipeline keeps its own order.

    Args:
        pipelines: The pipelines, at least one, as a list or as a dict by name. With names, you can
            add or remove pipelines when you resume: `resume(state, allow={"parts"})`.
            `Batches.counts` has the number of examples of each.
        weights: The relative frequency of each pipeline: numbers in the order of the pipelines, or
            a dict by name. They need not add up to 1. A pipeline with weight 0 is never drawn from;
            at least one weight must be above 0. None for equal weights.
        seed: The same seed always results in the same draws. Draws differ from epoch to epoch. From
            0 to 2^63 - 1. None picks a random seed now.
        stop: "first" ends when a draw selects a pipeline that has no more examples. "all" continues
            with the remaining pipelines whose weight is above 0.
        schedule: Weights that change, instead of `weights`: `{0: {…}, 100_000: {…}}` switches after
            100,000 examples of the mix. The count starts again in each pass. The key 0 is required.
        unit: "examples" if weights are shares of examples. ("tokens", NAME) if weights are shares
            of the elements of the list component NAME. In this case nothing is drawn: the next
            example comes from the pipeline that is furthest behind its share since the weights last
            changed.

    Raises:
        TypeError: If an item is not a pipeline, or weights are not numbers.
        ValueError: If there are no pipelines, their components differ, a name is missing or
            unknown, or another argument is out of range.

    Examples:
        >>> web, books = hr.arrays({"x": [0] * 100}), hr.arrays({"x": [1] * 100})
        >>> pipe = hr.mix([web, books], weights=[0.8, 0.2], seed=7)
        >>> next(iter(pipe.batch(20)))["x"]
        array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0])
    """
    names: tuple[str, ...] = ()
    if isinstance(pipelines, Mapping):
        names = checked_part_names(tuple(pipelines))
        pipelines = list(pipelines.values())
    parts = parts_of("mix", pipelines)
    check_alike("mix", parts)
    chosen, changes = checked_schedule(weights, schedule, names, len(parts))
    if stop not in ("first", "all"):
        raise ValueError(f"mix: stop is {stop!r}, expected 'first' or 'all'.")
    measured = checked_unit(unit, [static_specs(part) for part in parts])
    drawn = secrets.randbits(63) if seed is None else checked_int("mix", "seed", seed, 0)
    stage = Mix(parts, chosen, drawn, stop, seed is not None, names, changes, measured)
    return stage


def _id(name: str) -> int:
    """Returns a number for the name of a part, which is the same in all programs."""
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:_ID_BYTES], "little")


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
    for position, weights_there in schedule.items():
        what = f"weights from example {position} on are"
        chosen = _checked(what, _weights(weights_there, names, count))
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
            for part_specs in specs:
                if part_specs is None:
                    continue
                if name not in part_specs:
                    raise ValueError(
                        f"mix: unit names the component {name!r}, expected one of "
                        f"{', '.join(map(repr, part_specs))}."
                    )
                if part_specs[name].shape == ():
                    raise ValueError(
                        f"mix: unit names the component {name!r}, which is {part_specs[name]}, "
                        "expected a list."
                    )
            return name
    raise ValueError(f"mix: unit is {unit!r}, expected 'examples' or ('tokens', NAME).")


def _checked(what: str, weights: tuple[float, ...]) -> tuple[float, ...]:
    """Returns the weights; raises ValueError if one is below 0 or not finite, or all are 0."""
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        raise ValueError(f"mix: {what} {weights}, expected numbers from 0 up, and one above it.")
    return weights


def _weights(weights: object, names: tuple[str, ...], count: int) -> tuple[float, ...]:
    if isinstance(weights, Mapping):
        if not names:
            raise ValueError("mix: weights have names, but the pipelines have none. Give a dict.")
        if set(weights) != set(names):
            raise ValueError(
                f"mix: weights are of {', '.join(map(repr, weights))}, expected one for each of "
                f"{', '.join(map(repr, names))}."
            )
        weights = [weights[name] for name in names]
    try:
        chosen = tuple(float(weight) for weight in weights)  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise TypeError(f"mix: weights are {weights!r}, expected numbers from 0 up.") from error
    if len(chosen) != count:
        raise ValueError(f"mix: there are {len(chosen)} weights, expected {count}.")
    return chosen
