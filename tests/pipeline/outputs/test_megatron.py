"""Megatron's iterator over a loader, for `--dataloader-type external`."""

import warnings
from importlib.util import find_spec

import numpy as np
import pytest

import headrace as hr

if find_spec("megatron") is None:
    pytest.skip("megatron-core is not installed", allow_module_level=True)
torch = pytest.importorskip("torch")

GLOBAL_BATCH = 8


def external(rank, world):
    """The loader of one rank."""
    pipe = hr.arrays({"n": np.arange(40)}).shuffle(seed=3)
    return pipe.shard(rank, world).batch(GLOBAL_BATCH // world).epochs().to_torch()


def wrapped(train):
    """Wraps an external loader like Megatron."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # It warns about packages for GPUs.
        from megatron.core.rerun_state_machine import RerunDataIterator  # noqa: PLC0415
    batches = iter(train)
    batches.save_state = batches.state_dict
    return RerunDataIterator(batches)


def step(iterators):
    """The examples of a step over all ranks, in the global order."""
    return torch.stack([next(iterator)["n"] for iterator in iterators], 1).ravel().tolist()


@pytest.mark.parametrize("before", [1, 2, 4])
@pytest.mark.parametrize("after", [1, 2, 4])
def test_saved_state_resumes_on_a_different_number_of_ranks(before, after, tmp_path):
    whole = [wrapped(external(0, 1))]
    expected = [step(whole) for _ in range(12)]
    iterators = [wrapped(external(rank, before)) for rank in range(before)]
    for position in range(12):
        if position in (0, 3, 7):
            for number, iterator in enumerate(iterators):
                # As `maybe_save_dataloader_state` of Megatron does.
                parts = {"dataloader_state_dict": iterator.iterable.save_state()}
                torch.save(parts, tmp_path / f"train_dataloader_dprank{number:03d}.pt")
            saved = torch.load(tmp_path / f"train_dataloader_dprank{before - 1:03d}.pt")
            resumed = [external(rank, after) for rank in range(after)]
            for train in resumed:
                train.load_state_dict(saved["dataloader_state_dict"])
            rest = [wrapped(train) for train in resumed]
            assert [step(rest) for _ in range(12 - position)] == expected[position:]
        assert step(iterators) == expected[position]
