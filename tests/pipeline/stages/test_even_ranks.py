"""Ranks that get the same number of batches."""

import json
from collections import Counter

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors


def numbers_of(batches):
    return [int(number) for batch in batches for number in np.ravel(batch["n"])]


def is_kept(example):
    return example["n"] % 3 != 1


def doubled(example):
    return {"n": example["n"]}


SOURCES = {
    "examples": lambda count: hr.arrays({"n": np.arange(count)}),
    "a shuffle": lambda count: hr.arrays({"n": np.arange(count)}).shuffle(seed=3),
    "a filter": lambda count: hr.arrays({"n": np.arange(count)}).shuffle(seed=3).filter(is_kept),
    "a window after a filter": lambda count: (
        hr.arrays({"n": np.arange(count)}).filter(is_kept).shuffle(window=7, seed=3)
    ),
}


def ranks_of(pipe, world, even):
    return [numbers_of(pipe.shard(rank, world, even)) for rank in range(world)]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_last_examples_are_dropped_or_repeated(source, world):
    for count in (0, 1, 2, 7, 8, 9, 23, 24, 25, 31):
        pipe = SOURCES[source](count)
        order = numbers_of(pipe)
        full = len(order) // world * world
        dropped = ranks_of(pipe, world, "drop")
        assert dropped == [order[:full][rank::world] for rank in range(world)]
        # Ranks without an example in the last step repeat the examples of other ranks in turn.
        last = order[full:]
        filled = order[:full] + [last[rank % len(last)] for rank in range(world) if last]
        assert ranks_of(pipe, world, "pad") == [filled[rank::world] for rank in range(world)]


@pytest.mark.parametrize("source", ["examples", "a shuffle"])
def test_length_is_counted_per_rank(source):
    for count in range(20):
        for world in (1, 3, 8):
            for even in ("drop", "pad"):
                shards = [SOURCES[source](count).shard(r, world, even) for r in range(world)]
                lengths = [len(shard) for shard in shards]
                assert lengths == [len(list(shard)) for shard in shards]
                assert len(set(lengths)) == 1
                assert len(shards[0].batch(4)) == len(list(shards[0].batch(4)))


@pytest.mark.parametrize("even", ["drop", "pad"])
def test_shard_after_batch_drops_or_repeats_whole_batches(even):
    pipe = hr.arrays({"n": np.arange(26)}).batch(4)
    ranks = [[batch["n"].tolist() for batch in pipe.shard(r, 3, even)] for r in range(3)]
    assert [len(rank) for rank in ranks] == [2, 2, 2] if even == "drop" else [3, 3, 3]
    assert [rank[:2] for rank in ranks] == [
        [[0, 1, 2, 3], [12, 13, 14, 15]],
        [[4, 5, 6, 7], [16, 17, 18, 19]],
        [[8, 9, 10, 11], [20, 21, 22, 23]],
    ]
    assert [rank[2:] for rank in ranks] == ([[]] * 3 if even == "drop" else [[[24, 25]]] * 3)


@pytest.mark.parametrize("world", [2, 3, 8])
@pytest.mark.parametrize("even", ["drop", "pad"])
def test_every_rank_has_the_same_number_of_batches_per_epoch(world, even):
    pipe = SOURCES["a filter"](100)
    for chain in (
        lambda p: p.batch(4).epochs(3),
        lambda p: p.epochs(3).batch(4),
        lambda p: p.map(doubled).take(9).skip(2).batch(4).epochs(2),
        lambda p: p.shuffle(window=5, seed=1).cache().epochs(2).batch(4, "drop"),
    ):
        ranks = [numbers_of(chain(pipe.shard(rank, world, even))) for rank in range(world)]
        assert len({len(rank) for rank in ranks}) == 1
        assert ranks[0]


def test_combinations_of_even_parts_are_even():
    a, b = SOURCES["a filter"](50), SOURCES["examples"](31)
    for combine in (
        lambda x, y: hr.mix([x, y], [2, 1], seed=4),
        lambda x, y: hr.mix([x, y], [2, 1], seed=4, stop="all"),
        lambda x, y: hr.concat([x, y]),
        lambda x, y: hr.zip([x, y.rename(n="m")], strict=False),
    ):
        ranks = [
            list(combine(a.shard(rank, 4, "drop"), b.shard(rank, 4, "pad")).batch(3))
            for rank in range(4)
        ]
        assert len({len(rank) for rank in ranks}) == 1


def test_ranks_are_even_after_skipped_examples():
    def failing(example):
        if example["n"] in (3, 17, 30):
            raise ValueError("no")
        return example

    pipe = hr.arrays({"n": np.arange(36)}).map(failing).skip_errors(10)
    assert [len(rank) for rank in ranks_of(pipe, 4, "drop")] == [8] * 4
    assert [len(rank) for rank in ranks_of(pipe, 4, "pad")] == [9] * 4


@pytest.mark.parametrize("kind", ["arrays", "files read late", "through a function"])
def test_mask_of_a_padded_batch_marks_repeated_examples(kind, tmp_path):
    (tmp_path / "lines.txt").write_text("".join(f"{n}\n" for n in range(10)))
    lines = hr.text_lines(str(tmp_path / "lines.txt"))
    pipes = {
        "arrays": hr.arrays({"text": np.array([str(n).encode() for n in range(10)], object)}),
        "files read late": lines.shuffle(seed=5),
        "through a function": lines.map(lambda example: {"text": example["text"]}),
    }
    order = [example["text"] for example in pipes[kind]]
    pairs = []
    for rank in range(4):
        (batch,) = pipes[kind].shard(rank, 4, even="pad").batch(5, "pad")
        pairs.append(list(zip(batch["text"].tolist(), batch["mask"].tolist(), strict=True)))
    filled = [(b"", False)] * 2
    assert pairs == [
        [(order[0], True), (order[4], True), (order[8], True), *filled],
        [(order[1], True), (order[5], True), (order[9], True), *filled],
        [(order[2], True), (order[6], True), (order[8], False), *filled],
        [(order[3], True), (order[7], True), (order[9], False), *filled],
    ]


def states_of(pipe):
    with iter(pipe) as batches:
        states, steps = [batches.state()], []
        for batch in batches:
            steps.append(numbers_of([batch]))
            states.append(batches.state())
    return steps, [json.loads(json.dumps(state)) for state in states]


CHAINS = {
    "examples": lambda p, size: p,
    "batches": lambda p, size: p.batch(size),
    "batches and epochs": lambda p, size: p.batch(size).epochs(2),
    "epochs and batches": lambda p, size: p.epochs(2).batch(size),
    "functions": lambda p, size: p.map(doubled).batch(size).map(doubled).epochs(2),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("even", ["drop", "pad"])
@pytest.mark.parametrize("count", [37, 48])
def test_state_resumes_with_the_same_batches_on_the_same_number_of_ranks(chain, even, count):
    for rank in range(3):
        pipe = CHAINS[chain](SOURCES["a filter"](count).shard(rank, 3, even), 2)
        steps, states = states_of(pipe)
        for position, state in enumerate(states):
            rest = [numbers_of([batch]) for batch in pipe.resume(state)]
            assert rest == steps[position:], position


@pytest.mark.timeout(120)
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("even", ["drop", "pad"])
@pytest.mark.parametrize(("old", "new"), [(4, 2), (2, 4), (3, 1), (1, 3)])
def test_changed_number_of_ranks_stays_even_and_repeats_no_example(
    chain, even, old, new, is_nightly
):
    source = SOURCES["a filter"](61)
    order = numbers_of(source)

    def pipeline(rank, world):
        return CHAINS[chain](source.shard(rank, world, even), 2)

    num_epochs = 2 if "epochs" in chain or chain == "functions" else 1
    ranks = [states_of(pipeline(rank, old)) for rank in range(old)]
    assert len({len(steps) for steps, _ in ranks}) == 1
    num_accepted, refusals = 0, set()
    for position in range(0, len(ranks[0][0]) + 1, 1 if is_nightly else 5):
        value = Counter(n for steps, _ in ranks for step in steps[:position] for n in step)
        for _, states in ranks:
            try:
                rest = [
                    numbers_of(pipeline(rank, new).resume(states[position])) for rank in range(new)
                ]
            except (ValueError, errors.InvalidArgumentError) as error:
                refusals.add("is not a multiple" in " ".join(str(error).split()))
                continue
            num_accepted += 1
            assert len({len(rank) for rank in rest}) == 1
            together = value + Counter(n for rank in rest for n in rank)
            assert set(together) <= set(order)
            # An epoch drops or repeats less than one example per rank.
            most = num_epochs * (max(old, new) - 1)
            if even == "drop":
                assert max(together.values()) <= num_epochs
                assert together.total() >= num_epochs * len(order) - most
            else:
                assert min(together[n] for n in order) >= num_epochs
                assert together.total() <= num_epochs * len(order) + most
    assert num_accepted >= old
    assert refusals <= {True}


REFUSED = {
    "filter": lambda p: p.filter(is_kept),
    "flat_map": lambda p: p.flat_map(lambda example: [example]),
    "unbatch": lambda p: p.batch(2).unbatch(),
    "split": lambda p: p.split(0.5, 0.5),
    "skip_errors": lambda p: p.skip_errors(1),
    "bucket_by_length": lambda p: p.bucket_by_length("x", [3], size=2),
    "pack": lambda p: p.select("x").pack(8, ["x"]),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("where", ["alone", "in a part"])
def test_stages_that_would_make_ranks_uneven_are_rejected_at_the_call(name, where):
    ids = [np.arange(n) for n in (1, 2, 3)]
    pipe = hr.iterable(lambda: iter([{"n": 1, "x": x} for x in ids]))
    shard = pipe.shard(0, 2, even="drop")
    if where == "in a part":
        shard = hr.concat([pipe, shard])
    message = (
        rf"^{name}: cannot come after shard\(\.\.\., even='drop'\), which gives all ranks the same "
        rf"number of batches, because {name} may leave a different number on each rank\. Write "
        rf"{name}\(\.\.\.\) before shard\(\.\.\.\), or remove even\.$"
    )
    with pytest.raises(ValueError, match=message):
        REFUSED[name](shard)
    if name != "skip_errors":
        REFUSED[name](pipe)


def test_unknown_value_of_even_is_rejected():
    with pytest.raises(ValueError, match=r"^shard: even is 'keep', expected 'drop' or 'pad' to"):
        hr.arrays({"n": [1]}).shard(0, 1, even="keep")


def test_uneven_ranks_reject_a_state_of_even_ranks():
    pipe = hr.arrays({"n": np.arange(20)})
    _, states = states_of(pipe.shard(0, 2, even="drop"))
    message = r"stage 1 is shard\(even='pad'\), but it was shard\(even='drop'\) when the"
    with pytest.raises(ValueError, match=message):
        pipe.shard(0, 2, even="pad").resume(states[1])


def test_describe_shows_even():
    shard = hr.arrays({"n": np.arange(20)}).shard(0, 2, even="drop")
    assert shard.describe().splitlines()[1] == "shard(0, 2, even='drop')"
    assert hr.arrays({"n": [1]}).shard(0, 2).describe().splitlines()[1] == "shard(0, 2)"
