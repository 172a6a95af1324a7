"""Random stages that form batches, buckets and packed rows."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any, Literal

from tests.pipeline.generated import functions as f
from tests.pipeline.generated import model as m
from tests.pipeline.generated.model import Example, Items
from tests.pipeline.generated.program import At, Shape, Step, items_of

import headrace as hr

# The components that are lists of any length.
LISTS = frozenset({"list", "deep"})
# The kind of batches of pictures in which all ranks have the same bucket.
BUCKET_OF_RANKS = "bucket_by_shape of ranks"


def _sizes(random: Random, shape: Shape, sizes: list[int]) -> m.Sizes:
    """Draws a size, or sizes by position."""
    size = random.choice(sizes)
    if shape.shards is None or random.random() < 0.6:
        return size
    positions = random.sample([1, 4, 10, 25, 60], random.choice([1, 2]))
    return {0: size, **{position: random.choice(sizes) for position in positions}}


def _kind(name: str, sizes: m.Sizes) -> str:
    return name if isinstance(sizes, int) else f"{name} by position"


def sized_batch(random: Random, shape: Shape, sizes: list[int]) -> Step:
    """Batches of one size, or of several sizes by position."""
    return batch(_sizes(random, shape, sizes), "keep", shape)


def any_batch(random: Random, shape: Shape) -> Step | None:
    size = _sizes(random, shape, [1, 2, 3, 7, 20])
    remainder = random.choice(["keep", "drop", "pad"])
    if not shape.is_even or (not shape.depth and shape.names & LISTS):
        return None
    if remainder == "pad" and shape.names & {"draw", "mask", "chat"}:
        remainder = "keep"
    return batch(size, remainder, shape)


def batch(size: m.Sizes, remainder: str = "keep", shape: Shape | None = None) -> Step:
    """Batches of one size, or of several sizes by position.

    In the second case, `shape` is that of the earlier items.
    """

    def batched(items: Items, at: At) -> Items:
        distance = 1 if shape is None else shape.turn(at.ranks)[1]
        return m.batch(items, size, remainder, distance=distance)

    return Step(
        _kind("batch", size),
        f"batch({size}, {remainder!r})",
        lambda p, _: p.batch(size, remainder),
        items_of(batched),
        lambda before: _batched(before, remainder, is_sized=isinstance(size, int)),
    )


def _batched(
    before: Shape, remainder: str, is_padded: bool = False, is_sized: bool = True
) -> Shape:
    names = before.names | ({"mask"} if remainder == "pad" else set())
    is_even = is_sized and remainder != "keep" and not (is_padded and "list" in names)
    return replace(before, names=names, depth=before.depth + 1, is_even=is_even)


def joined_batch(random: Random, shape: Shape) -> Step | None:
    """Batches whose lists are joined, as the sum of each."""
    size, remainder = random.choice([1, 2, 7]), random.choice(["keep", "drop", "pad"])
    if shape.depth or "list" not in shape.names:
        return None

    def summed(items: Items) -> Items:
        return ({"n": item["n"] + sum(item["list"])} for item in items)

    return Step(
        "batch with offsets",
        f"select('n', 'list').batch({size}, {remainder!r}, ragged='offsets').map(joined_sum)",
        lambda p, _: (
            p.select("n", "list").batch(size, remainder, ragged="offsets").map(f.joined_sum)
        ),
        items_of(lambda i, _: m.batch(summed(i), size, remainder)),
        lambda before: _batched(replace(before, names=frozenset({"n"})), remainder),
    )


def list_batch(random: Random, shape: Shape) -> Step | None:
    """Batches whose lists stay apart."""
    size, remainder = random.choice([1, 2, 7, 20]), random.choice(["keep", "drop", "pad"])
    if shape.depth or shape.names & LISTS != {"list"}:
        return None
    if remainder == "pad" and shape.names & {"draw", "mask", "chat"}:
        remainder = "keep"
    return Step(
        "batch of lists",
        f"batch({size}, {remainder!r}, lists='list')",
        lambda p, _: p.batch(size, remainder, lists="list"),
        items_of(lambda i, _: m.batch(i, size, remainder, listed=["list"])),
        lambda before: replace(_batched(before, remainder), is_even=False),
    )


def padded_batch(random: Random, shape: Shape) -> Step | None:
    size, multiple_of = _sizes(random, shape, [1, 3, 7]), random.choice([1, 4])
    remainder, value = random.choice(["keep", "drop", "pad"]), random.choice([0, 0, -1])
    if shape.depth:
        return None
    if shape.names & {"row", "deep"}:
        # After a Python function, equal lengths are not known, so rows are padded.
        multiple_of = 1
    if remainder == "pad" and shape.names & {"mask", "chat"}:
        remainder = "keep"

    def width(longest: int) -> int:
        return -(-longest // multiple_of) * multiple_of

    def padded(items: Items, at: At) -> Items:
        distance = shape.turn(at.ranks)[1]
        return m.batch(items, size, remainder, width, value, distance=distance)

    return Step(
        _kind("padded_batch", size),
        f"padded_batch({size}, {value}, multiple_of={multiple_of}, remainder={remainder!r})",
        lambda p, _: p.padded_batch(size, value, multiple_of, remainder),
        items_of(padded),
        lambda before: _batched(before, remainder, True, isinstance(size, int)),
    )


def padded_grids(random: Random, shape: Shape) -> Step | None:
    """Batches of arrays that are padded in two axes, as a checksum of each."""
    size, remainder = random.choice([1, 2, 7]), random.choice(["keep", "drop", "pad"])
    multiples, fill = random.choice([(1, 1), (2, 1), (1, 4), (3, 2)]), random.choice([0, -1])
    if shape.depth:
        return None

    def summed(items: Items) -> Items:
        for group in m.groups_of(items, size):
            if len(group) == size or remainder != "drop":
                output, added = f.grid_sums_in_model(group, multiples, fill)
                batch = m.stacked(output, size if remainder == "pad" else None)
                batch["n"][len(group) :] = [added] * (len(batch["n"]) - len(group))
                yield batch

    options = {"values": {"grid": fill}, "multiple_of": {"grid": multiples}}
    return Step(
        "padded_batch of grids",
        f"map(with_grid).padded_batch({size}, {options}, {remainder!r}).map(grid_sum)",
        lambda p, _: (
            p.map(f.with_grid).padded_batch(size, remainder=remainder, **options).map(f.grid_sum)
        ),
        items_of(lambda i, _: summed(i)),
        lambda before: _batched(replace(before, names=frozenset({"n"})), remainder),
    )


def bucket(random: Random, shape: Shape) -> Step | None:
    if shape.depth or "list" not in shape.names or shape.names & {"mask", "chat"}:
        return None
    boundaries = random.choice([[1], [1, 2], [2, 3]])
    size, most = random.choice([(3, None), (8, None), (None, 9), (4, 10)])
    to_boundary = random.random() < 0.3
    remainder = random.choice(["keep", "drop", "pad"] if most is None else ["keep", "drop"])
    return Step(
        "bucket_by_length",
        f"bucket_by_length('list', {boundaries}, {size}, {most}, {to_boundary}, {remainder!r})",
        lambda p, _: p.bucket_by_length("list", boundaries, size, most, to_boundary, remainder),
        items_of(lambda i, _: m.bucket(i, boundaries, size, most, to_boundary, remainder)),
        lambda before: replace(_batched(before, remainder, is_padded=True), is_even=False),
    )


def bucket_by_shape(random: Random, shape: Shape) -> Step | None:
    """Batches of pictures whose shapes depend on their numbers."""
    size, is_turned = random.choice([1, 2, 5]), random.random() < 0.5
    if shape.depth:
        return None
    adds = f.with_turned_picture if is_turned else f.with_picture
    return Step(
        "bucket_by_shape",
        f"map({adds.__name__}).bucket_by_shape({size}, 'separate', {is_turned}).select('n')",
        lambda p, _: _in_buckets(p.map(adds), size, "separate", is_turned),
        items_of(lambda i, _: m.bucket_by_shape(i, len(f.PICTURES), size)),
        lambda before: _batched(replace(before, names=frozenset({"n"})), "drop"),
    )


def bucket_by_shape_of_ranks(
    random: Random, shape: Shape, share: tuple[int, int] | None = None
) -> Step | None:
    """Like `bucket_by_shape`, but all ranks get the same bucket at each step.

    Args:
        random: The source of choices.
        shape: The items before it.
        share: The index and the number of the rank. None for the rank that the pipeline is for.
    """
    size = random.choice([1, 2, 3])
    # Parts of a combination may be unbatched again, which even shards reject.
    even = random.choice([None, "drop", "pad"]) if share is None else None
    if shape.depth:
        return None
    of_rank = "rank, world" if share is None else f"{share[0]}, {share[1]}"

    def batched(items: Items, at: At) -> Items:
        return m.bucket_by_shape(items, len(f.PICTURES), size, *(share or at.ranks))

    return Step(
        BUCKET_OF_RANKS if share is None else "bucket_by_shape of a rank",
        f"map(with_picture).shard({of_rank}, {even!r}).bucket_by_shape({size}).select('n')",
        lambda p, ranks: _in_buckets(
            p.map(f.with_picture).shard(*(share or ranks), even), size, "together"
        ),
        items_of(batched),
        lambda before: _batched(replace(before, names=frozenset({"n"})).with_shard(share), "drop"),
    )


def bucket_by_shape_of_a_rank(random: Random, shape: Shape) -> Step | None:
    count = random.randint(1, 3)
    return bucket_by_shape_of_ranks(random, shape, (random.randrange(count), count))


def _in_buckets(
    pipeline: hr.Pipeline,
    size: int,
    ranks: Literal["together", "separate"],
    orientation: bool = False,
) -> hr.Pipeline:
    batches = pipeline.bucket_by_shape(
        "image", size=size, ranks=ranks, buckets=f.BUCKETS, orientation=orientation
    )
    return batches.select("n")


def pack(random: Random, shape: Shape) -> Step | None:
    if shape.depth or "list" not in shape.names:
        return None
    length, most = _sizes(random, shape, [4, 6, 9]), random.choice([1, 2, 64])
    is_split = isinstance(length, int) and random.random() < 0.4
    has_more = random.random() < 0.4
    along = ("n",) if has_more and "n" in shape.names else ()
    world = random.choice([None, None, 2, 3])
    names = ("list", *along)
    values: int | dict[str, int] | None = random.choice([None, -100, {"list": 3}])
    fill = values.get("list", 0) if isinstance(values, dict) else values or 0
    more = f"along={along}, cu_seqlens={has_more}, balance={world}, values={values}"

    def packed(items: Items, at: At) -> Items:
        turn = shape.turn(at.ranks)
        rows = m.pack(items, length, is_split, most, along, world, fill, turn)
        return map(f.packed_sum_in_model, rows)

    return Step(
        _kind("pack", length),
        f"select{names}.pack({length}, 'list', {is_split}, {most}, {more}).map(packed_sum)",
        lambda p, _: (
            p.select(*names)
            .pack(length, "list", is_split, most, along, has_more, world, values)
            .map(f.packed_sum)
        ),
        items_of(packed),
        lambda before: replace(before, names=frozenset({"n"})),
    )


def _weighted(cost: Any, measures: Mapping[str, float]) -> float:
    if isinstance(cost, float):
        return cost * measures["length"]
    weights = {cost: 1.0} if isinstance(cost, str) else cost
    return sum(weight * measures[measure] for measure, weight in weights.items())


def pack_arrays(random: Random, shape: Shape) -> Step | None:
    """Packed rows with arrays of two axes, a list of each example and a cost, as a checksum."""
    if shape.depth:
        return None
    length, most = _sizes(random, shape, [4, 6, 9]), random.choice([1, 2, 64])
    is_split, world = isinstance(length, int) and random.random() < 0.4, random.choice([2, 3])
    cost = {
        "pages": random.choice([0.0, 2.5, 9.0, "sum", {"sum": 0.5}]),
        "list": random.choice([1.0, "square", {"square": 0.25}, {"length": 2.5, "square": 0.5}]),
    }

    def cost_of(example: Example, length: int) -> float:
        n = example["n"]
        measures = {"length": n % 3, "square": (n % 3) ** 2, "sum": sum(range(n, n + n % 3))}
        pages = _weighted(cost["pages"], measures)
        return pages + _weighted(cost["list"], {"length": length, "square": length**2})

    def packed(items: Items, at: At) -> Items:
        turn = shape.turn(at.ranks)
        lists = map(f.with_list_in_model, items)
        rows = m.pack(lists, length, is_split, most, ("n",), world, turn=turn, cost=cost_of)
        return map(f.pages_sum_in_model, rows)

    return Step(
        "pack of arrays",
        f"map(with_pages).pack({length}, ['list', 'grid'], {is_split}, {most}, 'pages', "
        f"balance={world}, cost={cost}).map(pages_sum)",
        lambda p, _: (
            p.map(f.with_pages)
            .select("list", "grid", "pages")
            .pack(length, ["list", "grid"], is_split, most, "pages", balance=world, cost=cost)
            .map(f.pages_sum)
        ),
        items_of(packed),
        lambda before: replace(before, names=frozenset({"n"})),
    )


def pack_trees(random: Random, shape: Shape) -> Step | None:
    """Prefix trees of examples with the same `group`, as checksums."""
    if shape.depth:
        return None
    length, most = _sizes(random, shape, [4, 6, 30]), random.choice([1, 2, 64])
    world = random.choice([None, None, 2, 3])

    def packed(items: Items, at: At) -> Items:
        turn = shape.turn(at.ranks)
        trees = m.pack_trees(map(f.with_group_in_model, items), length, most, world, turn)
        return (f.tree_sum_in_model(tree, len(m.prefixes(tree))) for tree in trees)

    return Step(
        "pack of trees",
        f"map(with_group).pack({length}, 'list', max_open={most}, along='n', balance={world}, "
        "tree='group').map(tree_sum)",
        lambda p, _: (
            p.map(f.with_group)
            .pack(length, "list", max_open=most, along="n", balance=world, tree="group")
            .map(f.tree_sum)
        ),
        items_of(packed),
        lambda before: replace(before, names=frozenset({"n"})),
    )
