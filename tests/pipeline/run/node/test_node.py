"""Ranks that share one engine: the same batches, states and errors as ranks that don't."""

import contextlib
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.run.node import rank_program
from tests.pipeline.run.node.in_process import shared_ranks
from tests.tiers import nightly_after

import headrace as hr

PROGRAM = Path(rank_program.__file__)
NAMES = tuple(rank_program.pipelines(Path(), 0, 1))
WITHOUT_ORDER = ("filter after", "window after", "skips after")
NUM_LINES = (120, 61, 143)
TIMEOUT = 40.0


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    path = tmp_path_factory.mktemp("node")
    number = 0
    for file, count in enumerate(NUM_LINES):
        with open(path / f"{file}.jsonl", "w") as lines:
            for _ in range(count):
                lines.write(json.dumps({"n": number, "text": f"line {number}" * 3}) + "\n")
                number += 1
    return path


class Rank:
    """A process of the program."""

    def __init__(self, number, size, shard, options, port):
        environment = {
            **os.environ,
            "LOCAL_RANK": str(number),
            "LOCAL_WORLD_SIZE": str(size),
            "RANK": str(number),
            "WORLD_SIZE": str(size),
            "MASTER_ADDR": "localhost",
            "MASTER_PORT": str(port),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.pipeline.run.node.rank_program"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        self.lines = []
        self.arrived = threading.Condition()
        self.is_over = False
        what = {"rank": shard[0], "world": shard[1], **options}
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        self.errors = ""
        self.threads = [
            threading.Thread(target=self.read),
            threading.Thread(target=self.read_errors),
        ]
        for thread in self.threads:
            thread.start()

    def read(self):
        for text in self.process.stdout:
            with self.arrived:
                self.lines.append(json.loads(text))
                self.arrived.notify_all()
        with self.arrived:
            self.is_over = True
            self.arrived.notify_all()

    def read_errors(self):
        self.errors = self.process.stderr.read()

    def wait_for(self, count):
        """Waits until it has printed as many steps, or has ended."""
        with self.arrived:
            is_there = self.arrived.wait_for(
                lambda: len(self.lines) > count or self.is_over or self.is_done, TIMEOUT
            )
        assert is_there, f"only {len(self.lines)} lines: {self.lines[-1:]}"

    @property
    def is_done(self):
        return bool(self.lines) and self.lines[-1].get("sum", "") is None

    @property
    def steps(self):
        return [line for line in self.lines if "step" in line]

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("\n")
            self.process.stdin.close()
        try:
            return self.process.wait(TIMEOUT)
        finally:
            self.process.kill()
            self.process.wait()
            for thread in self.threads:
                thread.join()
            self.process.stdout.close()
            self.process.stderr.close()


ports = iter(range(20_000 + os.getpid() % 20_000 * 2, 1_000_000))


@contextlib.contextmanager
def running(directory, name, shards, node="shared", states=None, each=None, **options):
    """Runs a process for each rank, and ends all of them."""
    port = next(ports)
    ranks = []
    try:
        for number, shard in enumerate(shards):
            what = {
                "directory": str(directory),
                "name": name,
                "node": node,
                "has_order": name not in WITHOUT_ORDER,
                "state": None if states is None else states[number],
                **options,
                **(each or {}).get(number, {}),
            }
            ranks.append(Rank(number, len(shards), shard, what, port))
        yield ranks
    finally:
        for rank in ranks:
            if not (rank.is_done or rank.is_over):
                rank.process.kill()
        codes = [rank.end() for rank in ranks]
        errors = [rank.errors for rank in ranks]
    print(codes, *errors)


def outputs(directory, name, shards, **options):
    with running(directory, name, shards, **options) as ranks:
        for rank in ranks:
            rank.wait_for(10**9)
        return [rank.steps for rank in ranks]


def expected(directory, name, shard, state=None):
    """The steps of a rank without a shared engine."""
    pipe = rank_program.pipelines(directory, *shard)[name]
    with iter(pipe) if state is None else pipe.resume(state) as batches:
        steps = list(rank_program.steps_of(batches, name not in WITHOUT_ORDER))
    return [json.loads(json.dumps(step)) for step in steps]


def comparable(steps):
    """The steps without the parts of a state that depend on timing."""
    ignored = ("owner", "state")
    return [{key: value for key, value in step.items() if key not in ignored} for step in steps]


def check(directory, name, shards, results, states=None):
    for number, (shard, steps) in enumerate(zip(shards, results, strict=True)):
        wanted = expected(directory, name, shard, states and states[number])
        assert comparable(steps) == comparable(wanted), f"rank {number}"


def shards_of(name, size):
    return [(0, 1)] * size if name == "same" else [(rank, size) for rank in range(size)]


def outputs_here(directory, name, shards, states=None, most=10**9):
    """The steps of ranks that are iterations of this process, which take turns."""
    pipelines = [rank_program.pipelines(directory, *shard)[name] for shard in shards]
    results = [[] for _ in shards]
    with shared_ranks(pipelines, states) as iterations:
        steps = [
            rank_program.steps_of(batches, name not in WITHOUT_ORDER) for batches in iterations
        ]
        for turn in itertools.count():
            running = [
                (number, step) for number, one in enumerate(steps) for step in islice(one, 1)
            ]
            for number, step in running:
                results[number].append(step)
            if not running or turn + 1 == most:
                break
    return json.loads(json.dumps(results))


@pytest.mark.parametrize("name", NAMES)
def test_ranks_get_the_same_batches_as_from_separate_engines(directory, name):
    shards = shards_of(name, 3)
    results = outputs_here(directory, name, shards)
    check(directory, name, shards, results)
    # A state of a shared engine resumes without it.
    if not name.startswith("fails"):
        for shard, steps in zip(shards, results, strict=True):
            middle = len(steps) // 2
            rest = expected(directory, name, shard, steps[middle]["state"])
            wanted = [{**step, "step": step["step"] - middle - 1} for step in steps[middle + 1 :]]
            assert comparable(rest) == comparable(wanted)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", nightly_after(2, ["processes", "same", *NAMES[:8]]))
def test_processes_get_the_same_batches_as_from_separate_engines(directory, name):
    shards = shards_of(name, 2)
    check(directory, name, shards, outputs(directory, name, shards))


def test_ranks_with_the_same_share_get_the_same_batches(directory):
    shards = [(0, 2), (0, 2), (1, 2), (1, 2)]
    results = outputs_here(directory, "window", shards)
    check(directory, "window", shards, results)
    assert comparable(results[0]) == comparable(results[1])


def test_changes_to_a_batch_are_not_seen_by_other_ranks():
    pipe = hr.arrays({"x": np.arange(3000), "text": [b"text"] * 3000}).batch(1000)
    with shared_ranks([pipe] * 3) as iterations:
        for number in range(3):
            for batches in iterations:
                batch = next(batches)
                assert batch["x"].tolist() == [*range(number * 1000, number * 1000 + 1000)]
                assert set(batch["text"]) == {b"text"}
                batch["x"][:] = -1
                batch["text"][:] = None


def test_batches_of_very_different_sizes_do_not_block_each_other():
    # A rank may hold 2 MB of unused batches.
    sizes = [5, 5, 5, 3 << 20, 5, 3 << 20, 5, 5, 5, 5, 5, 5] * 4

    def zeros(example):
        return {"size": example["size"], "x": np.zeros(example["size"], np.uint8)}

    pipe = hr.arrays({"size": sizes}).map(zeros).batch(1).options(memory_bytes=16 << 20)
    with shared_ranks([pipe] * 2) as iterations:
        for size in sizes:
            assert [next(batches)["x"].shape for batches in iterations] == [(1, size)] * 2


@pytest.mark.parametrize("name", ["window", "filter after", "mix", "skips", "epochs after"])
def test_states_of_separate_engines_resume_in_a_shared_one(directory, name):
    shards = shards_of(name, 2)
    states = [expected(directory, name, shard)[9]["state"] for shard in shards]
    results = outputs_here(directory, name, shards, states)
    check(directory, name, shards, results, states)


def test_shared_states_resume_on_a_different_number_of_ranks(directory):
    two = outputs_here(directory, "window", shards_of("window", 2), most=9)
    # The number of examples so far, 72, is a multiple of 3.
    states = [two[1][8]["state"]] * 3
    shards = shards_of("window", 3)
    results = outputs_here(directory, "window", shards, states)
    check(directory, "window", shards, results, states)


def test_ranks_at_different_positions_resume_together(directory):
    shards = shards_of("window", 2)
    states = [expected(directory, "window", shards[0])[4]["state"], None]
    states[1] = expected(directory, "window", shards[1])[11]["state"]
    results = outputs_here(directory, "window", shards, states)
    check(directory, "window", shards, results, states)


@pytest.mark.parametrize("closing", range(3))
def test_closing_one_rank_does_not_stop_the_others(directory, closing):
    shards = shards_of("window", 3)
    pipelines = [rank_program.pipelines(directory, *shard)["window"] for shard in shards]
    with shared_ranks(pipelines) as iterations:
        results = [[rank_program.sum_of(next(batches))] for batches in iterations]
        iterations[closing].close()
        others = [number for number in range(3) if number != closing]
        while step := [(number, b) for number in others for b in islice(iterations[number], 1)]:
            for number, batch in step:
                results[number].append(rank_program.sum_of(batch))
    wanted = [[step["sum"] for step in expected(directory, "window", shard)] for shard in shards]
    assert [results[number] for number in others] == [wanted[number][:-1] for number in others]


def test_slow_rank_keeps_the_others_within_a_few_batches(directory):
    shards = shards_of("epochs", 2)
    with running(directory, "epochs", shards, each={1: {"pause": 0.05}}) as ranks:
        ranks[1].wait_for(20)
        with ranks[0].arrived:
            ahead = len(ranks[0].lines) - len(ranks[1].lines)
        assert ahead < 30
        for rank in ranks:
            rank.wait_for(10**9)
        results = [rank.steps for rank in ranks]
    check(directory, "epochs", shards, results)


def test_dump_of_waits_names_the_slow_rank(directory):
    pipelines = [rank_program.pipelines(directory, rank, 2)["epochs"] for rank in range(2)]
    with shared_ranks(pipelines) as iterations:
        for batches in iterations:
            next(batches)
        # Rank 1 takes no more batches, so rank 0 runs out of them.
        thread = threading.Thread(target=lambda: [next(iterations[0]) for _ in range(40)])
        thread.start()
        deadline = time.monotonic() + TIMEOUT
        while "waits for local rank 1," not in (
            text := "\n".join(iterations[0].activity_lines({}))
        ):
            assert time.monotonic() < deadline, text
            thread.join(0.05)
        for _ in range(40):
            next(iterations[1])
        thread.join(TIMEOUT)
        assert not thread.is_alive()


def killed(directory, name, shards, kills, seed):
    """Kills owners, and other ranks, at random steps. Returns the steps of the ranks that live."""
    draws = random.Random(seed)
    with running(directory, name, shards, pause=0.002) as ranks:
        alive = list(range(len(ranks)))
        step = 0
        pauses = []
        for _ in range(kills):
            step += draws.randrange(1, 12)
            for number in alive:
                ranks[number].wait_for(step)
            owner = next(
                (line["owner"] for line in reversed(ranks[alive[0]].lines) if line.get("owner")),
                None,
            )
            victims = [n for n in alive if ranks[n].process.pid == owner]
            victim = victims[0] if victims and draws.random() < 0.8 else draws.choice(alive)
            ranks[victim].process.send_signal(signal.SIGKILL)
            alive.remove(victim)
            begin = time.monotonic()
            for number in alive:
                ranks[number].wait_for(len(ranks[number].lines) + 10)
            pauses.append(time.monotonic() - begin)
        for number in alive:
            ranks[number].wait_for(10**9)
        return {number: ranks[number].steps for number in alive}, pauses


@pytest.mark.timeout(180)
@pytest.mark.parametrize("seed", nightly_after(1, range(3)))
@pytest.mark.parametrize(
    "name", nightly_after(3, ["epochs", "filter after", "mix", "skips", "full"])
)
def test_other_ranks_continue_when_the_owner_is_killed(directory, name, seed):
    shards = shards_of(name, 4)
    results, pauses = killed(directory, name, shards, 2, seed)
    for number, steps in results.items():
        assert comparable(steps) == comparable(expected(directory, name, shards[number]))
    assert max(pauses) < 10


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_a_thousand_kills_lose_no_batch(directory):
    wanted = {}
    for seed in range(500):
        name = ("epochs", "maps", "mix", "skips")[seed % 4]
        results, _ = killed(directory, name, shards_of(name, 4), 2, seed)
        for number, steps in results.items():
            key = name, number
            if key not in wanted:
                wanted[key] = comparable(expected(directory, name, (number, 4)))
            assert comparable(steps) == wanted[key], f"seed {seed}"


def test_nothing_is_left_after_all_ranks_are_killed(directory):
    def names():
        sockets = re.findall("@headrace-.*", Path("/proc/net/unix").read_text())
        return {*os.listdir("/tmp"), *os.listdir("/dev/shm"), *sockets}

    before = names()
    with running(directory, "epochs", shards_of("epochs", 2), pause=0.01) as ranks:
        for rank in ranks:
            rank.wait_for(5)
        for rank in ranks:
            rank.process.kill()
    assert not [name for name in names() - before if "headrace" in name]


REFUSED = {
    "needs batches": lambda p: p.shard(0, 2),
    "no seed": lambda p: p.shuffle(window=10).batch(2),
    "cache after shard": lambda p: p.shard(0, 2).cache().batch(2),
    "deterministic=False": lambda p: p.batch(2).options(deterministic=False),
    "works with one shard": lambda p: p.shard(0, 2).shard(0, 2).batch(2),
    "has its own": lambda p: hr.concat([p.shard(0, 2), p]).batch(2),
}


@pytest.mark.parametrize("words", REFUSED)
def test_different_pipelines_are_rejected(monkeypatch, words):
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_PORT", "1")
    pipe = REFUSED[words](hr.arrays({"x": range(8)})).options(node="shared")
    with pytest.raises(ValueError, match=f"^options: node='shared' .*{words}"):
        iter(pipe)


def test_unknown_local_rank_is_an_error(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    pipe = hr.arrays({"x": range(8)}).batch(2).options(node="shared")
    with pytest.raises(RuntimeError, match=r"LOCAL_RANK=None.*torchrun"):
        iter(pipe)
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match="MASTER_PORT"):
        iter(pipe)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "1")
    assert len(list(pipe)) == 4


def test_node_must_be_known():
    with pytest.raises(ValueError, match="node is 'both', expected 'shared' or 'separate'"):
        hr.arrays({"x": range(8)}).options(node="both")
