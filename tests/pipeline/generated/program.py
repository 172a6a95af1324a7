"""The parts of a drawn pipeline."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tests.pipeline.generated.model import Example, Items, Run

import headrace as hr


class Ranks(NamedTuple):
    """The rank that a pipeline is for, and the number of ranks."""

    rank: int = 0
    world: int = 1


ALONE = Ranks()


class At(NamedTuple):
    """The position of the model: the pass, the rank, the part of a combination."""

    run: Run
    number: int
    ranks: Ranks
    path: tuple[int, ...] = ()

    def of_pass(self, number: int) -> "At":
        return self._replace(number=number)

    def of_part(self, part: int) -> "At":
        return self._replace(path=(*self.path, part))


Model: TypeAlias = Callable[[At], Items]


@dataclass(frozen=True)
class Shape:
    """The known facts about the items behind a step.

    Attributes:
        names: The components.
        depth: How many leading axes batches have put before examples.
        is_even: Whether the values of all items have equal shapes, so that batches can be made.
        tags: What there was before, by words that `exclusions.py` goes by.
    """

    names: frozenset[str]
    depth: int = 0
    is_even: bool = True
    tags: frozenset[str] = frozenset()

    def with_tags(self, *tags: str) -> "Shape":
        return replace(self, tags=self.tags | set(tags))


@dataclass(frozen=True)
class Step:
    """One or more stages.

    Attributes:
        text: As a program writes them.
        apply: Adds them to a pipeline.
        model: What they mean, of what comes before.
        shape: The shape behind them, of that before.
        kind: The word for it that tests count.
    """

    kind: str
    text: str
    apply: Callable[[hr.Pipeline, Ranks], hr.Pipeline]
    model: Callable[[Model], Model]
    shape: Callable[[Shape], Shape] = field(default=lambda shape: shape)

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Beginning:
    """A source, or pipelines that are put together."""

    kind: str
    text: str
    begin: Callable[[Path, Ranks], hr.Pipeline]
    model: Model
    shape: Shape
    parts: "tuple[Program, ...]" = ()


@dataclass(frozen=True)
class Program:
    """A pipeline that can be made any number of times, and what it means."""

    beginning: Beginning
    steps: tuple[Step, ...] = ()

    def pipeline(self, directory: Path, ranks: Ranks = ALONE) -> hr.Pipeline:
        """Makes it anew."""
        made = self.beginning.begin(directory, ranks)
        for step in self.steps:
            made = step.apply(made, ranks)
        return made

    @property
    def model(self) -> Model:
        """The meaning of the program, as a model."""
        model = self.beginning.model
        for step in self.steps:
            model = step.model(model)
        return model

    def expected(self, ranks: Ranks = ALONE) -> list[Example]:
        """Returns the expected items of an iteration."""
        return list(self.model(At(Run(), 0, ranks)))

    @property
    def shape(self) -> Shape:
        """Returns the known facts about its items."""
        shape = self.beginning.shape
        for step in self.steps:
            shape = step.shape(shape.with_tags(step.kind))
        return shape

    @property
    def kinds(self) -> set[str]:
        """The stages it has anywhere."""
        inner: set[str] = set().union(*(part.kinds for part in self.beginning.parts))
        return inner | {self.beginning.kind} | {step.kind for step in self.steps}

    def then(self, *steps: Step) -> "Program":
        return replace(self, steps=(*self.steps, *steps))

    def __repr__(self) -> str:
        return "".join([self.beginning.text, *(f"\n    .{step.text}" for step in self.steps)])


def items_of(model: Callable[[Items, At], Any]) -> Callable[[Model], Model]:
    """A step that needs nothing but the items of the pass, and where it is."""
    return lambda before: lambda at: model(before(at), at)
