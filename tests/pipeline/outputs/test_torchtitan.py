"""`headrace.torchtitan.DataLoader`: torchtitan's loader over a pipeline, on any number of ranks."""

import importlib
import json
import pickle

import numpy as np
import pytest

import headrace as hr

pytest.importorskip("torchtitan")

import torch
import tyro
from torchtitan.components.dataloader import BaseDataLoader
from torchtitan.config import Configurable

import headrace.torchtitan
from headrace.torchtitan import DataLoader

# Neither a multiple of the global batch nor of the ranks.
NUM, GLOBAL_BATCH = 42, 8


def rows(tokenizer=None, seq_len=3):
    numbers = hr.arrays({"n": np.arange(NUM)}).shuffle(seed=3)
    return numbers.map(lambda e: {"input": np.full(seq_len, e["n"]), "labels": e["n"]})


def loaders(world, pipe=None, **options):
    pipe = rows() if pipe is None else pipe
    return [
        DataLoader(pipe, rank, world, GLOBAL_BATCH // world, **options) for rank in range(world)
    ]


def steps(ranks, count=None):
    """The labels of each step, over all ranks in the global order."""
    iterators = [iter(rank) for rank in ranks]
    done = []
    while count is None or len(done) < count:
        batches = [next(iterator, None) for iterator in iterators]
        if None in batches:
            assert batches == [None] * len(batches)
            break
        assert all((inputs["input"][:, 0] == labels).all() for inputs, labels in batches)
        labels = torch.stack([labels for _, labels in batches], 1)
        done.append(labels.ravel().tolist())
    return done, iterators


def test_loader_is_a_torchtitan_dataloader():
    (loader,) = loaders(1)
    assert isinstance(loader, BaseDataLoader)
    inputs, labels = next(iter(loader))
    assert inputs["input"].shape == (8, 3)
    assert labels.shape == (8,)


@pytest.mark.parametrize("before", [1, 2, 4])
@pytest.mark.parametrize("after", [1, 2, 4])
def test_any_state_resumes_on_a_different_number_of_ranks(before, after):
    whole, _ = steps(loaders(1), 12)
    for count in (0, 1, 4, 7):
        ranks = loaders(before)
        seen, _iterators = steps(ranks, count)
        for rank in ranks:
            state = json.loads(json.dumps(rank.state_dict()))
            resumed = loaders(after)
            for loader in resumed:
                loader.load_state_dict(state)
            rest, _ = steps(resumed, 12 - count)
            assert seen + rest == whole


def test_keys_match_torchtitan_on_each_rank():
    for loader in loaders(2):
        assert set(loader.state_dict()) == {"dp_rank_0", "world_size"}
        assert loader.state_dict()["world_size"] == 2
        next(iter(loader))
        assert set(loader.state_dict()) == {"dp_rank_0", "world_size"}


def test_epochs_repeat_forever():
    (labels, _) = steps(loaders(1), 21)
    numbers = [n for step in labels for n in step]
    for epoch in range(4):
        assert sorted(numbers[epoch * NUM : (epoch + 1) * NUM]) == list(range(NUM))
    assert numbers[:NUM] != numbers[NUM : 2 * NUM]


@pytest.mark.parametrize("world", [1, 2, 4])
def test_finite_loader_stops_on_all_ranks_after_the_same_batch(world):
    ranks = loaders(world, infinite=False)
    for _ in range(2):
        done, _ = steps(ranks)
        assert len(done) == NUM // GLOBAL_BATCH
    end = ranks[0].state_dict()
    ranks[0].load_state_dict(end)
    assert list(ranks[0]) == []


def test_config_builds_the_loader_with_trainer_arguments():
    config = DataLoader.Config(pipeline=rows)
    assert isinstance(config, Configurable.Config)
    loader = config.build(
        dp_world_size=2,
        dp_rank=1,
        tokenizer=None,
        seq_len=5,
        local_batch_size=4,
        snapshot_every_n_steps=None,
    )
    inputs, _ = next(iter(loader))
    assert inputs["input"].shape == (4, 5)
    assert (loader.dp_rank, loader.dp_world_size, loader.batch_size) == (1, 2, 4)
    assert config.to_dict()["infinite"] is True


def test_torchtitan_command_line_keeps_the_pipeline():
    default = DataLoader.Config(pipeline=rows)
    config = tyro.cli(DataLoader.Config, default=default, args=["--no-infinite"])
    assert config.pipeline is rows
    assert config.infinite is False


def test_empty_state_changes_nothing():
    (loader,) = loaders(1)
    loader.load_state_dict({})
    loader.load_state_dict(loader.state_dict())
    assert steps([loader], 2)[0] == steps(loaders(1), 2)[0]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"dp_rank_0": pickle.dumps({}), "world_size": 1}, "If torchtitan's own loader saved"),
        ({"epoch": 3}, r"got a dict with the keys 'epoch', expected the result of state_dict\(\)"),
        (3, "got 3, expected the result"),
        ({"dp_rank_0": "{", "world_size": 1}, "resume: the state is damaged"),
    ],
)
def test_foreign_states_are_rejected_at_once(state, message):
    (loader,) = loaders(1)
    with pytest.raises(ValueError, match=message):
        loader.load_state_dict(state)


def test_state_of_a_different_pipeline_is_rejected_at_once():
    (other,) = loaders(1, hr.arrays({"input": [1, 2], "labels": [1, 2]}))
    next(iter(other))
    with pytest.raises(ValueError, match="resume: stage 0 is arrays"):
        loaders(1)[0].load_state_dict(other.state_dict())


@pytest.mark.parametrize(
    ("pipe", "message"),
    [
        (rows().batch(2), r"has batch\(...\), but torchtitan sets the number"),
        (rows().shard(0, 2), r"has shard\(...\), but the loader divides"),
        (rows().epochs(2), r"has epochs\(...\), but the loader starts the epochs"),
        (rows().select("input"), "has no component 'labels', only 'input'"),
        (hr.arrays({"labels": range(4)}).shuffle(), "seed"),
    ],
)
def test_invalid_pipelines_are_rejected_before_the_first_batch(pipe, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(pipe, 0, 2, 4)


def test_invalid_arguments_are_rejected():
    with pytest.raises(TypeError, match="pipeline is a NoneType, expected a pipeline"):
        DataLoader.Config().build(dp_rank=0, dp_world_size=1, local_batch_size=1)
    with pytest.raises(ValueError, match="batch_size is 0"):
        DataLoader(rows(), 0, 1, 0)
    with pytest.raises(ValueError, match="index is 2, expected a number less than count"):
        DataLoader(rows(), 2, 2, 1)


def test_older_torchtitan_is_rejected_with_the_needed_version(monkeypatch):
    for parent in (BaseDataLoader, Configurable):
        monkeypatch.delattr(parent, "Config")
    with pytest.raises(ImportError, match=r"pip install 'torchtitan>=0\.3'"):
        importlib.reload(headrace.torchtitan)
