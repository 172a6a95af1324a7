"""Determines this process's rank along a mesh's data dimension, or in a process group."""

import sys
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from headrace.core.process_rank import ProcessRank

__all__ = ["check_no_model_parallel_mesh", "is_mesh", "mesh_rank"]

# A dimension with one of these names, or a name that begins with "shard", is a data dimension: its
# ranks see different data.
_DATA_DIMENSIONS: Final = frozenset(
    {"dp", "data", "batch", "replicate", "fsdp", "dp_replicate", "dp_shard"}
)


def is_mesh(value: object) -> bool:
    """Returns whether a value is a mesh, a mesh with an axis name, or a process group."""
    if isinstance(value, tuple):
        return len(value) == 2 and isinstance(value[1], str)
    if _is_foreign_group(value):
        return True
    return _torch_type(value) is not None or _is_jax_mesh(value)


def mesh_rank(where: str, mesh: Any) -> ProcessRank:
    """Returns the rank of this process in a mesh.

    Args:
        where: The name of the caller, for messages.
        mesh: A one-dimensional `torch.distributed.DeviceMesh`, a process group of PyTorch, or a
            `jax.sharding.Mesh` with the name of an axis.

    Raises:
        ValueError: If the mesh has several dimensions, the axis does not exist, this process is not
            part of the mesh, or the devices of the processes do not form equal shares of the axis.
    """
    if isinstance(mesh, tuple):
        return _of_jax_axis(where, *mesh)
    if _is_jax_mesh(mesh):
        raise ValueError(
            f"{where}: a JAX mesh requires the name of the data axis. Pass both, for example "
            f"{where}((mesh, {str(mesh.axis_names[0])!r}))."
        )
    if _is_foreign_group(mesh):
        raise ValueError(f"{where}: this process is not part of the process group.")
    if _torch_type(mesh) == "ProcessGroup":
        distributed = sys.modules["torch.distributed"]
        rank, size = distributed.get_rank(mesh), distributed.get_world_size(mesh)
        return ProcessRank(rank, size, "a process group")
    return _of_device_mesh(where, mesh)


def check_no_model_parallel_mesh(where: str) -> None:
    """Raises ValueError inside PyTorch's `with mesh:` if the mesh has model-parallel dimensions.

    Each process would get different data, but all processes along a model-parallel dimension need
    the same data.
    """
    module: Any = sys.modules.get("torch.distributed.device_mesh")
    stack = getattr(getattr(module, "_mesh_resources", None), "mesh_stack", None)
    if not stack:
        return
    mesh = stack[-1]
    names = mesh.mesh_dim_names or ("",) * mesh.ndim
    sizes = dict(zip(range(mesh.ndim), mesh.shape, strict=True))
    others = [
        name or f"dimension {number}"
        for number, name in enumerate(names)
        if sizes[number] > 1 and not _is_data_dimension(name) and (name or mesh.ndim > 1)
    ]
    if not others:
        return
    data = [name for name in names if name and _is_data_dimension(name)]
    remedy = _data_part(data) if data else "mesh[NAME], with the name of the data dimension"
    raise ValueError(
        f"{where}: processes along the mesh dimension {others[0]!r} need the same data, so the "
        f"rank of the process does not select its data. Pass the data dimension: "
        f"{where}({remedy})."
    )


def _data_part(names: Sequence[str]) -> str:
    """Returns the code for the part of a mesh with all data dimensions, as one dimension."""
    part = f"mesh[{', '.join(map(repr, names))}]"
    return part if len(names) == 1 else f"{part}._flatten()"


def _is_data_dimension(name: str) -> bool:
    return name in _DATA_DIMENSIONS or name.startswith("shard")


def _torch_type(value: object) -> str | None:
    """Returns the class name of a PyTorch mesh or process group; None for other values."""
    for module, name in (
        ("torch.distributed.device_mesh", "DeviceMesh"),
        ("torch.distributed", "ProcessGroup"),
    ):
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and isinstance(value, kind):
            return name
    return None


def _is_foreign_group(value: object) -> bool:
    """Returns whether a value is PyTorch's placeholder for a group without this process."""
    member = getattr(sys.modules.get("torch.distributed"), "GroupMember", None)
    return member is not None and value is not None and value == member.NON_GROUP_MEMBER


def _is_jax_mesh(value: object) -> bool:
    kind = getattr(sys.modules.get("jax.sharding"), "Mesh", None)
    return isinstance(kind, type) and isinstance(value, kind)


def _of_device_mesh(where: str, mesh: Any) -> ProcessRank:
    if mesh.ndim != 1:
        names = mesh.mesh_dim_names or ()
        dimensions = (
            f"the dimensions {', '.join(map(repr, names))}" if names else f"{mesh.ndim} dimensions"
        )
        data = list(filter(_is_data_dimension, names)) or ["dp"]
        raise ValueError(
            f"{where}: the mesh has {dimensions}, expected one. Pass the data dimension: "
            f"{where}({_data_part(data)})."
        )
    coordinate: Sequence[int] | None = mesh.get_coordinate()
    if coordinate is None:
        raise ValueError(f"{where}: this process is not part of the mesh {mesh}.")
    name = mesh.mesh_dim_names[0] if mesh.mesh_dim_names else None
    return ProcessRank(
        coordinate[0], mesh.size(), f"the mesh dimension {name!r}" if name else "the mesh"
    )


def _of_jax_axis(where: str, mesh: Any, axis: str) -> ProcessRank:
    if not _is_jax_mesh(mesh):
        raise ValueError(
            f"{where}: got {mesh!r} with the axis {axis!r}, expected a jax.sharding.Mesh."
        )
    if axis not in mesh.axis_names:
        names = ", ".join(map(repr, mesh.axis_names))
        raise ValueError(f"{where}: the mesh has no axis {axis!r}, only {names}.")
    jax: Any = sys.modules["jax"]
    process = jax.process_index()
    owners = np.vectorize(lambda device: device.process_index, otypes=[int])(mesh.devices)
    # Each row contains the processes at one position along the axis.
    owners = np.moveaxis(owners, mesh.axis_names.index(axis), 0).reshape(mesh.shape[axis], -1)
    mine = np.flatnonzero((owners == process).any(1))
    if not len(mine):
        raise ValueError(f"{where}: no device of this process is in the mesh.")
    # The positions are divided among groups of processes. Each group's positions are consecutive.
    groups = sorted({tuple(np.flatnonzero((owners == one).any(1))) for one in np.unique(owners)})
    if [position for group in groups for position in group] != list(range(len(owners))) or len(
        {len(group) for group in groups}
    ) > 1:
        raise ValueError(
            f"{where}: the devices of each process must be an equal, contiguous share of the axis "
            f"{axis!r}. Build the mesh with jax.make_mesh, or pass the rank yourself: "
            f"{where}(rank, count)."
        )
    return ProcessRank(groups.index(tuple(mine)), len(groups), f"the mesh axis {axis!r}")
