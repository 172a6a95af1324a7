"""Describes a graph's resources, so that two graphs can be compared."""

from typing import Any, TypeAlias

from headrace.core import errors
from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape
from headrace.graph import Graph, Operation

__all__ = ["Description", "check_same", "describe", "resource_ops"]

# The type and attributes of each resource, by name.
Description: TypeAlias = dict[str, dict[str, Any]]


def resource_ops(graph: Graph) -> dict[str, Operation]:
    """Returns the operations of a graph that have a resource in each session, by name."""
    return {
        op.name: op
        for op in graph.get_operations()
        if op.definition.role.is_resource
        or op.definition.is_random
        or op.definition.kept is not None
    }


def describe(graph: Graph) -> Description:
    """Describes the resources that sessions of a graph keep."""
    return {name: _describe(op) for name, op in resource_ops(graph).items()}


def check_same(path: str, mine: Description, saved: object) -> None:
    """Raises an error unless a checkpoint was saved from a graph with the same resources.

    Args:
        path: The path of the checkpoint.
        mine: The description of the graph.
        saved: The description in the checkpoint, which is not trusted.

    Raises:
        DataLossError: If `saved` is not a description.
        InvalidArgumentError: If the descriptions differ. The message names the difference.
    """
    if not isinstance(saved, dict) or not all(isinstance(one, dict) for one in saved.values()):
        raise errors.DataLossError(None, None, f"{path}: the checkpoint is damaged.")
    for name, one in saved.items():
        if name not in mine:
            _refuse(path, f"the checkpoint has {one.get('type')} '{name}', which this graph lacks")
    for name, one in mine.items():
        if name not in saved:
            _refuse(path, f"this graph has {one['type']} '{name}', which the checkpoint lacks")
        for key in {**one, **saved[name]}:
            if one.get(key) != saved[name].get(key):
                was, now = saved[name].get(key), one.get(key)
                _refuse(path, f"{one['type']} '{name}' had {key} {was!r}, but now has {now!r}")


def _refuse(path: str, difference: str) -> None:
    raise errors.InvalidArgumentError(
        None,
        None,
        f"{path}: the checkpoint belongs to a different graph: {difference}. Restore it with the "
        "program that saved it.",
    )


def _describe(op: Operation) -> dict[str, Any]:
    return {"type": op.type, **{name: _plain(value) for name, value in op.attrs.items()}}


def _plain(value: object) -> object:
    """Converts an attribute to a JSON-compatible value."""
    if isinstance(value, DType):
        return value.name
    if isinstance(value, TensorShape):
        return None if value.rank is None else value.as_list()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return repr(value)
