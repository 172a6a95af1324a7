"""Ranks that read different files."""

import json
from collections import Counter
from pathlib import Path

import pytest

import headrace as hr

NUM_FILES = 11
SIZE = 30


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    directory = tmp_path_factory.mktemp("lines")
    for number in range(NUM_FILES):
        text = "".join(f"{number:02}-{line:03}\n" for line in range(SIZE + number))
        (directory / f"{number:02}.txt").write_text(text)
    return hr.text_lines(str(directory / "*.txt"))


def texts_of(batches):
    return [example["text"].decode() for example in batches]


def is_kept(example):
    return not example["text"].endswith(b"3")


def twice(example):
    return [example, example]


def files_of(texts):
    return {text[:2] for text in texts}


CHAINS = {
    "a window": lambda p, r, w: p.shuffle(window=40, seed=1, num_open=3).shard(r, w, by="piece"),
    "files in order": lambda p, r, w: p.shuffle(
        window=40, seed=1, num_open=1, file_order="sequential"
    ).shard(r, w, by="piece"),
    "a filter before": lambda p, r, w: (
        p.filter(is_kept).shuffle(window=40, seed=1).shard(r, w, by="piece")
    ),
    "functions after": lambda p, r, w: (
        p.shuffle(window=40, seed=1).filter(is_kept).flat_map(twice).shard(r, w, by="piece")
    ),
    "epochs before": lambda p, r, w: p.shuffle(window=40, seed=1).epochs(2).shard(r, w, by="piece"),
    "parts of files": lambda p, r, w: p.shuffle(window=40, seed=1, block_bytes=50).shard(
        r, w, by="piece"
    ),
    "a concat": lambda p, r, w: (
        hr.concat([p, p.take(50)]).shuffle(window=40, seed=1).shard(r, w, by="piece")
    ),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_ranks_together_yield_each_example_once(chain, world, lines):
    for num_threads in (1, 3):
        ranks = [
            texts_of(CHAINS[chain](lines, rank, world).options(num_threads=num_threads))
            for rank in range(world)
        ]
        if num_threads == 1:
            first = ranks
        assert ranks == first
    uninterrupted = texts_of(CHAINS[chain](lines, 0, 1))
    assert Counter(text for rank in ranks for text in rank) == Counter(uninterrupted)
    if chain not in ("a concat", "epochs before", "parts of files"):
        # No two ranks read the same file, and every rank has some files.
        files = [files_of(rank) for rank in ranks]
        assert sum(map(len, files)) == NUM_FILES
        assert min(map(len, files)) >= NUM_FILES // world
    if chain != "files in order" and world < 8:
        assert all(rank != sorted(rank) for rank in ranks)


def test_rank_reads_different_files_in_each_epoch(lines):
    rank = lines.shuffle(window=40, seed=1).shard(1, 3, by="piece")
    epochs = [files_of(texts_of(rank.epoch(epoch))) for epoch in range(4)]
    assert len(set(map(frozenset, epochs))) > 1
    together = [
        files_of(texts_of(lines.shuffle(window=40, seed=1).shard(r, 3, by="piece").epoch(2)))
        for r in range(3)
    ]
    assert sum(map(len, together)) == NUM_FILES
    assert together[1] == epochs[2]


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs what Linux counts")
def test_rank_reads_only_its_share(tmp_path):
    for number in range(8):
        (tmp_path / f"{number}.txt").write_text("a line of some length\n" * 20_000)
    lines = hr.text_lines(str(tmp_path / "*.txt")).shuffle(window=100, seed=1)

    def bytes_read():
        (line,) = (s for s in Path("/proc/self/io").read_text().splitlines() if "rchar" in s)
        return int(line.split()[1])

    size = 20_000 * 22
    for by, expected in (("piece", 2 * size), ("example", 8 * size)):
        before = bytes_read()
        list(lines.shard(0, 4, by=by).batch(1000))
        assert expected <= bytes_read() - before < expected + size // 2


@pytest.mark.timeout(60)
@pytest.mark.parametrize("chain", CHAINS)
def test_same_rank_resumes(chain, lines):
    rank = CHAINS[chain](lines, 1, 3).batch(9).epochs(1 if "epochs" in chain else 2)
    with iter(rank) as batches:
        steps, states = [], [batches.state()]
        for batch in batches:
            steps.append(texts_of({"text": text} for text in batch["text"]))
            states.append(json.loads(json.dumps(batches.state())))
    for position in range(0, len(states), 5):
        rest = [texts_of({"text": t} for t in b["text"]) for b in rank.resume(states[position])]
        assert rest == steps[position:]


@pytest.mark.parametrize(("rank", "world"), [(0, 3), (1, 4)])
def test_state_of_a_different_rank_is_rejected(rank, world, lines):
    pipe = lines.shuffle(window=40, seed=1)
    state = iter(pipe.shard(1, 3, by="piece").batch(9)).state()
    message = (
        rf"is shard\({rank}, {world}, 'piece'\), but it was shard\(1, 3, 'piece'\) when the "
        r"state was saved\. With by='piece', each rank reads its own files, so the positions of "
        r"the other ranks are unknown\. Resume with the same rank and number of ranks, or start "
        r"a new epoch with epoch\(e\)\."
    )
    with pytest.raises(ValueError, match=message):
        pipe.shard(rank, world, by="piece").batch(9).resume(state)


def test_describe_shows_the_files_a_rank_reads(lines):
    window, full = lines.shuffle(window=40, seed=1), lines.shuffle(seed=1)
    described = [
        pipe.describe().splitlines()[2]
        for pipe in (window.shard(1, 4, by="piece"), window.shard(1, 4), full.shard(1, 4))
    ]
    assert described == [
        "shard(1, 4, by='piece'); it reads 1 of 4 files, different ones in each epoch",
        "shard(1, 4); it reads all examples and keeps 1 of 4",
        "shard(1, 4); it reads 1 of 4 examples, and scans all files",
    ]


def test_fewer_files_than_ranks_are_rejected(lines):
    pipe = lines.shuffle(window=40, seed=1).shard(1, 12, by="piece")
    message = (
        "shard: by='piece' needs at least one piece per rank, got 11 pieces for 12 "
        "ranks. Write more files, set smaller block_bytes in the window, or omit by"
    )
    with pytest.raises(ValueError, match=message):
        iter(pipe)


REFUSED = {
    "no window": (lambda p: p, "so it needs a windowed shuffle before it, and only parse,"),
    "a full shuffle": (lambda p: p.shuffle(seed=1), "so it needs a windowed shuffle before it"),
    "a batch between": (
        lambda p: p.shuffle(window=9, seed=1).batch(3),
        r"so it needs a windowed shuffle .* Write shuffle\(window=\.\.\.\) before shard\(",
    ),
    "a take before": (
        lambda p: p.take(9).shuffle(window=9, seed=1),
        "but the window does not shuffle whole files of text_lines",
    ),
    "arrays": (
        lambda p: hr.arrays({"n": [1, 2]}).shuffle(window=9, seed=1),
        "but the window does not shuffle whole files of arrays",
    ),
    "a mix": (
        lambda p: hr.mix([p, p], seed=1).shuffle(window=9, seed=1),
        "but mix reads the files of each part separately",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_shard_by_piece_is_rejected_unless_examples_come_by_file(name, lines):
    make, reason = REFUSED[name]
    with pytest.raises(
        ValueError, match=f"^shard: by='piece' assigns whole files to each rank.*{reason}"
    ):
        make(lines).shard(0, 2, by="piece")


def test_unknown_values_of_by_are_rejected(lines):
    window = lines.shuffle(window=9, seed=1)
    with pytest.raises(ValueError, match=r"^shard: by is 'file', expected 'example' or 'piece'\.$"):
        window.shard(0, 2, by="file")
    message = "^shard: even='drop' does not work with by='piece', because the number"
    with pytest.raises(ValueError, match=message):
        window.shard(0, 2, even="drop", by="piece")


def test_shard_by_piece_has_no_length_and_no_digest(lines):
    rank = lines.shuffle(window=9, seed=1).shard(0, 2, by="piece")
    with pytest.raises(TypeError, match="len: the number of examples"):
        len(rank)
    with iter(rank) as batches:
        message = (
            r"no global order, because shard\(\.\.\., by='piece'\) results in a separate "
            "order for each rank"
        )
        with pytest.raises(hr.errors.FailedPreconditionError, match=message):
            batches.digest()
