"""A simple model of pipelines: Python lists, without blocks, threads or states.

Examples have a number `n` and a list `l`. A window, and a mix, put items into an order that depends
on nothing but their number and the seed, so the model asks a pipeline of numbers for it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import headrace as hr
from headrace.pipeline import Pipeline

Item = dict[str, Any]


class Unlike(Exception):
    """Items of different shapes, which cannot be put together."""


@dataclass(frozen=True)
class Modelled:
    """A pipeline, and the items that the model expects of it.

    Attributes:
        pipeline: The pipeline.
        items: Returns what it gives in an epoch.
        depth: How many axes batches have put before examples.
        lists: The components whose first axis has no known length.
        has_length: Whether `len` answers.
    """

    pipeline: Pipeline
    items: Callable[[int], list[Item]]
    depth: int = 0
    lists: frozenset[str] = frozenset()
    has_length: bool = True

    def then(
        self, pipeline: Pipeline, change: Callable[[list[Item]], list[Item]], **changed: Any
    ) -> "Modelled":
        """Returns the pipeline with another step, a function of all items of an epoch."""
        given = {"depth": self.depth, "lists": self.lists, "has_length": self.has_length}
        return Modelled(pipeline, lambda epoch: change(self.items(epoch)), **{**given, **changed})


def places(length: int) -> Pipeline:
    """A pipeline of the numbers below `length`."""
    return hr.arrays({"place": np.arange(length)})


def order_of(pipeline: Pipeline, epoch: int) -> list[Item]:
    """The order in which a pipeline of numbers gives them in an epoch."""
    return list(pipeline.options(num_threads=1).epoch(epoch))


def shuffled(made: Modelled, window: int, seed: int) -> Modelled:
    def items(epoch: int) -> list[Item]:
        given = made.items(epoch)
        order = order_of(places(len(given)).shuffle(window, seed), epoch)
        return [given[item["place"]] for item in order]

    pipeline = made.pipeline.shuffle(window, seed, num_open=1, files="in order")
    return Modelled(pipeline, items, made.depth, made.lists, made.has_length)


def mixed(parts: Sequence[Modelled], seed: int, stop: Any) -> Modelled:
    def items(epoch: int) -> list[Item]:
        given = [part.items(epoch) for part in parts]
        numbered = [
            hr.zip([places(len(some)), hr.arrays({"part": np.full(len(some), number)})])
            for number, some in enumerate(given)
        ]
        order = order_of(hr.mix(numbered, seed=seed, stop=stop), epoch)
        return [given[item["part"]][item["place"]] for item in order]

    pipeline = hr.mix([part.pipeline for part in parts], seed=seed, stop=stop)
    has_length = stop == "all" and all(part.has_length for part in parts)
    return Modelled(pipeline, items, parts[0].depth, lists_of(parts), has_length)


def chained(parts: Sequence[Modelled]) -> Modelled:
    def items(epoch: int) -> list[Item]:
        return [item for part in parts for item in part.items(epoch)]

    pipeline = hr.concat([part.pipeline for part in parts])
    has_length = all(part.has_length for part in parts)
    return Modelled(pipeline, items, parts[0].depth, lists_of(parts), has_length)


def lists_of(parts: Sequence[Modelled]) -> frozenset[str]:
    return frozenset().union(*(part.lists for part in parts))


def side_by_side(one: Modelled, other: Modelled, names: dict[str, str]) -> Modelled:
    """Zips two pipelines; `names` are new names of the second one's components."""

    def items(epoch: int) -> list[Item]:
        pairs = zip(one.items(epoch), other.items(epoch), strict=False)
        return [{**a, **{names[name]: value for name, value in b.items()}} for a, b in pairs]

    renamed = other.pipeline.rename(**names)
    pipeline = hr.zip([one.pipeline, renamed], strict=False)
    lists = one.lists | {names[name] for name in other.lists}
    has_length = one.has_length and other.has_length
    return Modelled(pipeline, items, one.depth, frozenset(lists), has_length)


def cached(made: Modelled) -> Modelled:
    """Returns the items before a cache, which are always those of epoch 0."""
    pipeline = made.pipeline.cache()
    return Modelled(pipeline, lambda epoch: made.items(0), made.depth, made.lists, made.has_length)


def repeated(made: Modelled, count: int) -> list[Item]:
    """All items of the given number of epochs."""
    return [item for epoch in range(count) for item in made.items(epoch)]


def stacked(items: Sequence[Item], pad_to: int | None) -> Item:
    """Items of one shape as a batch."""
    batch = {}
    for name in items[0]:
        rows = [np.asarray(item[name]) for item in items]
        if len({row.shape for row in rows}) > 1:
            raise Unlike(name)
        batch[name] = np.stack(rows)
        if pad_to is not None:
            missing = np.zeros((pad_to - len(rows), *batch[name].shape[1:]), batch[name].dtype)
            batch[name] = np.concatenate([batch[name], missing])
    if pad_to is not None:
        batch["mask"] = np.arange(pad_to) < len(items)
    return batch


def filled(
    items: Sequence[Item],
    lists: frozenset[str],
    value: int,
    width_of: Callable[[int], int],
) -> list[Item]:
    """Items with lists padded to one length."""
    widths = {
        name: width_of(max(len(item[name]) for item in items)) for name in lists & set(items[0])
    }
    return [
        {
            name: _filled(np.asarray(part), widths[name], value) if name in widths else part
            for name, part in item.items()
        }
        for item in items
    ]


def _filled(row: Any, width: int, value: int) -> Any:
    missing = np.full((width - len(row), *row.shape[1:]), value, row.dtype)
    return np.concatenate([row, missing])


def grouped(items: Sequence[Item], size: int, remainder: str) -> list[list[Item]]:
    """Consecutive items in groups."""
    groups = [list(items[first : first + size]) for first in range(0, len(items), size)]
    return [group for group in groups if len(group) == size or remainder != "drop"]


def batched(made: Modelled, size: int, remainder: Any) -> Modelled:
    def change(items: list[Item]) -> list[Item]:
        pad_to = size if remainder == "pad" else None
        return [stacked(group, pad_to) for group in grouped(items, size, remainder)]

    pipeline = made.pipeline.batch(size, remainder)
    return made.then(pipeline, change, depth=made.depth + 1, lists=axes(made, remainder))


def axes(made: Modelled, remainder: str, is_fixed: bool = True) -> frozenset[str]:
    """The components of batches whose first axis has no known length: all, or none."""
    names = set(made.pipeline.spec)
    return frozenset() if is_fixed and remainder != "keep" else frozenset(names)


def padded(made: Modelled, size: int, value: int, multiple_of: int, remainder: Any) -> Modelled:
    def change(items: list[Item]) -> list[Item]:
        pad_to = size if remainder == "pad" else None
        groups = grouped(items, size, remainder)
        return [
            stacked(
                filled(group, made.lists, value, lambda n: -(-n // multiple_of) * multiple_of),
                pad_to,
            )
            for group in groups
        ]

    pipeline = made.pipeline.padded_batch(size, value, multiple_of, remainder)
    return made.then(pipeline, change, depth=made.depth + 1, lists=axes(made, remainder))


def bucketed(
    made: Modelled, boundaries: Sequence[int], size: int, to_boundary: bool, remainder: Any
) -> Modelled:
    """Batches of items whose lists `l` have similar lengths."""

    def bucket(item: Item) -> int:
        return int(np.searchsorted(boundaries, len(item["l"])))

    def width(longest: int) -> int:
        wider = [boundary for boundary in boundaries if boundary >= longest]
        return wider[0] if to_boundary and wider else longest

    def change(items: list[Item]) -> list[Item]:
        filling: list[list[Item]] = [[] for _ in range(len(boundaries) + 1)]
        whole = []
        for item in items:
            filling[bucket(item)].append(item)
            if len(filling[bucket(item)]) == size:
                whole.append(filling[bucket(item)])
                filling[bucket(item)] = []
        if remainder != "drop":
            whole.extend(group for group in filling if group)
        pad_to = size if remainder == "pad" else None
        lists = made.lists | {"l"} if to_boundary else made.lists
        return [stacked(filled(group, lists, 0, width), pad_to) for group in whole]

    pipeline = made.pipeline.bucket_by_length(
        "l", boundaries, size, pad_to_boundary=to_boundary, remainder=remainder
    )
    lists = axes(made, remainder)
    return made.then(pipeline, change, depth=made.depth + 1, lists=lists, has_length=False)


def packed(made: Modelled, length: int, max_open: int) -> Modelled:
    """Packs the lists `l` alone, none of which is longer than `length`."""

    def change(items: list[Item]) -> list[Item]:
        opened: list[list[Any]] = []
        whole = []
        for item in items:
            row = np.asarray(item["l"])
            if not len(row):
                continue
            fits = [group for group in opened if sum(map(len, group)) + len(row) <= length]
            if not fits:
                if len(opened) == max_open:
                    fullest = max(opened, key=lambda group: sum(map(len, group)))
                    # Lists may be equal, so they are told apart by what they are.
                    opened = [group for group in opened if group is not fullest]
                    whole.append(fullest)
                opened.append([])
                fits = opened[-1:]
            fits[0].append(row)
            if sum(map(len, fits[0])) == length:
                opened = [group for group in opened if group is not fits[0]]
                whole.append(fits[0])
        return [_packed(group, length) for group in [*whole, *opened]]

    pipeline = made.pipeline.select("l").pack(length, "l", max_open=max_open)
    return made.then(pipeline, change, lists=frozenset(), has_length=False)


def _packed(group: Sequence[Any], length: int) -> Item:
    rows = {
        "l": np.concatenate(group),
        "segment_ids": np.repeat(np.arange(len(group), dtype=np.int32) + 1, list(map(len, group))),
        "positions": np.concatenate([np.arange(len(row), dtype=np.int32) for row in group]),
    }
    return {name: _filled(row, length, 0) for name, row in rows.items()}


def unbatched(made: Modelled) -> Modelled:
    def change(items: list[Item]) -> list[Item]:
        return [
            {name: part[row] for name, part in item.items()}
            for item in items
            for row in range(len(next(iter(item.values()))))
        ]

    pipeline = made.pipeline.unbatch()
    spec = pipeline.spec
    lists = frozenset(name for name in spec if spec[name].shape is None or spec[name].is_list)
    return made.then(pipeline, change, depth=max(made.depth - 1, 0), lists=lists, has_length=False)
