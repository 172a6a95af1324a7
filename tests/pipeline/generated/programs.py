"""Random programs: a source or a combination of programs, with stages after it."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, chain, islice
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.pipeline.generated import model as m
from tests.pipeline.generated.groups import (
    LISTS,
    batch,
    bucket,
    bucket_by_shape_of_a_rank,
    bucket_by_shape_of_ranks,
    list_batch,
    pack,
    padded_batch,
    sized_batch,
)
from tests.pipeline.generated.model import Example, Items, Run
from tests.pipeline.generated.program import (
    At,
    Beginning,
    Model,
    Numbered,
    Program,
    Ranks,
    Shape,
    Step,
    numbered_list,
)
from tests.pipeline.generated.source import ONCE, SPLIT, Pace, Source
from tests.pipeline.generated.source_files import DAMAGED
from tests.pipeline.generated.sources import draw_source, draw_split, sizes_of_pieces
from tests.pipeline.generated.steps import (
    ANYWHERE,
    Draw,
    adding_calls,
    any_filter,
    any_map,
    cache,
    counting,
    draw_step,
    epochs,
    extended,
    failing,
    full_shuffle,
    sample,
    select,
    shard,
    shard_of_ranks,
    skip,
    skip_errors,
    take,
    take_of,
    tried,
    unbatch,
    window,
    with_list,
    without_steps,
)

import headrace as hr


def program_of(number: int) -> Program:
    """The program with this number, which is always the same."""
    random = Random(number)
    if number % 16 == 15:
        return _of_stateful_parts(random)
    if number % 16 == 12:
        return _of_split_parts(random)
    if (draws := _SHORT.get(number % 8)) is not None:
        return _short(random, draws)
    program = _ended(random, extended(random, _beginning(random, 2), random.randint(0, 5)))
    if random.random() < 0.3 and "shard of ranks" not in program.kinds:
        program = _for_ranks(random, program)
    if random.random() < 0.15 and (step := without_steps(random, program.shape)) is not None:
        program = tried(program, step)
    return program


def _short(random: Random, sequences: Sequence[Sequence[Draw]]) -> Program:
    """One of some sequences of stages, which follow each other seldom in other programs."""
    program = _beginning(random, 0)
    group = random.choice([bucket, pack])
    for named in random.choice(sequences):
        draw = group if named is bucket else named
        if (step := draw(random, program.shape)) is not None:
            program = tried(program, step)
    return program


def _of_stateful_parts(random: Random) -> Program:
    """Parts put together whose functions have states that last for all epochs."""
    parts = [
        tried(_beginning(random, 0).then(select("n")), adding_calls())
        for _ in range(random.choice([2, 2, 3]))
    ]
    program = _combined_from(random, parts, random.choice(["mix", "concat", "zip"]))
    if random.random() < 0.3:
        program = tried(program, take(random, program.shape))
    return program if ONCE in program.shape.tags else tried(program, epochs(random.choice([2, 3])))


def _batch_of_two(random: Random, shape: Shape) -> Step:
    return batch(2)


def _two_epochs(random: Random, shape: Shape) -> Step | None:
    return None if ONCE in shape.tags else epochs(2)


def _nine_epochs(random: Random, shape: Shape) -> Step | None:
    return None if ONCE in shape.tags else epochs(9)


def _take_one(random: Random, shape: Shape) -> Step:
    return take_of(random.choice([1, 1, 2]))


#: Sequences of stages by the remainder of the numbers of programs; `bucket` may be `pack`.
_SHORT: Final[dict[int, list[Sequence[Draw]]]] = {
    3: [
        (with_list, bucket, skip),
        (with_list, bucket, skip, _two_epochs),
        (_batch_of_two, window),
        (with_list, any_map, padded_batch),
        (counting, take, _two_epochs),
        # Some epochs yield nothing, perhaps the first ones.
        (full_shuffle, _take_one, any_filter, any_map, _nine_epochs),
        (window, _take_one, any_filter, counting, _nine_epochs),
        (full_shuffle, _take_one, any_filter, shard, any_map, _nine_epochs, with_list),
        (shard, any_map, sample, _two_epochs),
    ],
    7: [
        (with_list, bucket, shard),
        (with_list, bucket, shard, _two_epochs),
        (counting, cache, _two_epochs),
        (counting, shard, _two_epochs),
        (counting, _two_epochs),
        (shard, counting, sample, any_map, _two_epochs),
        (bucket_by_shape_of_a_rank, _two_epochs),
    ],
}


def _beginning(random: Random, nesting: int) -> Program:
    if nesting and random.random() < 0.3:
        return _combined(random, nesting - 1)
    return _of_source(draw_source(random))


def _of_split_parts(random: Random) -> Program:
    """Parts of splits put together, as for training on all folds but one, and shuffled as one."""
    parts = [_of_source(draw_split(random)) for _ in range(random.choice([2, 2, 3]))]
    parts = [part if part.shape.names == {"n"} else part.then(select("n")) for part in parts]
    if random.random() < 0.3:
        parts = [_combined_from(random, parts, "concat"), parts[0]]
    program = _combined_from(random, parts, random.choice(["concat", "zip"]))
    shuffle = full_shuffle(random, program.shape)
    assert shuffle is not None  # Large values and compressed files are not split.
    program = tried(program, shuffle)
    return extended(random, program, random.randint(0, 3))


def _of_source(source: Source) -> Program:
    def files(at: At) -> list[list[Example]]:
        items = map(dict, source.examples)
        block_bytes = None if at.pieces is None else at.pieces.block_bytes
        return [list(islice(items, size)) for size in sizes_of_pieces(source, block_bytes)]

    def kept(items: Items) -> Items:
        return (item for item in items if item["n"] not in source.lost)

    def pieces(at: At) -> list[Items]:
        if source.ending == DAMAGED:  # A part that skips errors is one piece of a concat.
            return [model(at)]
        return [kept(iter(file)) for file in files(at)]

    has_pieces = source.sizes is not None and source.seed is None

    def model(at: At) -> Items:
        if has_pieces and source.kind == SPLIT:
            # Files take turns before the examples of other parts are dropped.
            return kept(at.in_turn([iter(file) for file in files(at)]))
        if has_pieces:
            return at.in_turn([kept(iter(file)) for file in files(at)])
        items = map(dict, source.examples)
        if source.seed is not None:
            items = m.shuffle(items, source.seed, at.number)
        if source.pace is not None:
            items = _counted(items, at.run, source.pace)
        return kept(items)

    def begin(directory: Path, ranks: Ranks) -> hr.Pipeline:
        return source.begin(directory)

    def numbered(at: At, is_part: bool) -> Numbered:
        if is_part and source.kind == SPLIT:
            return numbered_list(list(kept(iter(source.examples))))
        uninterrupted = numbered_list(source.examples)
        return Numbered(uninterrupted.count, lambda order: kept(uninterrupted.items(order)))

    kind = source.kind or source.text.partition("(")[0]
    shape = Shape(source.names).with_tags(kind)
    beginning = Beginning(
        kind, source.text, begin, model, shape, pace=source.pace, numbered=numbered
    )
    return Program(replace(beginning, pieces=pieces) if has_pieces else beginning)


def _counted(items: Items, run: Run, pace: Pace) -> Items:
    """Records how many items were requested."""
    for item in items:
        run.kept[pace] = run.kept.get(pace, 0) + 1
        yield item


def _ended(random: Random, program: Program) -> Program:
    """In most cases, adds a batch at the end, which reduces the number of items."""
    shape = program.shape
    if shape.depth == 0 and random.random() < 0.6:
        if shape.names & LISTS:
            program = program.then(select(*sorted(shape.names - LISTS)))
        program = tried(program, batch(random.choice([4, 10, 25])))
    if random.random() < 0.3 and ONCE not in shape.tags:
        program = tried(program, epochs(2))
    return program


def _for_ranks(random: Random, program: Program) -> Program:
    """Adds a shard for ranks at the end, perhaps with a stage that lets their number change."""
    if random.random() < 0.2:
        step = bucket_by_shape_of_ranks(random, program.shape)
        bucketed = program if step is None else tried(program, step)
        if bucketed is not program:
            return tried(bucketed, epochs(2)) if random.random() < 0.2 else bucketed
    if random.random() < 0.3:
        program = _grouped(random, program)
    program = tried(program, shard_of_ranks(random.choice([None, "drop", "pad"])))
    if random.random() < 0.2 and (step := sample(random, program.shape)) is not None:
        program = tried(program, step)
    for _ in range(random.randint(0, 3)):
        if (step := draw_step(random, program.shape)) is not None and step.kind in _ELASTIC:
            program = tried(program, step)
    if random.random() < 0.5 and ONCE not in program.shape.tags:
        program = tried(program, epochs(random.choice([2, 3])))
    if program.shape.depth == 0 and random.random() < 0.6:
        if not program.shape.names & LISTS:
            program = tried(program, sized_batch(random, program.shape, [1, 2, 5]))
        elif (step := list_batch(random, program.shape)) is not None:
            program = tried(program, step)
    return program


def _grouped(random: Random, program: Program) -> Program:
    """Adds groups of several sizes at the end, which ranks take as wholes."""
    for draw in (with_list, random.choice([bucket, pack])):
        if (step := draw(random, program.shape)) is not None:
            program = tried(program, step)
    return program


_ELASTIC = (
    *("map", "native map", "tokenize", "chat", "seeded map", "select", "rename", "prefetch"),
    "map with a state",
)


def _combined(random: Random, nesting: int) -> Program:
    """Two or three programs put together, with equal components."""
    count = random.choice([2, 2, 3])
    parts = [_part(random, nesting) for _ in range(count)]
    return _combined_from(random, parts, random.choice(["mix", "concat", "zip"]))


def _combined_from(random: Random, parts: Sequence[Program], kind: str) -> Program:
    combine = {"mix": _mix, "concat": _concat, "zip": _zip}[kind]
    # `bucket_by_shape` in a part rejects `skip_errors`.
    for fails in (True, False) if random.random() < 0.15 else (False,):
        # The types of batches may differ: then examples are put together.
        flat = [_flat(part) for part in parts]
        # Windows are no batches, so a combination accepts them next to single examples.
        are_alike = len({part.shape.depth for part in parts}) == 1
        for candidates in [parts, flat] if kind != "zip" and are_alike else [flat]:
            outputs = [
                _failing(random, part, kind == "zip") if fails else part for part in candidates
            ]
            program = Program(combine(random, outputs), (skip_errors(),) if fails else ())
            try:
                program.pipeline(ANYWHERE)
            except ValueError:
                continue
            return program
    raise AssertionError(f"{kind} of {parts} is refused")


def _failing(random: Random, part: Program, in_zip: bool) -> Program:
    """A part whose last functions fail at some items, perhaps before a cache."""
    for _ in range(random.choice([1, 1, 2])):
        part = part.then(failing(random, part.shape, in_zip))
    return tried(part, cache(random, part.shape)) if random.random() < 0.3 else part


def _part(random: Random, nesting: int) -> Program:
    part = extended(random, _beginning(random, nesting), random.randint(0, 3))
    if random.random() < 0.15:
        part = tried(part, shard_of_ranks())
    return part if part.shape.names == {"n"} else part.then(select("n"))


def _flat(part: Program) -> Program:
    while part.shape.depth:
        part = part.then(unbatch(part.shape.names))
    return part


def _shape_of(parts: Sequence[Program], names: frozenset[str]) -> Shape:
    shapes = [part.shape for part in parts]
    tags = frozenset().union(*(shape.tags for shape in shapes))
    # Batches of several parts have several sizes.
    shards = () if all(shape.shards == () for shape in shapes) else None
    return Shape(names, shapes[0].depth, shapes[0].depth == 0, tags, shards)


def _models(parts: Sequence[Program]) -> list[Model]:
    return [part.model for part in parts]


def _texts(parts: Sequence[Program]) -> str:
    return ",".join("\n    " + repr(part).replace("\n", "\n    ") for part in parts)


def _mix(random: Random, parts: Sequence[Program]) -> Beginning:
    weights = random.choice([[1.0] * len(parts), [float(n + 1) for n in range(len(parts))]])
    if random.random() < 0.2:
        weights[random.randrange(len(parts))] = 0.0
    seed, stop = random.randrange(2**20), random.choice(["first", "all"])
    models = _models(parts)
    has_names = random.random() < 0.4
    # Other weights from an example on.
    later = random.choice([None, None, (random.choice([1, 20, 60]), [*weights[1:], 0.5])])
    arguments = {"weights": weights} if later is None else {"schedule": dict([(0, weights), later])}

    def begin(directory: Path, ranks: Ranks) -> hr.Pipeline:
        pipes: Any = [part.pipeline(directory, ranks) for part in parts]
        if has_names:
            pipes = {f"part {n}": pipe for n, pipe in enumerate(pipes)}
        return hr.mix(pipes, seed=seed, stop=stop, **arguments)

    def model(at: At) -> Items:
        # Counted in a separate run: in the real one, only drawn items are requested.
        counted = at._replace(run=at.run.copy())
        lengths = tuple(len(list(inner(counted.of_part(n)))) for n, inner in enumerate(models))
        changes = () if later is None else ((later[0], tuple(later[1])),)
        drawn = m.draws(lengths, tuple(weights), changes, seed, stop, at.number)
        return m.mix([inner(at.of_part(n)) for n, inner in enumerate(models)], drawn)

    names = ", names" * has_names
    text = f"mix([{_texts(parts)}], {arguments}, {seed}, {stop!r}{names})"
    shape = _shape_of(parts, parts[0].shape.names).with_tags("mix")
    return Beginning("mix", text, begin, model, shape, tuple(parts))


def _concat(random: Random, parts: Sequence[Program]) -> Beginning:
    models = _models(parts)

    def begin(directory: Path, ranks: Ranks) -> hr.Pipeline:
        return hr.concat([part.pipeline(directory, ranks) for part in parts])

    def pieces(at: At) -> list[Items]:
        pairs = enumerate(parts)
        return [piece for number, part in pairs for piece in part.pieces(at.of_part(number))]

    def model(at: At) -> Items:
        if at.pieces is not None and any(part.has_pieces for part in parts):
            return at.in_turn(pieces(at))
        return chain.from_iterable(inner(at.of_part(n)) for n, inner in enumerate(models))

    def numbered(at: At, is_part: bool) -> Numbered:
        inner = [part.numbered(at.of_part(number), True) for number, part in enumerate(parts)]
        ends = list(accumulate(part.count for part in inner))

        def items(order: Sequence[int]) -> Items:
            owners = [bisect_right(ends, number) for number in order]
            coming = [
                part.items(
                    [
                        number - end + part.count
                        for number, owner in zip(order, owners, strict=True)
                        if owner == position
                    ]
                )
                for position, (part, end) in enumerate(zip(inner, ends, strict=True))
            ]
            return (next(coming[owner]) for owner in owners)

        return Numbered(ends[-1], items)

    shape = _shape_of(parts, parts[0].shape.names).with_tags("concat")
    text = f"concat([{_texts(parts)}])"
    return Beginning("concat", text, begin, model, shape, tuple(parts), pieces, numbered=numbered)


def _zip(random: Random, parts: Sequence[Program]) -> Beginning:
    names = ["n", *(f"n{number}" for number in range(1, len(parts)))]
    models, has_keys = _models(parts), random.random() < 0.3

    def begin(directory: Path, ranks: Ranks) -> hr.Pipeline:
        pipelines = [part.pipeline(directory, ranks) for part in parts]
        if has_keys:
            keyed = {
                f"part {number}": output.select("n") for number, output in enumerate(pipelines)
            }
            after = {f"part {number}.n": name for number, name in enumerate(names)}
            return hr.zip(keyed, strict=False).rename(**after)
        renamed = [
            output if name == "n" else output.rename(n=name)
            for name, output in zip(names, pipelines, strict=True)
        ]
        return hr.zip(renamed, strict=False)

    def renamed(name: str, items: Items) -> Items:
        return ({name: item["n"]} if "n" in item else item for item in items)

    def model(at: At) -> Items:
        at = at._replace(pieces=None)
        pairs = enumerate(zip(names, models, strict=True))
        return m.side_by_side(
            [renamed(name, inner(at.of_part(n))) for n, (name, inner) in pairs], at.run
        )

    def numbered(at: At, is_part: bool) -> Numbered:
        inner = [part.numbered(at.of_part(number), True) for number, part in enumerate(parts)]

        def items(order: Sequence[int]) -> Items:
            pairs = zip(names, inner, strict=True)
            return m.side_by_side(
                [renamed(name, part.items(order)) for name, part in pairs], at.run
            )

        return Numbered(min(part.count for part in inner), items)

    shape = _shape_of(parts, frozenset(names)).with_tags("zip")
    keys = ", keys" * has_keys
    text = f"zip([{_texts(parts)}], strict=False{keys})"
    return Beginning("zip", text, begin, model, shape, tuple(parts), numbered=numbered)
