"""The digest of the global order: the changes that it detects and ignores."""

import json
import re

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors


def numbers(count=60, seed=3):
    return hr.arrays({"n": np.arange(count)}).shuffle(seed=seed)


def is_kept(example):
    return example["n"] % 3 != 1


def same(example):
    return {"n": example["n"]}


def twice(example):
    return [example, example]


def digests_of(pipe, state=None):
    """The digest before each batch, and after the last one."""
    with pipe.resume(state) as batches:
        digests = [batches.digest()]
        for _ in batches:
            digests.append(batches.digest())
    return digests


def states_of(pipe):
    with iter(pipe) as batches:
        states = [batches.state()]
        states.extend(batches.state() for _ in batches)
    return [json.loads(json.dumps(state)) for state in states]


def lines(directory, name="lines", count=40):
    directory.mkdir(exist_ok=True)
    for number in range(3):
        text = "".join(f"{number}-{line}\n" for line in range(count + number))
        (directory / f"{name}-{number}.txt").write_text(text)
    return hr.text_lines(str(directory / f"{name}-*.txt"))


SOURCES = {
    "a shuffle": lambda path: numbers(),
    "a filter": lambda path: numbers().filter(is_kept),
    "a flat map": lambda path: numbers(20).flat_map(twice),
    "files": lines,
    "files read late": lambda path: lines(path).shuffle(seed=5),
    "a window": lambda path: lines(path).shuffle(window=20, seed=5, num_open=2),
    "parts of files": lambda path: lines(path).shuffle(window=9, seed=5, block_bytes=40),
    "a window of arrays": lambda path: hr.arrays({"n": np.arange(60)}).shuffle(window=7, seed=1),
    "a mix": lambda path: hr.mix([numbers(), numbers(40, 9)], [2, 1], seed=4, stop="all"),
    "a concat": lambda path: hr.concat([numbers(), numbers(40, 9)]),
    "a zip": lambda path: hr.zip([numbers(), numbers(60, 9).rename(n="m")]),
    "batches apart": lambda path: numbers().batch(7).unbatch(),
    "a cache": lambda path: numbers().filter(is_kept).cache().epochs(2),
    "take and skip": lambda path: numbers().take(50).skip(3),
    "an iterator": lambda path: hr.iterable(lambda: iter([{"n": n} for n in range(60)])),
    "epochs": lambda path: numbers(30).epochs(3),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("source", SOURCES)
def test_ranks_have_the_same_digest_for_any_number_of_threads_and_any_memory_limit(
    source, tmp_path
):
    pipe = SOURCES[source](tmp_path)
    alone = digests_of(pipe.shard(0, 1).batch(12))
    assert digests_of(pipe.batch(12)) == alone
    assert len(set(alone)) == len(alone)
    assert all(re.fullmatch("[0-9a-f]{16}", digest) for digest in alone)
    for world, size in ((1, 12), (2, 6), (3, 4), (4, 3), (12, 1)):
        for rank in {0, 1, world - 1} & set(range(world)):
            way = {"num_threads": 1 + rank, "memory_bytes": 400_000 * (1 + rank)}
            result = digests_of(pipe.shard(rank, world).batch(size).options(**way))
            # The last batch of all ranks together may be incomplete.
            assert result[: len(alone) - 1] == alone[: len(result)][: len(alone) - 1]


CHAINS = {
    "batches": lambda p: p.batch(4),
    "examples": lambda p: p,
    "a batch that drops": lambda p: p.batch(7, "drop"),
    "functions": lambda p: p.map(same).batch(4).map(same),
    "a batch and epochs": lambda p: p.batch(7).epochs(3),
    "epochs and a batch": lambda p: p.epochs(3).batch(7),
    "epochs": lambda p: p.epochs(2),
    "batches of batches": lambda p: p.batch(4).batch(3),
    "buckets": lambda p: p.map(lambda e: {"x": np.zeros(e["n"] % 7)}).bucket_by_length(
        "x", [2, 4], size=3
    ),
    "packed rows": lambda p: p.map(lambda e: {"x": np.zeros(1 + e["n"] % 7)}).pack(9, ["x"]),
    "a filter of batches": lambda p: p.batch(4).filter(lambda batch: batch["n"].sum() % 3 > 0),
    "a window of batches": lambda p: p.batch(4).shuffle(window=3, seed=1),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("source", ["a shuffle", "a filter", "a flat map"])
def test_digest_continues_after_a_resume(chain, source, tmp_path):
    pipe = CHAINS[chain](SOURCES[source](tmp_path))
    uninterrupted = digests_of(pipe)
    assert len(set(uninterrupted)) == len(uninterrupted) > 3
    states = states_of(pipe)
    for position in range(0, len(states), 1 + len(states) // 7):
        way = {"num_threads": 1 + position % 3}
        result = digests_of(pipe.options(**way), states[position])
        assert result == uninterrupted[position:], position


SHARDED = {
    "batches": lambda p: p.batch(2),
    "examples": lambda p: p,
    "batches and epochs": lambda p: p.batch(2).epochs(3),
    "epochs": lambda p: p.map(same).epochs(2),
    "skip": lambda p: p.skip(3).batch(2),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("chain", SHARDED)
@pytest.mark.parametrize("even", [None, "drop", "pad"])
@pytest.mark.parametrize("count", [61, 72])
def test_ranks_have_the_same_digest_after_each_step_and_after_a_resume(chain, even, count):
    pipe = numbers(count).filter(is_kept)

    def rank_of(rank):
        return SHARDED[chain](pipe.shard(rank, 3, even))

    first, *others = (digests_of(rank_of(rank)) for rank in range(3))
    for other in others:
        num_steps = min(len(first), len(other)) if chain != "epochs" or even else 10
        assert other[:num_steps] == first[:num_steps]
        assert abs(len(other) - len(first)) <= (2 if even is None else 0)
    for rank in (0, 2):
        states, uninterrupted = states_of(rank_of(rank)), digests_of(rank_of(rank))
        for position in range(0, len(states), 1 + len(states) // 7):
            assert digests_of(rank_of(rank), states[position]) == uninterrupted[position:], position


@pytest.mark.parametrize(("old", "new"), [(4, 2), (2, 4), (3, 1), (1, 3)])
def test_digest_continues_with_a_different_number_of_ranks(old, new):
    pipe = numbers(96).filter(is_kept)
    alone = digests_of(pipe.shard(0, 1))
    for rank in range(old):
        states = states_of(pipe.shard(rank, old, "drop"))
        for position in (0, 1, 3):
            for other in range(new):
                with pipe.shard(other, new, "drop").resume(states[position * new]) as batches:
                    for step in range(4):
                        where = position * new * old + step * new
                        assert batches.digest() == alone[where], (rank, position, other, step)
                        next(batches)


def test_digest_covers_the_global_order_up_to_the_last_batch():
    pipe = numbers(40).batch(4)
    behind_two = digests_of(numbers(40).take(8).batch(4))
    assert behind_two[0] != digests_of(pipe)[0]  # Another pipeline.
    batches = iter(pipe.options(num_threads=3).prefetch(5))
    inputs = [batches.digest()]
    for _ in range(3):
        next(batches)
        inputs.append(batches.digest())
    # Rows read ahead do not count, and asking twice changes nothing.
    assert inputs == digests_of(pipe)[:4]
    assert batches.digest() == inputs[-1]
    batches.close()
    assert batches.digest() == inputs[-1]


def test_seeds_files_order_and_filters_change_the_digest(tmp_path):
    files = lines(tmp_path / "a")

    def other(example):
        return example["text"] != b"1-17"

    pipes = [
        files,
        files.shuffle(seed=1),
        files.shuffle(seed=2),
        files.shuffle(window=9, seed=1),
        files.shuffle(window=9, seed=2),
        files.shuffle(window=8, seed=1),
        files.shuffle(window=9, seed=1, num_open=1),
        files.shuffle(window=9, seed=1, num_open=1, file_order="sequential"),
        files.filter(lambda example: True),
        files.filter(other),
        files.skip(1),
        lines(tmp_path / "b", "other"),
        lines(tmp_path / "c", count=39),
        hr.text_lines([str(tmp_path / "a" / f"lines-{n}.txt") for n in (1, 0, 2)]),
        hr.mix([files, files], [1, 2], seed=1),
        hr.mix([files, files], [1, 3], seed=1),
        hr.mix([files, files], [1, 2], seed=2),
    ]
    for position in (0, 100):
        results = []
        for pipe in pipes:
            with iter(pipe) as batches:
                for _ in range(position):
                    next(batches)
                results.append(batches.digest())
        assert len(set(results)) == len(pipes)
    # A directory does not count.
    moved = lines(tmp_path / "d")
    assert digests_of(moved.shuffle(seed=1).batch(30)) == digests_of(
        files.shuffle(seed=1).batch(30)
    )


def test_digest_detects_a_filter_that_differs_between_machines():
    def kept_here(n):
        return lambda example: example["n"] not in n

    here, there = (
        digests_of(hr.arrays({"n": np.arange(40)}).filter(kept_here(lost)).shard(0, 2))
        for lost in ({30}, {31})
    )
    assert here[:16] == there[:16]
    assert not set(here[16:]) & set(there[16:])


def test_each_epoch_has_its_own_digest():
    pipe = numbers(20).batch(5)
    first, second = (
        [batches.digest() for batches in [pipe.epoch(epoch)] for _ in batches] for epoch in (0, 1)
    )
    assert len({*first, *second}) == 8


def test_skipped_examples_do_not_count():
    def failing(example):
        if example["n"] % 10 == 3:
            raise ValueError("no")
        return {"n": example["n"]}

    pipe = numbers().map(failing).skip_errors(50)
    ranks = [digests_of(pipe.shard(rank, 3, even="drop").batch(2)) for rank in range(3)]
    assert ranks[0] == ranks[1] == ranks[2]
    assert len(ranks[0]) == 1 + 9


REFUSED = {
    "a filter after shard": (
        lambda: numbers().shard(0, 2).filter(is_kept),
        r"filter follows shard, so the positions of the other ranks are unknown\. Write "
        r"shard\(\.\.\.\) after it\.",
    ),
    "a window after shard": (
        lambda: numbers().shard(0, 2).shuffle(window=3, seed=1).batch(4),
        "shuffle follows shard, so the positions",
    ),
    # After the last example that it takes, other ranks' examples are not read.
    "take after shard": (lambda: numbers().shard(0, 2).take(9), "take follows shard, so the"),
    "a shard in a part": (
        lambda: hr.mix([numbers().shard(0, 2), numbers().shard(0, 2)], seed=1).batch(4),
        r"one of the combined pipelines has a shard, so each rank has its own order\. Write "
        r"shard\(\.\.\.\) after the combination\.",
    ),
    "two shards": (
        lambda: numbers().shard(0, 2).shard(0, 2),
        "the pipeline has several shards",
    ),
    "epochs between": (
        lambda: numbers().shard(0, 2).epochs(2).batch(4),
        r"epochs comes between shard and batch, so ranks may be at different positions\. Write "
        r"epochs\(\.\.\.\) before shard\(\.\.\.\), or batch\(\.\.\.\) before epochs\(\.\.\.\)\.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_digest_requires_a_global_order(name):
    make, reason = REFUSED[name]
    with iter(make()) as batches:
        next(batches)
        with pytest.raises(
            errors.FailedPreconditionError,
            match="digest: the batches have no global order, because " + reason,
        ):
            batches.digest()
        # A state has none, and resumes nevertheless.
        assert batches.state()["digest"] is None
        rest = list(batches)
    assert len(list(make().resume(iter(make()).state()))) == len(rest) + 1


def test_nondeterministic_pipeline_has_no_digest():
    with iter(numbers().options(deterministic=False)) as batches:
        message = (
            r"digest: the pipeline has options\(deterministic=False\), so its order is not fixed"
        )
        with pytest.raises(errors.FailedPreconditionError, match=message):
            batches.digest()


def test_incomplete_step_has_no_digest_after_close():
    def examples():
        yield from ({"n": n} for n in range(5))
        raise ValueError("the storage is gone")

    with iter(hr.iterable(examples).shard(0, 4)) as batches:
        next(batches)
        assert re.fullmatch("[0-9a-f]{16}", batches.digest())
        next(batches)
        message = "digest: pipeline '.*' ended before it saw the examples of the other ranks in the"
        with pytest.raises(errors.FailedPreconditionError, match=message):
            batches.digest()
    assert batches.state()["digest"] is not None


def test_digest_adds_few_bytes_to_a_state():
    batches = iter(numbers(100_000).shard(0, 4).batch(100))
    for _ in range(20):
        next(batches)
    with_it = json.dumps(batches.state())
    assert len(with_it) < 450
    batches.close()
