"""Tensor structures: the arguments and results of loops and branches.

A structure is a tensor, or a list, tuple, named tuple or dict of structures. A sparse tensor is
represented by its three tensors, and a tensor array by its flow.

Source: `tf.contrib.framework.nest` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.ops.sparse.tensor import SparseTensor
from headrace.tf1.ops.array.tensor_array import TensorArray

__all__ = ["check_same_structure", "flatten", "is_nested", "map_leaves", "pack"]


def is_nested(value: object) -> bool:
    """Returns whether a structure has more than one tensor. A sparse tensor counts as one."""
    return isinstance(value, (list, tuple, dict)) and not isinstance(value, SparseTensor)


def flatten(structure: object, expands: bool = True) -> list[Any]:
    """Returns the leaves of a structure. The leaves of dicts are in the order of the keys.

    Args:
        structure: The structure.
        expands: Whether a sparse tensor or a tensor array is replaced by its tensors.
    """
    return list(_leaves(structure, expands))


def _leaves(structure: Any, expands: bool) -> Iterator[Any]:
    if expands and isinstance(structure, SparseTensor):
        yield from (structure.indices, structure.values, structure.dense_shape)
    elif expands and isinstance(structure, TensorArray):
        yield structure.flow
    elif not is_nested(structure):
        yield structure
    elif isinstance(structure, dict):
        for key in sorted(structure):
            yield from _leaves(structure[key], expands)
    else:
        for item in structure:
            yield from _leaves(item, expands)


def pack(structure: Any, leaves: Iterable[Any], expands: bool = True) -> Any:
    """Returns a structure with the given leaves, in the order of `flatten`."""
    return _packed(structure, iter(leaves), expands)


def _packed(structure: Any, leaves: Iterator[Any], expands: bool) -> Any:
    if expands and isinstance(structure, SparseTensor):
        return SparseTensor(next(leaves), next(leaves), next(leaves))
    if expands and isinstance(structure, TensorArray):
        return structure.with_flow(next(leaves))
    if not is_nested(structure):
        return next(leaves)
    if isinstance(structure, dict):
        values = {key: _packed(structure[key], leaves, expands) for key in sorted(structure)}
        return type(structure)((key, values[key]) for key in structure)
    items = [_packed(item, leaves, expands) for item in structure]
    return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)


def map_leaves(function: Callable[[Any], Any], structure: Any) -> Any:
    """Applies a function to a structure's leaves, and returns the results in the same structure."""
    return pack(structure, map(function, flatten(structure, False)), False)


def check_same_structure(first: object, second: object) -> None:
    """Checks that two structures differ only in their leaves.

    Raises:
        TypeError: If the types of the sequences differ.
        ValueError: If the structures are nested differently.
    """
    if is_nested(first) != is_nested(second):
        kinds = ("a sequence" if is_nested(item) else "not a sequence" for item in (first, second))
        reason = " and the second is ".join(kinds)
        raise ValueError(_differ(first, second, f"The first is {reason}."))
    if not is_nested(first):
        if isinstance(first, (SparseTensor, TensorArray)) and type(first) is not type(second):
            raise TypeError(_differ(first, second, "Their types differ."))
        return
    if type(first) is not type(second):
        types = f"{type(first)} and {type(second)}"
        raise TypeError(_differ(first, second, f"Their sequence types differ: {types}."))
    if isinstance(first, dict) and isinstance(second, dict):
        if first.keys() != second.keys():
            raise ValueError(_differ(first, second, "Their keys differ."))
        pairs = [(first[key], second[key]) for key in first]
    else:
        assert isinstance(first, (list, tuple))
        assert isinstance(second, (list, tuple))
        if len(first) != len(second):
            lengths = f"{len(first)} and {len(second)}"
            raise ValueError(_differ(first, second, f"They have {lengths} elements."))
        pairs = list(zip(first, second, strict=True))
    for one, other in pairs:
        check_same_structure(one, other)


def _differ(first: object, second: object, reason: str) -> str:
    return (
        f"The two structures don't have the same nested structure. {reason} "
        f"First structure: {first!r}. Second structure: {second!r}."
    )
