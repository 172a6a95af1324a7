"""`mix`: examples drawn from several pipelines."""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from headrace.core import engine
from headrace.core.digests import sha256
from headrace.pipeline.sources.combination import Combination, check_alike, parts_of
from headrace.pipeline.stages.arguments import checked_int, random_seed
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import static_specs
from headrace.pipeline.stages.random_access import is_reordered, pieces_before
from headrace.pipeline.stages.source import Source, SourcePlanning
from headrace.pipeline.stages.stage import Stages, named
from headrace.pipeline.values.types import Spec

__all__ = ["Mix", "mix", "mixture_of"]

# In the order of the parts, or by part name.
Weights: TypeAlias = Sequence[float] | Mapping[str, float]

_ID_BYTES: Final = 6


@dataclass(frozen=True)
class Mix(Combination):
    """Examples drawn from several pipelines.

    Attributes:
        parts: The stages of each pipeline.
        weights: The relative frequency of each pipeline.
        seed: The seed for the draws.
        stop: "first" to stop when a pipeline ends, "all" to continue with the others.
        is_seed_given: Whether the user passed the seed.
        part_names: The name of each part. Empty if the parts have no names.
        schedule: Later weights, each with the number of the first example that they apply to.
        measured: The component whose elements the weights refer to, or None if they refer to
            examples.
    """

    weights: tuple[float, ...]
    seed: int
    stop: Literal["first", "all"] = "first"
    is_seed_given: bool = field(default=False, compare=False, repr=False)
    part_names: tuple[str, ...] = named(())
    schedule: tuple[tuple[int, tuple[float, ...]], ...] = named(())
    measured: str | None = named(None)

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "mix"

    @property
    def draws(self) -> bool:
        """Whether the order depends on a seed. With weights of elements, it doesn't."""
        return self.measured is None

    @property
    def called(self) -> tuple[str, ...]:
        """The names of the parts, or their numbers if they have no names."""
        return self.part_names or tuple(map(str, range(len(self.parts))))

    @property
    def exhausted(self) -> list[Stages] | None:
        """The parts that `stop="all"` reads to the end. None if a part may have examples left."""
        weights = zip(self.weights, *(changed for _, changed in self.schedule), strict=True)
        drawn = [
            (part, of_part)
            for part, of_part in zip(self.parts, weights, strict=True)
            if any(of_part)
        ]
        return [part for part, _ in drawn] if all(of_part[-1] for _, of_part in drawn) else None

    @property
    def obstacle(self) -> str:
        """The reason why examples cannot be accessed at random."""
        return "mix yields its examples only in order"

    @property
    def is_reordered(self) -> bool:
        """Whether a following shuffle changes the order of examples from files."""
        return all(map(is_reordered, self.parts))

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Names the pieces that a following window may reorder. Empty if there are none."""
        return [name for part in self.parts for name in pieces_before(part, block_bytes)]

    def combined_length(
        self, lengths: Callable[[Sequence[Stages]], Iterator[float]]
    ) -> float | None:
        """Returns the number of examples if the parts are read to the end, otherwise None."""
        is_known = self.stop == "all" and self.exhausted is not None
        return sum(lengths(self.exhausted or ())) if is_known else None

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan that draws examples from the parts."""
        schedule = [(start, _scaled(of)) for start, of in ((0, self.weights), *self.schedule)]
        ids = list(map(_id, self.part_names)) or None
        specs, measured = planning.specs, None
        if self.measured is not None:
            if self.measured not in specs or specs[self.measured].shape == ():
                raise ValueError(
                    f"mix: unit names the component {self.measured!r}, expected a component that "
                    "is a list."
                )
            measured = list(specs).index(self.measured)
        parts = planning.part_plans()
        return engine.Plan.mix(
            parts, schedule, self.stop, self.seed, ids, measured, planning.resumed_mixture
        )


def mixture_of(source: Source) -> Mix | None:
    """Returns the source if it is a mix, otherwise None."""
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
        pipelines: At least one pipeline, as a list or as a dict by name. If the pipelines have
            names, you can add or remove some when you resume, with `resume(state,
            allow={"parts"})`. `Batches.counts` returns the number of examples from each.
        weights: The relative frequency of each pipeline, as numbers in the order of the pipelines
            or as a dict by name. They need not add up to 1. At least one must be above 0, and a
            pipeline with weight 0 is never used. Defaults to equal weights.
        seed: The same seed always gives the same draws, which differ from epoch to epoch. Must be
            between 0 and 2^63 - 1. If None, this call chooses a random seed.
        stop: "first" stops when a draw selects a pipeline that has no more examples. "all"
            continues with the remaining pipelines whose weight is above 0.
        schedule: Weights that change over time, instead of `weights`. For example, `{0: {…},
            100_000: {…}}` switches after 100,000 examples of the mix. The count starts again in
            each pass. The key 0 is required.
        unit: The unit of the weights: "examples", or ("tokens", NAME) for the elements of the list
            component NAME. If `unit` counts tokens, the choice isn't random. Each example comes
            from the pipeline that is furthest behind its share since the weights last changed.

    Raises:
        TypeError: If an item is not a pipeline, or weights are not numbers.
        ValueError: If no pipelines are given, their components differ, a name is missing or
            unknown, or an argument is out of range.

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
    if seed is None and measured is not None:
        seed = 0  # Nothing is drawn.
    drawn = random_seed() if seed is None else checked_int("mix", "seed", seed, 0)
    return Mix(parts, chosen, drawn, stop, seed is not None, names, changes, measured)


def _scaled(weights: tuple[float, ...]) -> tuple[float, ...]:
    """Returns weights of at most 1 with the same ratios, whose sum a float can represent.

    The weights are divided by a power of 2, so that no draw changes.
    """
    _, exponent = math.frexp(max(weights))
    least = sys.float_info.min
    return tuple(max(math.ldexp(weight, -exponent), least) if weight else 0.0 for weight in weights)


def _id(name: str) -> int:
    """Returns an ID for the name of a part. It is the same in all programs."""
    digest = sha256(name.encode()).digest()
    return int.from_bytes(digest[:_ID_BYTES], "little")


def checked_part_names(names: tuple[object, ...]) -> tuple[str, ...]:
    """Returns the part names. Raises TypeError if one is not a string."""
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"mix: {name!r} is not a valid name for a part, expected a string.")
    return tuple(map(str, names))


def checked_schedule(
    weights: object, schedule: object, names: tuple[str, ...], count: int
) -> tuple[tuple[float, ...], tuple[tuple[int, tuple[float, ...]], ...]]:
    """Returns the initial weights and the later changes.

    Args:
        weights: The argument of `mix`.
        schedule: The argument of `mix`.
        names: The names of the parts, if they have any.
        count: The number of parts.
    """
    if schedule is None:
        if weights is None:
            return tuple(1.0 for _ in range(count)), ()
        return _checked("weights are", _weights(weights, names, count)), ()
    if weights is not None:
        raise ValueError(
            "mix: weights and schedule cannot be used together. Pass only one of them."
        )
    if not isinstance(schedule, Mapping):
        raise TypeError(
            f"mix: schedule is {schedule!r}, expected a dict from example numbers to weights."
        )
    changes = []
    for position, weights_there in schedule.items():
        what = f"the weights from example {position} on are"
        chosen = _checked(what, _weights(weights_there, names, count))
        changes.append((checked_int("mix", "a position in schedule", position, 0), chosen))
    changes.sort()
    if not changes or changes[0][0] != 0:
        raise ValueError(
            "mix: schedule has no weights for the beginning. Add an entry for example 0."
        )
    return changes[0][1], tuple(changes[1:])


def checked_unit(unit: object, specs: Sequence[Mapping[str, Spec] | None]) -> str | None:
    """Returns the component whose elements the weights refer to, or None for examples.

    Args:
        unit: The argument of `mix`.
        specs: The components of each part, or None if they are unknown.
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
    """Returns the weights. Raises ValueError if one is negative or not finite, or if all are 0."""
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        raise ValueError(
            f"mix: {what} {weights}, expected numbers of at least 0, not all of them 0."
        )
    return weights


def _weights(weights: object, names: tuple[str, ...], count: int) -> tuple[float, ...]:
    if isinstance(weights, Mapping):
        if not names:
            raise ValueError(
                "mix: weights is a dict, but the pipelines have no names. Pass the pipelines as "
                "a dict, too."
            )
        if set(weights) != set(names):
            raise ValueError(
                f"mix: weights has the names {', '.join(map(repr, weights))}, expected the names "
                f"of the pipelines: {', '.join(map(repr, names))}."
            )
        weights = [weights[name] for name in names]
    try:
        chosen = tuple(float(weight) for weight in weights)  # type: ignore[attr-defined]
    except OverflowError as error:
        raise ValueError(f"mix: a weight is too large for a float: {error}.") from error
    except (TypeError, ValueError) as error:
        raise TypeError(f"mix: weights is {weights!r}, expected numbers of at least 0.") from error
    if len(chosen) != count:
        raise ValueError(
            f"mix: there are {len(chosen)} weights, expected one for each of the {count} pipelines."
        )
    return chosen
