"""Pipelines as the dataset of NeMo Automodel's loader: killed trainings and other ranks."""

import os
import random
import subprocess
import sys
from importlib.util import find_spec

import pytest

if find_spec("nemo_automodel") is None:
    pytest.skip("nemo-automodel is not installed", allow_module_level=True)

import torch
from tests.pipeline.outputs.automodel_training import loader

# torchdata calls a function that PyTorch has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.set_vital")

NUM_STEPS = 20


def losses(directory, last_step=None):
    """Trains until the end, or kills the training after a step."""
    program = "tests.pipeline.outputs.automodel_training"
    process = subprocess.Popen(
        [sys.executable, "-m", program, directory / "checkpoint.pt", str(NUM_STEPS)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    seen = {}
    with process:
        for text in process.stdout:
            step, loss = text.split()
            seen[int(step)] = float.fromhex(loss)
            if int(step) == last_step:
                process.kill()
    assert process.returncode == (0 if last_step is None else -9)
    return seen


@pytest.mark.timeout(600)
def test_killed_training_has_the_losses_of_an_uninterrupted_one(tmp_path):
    (tmp_path / "whole").mkdir()
    expected = losses(tmp_path / "whole")
    assert list(expected) == list(range(NUM_STEPS))
    kills = sorted(random.Random(4).sample(range(4, NUM_STEPS - 1), 3))
    seen = {}
    for last_step in (*kills, None):
        part = losses(tmp_path, last_step)
        assert part == {step: expected[step] for step in part}
        seen |= part
    assert seen == expected


def step(iterators):
    """The labels of a step over all ranks, in the global order."""
    return torch.stack([next(iterator)["labels"] for iterator in iterators], 1).ravel().tolist()


@pytest.mark.parametrize("before", [1, 2, 4])
@pytest.mark.parametrize("after", [1, 2, 4])
def test_state_of_any_rank_resumes_on_another_number_of_ranks(before, after):
    whole = [iter(loader(0, 1))]
    expected = [step(whole) for _ in range(5)]
    ranks = [loader(rank, before) for rank in range(before)]
    iterators = list(map(iter, ranks))
    assert [step(iterators) for _ in range(2)] == expected[:2]
    for rank in ranks:
        resumed = [loader(number, after) for number in range(after)]
        for train in resumed:
            train.load_state_dict(rank.state_dict())
        rest = list(map(iter, resumed))
        assert [step(rest) for _ in range(3)] == expected[2:]
