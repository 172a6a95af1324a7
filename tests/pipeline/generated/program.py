"""The parts of a generated pipeline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tests.pipeline.generated import model as m
from tests.pipeline.generated.model import Example, Items, Run
from tests.pipeline.generated.source import Pace

import headrace as hr


class Ranks(NamedTuple):
    """The rank that a pipeline is for, and the number of ranks."""

    rank: int = 0
    world: int = 1


ALONE = Ranks()


class Pieces(NamedTuple):
    """The order in which a window reads files.

    Attributes:
        seed: The seed of their order; None for the source's.
        num_open: How many are read in turn.
        block_bytes: The size of the pieces of files; None for whole files.
        shard: The first piece that is read, and the step from one to the next.
    """

    seed: int | None
    num_open: int
    block_bytes: int | None = None
    shard: tuple[int, int] = (0, 1)


class At(NamedTuple):
    """The position of the model in a run.

    Attributes:
        run: The iteration.
        number: The pass.
        ranks: The rank.
        path: The path to the part of a combination.
        pieces: The order of the files before; None for one after the other.
    """

    run: Run
    number: int
    ranks: Ranks
    path: tuple[int, ...] = ()
    pieces: Pieces | None = None

    def in_turn(self, pieces: Sequence[Items]) -> Items:
        """The items of pieces, in the order that the window reads them."""
        if self.pieces is None:
            return chain.from_iterable(pieces)
        order = m.order_of_pieces(len(pieces), self.pieces.seed, self.number)
        index, count = self.pieces.shard
        order = order[index::count]
        return m.in_turn([pieces[position] for position in order], self.pieces.num_open)

    def of_pass(self, number: int) -> "At":
        return self._replace(number=number)

    def of_part(self, part: int) -> "At":
        return self._replace(path=(*self.path, part))


Model: TypeAlias = Callable[[At], Items]


class Numbered(NamedTuple):
    """Examples by number, for a shuffle of all examples.

    Attributes:
        count: Their number.
        items: Returns the items made of them in an order of numbers.
    """

    count: int
    items: Callable[[Sequence[int]], Items]


def numbered_list(examples: Sequence[Example]) -> Numbered:
    """Examples of a list."""
    return Numbered(len(examples), lambda order: (dict(examples[number]) for number in order))


@dataclass(frozen=True)
class Shape:
    """The properties of the items after a step.

    Attributes:
        names: The components.
        depth: The number of leading axes that batches have added.
        is_even: Whether the values of all items have equal shapes, so that batches can be made.
        tags: The kinds of earlier sources and stages.
        shards: The index and count of each earlier shard, or None for the shard of the ranks. None
            instead of the tuple if parts of a combination have shards.
    """

    names: frozenset[str]
    depth: int = 0
    is_even: bool = True
    tags: frozenset[str] = frozenset()
    shards: tuple[tuple[int, int] | None, ...] | None = ()

    def with_shard(self, shard: tuple[int, int] | None) -> "Shape":
        return self if self.shards is None else replace(self, shards=(*self.shards, shard))

    def turn(self, ranks: Ranks) -> tuple[int, int]:
        """The position of a rank's first item in the order of all ranks, and the next distance."""
        first, distance = 0, 1
        for shard in self.shards or ():
            index, count = shard or ranks
            first, distance = first + index * distance, distance * count
        return first, distance

    def with_tags(self, *tags: str) -> "Shape":
        return replace(self, tags=self.tags | set(tags))


@dataclass(frozen=True)
class Step:
    """One or more stages.

    Attributes:
        text: The source text of the call.
        apply: Adds the stages to a pipeline.
        model: The model of the stages, given the preceding model.
        shape: The shape after the stages, given the shape before them.
        kind: The name under which tests count it.
        least_pieces: The number of pieces that a program before it must have.
        order: Its effect on the order of files before it: "any" if it works on each item alone,
            "one" if a part with it is one piece, "kept" if files keep their order, "own" if it sets
            their order.
        last_left_out: The last step that it leaves out; -1 if it leaves out none.
        share: The rank, the number of ranks and how these are made even, for a shard that does
            nothing else; None for other stages.
        shuffle: The seed of a shuffle of all examples, which comes before the stages that make one
            example of each; None for other stages.
        sample: The number of draws, or None for the number of examples, and the seed of draws that
            are even over the values of `n`. They also come before those stages. None for other
            stages.
    """

    kind: str
    text: str
    apply: Callable[[hr.Pipeline, Ranks], hr.Pipeline]
    model: Callable[[Model], Model]
    shape: Callable[[Shape], Shape] = field(default=lambda shape: shape)
    order: str = "kept"
    shuffle: int | None = None
    sample: tuple[int | None, int] | None = None
    least_pieces: int = 0
    last_left_out: int = -1
    share: Callable[[Ranks], m.Share] | None = None

    def of(self, before: Model) -> Model:
        """Returns the step's model, for the model of the steps before it."""
        if self.order != "kept":
            return self.model(before)
        return self.model(lambda at: before(at._replace(pieces=None)))

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Beginning:
    """A source or a combination of pipelines; with a pace if the source has one.

    Attributes:
        numbered: The examples by number, if the source has random access; the flag tells whether
            it is a part of a combination, where a split numbers only the examples that it keeps.
    """

    kind: str
    text: str
    begin: Callable[[Path, Ranks], hr.Pipeline]
    model: Model
    shape: Shape
    parts: "tuple[Program, ...]" = ()
    pieces: Callable[[At], list[Items]] | None = None
    pace: Pace | None = None
    numbered: Callable[[At, bool], Numbered] | None = None


@dataclass(frozen=True)
class Program:
    """A pipeline that can be built repeatedly, and its model."""

    beginning: Beginning
    steps: tuple[Step, ...] = ()

    def pipeline(self, directory: Path, ranks: Ranks = ALONE) -> hr.Pipeline:
        """Makes a new pipeline."""
        output = self.beginning.begin(directory, ranks)
        for step in self.steps:
            output = step.apply(output, ranks)
        return output

    @property
    def model(self) -> Model:
        """The model of the program."""
        model = self.beginning.model
        for position, step in enumerate(self.steps):
            before = replace(self, steps=self.steps[:position])
            if step.shuffle is not None:
                model = before._shuffled(step.shuffle)
            elif step.sample is not None:
                model = before._sampled(*step.sample)
            else:
                model = step.of(model)
        return model

    def _shuffled(self, seed: int) -> Model:
        def model(at: At) -> Items:
            numbered = self.numbered(at._replace(pieces=None))
            yield from numbered.items(m.order(numbered.count, None, seed, at.number))

        return model

    def _sampled(self, num: int | None, seed: int) -> Model:
        shares = [step.share for step in self.steps if step.share is not None]
        whole = replace(self, steps=tuple(step for step in self.steps if step.share is None))

        def model(at: At) -> Items:
            at = at._replace(pieces=None)
            share = shares[0](at.ranks) if shares else (0, 1, None)
            # The classes are read in a pass of their own.
            read = whole.numbered(at._replace(run=Run(), number=0), is_part=True)
            own = m.share_of(read.count, share)
            classes = tuple(item["n"] for item in read.items(own))
            numbered = whole.numbered(at, is_part=True)
            drawn = m.drawn_evenly(classes, numbered.count, share, num, seed, at.number)
            yield from numbered.items(drawn)

        return model

    def numbered(self, at: At, is_part: bool = False) -> Numbered:
        """Returns the examples by number; functions get them in the requested order."""
        kinds = ("cache", "cache on disk", "windows", "windows at offsets")
        caches = [position + 1 for position, step in enumerate(self.steps) if step.kind in kinds]
        end = max(caches, default=0)
        if end:
            examples = numbered_list(list(replace(self, steps=self.steps[:end]).model(at)))
        else:
            assert self.beginning.numbered is not None
            examples = self.beginning.numbered(at, is_part)

        def items(order: Sequence[int]) -> Items:
            def model(at: At) -> Items:
                return examples.items(order)

            for step in self.steps[end:]:
                model = step.of(model)
            return model(at)

        return Numbered(examples.count, items)

    @property
    def has_pieces(self) -> bool:
        """Returns whether a window may reorder files."""
        if any(step.order in ("kept", "own") for step in self.steps):
            return False
        if self.beginning.kind in ("concat", "mix"):
            return any(part.has_pieces for part in self.beginning.parts)
        return self.beginning.pieces is not None

    def pieces(self, at: At) -> list[Items]:
        """The items of each of its pieces, after its steps."""
        if self.beginning.pieces is None or any(step.order != "any" for step in self.steps):
            # One rank reads all of it.
            full = None if at.pieces is None else at.pieces._replace(shard=(0, 1))
            return [self.model(at._replace(pieces=full))]
        return [self._of_piece(piece, at) for piece in self.beginning.pieces(at)]

    def _of_piece(self, piece: Items, at: At) -> Items:
        def model(at: At) -> Items:
            return piece

        for step in self.steps:
            model = step.of(model)
        return model(at)

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
        """The kinds of all its stages."""
        inner: set[str] = set().union(*(part.kinds for part in self.beginning.parts))
        return inner | {self.beginning.kind} | {step.kind for step in self.steps}

    def then(self, *steps: Step) -> "Program":
        return replace(self, steps=(*self.steps, *steps))

    def __repr__(self) -> str:
        return "".join([self.beginning.text, *(f"\n    .{step.text}" for step in self.steps)])


def items_of(model: Callable[[Items, At], Any]) -> Callable[[Model], Model]:
    """A model of a step that needs only the items of the pass, and its position."""
    return lambda before: lambda at: model(before(at), at)
