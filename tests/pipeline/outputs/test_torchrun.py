"""Ranks started by `torchrun`: equal numbers of steps, all examples, other numbers of ranks."""

import json
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.torchrun import torchrun

pytestmark = [
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.timeout(300),
]

# Lines in each file, of different numbers.
SIZES = (101, 37, 160)
NUM_EPOCHS = 2
# Until then, the number of examples is a multiple of each number of ranks.
SAVED_STEP = 6
BATCH_SIZE = 4


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    path = tmp_path_factory.mktemp("lines")
    for number, size in enumerate(SIZES):
        text = "".join(f"{number}-{line:03}\n" for line in range(size))
        (path / f"{number}.txt").write_text(text)
    return path


def kept_lines():
    """The lines that pass the program's filter, once for each epoch."""
    lines = (f"{n}-{line:03}" for n, size in enumerate(SIZES) for line in range(size))
    return Counter({line: NUM_EPOCHS for line in lines if not line.endswith("3")})


def run_ranks(directory, world, results, state=None, *options):
    """Runs the program with the given number of ranks, and returns the steps and state of each."""
    results.mkdir()
    state_file = results / "state"
    if state is not None:
        state_file.write_text(json.dumps(state))
    program = Path(__file__).with_name("torchrun_training.py")
    torchrun(world, program, directory, results, state_file, *options, timeout=120)
    return [json.loads((results / f"{rank}.json").read_text()) for rank in range(world)]


@pytest.fixture(scope="module")
def two(directory, tmp_path_factory):
    return run_ranks(directory, 2, tmp_path_factory.mktemp("two") / "results")


def lines_of(steps):
    return Counter(line for step in steps for line in step)


def check_padding(actual, expected, world):
    """Checks that all lines came, and that only the end of an epoch repeats some."""
    assert expected - actual == Counter()
    assert (actual - expected).total() <= NUM_EPOCHS * (world - 1)


def test_two_ranks_have_equal_steps_and_cover_all_examples(two):
    lengths = [list(map(len, rank["steps"])) for rank in two]
    assert lengths[0] == lengths[1]
    check_padding(sum((lines_of(rank["steps"]) for rank in two), Counter()), kept_lines(), 2)


@pytest.mark.parametrize(("saved_rank", "world"), [(0, 1), (1, 3)])
def test_different_number_of_ranks_resumes_where_two_stopped(
    saved_rank, world, directory, two, tmp_path
):
    before = sum((lines_of(rank["steps"][:SAVED_STEP]) for rank in two), Counter())
    assert before.total() == 2 * SAVED_STEP * BATCH_SIZE
    # The state of any rank serves all ranks.
    rest = run_ranks(directory, world, tmp_path / "results", two[saved_rank]["state"])
    lengths = [list(map(len, rank["steps"])) for rank in rest]
    assert lengths == [lengths[0]] * world
    after = sum((lines_of(rank["steps"]) for rank in rest), Counter())
    check_padding(before + after, kept_lines(), world)


def test_ranks_that_share_one_reader_get_the_same_steps(directory, two, tmp_path):
    shared = run_ranks(directory, 2, tmp_path / "all", None, "shared")
    assert [rank["steps"] for rank in shared] == [rank["steps"] for rank in two]
    rest = run_ranks(directory, 2, tmp_path / "rest", shared[0]["state"], "shared")
    assert [rank["steps"] for rank in rest] == [rank["steps"][SAVED_STEP:] for rank in two]
