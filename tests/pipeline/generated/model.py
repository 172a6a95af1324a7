"""A model of each stage in simple Python: generators over examples, which are dicts.

A batch is a dict of lists. The model has no blocks, threads or checkpoints. The orders of shuffles
and the draws of mixes come from the engine itself, which processes numbers in one thread. The tests
check that other items have the same order.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from typing import Any, TypeVar

import numpy as np

import headrace as hr

Example = dict[str, Any]
Items = Iterator[Example]


class Anything:
    """Equals every value. Replaces values that the model does not compute, such as draws."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None

    def __repr__(self) -> str:
        return "anything"


ANYTHING = Anything()


class Run:
    """One iteration: the number of each pass, and the state that all passes share."""

    def __init__(self) -> None:
        self.kept: dict[object, Any] = {}

    def copy(self) -> "Run":
        """A run that continues from here by itself."""
        other = Run()
        other.kept = dict(self.kept)
        return other


def deep(function: Callable[[Any], Any], value: Any) -> Any:
    """Applies a function to each number of nested lists."""
    return [deep(function, one) for one in value] if isinstance(value, list) else function(value)


def filled(value: Any, number: int) -> Any:
    """Returns the same nested lists, with one number as all values."""
    return deep(lambda _: number, value)


def first_of(value: Any) -> Any:
    """The first number of nested lists."""
    while isinstance(value, list):
        value = value[0]
    return value


def shard(items: Items, index: int, count: int, even: str | None = None) -> Items:
    """Each `count`-th item. The last items may be dropped, or repeated for ranks without one."""
    group: list[Example] = []
    for item in items:
        group.append(item)
        if even != "drop" and len(group) == index + 1:
            yield item
        if len(group) == count:
            if even == "drop":
                yield group[index]
            group = []
    if even == "pad" and 0 < len(group) <= index:
        yield dict(group[index % len(group)])


# A size, or sizes by the position from which they apply.
Sizes = int | dict[int, int]


def size_at(sizes: Sizes, position: int) -> int:
    """The size that applies at a position."""
    if isinstance(sizes, int):
        return sizes
    return sizes[max(first for first in sizes if first <= position)]


def groups_of(items: Items, size: int) -> Iterator[list[Example]]:
    return (group for _, group in sized_groups(items, size))


def sized_groups(
    items: Items, sizes: Sizes, distance: int = 1
) -> Iterator[tuple[int, list[Example]]]:
    """Groups of items, each with the size for its position.

    Each item advances the position by `distance`.
    """
    position = 0
    while group := list(islice(items, size_at(sizes, position))):
        yield size_at(sizes, position), group
        position += len(group) * distance


def batch(
    items: Items,
    sizes: Sizes,
    remainder: str,
    width: Callable[[int], int] | None = None,
    fill: int = 0,
    listed: Sequence[str] = (),
    distance: int = 1,
) -> Items:
    """Batches of one size.

    Lists are padded to the width for the longest if one is given. Lists of the components `listed`
    stay separate, and padding examples have empty ones.
    """
    for size, group in sized_groups(items, sizes, distance):
        if len(group) == size or remainder != "drop":
            pad_to = size if remainder == "pad" else None
            yield stacked(group, pad_to, width, fill=fill, listed=listed)


def stacked(
    group: Sequence[Example],
    pad_to: int | None = None,
    width: Callable[[int], int] | None = None,
    padded: Sequence[str] = ("list",),
    fill: int = 0,
    listed: Sequence[str] = (),
) -> Example:
    """One batch of examples."""
    output = {}
    for name in group[0]:
        column = [example[name] for example in group]
        if width is not None and name in padded:
            length = width(max(map(len, column)))
            column = [row + [fill] * (length - len(row)) for row in column]
        if pad_to is not None:
            is_list = width is not None and name in padded
            filling = [] if name in listed else filled_like(column[0], fill if is_list else None)
            column += [filling] * (pad_to - len(column))
        output[name] = column
    if pad_to is not None:
        output["mask"] = [number < len(group) for number in range(pad_to)]
    return output


def filled_like(value: Any, fill: int | None = None) -> Any:
    """Returns the value that fills up a batch: a list of `fill`, or zeros and empty strings."""
    if isinstance(value, list):
        return [filled_like(one, fill) for one in value]
    if value is ANYTHING:
        return ANYTHING
    return type(value)() if fill is None else fill


def windows(
    items: Items, offsets: Sequence[int], stride: int, within: bool, pad: str | None
) -> Items:
    """Windows of items, within runs whose `n // 4` is equal if `within`."""

    def value(n: Any) -> Any:
        return type(n)() if pad == "zero" and n is not ANYTHING else n

    for _, run in groupby(items, (lambda item: item["n"] // 4) if within else (lambda _: 0)):
        rows = list(run)
        first, last = min(0, *offsets), max(0, *offsets)
        starts = range(len(rows)) if pad else range(-first, len(rows) - last)
        for start in starts[::stride]:
            places = [start + offset for offset in offsets]
            are_pad = [not 0 <= place < len(rows) for place in places]
            chosen = [rows[min(max(place, 0), len(rows) - 1)] for place in places]
            window = {
                name: [
                    deep(value, row[name]) if is_pad else row[name]
                    for row, is_pad in zip(chosen, are_pad, strict=True)
                ]
                for name in rows[0]
            }
            yield window | ({"is_pad": are_pad} if pad else {})


def unbatch(items: Items) -> Items:
    for item in items:
        for number in range(len(next(iter(item.values())))):
            yield {name: value[number] for name, value in item.items()}


def bucket(
    items: Items,
    boundaries: Sequence[int],
    size: int | None,
    max_elements: int | None,
    pads_to_boundary: bool,
    remainder: str,
) -> Items:
    """Batches of examples whose component `list` is of similar length."""
    filling: list[list[Example]] = [[] for _ in range(len(boundaries) + 1)]

    def width(number: int, group: Sequence[Example]) -> int:
        if pads_to_boundary and number < len(boundaries):
            return boundaries[number]
        return max(len(example["list"]) for example in group)

    def has_room(number: int, group: Sequence[Example], more: int) -> bool:
        elements = width(number, group) * (len(group) + more)
        return max_elements is None or elements <= max_elements

    def take_batch(number: int) -> Example:
        group, filling[number] = filling[number], []
        pad_to = size if remainder == "pad" else None
        return stacked(group, pad_to, lambda longest: width(number, group))

    for example in items:
        number = sum(boundary < len(example["list"]) for boundary in boundaries)
        if filling[number] and not has_room(number, [*filling[number], example], 0):
            yield take_batch(number)
        filling[number].append(example)
        if len(filling[number]) == size or not has_room(number, filling[number], 1):
            yield take_batch(number)
    for number, group in enumerate(filling):
        if group and remainder != "drop":
            yield take_batch(number)


def bucket_by_shape(
    items: Items, num_buckets: int, size: int, rank: int = 0, world: int = 1
) -> Items:
    """A rank's batches of numbers with the same remainder, without incomplete ones."""
    filling: list[list[Example]] = [[] for _ in range(num_buckets)]
    for item in items:
        group = filling[item["n"] % num_buckets]
        group.append({"n": item["n"]})
        if len(group) == size * world:
            yield stacked(group[rank::world])
            group.clear()


def pack(
    items: Items,
    lengths: Sizes,
    is_split: bool,
    max_open: int,
    along: tuple[str, ...] = (),
    world: int | None = None,
    fill: int = 0,
    turn: tuple[int, int] = (0, 1),
    cost: Callable[[Example, int], float] = lambda _, length: length**2,
) -> Items:
    """Packs lists of the component `list` into rows by first fit.

    The cost is the sum of a cost per example and a cost for the length of its piece.
    """

    def cost_of(row: _Row) -> float:
        return sum(cost(example, len(piece)) for example, piece in row[0])

    rows = _packed(items, lengths, is_split, max_open, turn)
    for row, length in rows if world is None else _balanced(rows, world, cost_of):
        pieces = enumerate((piece for _, piece in row), 1)
        flat = [(value, n, position) for n, piece in pieces for position, value in piece]
        flat += [(fill, 0, 0)] * (length - len(flat))
        names = ("list", "segment_ids", "positions")
        columns = {
            name: list(column) for name, column in zip(names, zip(*flat, strict=True), strict=True)
        }
        yield {**columns, **{name: [example[name] for example, _ in row] for name in along}}


# A row: each packed example, and its values with their positions; and the length of the row.
_Row = tuple[list[tuple[Example, list[tuple[int, int]]]], int]


def _packed(
    items: Items, lengths: Sizes, is_split: bool, max_open: int, turn: tuple[int, int]
) -> Iterator[_Row]:
    rows: list[_Row] = []

    def room(row: _Row) -> int:
        return row[1] - sum(len(piece) for _, piece in row[0])

    first, distance = turn
    for number, example in enumerate(items):
        length = size_at(lengths, first + number * distance)
        uninterrupted = list(enumerate(example["list"]))
        step = length if is_split else max(len(uninterrupted), 1)
        for piece in (
            uninterrupted[start : start + step] for start in range(0, len(uninterrupted), step)
        ):
            fitting = [row for row in rows if len(piece) <= room(row)]
            if not fitting:
                if len(rows) >= max_open:
                    yield rows.pop(rows.index(min(rows, key=room)))
                rows.append(([], length))
                fitting = rows[-1:]
            fitting[0][0].append((example, piece))
            if not room(fitting[0]):
                yield rows.pop(next(n for n, row in enumerate(rows) if row is fitting[0]))
    yield from rows


def pack_trees(
    items: Items,
    lengths: Sizes,
    max_open: int,
    world: int | None = None,
    turn: tuple[int, int] = (0, 1),
) -> Iterator[list[Example]]:
    """The examples of each tree of equal `group`s, whose component `list` has few prefixes."""
    trees = _trees(items, lengths, max_open, turn)

    def cost_of(tree: list[Example]) -> float:
        return sum(2 * len(prefix) - 1 for prefix in prefixes(tree))

    yield from trees if world is None else _balanced(trees, world, cost_of)


def prefixes(tree: Iterable[Example]) -> set[tuple[int, ...]]:
    """All prefixes of the lists, which are the elements of their tree."""
    lists = [tuple(example["list"]) for example in tree]
    return {values[:end] for values in lists for end in range(1, len(values) + 1)}


def _trees(
    items: Items, lengths: Sizes, max_open: int, turn: tuple[int, int]
) -> Iterator[list[Example]]:
    trees: list[tuple[list[Example], int]] = []
    first, distance = turn
    for number, example in enumerate(items):
        if not example["list"]:
            continue
        same = [n for n, (tree, _) in enumerate(trees) if tree[0]["group"] == example["group"]]
        if same and len(prefixes([*trees[same[0]][0], example])) <= trees[same[0]][1]:
            trees[same[0]][0].append(example)
            continue
        if same or len(trees) >= max_open:
            yield trees.pop(same[0] if same else 0)[0]
        trees.append(([example], size_at(lengths, first + number * distance)))
    yield from (tree for tree, _ in trees)


_Group = TypeVar("_Group")


def _balanced(
    rows: Iterator[_Group], world: int, cost: Callable[[_Group], float]
) -> Iterator[_Group]:
    """Returns rows in an order in which ranks get equal costs."""
    if world == 1:
        yield from rows
        return
    while group := list(islice(rows, 8 * world)):
        costs = list(map(cost, group))
        positions = sorted(range(len(group)), key=lambda position: (-costs[position], position))
        rounds = [positions[n : n + world] for n in range(0, len(positions), world)]
        sums = [0.0] * world
        for of_round in sorted(rounds, key=lambda of_round: (-len(of_round), min(of_round))):
            ranks = sorted(range(world), key=lambda rank: (sums[rank], rank))[: len(of_round)]
            for rank, position in sorted(zip(ranks, of_round, strict=True)):
                sums[rank] += costs[position]
                yield group[position]


def shuffle(items: Items, seed: int, number: int) -> Items:
    """All items in the order of a pass."""
    uninterrupted = list(items)
    yield from (
        uninterrupted[position] for position in order(len(uninterrupted), None, seed, number)
    )


def drawn_from_window(items: Items, count: int, window: int, seed: int, number: int) -> Items:
    """Draws `count` items in the order of a pass, taking no more than the window needs."""
    taken: list[Example] = []
    for value, position in enumerate(order(count, window, seed, number)):
        taken.extend(islice(items, min(count, value + window) - len(taken)))
        if value + window > count:
            # It has asked for one more, which includes items dropped after the last one.
            assert next(items, None) is None
        yield taken[position]
    assert next(items, None) is None


@lru_cache(1000)
def order(count: int, window: int | None, seed: int, number: int) -> tuple[int, ...]:
    """The order of `count` numbers in a pass."""
    if count == 0:
        return ()
    numbers = hr.arrays({"n": np.arange(count)}).options(num_threads=1)
    shuffled = tuple(int(e["n"]) for e in numbers.shuffle(window, seed).epoch(number))
    assert sorted(shuffled) == list(range(count))
    if window is not None:
        assert all(value < position + window for position, value in enumerate(shuffled))
    return shuffled


# A rank, the number of ranks, and how their numbers of items are made equal.
Share = tuple[int, int, str | None]


def share_of(count: int, share: Share) -> list[int]:
    """The numbers below `count` of a rank's items."""
    return [item["n"] for item in shard(({"n": n} for n in range(count)), *share)]


@lru_cache(1000)
def drawn_evenly(
    classes: tuple[int, ...], count: int, share: Share, num: int | None, seed: int, number: int
) -> tuple[int, ...]:
    """The numbers below `count` that a sample draws in a pass, evenly over a share's classes."""
    if not classes:
        return ()
    weights = [1 / classes.count(of_number) for of_number in classes]
    index, world, even = share
    numbers = hr.arrays({"n": np.arange(count)}).options(num_threads=1).shard(index, world, even)
    sampled = numbers.sample(weights, num=num, seed=seed).epoch(number)
    drawn = tuple(int(example["n"]) for example in sampled)
    assert set(drawn) <= set(share_of(count, share))
    return drawn


def in_turn(pieces: Sequence[Items], num_open: int) -> Items:
    """Yields one item of each open piece in turn. When a piece ends, the next one replaces it."""
    coming = iter(pieces)
    slots: list[Items | None] = list(islice(coming, num_open))
    while any(slot is not None for slot in slots):
        for number in range(len(slots)):
            while (slot := slots[number]) is not None:
                item = next(slot, None)
                if item is not None:
                    yield item
                    break
                slots[number] = next(coming, None)


def order_of_pieces(count: int, seed: int | None, number: int) -> Sequence[int]:
    """The order of pieces in a pass: a full shuffle with another seed."""
    if seed is None:
        return range(count)
    return order(count, None, mixed(seed, int.from_bytes(b"pieces")) >> 1, number)


def mixed(one: int, other: int) -> int:
    """A hash of two numbers: the finalizer of SplitMix64."""
    bits = 2**64 - 1
    value = ((one ^ (other * 0x9E3779B97F4A7C15 & bits)) + 0x9E3779B97F4A7C15) & bits
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & bits
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & bits
    return value ^ (value >> 31)


def mix(parts: Sequence[Items], drawn: Iterable[int]) -> Items:
    """Items of the parts, in the order of a pass's draws."""
    return (next(parts[part]) for part in drawn)


@lru_cache(1000)
def draws(
    lengths: tuple[int, ...],
    weights: tuple[float, ...],
    changes: tuple[tuple[int, tuple[float, ...]], ...],
    seed: int,
    stop: str,
    number: int,
) -> tuple[int, ...]:
    """The number of the part drawn for each position of a pass."""
    parts = [
        hr.arrays({"part": np.full(length, part)}).options(num_threads=1)
        for part, length in enumerate(lengths)
    ]
    arguments: Any = (
        {"schedule": dict([(0, weights), *changes])} if changes else {"weights": weights}
    )
    mixed = hr.mix(parts, seed=seed, stop="all" if stop == "all" else "first", **arguments)
    mixed = mixed.epoch(number)
    return tuple(int(example["part"]) for example in mixed)


def side_by_side(parts: Sequence[Items], run: Run) -> Items:
    """Zipped parts, until the shortest ends.

    A row without a counterpart is not used: functions keep the state before it.
    """
    while True:
        before = dict(run.kept)
        row: Example = {}
        for part in parts:
            if (example := next(part, None)) is None:
                run.kept.clear()
                run.kept.update(before)
                return
            row |= example
        yield row
