"""The base class of sources that combine pipelines."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import ClassVar

from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import batch_depth, known_names, static_specs, steps
from headrace.pipeline.stages.source import Origin, Source
from headrace.pipeline.stages.stage import Stages
from headrace.pipeline.values.types import Spec, Specs

__all__ = ["Combination", "check_alike", "parts_of"]


@dataclass(frozen=True)
class Combination(Source, is_base=True):
    """Several pipelines combined into one source."""

    origin: ClassVar = Origin.PARTS

    parts: tuple[Stages, ...] = field()

    @property
    def spec(self) -> Specs | None:
        """The components of an example, or None if those of a part are unknown."""
        specs = [static_specs(part) for part in self.parts]
        known_specs = [one for one in specs if one is not None]
        return self.combined(known_specs) if len(known_specs) == len(self.parts) else None

    def combined(self, specs: Sequence[Specs]) -> Specs:
        """Returns the components of an example, given the known components of the parts."""
        return specs[0]

    def combined_of(self, parts_specs: Sequence[Specs]) -> Specs | None:
        """Returns the components of an example, given the components of all non-empty parts.

        Raises:
            ValueError: If the parts have different components.
        """
        return _common(self.name, parts_specs) if parts_specs else None

    @property
    def names(self) -> tuple[str, ...] | None:
        """The component names, from the first part whose names are known."""
        known_specs_names = (
            names for part in self.parts if (names := known_names(part)) is not None
        )
        return next(known_specs_names, None)

    def counts(self) -> None:
        """Returns None, because the files belong to the parts."""


def parts_of(where: str, pipelines: Iterable[Chain]) -> tuple[Stages, ...]:
    """Returns the stages of each pipeline.

    Raises:
        TypeError: If an item is not a pipeline.
        ValueError: If no pipelines are given.
    """
    if isinstance(pipelines, Chain) or not isinstance(pipelines, Iterable):
        raise TypeError(
            f"{where}: got {pipelines!r}, expected a list of pipelines, such as {where}([a, b])."
        )
    parts = list(pipelines)
    for part in parts:
        if not isinstance(part, Chain):
            raise TypeError(f"{where}: got {part!r}, expected a pipeline.")
        if any(step.left_out for step in steps(part._stages)):
            raise ValueError(
                f"{where}: a pipeline has without_steps, which counts the batches that your loop "
                f"receives. Write without_steps(...) after {where}."
            )
    if not parts:
        raise ValueError(f"{where}: there are no pipelines, expected at least one.")
    return tuple(part._stages for part in parts)


def check_alike(where: str, parts: Sequence[Stages]) -> None:
    """Raises ValueError if pipelines are known to have different components."""
    known_specs = [specs for part in parts if (specs := static_specs(part)) is not None]
    for other in known_specs[1:]:
        if other != known_specs[0]:
            raise ValueError(
                f"{where}: the pipelines have different components: {known_specs[0]} and {other}. "
                "Make them equal with select, rename or map."
            )
    if len({batch_depth(part) for part in parts}) > 1:
        raise ValueError(
            f"{where}: some pipelines yield batches and others examples. Call batch(...) in all "
            "of them, or in none."
        )


def _common(where: str, parts: Sequence[Specs]) -> Specs:
    types = [{name: spec.dtype for name, spec in part.items()} for part in parts]
    for other in types[1:]:
        if list(other.items()) != list(types[0].items()):
            raise ValueError(
                f"{where}: the pipelines have different components: {types[0]} and {other}. Make "
                "them equal with select, rename or map."
            )
    for name, spec in parts[0].items():
        if any(part[name].is_listed != spec.is_listed for part in parts):
            raise ValueError(
                f"{where}: the component {name!r} of a batch is a list of arrays in some parts, "
                "but not in all. Pass the same lists to each batch(...)."
            )
    return {
        name: reduce(Spec.merged, (part[name] for part in parts[1:]), spec)
        for name, spec in parts[0].items()
    }
