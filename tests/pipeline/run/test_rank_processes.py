"""Ranks in their own processes: numbers of steps, order, digest, and the bytes they read."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import headrace as hr
from headrace import records

NAMES = [f"{source}, {even}" for source in ("filter", "shuffle") for even in ("drop", "pad")]
RECORD_BYTES = 3000
# Files of different lengths.
SIZES = (100, 37, 160)
TIMEOUT = 100


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    path = tmp_path_factory.mktemp("ranks")
    for number, size in enumerate(SIZES):
        with records.TFRecordWriter(str(path / f"part-{number}.tfrecord")) as writer:
            for record in range(size):
                text = b"%02d-%05d" % (number, record)
                writer.write(text + b"." * RECORD_BYTES + text[-1:])
    return path


def run_ranks(directory, world, saved=None):
    """Runs a process for each rank, at the same time, and returns the output of each."""
    program = [sys.executable, str(Path(__file__).with_name("rank_process.py")), str(directory)]
    processes = [
        subprocess.Popen(
            [*program, str(rank), str(world)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    for process in processes:
        process.stdin.write(json.dumps(saved or {}))
        process.stdin.close()
        process.stdin = None
    outputs = [process.communicate(timeout=TIMEOUT)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * world
    return list(map(json.loads, outputs))


@pytest.fixture(scope="module")
def three(directory):
    return run_ranks(directory, 3)


@pytest.fixture(scope="module")
def others(directory, three):
    """Two and eight ranks, which also resume where three ranks were after six steps."""
    saved = {name: three[1][name]["state"] for name in NAMES}
    return {world: run_ranks(directory, world, saved) for world in (2, 8)}


def in_order(directory, name):
    """The records of both epochs, in the global order, and the digest after each."""
    pipe = hr.tfrecords(str(directory / "*.tfrecord"))
    if name.startswith("filter"):
        pipe = pipe.shuffle(window=50, seed=1, num_open=2)
        pipe = pipe.filter(is_kept)
    else:
        pipe = pipe.shuffle(seed=2)
    return [[e["record"][:8].decode() for e in pipe.epoch(epoch)] for epoch in (0, 1)]


def is_kept(example):
    return not example["record"].endswith(b"3")


def given_of(ranks, name):
    return Counter(text for rank in ranks for step in rank[name]["steps"] for text in step)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", NAMES)
def test_all_processes_have_equal_steps_and_digests(name, directory, three, others):
    for ranks in (three, others[2], others[8]):
        lengths = [list(map(len, rank[name]["steps"])) for rank in ranks]
        assert lengths == [lengths[0]] * len(ranks)
        digests = [rank[name]["digests"] for rank in ranks]
        assert digests == [digests[0]] * len(ranks)
        assert len(set(digests[0])) == len(digests[0])
        first, second = in_order(directory, name)
        assert first != second
        rest = len(first) % len(ranks)
        full = Counter(first + second)
        if name.endswith("drop"):
            full -= Counter(first[len(first) - rest :] + second[len(second) - rest :])
        else:
            for order in (first, second):
                last = order[len(order) - rest :]
                full += Counter(last[rank % rest] for rank in range(rest, len(ranks)) if rest)
        assert given_of(ranks, name) == full


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("world", [2, 8])
def test_different_number_of_processes_resumes_where_three_stopped(
    name, world, directory, three, others
):
    value = Counter(text for rank in three for step in rank[name]["steps"][:6] for text in step)
    assert value.total() == 3 * 6 * 4
    rests = [rank[f"{name}, resumed"] for rank in others[world]]
    assert len(set(map(len, rests))) == 1
    assert len({json.dumps([digest for _, digest in rest]) for rest in rests}) == 1
    follows = Counter(text for rest in rests for step, _ in rest for text in step)
    first, second = in_order(directory, name)
    missing = Counter(first + second) - value - follows
    repeated = value + follows - Counter(first + second)
    most = len(first) % world + len(second) % world
    if name.endswith("drop"):
        assert (missing.total(), repeated.total()) == (most, 0)
    else:
        assert (missing.total(), repeated.total()) == (0, most and 2 * world - most)
    # The digest at a position of the order is equal for all numbers of ranks.
    at = {4 * world * (1 + step): digest for step, (_, digest) in enumerate(rests[0])}
    of_three = {12 * (1 + step): digest for step, digest in enumerate(three[0][name]["digests"])}
    epoch = len(first) - len(first) % 24
    common = {index for index in range(73, epoch) if index in of_three and index - 72 in at}
    assert common
    assert all(of_three[index] == at[index - 72] for index in common)


@pytest.mark.timeout(300)
@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs what Linux counts")
def test_process_reads_only_its_share_after_a_full_shuffle(three, others):
    full = sum(SIZES) * RECORD_BYTES
    for ranks in (three, others[2], others[8]):
        for rank in ranks:
            (first, bytes_of_first), (second, bytes_of_second) = rank["read"]
            # Records are small, so the first epoch reads all to find where they begin.
            share = first * RECORD_BYTES
            assert full + share <= bytes_of_first < 1.1 * (full + share)
            share = second * RECORD_BYTES
            assert share <= bytes_of_second < 1.3 * share
        assert sum(rank["read"][0][0] for rank in ranks) == sum(SIZES)
