"""Random stages. Each adds itself to a pipeline and to its model."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Literal

from tests.pipeline.generated import functions as f
from tests.pipeline.generated import media
from tests.pipeline.generated import model as m
from tests.pipeline.generated.groups import (
    BUCKET_OF_RANKS,
    LISTS,
    any_batch,
    bucket,
    bucket_by_shape,
    bucket_by_shape_of_a_rank,
    joined_batch,
    list_batch,
    pack,
    pack_arrays,
    pack_trees,
    padded_batch,
    padded_grids,
)
from tests.pipeline.generated.model import ANYTHING, Example, Items, Run
from tests.pipeline.generated.program import (
    ALONE,
    At,
    Model,
    Pieces,
    Program,
    Ranks,
    Shape,
    Step,
    items_of,
)
from tests.pipeline.generated.source import COMPRESSED, LARGE_VALUES, MANY, ONCE
from tests.split_hashes import hash_of

import headrace as hr

# Caches of all programs, distinguished by their keys.
_DIRECTORY = TemporaryDirectory(prefix="headrace-caches-")
ANYWHERE = Path("nowhere")  # Nothing is opened before a pipeline is iterated.
# The last one of the largest number of ranks.
_LAST_RANK = Ranks(7, 8)
# The tag of a budget that may be too small.
BUDGET = "budget"
# The tag of a shard that assigns equally many items to all ranks.
EVEN = "even shard of ranks"
# The kinds of stages that depend on the rank.
OF_RANKS = frozenset({"shard of ranks", EVEN, BUCKET_OF_RANKS})
# The mark of an item that fails in a part of a zip, and takes its partners with it.
FAILED = "failed"
Draw = Callable[[Random, Shape], "Step | None"]


def draw_step(random: Random, shape: Shape) -> Step | None:
    """Draws a stage; None if the drawn one cannot follow."""
    return random.choice(_DRAWS)(random, shape)


def extended(random: Random, program: Program, count: int) -> Program:
    """Draws up to the given number of further legal stages."""
    for _ in range(count):
        if (step := draw_step(random, program.shape)) is not None:
            program = tried(program, step)
    return program


def tried(program: Program, *steps: Step) -> Program:
    """A program with more stages, or the same one if a stage is rejected."""
    longer = program.then(*steps)
    least = max(step.least_pieces for step in steps)
    if least and len(program.pieces(At(Run(), 0, ALONE))) < least:
        return program
    try:
        longer.pipeline(ANYWHERE)
    except ValueError:
        return program
    # A number of examples cannot be drawn from none, which the last rank has first.
    is_drawn = any(step.sample is not None and step.sample[0] for step in steps)
    return program if is_drawn and not program.expected(_LAST_RANK) else longer


def take(random: Random, shape: Shape) -> Step:
    return take_of(random.choice([0, 1, 5, 20, 60, 90]))


def take_of(n: int) -> Step:
    """Takes the first items."""
    return Step("take", f"take({n})", lambda p, _: p.take(n), items_of(lambda i, _: islice(i, n)))


def skip(random: Random, shape: Shape) -> Step:
    n = random.choice([0, 1, 3, 20])
    return Step(
        "skip", f"skip({n})", lambda p, _: p.skip(n), items_of(lambda i, _: islice(i, n, None))
    )


def shard(random: Random, shape: Shape) -> Step:
    count = random.randint(1, 4)
    index = random.randrange(count)
    return Step(
        "shard",
        f"shard({index}, {count})",
        lambda p, _: p.shard(index, count),
        items_of(lambda i, _: m.shard(i, index, count)),
        lambda before: before.with_shard((index, count)),
        share=lambda _: (index, count, None),
    )


def shard_of_ranks(even: Literal["drop", "pad"] | None = None) -> Step:
    """The shard of the rank that the pipeline is for."""
    return Step(
        "shard of ranks" if even is None else EVEN,
        f"shard(rank, world, {even!r})",
        lambda p, ranks: p.shard(*ranks, even),
        items_of(lambda i, at: m.shard(i, *at.ranks, even)),
        lambda before: before.with_shard(None),
        share=lambda ranks: (*ranks, even),
    )


def window(random: Random, shape: Shape) -> Step | None:
    sizes = [1, 2, 5, 30, 200]
    if LARGE_VALUES in shape.tags:
        # Memory has to hold the window.
        if shape.depth:
            return None
        sizes = [1, 2]
    window, seed = random.choice(sizes), random.randrange(2**20)
    num_open = random.choice([1, 2, 16, 100])
    file_order = random.choice(["shuffled", "shuffled", "sequential"])
    blocks = [None, None, 16, 100, 700, 5000] if file_order == "shuffled" else [None]
    block_bytes = random.choice(blocks)
    count = random.choice([1, 1, 2, 3])
    shard = (random.randrange(count), count)
    pieces = Pieces(seed if file_order == "shuffled" else None, num_open, block_bytes, shard)

    def drawn(before: Model) -> Model:
        def model(at: At) -> Items:
            at = at._replace(pieces=pieces)
            # Counted in a separate run: in the real one, items are requested only when needed.
            count = sum(1 for _ in before(at._replace(run=at.run.copy())))
            return m.drawn_from_window(before(at), count, window, seed, at.number)

        return model

    def apply(p: hr.Pipeline, _: Ranks) -> hr.Pipeline:
        p = p.shuffle(window, seed, num_open, file_order, block_bytes)
        return p if count == 1 else p.shard(*shard, by="piece")

    by_piece = "" if count == 1 else f".shard{(*shard, 'by piece')}"
    kind = "window" if block_bytes is None else "window over blocks"
    return Step(
        kind if count == 1 else "window over pieces of a rank",
        f"shuffle({window}, {seed}, {num_open}, {file_order!r}, {block_bytes}){by_piece}",
        apply,
        drawn,
        lambda before: before if count == 1 else before.with_shard((0, count)),
        order="own",
        least_pieces=0 if count == 1 else count,
    )


def full_shuffle(random: Random, shape: Shape) -> Step | None:
    if COMPRESSED in shape.tags:
        return None  # Compressed files lack random access.
    seed = random.randrange(2**20)
    return Step(
        "shuffle",
        f"shuffle(seed={seed})",
        lambda p, _: p.shuffle(seed=seed),
        items_of(lambda i, at: m.shuffle(i, seed, at.number)),
        shuffle=seed,
    )


def sample(random: Random, shape: Shape) -> Step | None:
    if COMPRESSED in shape.tags:
        return None  # Compressed files lack random access.
    num, seed = random.choice([None, None, 1, 40]), random.randrange(2**20)
    return Step(
        "sample",
        f"sample(by='n', num={num}, seed={seed})",
        lambda p, _: p.sample(by="n", num=num, seed=seed),
        items_of(lambda i, _: i),
        sample=(num, seed),
    )


def any_map(random: Random, shape: Shape) -> Step:
    function = random.choice([f.plus_one, f.slow_plus_one, f.native_plus_one])
    model = items_of(lambda i, _: map(f.plus_one_in_model, i))
    if function is f.native_plus_one:
        return Step(
            "native map",
            "map(native_plus_one)",
            lambda p, _: p.map(function),
            model,
            order="any",
        )
    text, callers = _callers(random)
    return Step(
        "map",
        f"map({function.__name__}{text})",
        lambda p, _: p.map(function, **callers),
        model,
        order="any",
    )


def _tokens(random: Random, shape: Shape) -> Step | None:
    if shape.depth:
        return None
    return Step(
        "tokenize",
        "map(native_tokens)",
        lambda p, _: p.map(f.native_tokens),
        items_of(lambda i, _: map(f.tokens_in_model, i)),
        order="any",
    )


def _chat(random: Random, shape: Shape) -> Step | None:
    if shape.depth:
        return None
    return Step(
        "chat",
        "map(native_chat)",
        lambda p, _: p.map(f.native_chat),
        items_of(lambda i, _: map(f.chat_in_model, i)),
        order="any",
    )


def _callers(random: Random) -> tuple[str, dict[str, int]]:
    """Draws threads or processes for a function. Processes are rare, because they start slowly."""
    if random.random() < 0.05:
        callers = {"num_processes": random.randint(1, 2)}
    else:
        callers = {"num_threads": random.choice([1, 1, 2, 5])}
    return "".join(f", {name}={number}" for name, number in callers.items()), callers


def _drawing_map(random: Random, shape: Shape) -> Step:
    function, seed = random.choice([f.with_draw, f.native_with_draw]), random.randrange(2**20)
    is_native = function is f.native_with_draw
    name = "seeded native map" if is_native else "seeded map"
    text, callers = ("", {}) if is_native else _callers(random)

    def added(items: Items, at: At) -> Items:
        return ({**item, "draw": m.deep(lambda _: ANYTHING, item["n"])} for item in items)

    return Step(
        name,
        f"{name}(with_draw, seed={seed}{text})",
        lambda p, _: p.map(function, seed=seed, **callers),
        items_of(added),
        lambda before: replace(before, names=before.names | {"draw"}),
        order="any",
    )


def any_filter(random: Random, shape: Shape) -> Step:
    function = random.choice([f.is_kept, f.native_is_kept])
    if shape.depth:
        function = f.is_kept
    is_native = function is f.native_is_kept
    name = "native filter" if is_native else "filter"
    text, callers = ("", {}) if is_native else _callers(random)
    model = items_of(lambda i, _: filter(f.is_kept_in_model, i))
    return Step(
        name,
        f"{name}(is_kept{text})",
        lambda p, _: p.filter(function, **callers),
        model,
        order="any",
    )


def _flat_map(random: Random, shape: Shape) -> Step | None:
    if shape.depth:
        return None
    if shape.names == {"n"} and random.random() < 0.5:
        return Step(
            "native flat_map",
            "flat_map(native_pair)",
            lambda p, _: p.flat_map(f.native_pair),
            items_of(lambda i, _: ({"n": e["n"] + more} for e in i for more in (0, 1000))),
            order="any",
        )
    model = items_of(lambda i, _: (e for e in i for _ in range(e["n"] % 3)))
    text, callers = _callers(random)
    return Step(
        "flat_map",
        f"flat_map(several{text})",
        lambda p, _: p.flat_map(f.several, **callers),
        model,
        order="any",
    )


def with_list(random: Random, shape: Shape) -> Step | None:
    if shape.depth or "list" in shape.names:
        return None
    return Step(
        "map",
        "map(with_list)",
        lambda p, _: p.map(f.with_list),
        items_of(lambda i, _: map(f.with_list_in_model, i)),
        lambda before: replace(before, names=before.names | {"list"}),
        order="any",
    )


def counting(random: Random, shape: Shape) -> Step | None:
    if "calls" in shape.names:
        return None
    key = object()

    def counted(items: Items, at: At) -> Items:
        for item in items:
            yield {**item, "calls": m.filled(item["n"], _calls(key, at))}

    return Step(
        "map with a state",
        "map(Counting())",
        lambda p, _: p.map(f.Counting()),
        items_of(counted),
        lambda before: replace(before, names=before.names | {"calls"}),
        order="one",
    )


def adding_calls() -> Step:
    """Adds the number of its calls to the number of each example."""
    key = object()

    def added(items: Items, at: At) -> Items:
        for item in items:
            calls = _calls(key, at)
            yield {**item, "n": m.deep(lambda n, calls=calls: n + calls, item["n"])}

    return Step(
        "map with a state",
        "map(Counting(is_added=True))",
        lambda p, _: p.map(f.Counting(is_added=True)),
        items_of(added),
        order="one",
    )


def _calls(key: object, at: At) -> int:
    """Counts a call, and returns the total number of calls."""
    kept = at.run.kept
    kept[key, at.path] = kept.get((key, at.path), 0) + 1
    return kept[key, at.path]


def _select(random: Random, shape: Shape) -> Step | None:
    others = sorted(shape.names - {"n"})
    kept = tuple(name for name in others if random.random() < 0.5)
    return select("n", *kept)


def select(*names: str) -> Step:
    """Keeps some components."""
    return Step(
        "select",
        f"select{names}",
        lambda p, _: p.select(*names),
        items_of(lambda i, _: ({name: item[name] for name in names} for item in i)),
        lambda before: replace(before, names=frozenset(names)),
        order="any",
    )


def _rename(random: Random, shape: Shape) -> Step:
    return Step(
        "rename",
        "rename(n='k').rename(k='n')",
        lambda p, _: p.rename(n="k").rename(k="n"),
        items_of(lambda i, _: i),
        order="any",
    )


def _prefetch(random: Random, shape: Shape) -> Step:
    n = random.randint(1, 5)
    return Step(
        "prefetch",
        f"prefetch({n})",
        lambda p, _: p.prefetch(n),
        items_of(lambda i, _: i),
        order="any",
    )


def cache(random: Random, shape: Shape) -> Step:
    key = object()

    def model(before: Model) -> Model:
        def kept(at: At) -> Items:
            if key in at.run.kept:
                yield from at.run.kept[key]
                return
            collected = []
            # Its state begins with the iteration, whenever it is called.
            for item in before(at._replace(run=Run(), number=0)):
                collected.append(item)
                yield item
            at.run.kept[key] = collected

        return kept

    if random.random() < 0.5 or LARGE_VALUES in shape.tags:
        # Memory would not hold large values.
        text = "cache(directory)"
        return Step("cache on disk", text, lambda p, _: p.cache(_DIRECTORY.name, 1 << 24), model)
    return Step("cache", "cache()", lambda p, _: p.cache(), model)


def epochs(count: int) -> Step:
    """Repeats all items before it."""

    def model(before: Model) -> Model:
        def passes(at: At) -> Items:
            for number in range(count):
                yield from before(at.of_pass(at.number * count + number))

        return passes

    return Step("epochs", f"epochs({count})", lambda p, _: p.epochs(count), model)


def _epochs(random: Random, shape: Shape) -> Step | None:
    if ONCE in shape.tags:
        return None
    return epochs(random.choice([1, 2, 2, 3]))


def windows(random: Random, shape: Shape) -> Step | None:
    length, stride = random.choice([1, 2, 4, 7]), random.choice([1, 1, 2, 5])
    within, pad = random.random() < 0.5, random.choice([None, None, "repeat", "zero"])
    if shape.depth or shape.names & {*LISTS, "is_pad", "episode"} or LARGE_VALUES in shape.tags:
        return None
    names = (*sorted(shape.names), *(["is_pad"] if pad else []))
    text = f"windows({length}, {stride}, {'episode' if within else None!r}, {pad!r})"

    def apply(p: hr.Pipeline, _: Ranks) -> hr.Pipeline:
        if within:
            p = p.map(f.with_episode)
        return p.windows(length, stride, "episode" if within else None, pad).select(*names)

    return Step(
        "windows",
        f"map(with_episode).{text}.select{names}" if within else f"{text}.select{names}",
        apply,
        items_of(lambda i, _: m.windows(i, range(length), stride, within, pad)),
        lambda before: replace(before, names=frozenset(names), depth=before.depth + 1),
    )


def windows_at_offsets(random: Random, shape: Shape) -> Step | None:
    """Windows of the examples at some offsets, with only their numbers."""
    offsets = random.choice([[0], [-1, 0], [-2, 0, 3], [4, 1], [1]])
    stride, within = random.choice([1, 1, 2, 5]), random.random() < 0.5
    pad = random.choice([None, None, "repeat", "zero"])
    if shape.depth or LARGE_VALUES in shape.tags:
        return None
    names = ("n", "n_is_pad") if pad else ("n",)
    text = f"windows({{'n': {offsets}}}, {stride}, {'episode' if within else None!r}, {pad!r})"

    def apply(p: hr.Pipeline, _: Ranks) -> hr.Pipeline:
        p = p.select("n")
        if within:
            p = p.map(f.with_episode)
        return p.windows({"n": offsets}, stride, "episode" if within else None, pad).select(*names)

    def made(items: Items) -> Items:
        numbers = ({"n": item["n"]} for item in items)
        for window in m.windows(numbers, offsets, stride, within, pad):
            yield dict(zip(names, window.values(), strict=True))

    return Step(
        "windows at offsets",
        f"select('n').map(with_episode).{text}" if within else f"select('n').{text}",
        apply,
        items_of(lambda i, _: made(i)),
        lambda before: replace(before, names=frozenset(names), depth=before.depth + 1),
    )


def split_by(random: Random, shape: Shape) -> Step | None:
    if shape.depth:
        return None
    share, seed = random.choice([0.3, 0.5, 0.8]), random.randrange(2**20)
    number, num_hashes = random.randrange(2), 2**62

    def is_kept(item: Example) -> bool:
        return (hash_of(item["n"], seed) >= round(share * num_hashes)) == (number == 1)

    return Step(
        "split by value",
        f"split({share}, {1 - share}, seed={seed}, by='n')[{number}]",
        lambda p, _: p.split(share, 1 - share, seed=seed, by="n")[number],
        items_of(lambda i, _: filter(is_kept, i)),
        order="any",
    )


def unbatch(names: frozenset[str]) -> Step:
    """Splits the leading axis. Padded lists have many lengths then, and are dropped."""
    kept = tuple(sorted(names - LISTS))
    chosen = select(*kept)

    def shape(before: Shape) -> Shape:
        return replace(before, names=frozenset(kept), depth=before.depth - 1, is_even=True)

    return Step(
        "unbatch",
        f"{chosen.text}.unbatch()",
        lambda p, ranks: chosen.apply(p, ranks).unbatch(),
        lambda before: items_of(lambda i, _: m.unbatch(i))(chosen.model(before)),
        shape,
        order="any",
    )


def without_steps(random: Random, shape: Shape) -> Step | None:
    """Leaves out the batches of some steps. No stage may follow that changes their number."""
    if not shape.depth:
        return None
    ranges = random.choice([[(0, 1)], [(1, 3)], [(4, 6), (2, 5)], [(0, 2), (3, 4), (7, 40)]])
    left_out = {step for start, end in ranges for step in range(start, end)}
    return Step(
        "without_steps",
        f"without_steps({ranges})",
        lambda p, _: p.without_steps(ranges),
        items_of(lambda i, _: (item for n, item in enumerate(i) if n not in left_out)),
        last_left_out=max(left_out),
    )


def _unbatch(random: Random, shape: Shape) -> Step | None:
    return unbatch(shape.names) if shape.depth else None


def _skip_errors(random: Random, shape: Shape) -> Step:
    """A function that fails at some items, followed by `skip_errors`."""
    first = failing(random, shape)
    last = skip_errors() if BUDGET in shape.tags else _budget(random)
    between = random.choice([None, None, take, skip, shard])
    if between is None:
        return joined(first, last)
    return joined(first, joined(between(random, shape), last))


def failing(random: Random, shape: Shape, in_zip: bool = False) -> Step:
    """A function that fails at some items. In the model, these are dropped at once, or by `zip`."""
    is_native = not shape.depth and random.random() < 0.5
    function = f.native_failing if is_native else f.failing
    fails = f.native_fails_in_model if is_native else f.fails_in_model

    def kept(item: Example) -> bool:
        return FAILED in item or not fails(item)

    def model(items: Items, _: object) -> Items:
        if in_zip:
            return (item if kept(item) else {FAILED: True} for item in items)
        return filter(kept, items)

    text = f"map({'native_failing' if is_native else 'failing'})"
    return Step("skip_errors", text, lambda p, _: p.map(function), items_of(model), order="any")


def skip_errors() -> Step:
    """Drops the items that fail before it."""
    text = f"skip_errors({MANY})"
    return Step(
        "skip_errors",
        text,
        lambda p, _: p.skip_errors(MANY),
        items_of(lambda i, _: (item for item in i if FAILED not in item)),
        order="one",
    )


def _budget(random: Random) -> Step:
    """A `skip_errors` with a budget: an error follows when it is used up, or at the end."""
    budget = random.choice([MANY, MANY, MANY, 0, 1, 2, 4, 0.01, 0.06, 0.2])
    raises_at_end = random.random() < 0.1
    if budget == MANY and not raises_at_end:
        return skip_errors()
    return Step(
        BUDGET,
        f"skip_errors({budget}, {raises_at_end})",
        lambda p, _: p.skip_errors(budget, raises_at_end),
        items_of(lambda i, _: i),
        lambda before: before.with_tags(BUDGET),
        order="one",
    )


def joined(one: Step, other: Step) -> Step:
    """Combines two steps into one, of the kind of the first."""
    return Step(
        BUDGET if other.kind == BUDGET else one.kind,
        f"{one.text}.{other.text}",
        lambda p, ranks: other.apply(one.apply(p, ranks), ranks),
        lambda before: other.of(one.of(before)),
        lambda before: other.shape(one.shape(before)),
        order=max(one.order, other.order, key=("any", "one", "kept").index),
    )


_DRAWS: list[Draw] = [
    *[take, skip, shard, any_filter, _flat_map, cache, _select, _rename, _prefetch] * 2,
    *[window, any_map, _drawing_map, any_batch, _unbatch, with_list, _epochs, _skip_errors] * 3,
    *[full_shuffle, padded_batch, bucket, pack, joined_batch, padded_grids, list_batch] * 4,
    *[pack_arrays, pack_trees] * 3,
    *[counting, sample, bucket_by_shape, windows] * 4,
    *[windows_at_offsets] * 2,
    *[split_by] * 4,
    *[bucket_by_shape_of_a_rank] * 2,
    *[_tokens, _chat, media.picture, media.sound, media.clips] * 2,
]
