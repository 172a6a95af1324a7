"""The names of a mesh's data dimensions, with stand-ins for PyTorch's meshes."""

import sys
from types import SimpleNamespace

import pytest

import headrace as hr


@pytest.fixture
def inside(monkeypatch):
    """Enters `with mesh:` for a mesh with named dimensions of two processes each."""

    def enter(*names):
        mesh = SimpleNamespace(mesh_dim_names=names, ndim=len(names), shape=(2,) * len(names))
        module = SimpleNamespace(_mesh_resources=SimpleNamespace(mesh_stack=[mesh]))
        monkeypatch.setitem(sys.modules, "torch.distributed.device_mesh", module)
        for name, value in {"RANK": "1", "WORLD_SIZE": str(2 ** len(names))}.items():
            monkeypatch.setenv(name, value)

    return enter


@pytest.mark.parametrize("names", [("dp_replicate", "dp_shard"), ("dp_shard",), ("replicate",)])
def test_data_dimensions_of_torchtitan_are_divided(inside, names):
    inside(*names)
    shares = hr.arrays({"x": list(range(8))}).shard()
    assert len(list(shares)) == 8 // 2 ** len(names)


@pytest.mark.parametrize(
    ("names", "remedy"),
    [
        (("dp_shard", "tp"), "shard(mesh['dp_shard'])"),
        (
            ("dp_replicate", "dp_shard", "tp"),
            "shard(mesh['dp_replicate', 'dp_shard']._flatten())",
        ),
        (("dp_shard_cp", "tp"), "shard(mesh[NAME], with the name of the data dimension)"),
    ],
)
def test_other_dimensions_need_all_data_dimensions(inside, names, remedy):
    inside(*names)
    with pytest.raises(ValueError, match="need the same data") as caught:
        hr.arrays({"x": list(range(8))}).shard()
    assert remedy in str(caught.value)
