"""Shares of ranks in meshes of devices and in process groups."""

import json
import logging
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

PIPE = hr.arrays({"n": list(range(12))}).shuffle(seed=3)


def numbers_of(pipe):
    return [int(example["n"]) for example in pipe]


def shares_of_ranks(world, store):
    """The shares and the errors that each rank prints."""
    program = str(Path(__file__).with_name("mesh_process.py"))
    ranks = [
        subprocess.Popen(
            [sys.executable, program, str(rank), str(world), str(store)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    answers = []
    for process in ranks:
        output, messages = process.communicate(timeout=100)
        assert process.returncode == 0, messages
        answers.append(json.loads(output.splitlines()[-1]))
    return answers


@pytest.mark.timeout(150)
def test_torch_ranks_share_data_along_the_data_dimension(tmp_path):
    pytest.importorskip("torch.distributed")
    answers = shares_of_ranks(4, tmp_path / "store")
    for rank, (shares, errors) in enumerate(answers):
        assert shares["all"] == numbers_of(PIPE.shard(rank, 4))
        of_data = numbers_of(PIPE.shard(rank // 2, 2))
        assert shares["dp"] == shares["group"] == shares["inside dp"] == of_data
        assert shares["tp"] == numbers_of(PIPE.shard(rank % 2, 2))
        everyone = shares["all"]
        assert shares["inside ('replicate', 'shard')"] == everyone
        assert shares["inside ('dp', 'sharded_data')"] == everyone
        assert shares["inside unnamed"] == everyone
        assert "the mesh has the dimensions 'dp', 'tp', expected one" in errors["whole"]
        assert "processes along the mesh dimension 'tp' need the same data" in errors["inside"]
        assert errors["inside"].endswith("Pass the data dimension: shard(mesh['dp']).")
        assert "'dimension 0'" in errors["inside (None, None)"]
        assert "already has shard" in errors["twice"]
        if rank < 2:
            assert shares["other group"] == numbers_of(PIPE.shard(rank, 2))
        else:
            assert "not part of the process group" in errors["other group"]


class Mesh:
    """A mesh of JAX with devices of several processes, which one process can't have."""

    def __init__(self, owners, axis_names):
        owners = np.array(owners)
        self.devices = np.vectorize(
            lambda process: types.SimpleNamespace(process_index=process), otypes=[object]
        )(owners)
        self.axis_names = axis_names
        self.shape = dict(zip(axis_names, owners.shape, strict=True))


@pytest.fixture
def jax_of(monkeypatch):
    """Makes this process one of several of JAX."""

    def enter(process):
        jax = types.SimpleNamespace(process_index=lambda: process)
        monkeypatch.setitem(sys.modules, "jax", jax)
        monkeypatch.setitem(sys.modules, "jax.sharding", types.SimpleNamespace(Mesh=Mesh))

    return enter


@pytest.mark.parametrize(
    ("owners", "axis", "ranks"),
    [
        # The data axis across processes, several devices each.
        ([[0, 0], [1, 1], [2, 2], [3, 3]], "data", [(0, 4), (1, 4), (2, 4), (3, 4)]),
        ([[0, 0], [0, 0], [1, 1], [1, 1]], "data", [(0, 2), (1, 2)]),
        # Processes side by side along the model axis have the same data.
        ([[0, 1], [2, 3]], "data", [(0, 2), (0, 2), (1, 2), (1, 2)]),
        ([[0, 1], [2, 3]], "model", [(0, 2), (1, 2), (0, 2), (1, 2)]),
        ([[0, 1], [0, 1]], "data", [(0, 1), (0, 1)]),
        # Positions in the order of the mesh, not of the processes.
        ([[3], [1], [0], [2]], "data", [(2, 4), (1, 4), (3, 4), (0, 4)]),
    ],
)
def test_jax_processes_share_data_along_an_axis(owners, axis, ranks, jax_of):
    for process, (rank, count) in enumerate(ranks):
        jax_of(process)
        mesh = Mesh(owners, ("data", "model")[: np.ndim(owners)])
        pipe = PIPE.shard((mesh, axis))
        assert numbers_of(pipe) == numbers_of(PIPE.shard(rank, count))
        assert f"rank from the mesh axis {axis!r}" in pipe.describe()


@pytest.mark.parametrize(
    ("owners", "axis", "words"),
    [
        ([[0, 0], [1, 1]], "rows", "the mesh has no axis 'rows', only 'data', 'model'"),
        ([[1, 1], [2, 2]], "data", "no device of this process is in the mesh"),
        ([[0, 0], [0, 0], [1, 1]], "data", "equal, contiguous share"),
        ([[0, 0], [1, 1], [0, 0], [1, 1]], "data", "equal, contiguous share"),
        ([[0, 0], [0, 1], [1, 1], [1, 1]], "data", "equal, contiguous share"),
    ],
)
def test_unusable_jax_axes_are_rejected(owners, axis, words, jax_of):
    jax_of(0)
    with pytest.raises(ValueError, match=words):
        PIPE.shard((Mesh(owners, ("data", "model")), axis))


def test_jax_mesh_requires_an_axis(jax_of):
    jax_of(0)
    with pytest.raises(ValueError, match=r"shard\(\(mesh, 'data'\)\)"):
        PIPE.shard(Mesh([[0, 0]], ("data", "model")))


def test_pair_without_a_mesh_is_rejected():
    with pytest.raises(ValueError, match=r"expected a jax\.sharding\.Mesh"):
        PIPE.shard((3, "data"))


def test_rank_of_the_process_is_logged_once(monkeypatch, caplog):
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("WORLD_SIZE", "7")
    with caplog.at_level(logging.INFO, "headrace.pipeline"):
        PIPE.shard()
        PIPE.shard()
    (record,) = caplog.records
    assert record.getMessage() == (
        "shard: this process is rank 5 of 7, taken from RANK and WORLD_SIZE."
    )


def test_share_of_the_process_cannot_be_applied_twice(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match=r"already has shard\(0, 2\), the share of this process"):
        PIPE.shard().shard()
    with pytest.raises(ValueError, match=r"already has shard\(1, 2\), and would drop most of it"):
        PIPE.shard(1, 2).shard()
    # A part of each share, for example for a worker, is not a mistake.
    assert numbers_of(PIPE.shard().shard(1, 2)) == numbers_of(PIPE.shard(0, 2))[1::2]
