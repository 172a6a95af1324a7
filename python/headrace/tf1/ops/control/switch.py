"""Sends values to one of two outputs and joins them again: `switch` and `merge`.

Programs that predate `tf.cond` use them to distort images at random.

Source: `control_flow_ops.switch` and `control_flow_ops.merge` in TensorFlow 1.15.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from headrace.core import dtypes
from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import scalar
from headrace.graph import Branch, Tensor, TensorLike, get_default_graph, name_scope
from headrace.ops.array.placeholder import identity
from headrace.ops.control.cond import merge_branches
from headrace.ops.framework.conversion import constant, convert_to_tensor

__all__ = ["Merge", "Switch", "merge", "switch"]


class Switch(NamedTuple):
    """The two outputs of `switch`.

    Attributes:
        output_false: The value if the predicate is False.
        output_true: The value if the predicate is True.
    """

    output_false: Tensor
    output_true: Tensor


class Merge(NamedTuple):
    """The result of `merge`.

    Attributes:
        output: The value of whichever input has one.
        value_index: The index of that input, an int32 scalar.
    """

    output: Tensor
    value_index: Tensor


def switch(
    data: TensorLike, pred: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Switch:
    """Passes a value to one of two outputs.

    The other output has no value in this run, and operations that need it do not run. `merge` joins
    the outputs again.

    Args:
        data: The value. It must not be sparse.
        pred: A bool scalar that selects the output.
        dtype: The dtype of `data`, if `data` is not a tensor yet.
        name: The name of the scope.

    Raises:
        TypeError: If `pred` is not a bool.
        ValueError: If `pred` is not a scalar.
    """
    with name_scope(name, "Switch", [data, pred]):
        value = convert_to_tensor(data, dtype=dtype, name="data")
        predicate = convert_to_tensor(pred, dtype=dtypes.bool, name="pred")
        predicate.shape.assert_is_compatible_with(scalar())
        # Each run evaluates the predicate once, even if a feed or a variable changes later.
        predicate = identity(predicate, name="pred_id")
        return Switch(_gated(value, predicate, False), _gated(value, predicate, True))


def _gated(value: Tensor, predicate: Tensor, is_taken_if: bool) -> Tensor:
    with get_default_graph().on_branch(predicate, is_taken_if):
        inside = identity(value)
    # These are outside the block, because operations inside it cannot be fetched.
    return identity(inside)


def merge(inputs: Sequence[TensorLike], name: str | None = None) -> Merge:
    """Returns the value of whichever input has one.

    If several inputs have a value, the first one is returned. If no input has a value, the result
    has no value.

    Args:
        inputs: Tensors of one dtype, each computed from an output of `switch`. Any other tensor
            counts as an input that always has a value.
        name: The name of the scope.

    Raises:
        TypeError: If the dtypes differ.
        ValueError: If `inputs` is empty.
    """
    if not inputs:
        raise ValueError("merge: got no inputs, expected at least one tensor.")
    with name_scope(name, "Merge", list(inputs)) as scope:
        first = convert_to_tensor(inputs[0])
        tensors = [first, *(convert_to_tensor(t, dtype=first.dtype) for t in inputs[1:])]
        paths = [tensor.op.branch.path if tensor.op.branch else [] for tensor in tensors]
        num_shared = 0 if len(paths) == 1 else _num_shared(paths)
        indices = [constant(number, dtypes.int32) for number in range(len(tensors))]
        output, index = identity(tensors[-1]), identity(indices[-1])
        for tensor, number, path in reversed(list(zip(tensors, indices, paths, strict=True))):
            output = _chosen(path[num_shared:], tensor, output)
            index = _chosen(path[num_shared:], number, index)
        return Merge(identity(output, name=scope), index)


def _num_shared(paths: Sequence[Sequence[Branch]]) -> int:
    """Returns the length of the common prefix of all paths. The result is on these branches."""
    steps = itertools.takewhile(lambda step: len({*step}) == 1, zip(*paths, strict=False))
    return sum(1 for _ in steps)


def _chosen(path: Sequence[Branch], value: Tensor, otherwise: Tensor) -> Tensor:
    """Returns one value if all branches of a path are taken, and another otherwise."""
    if not path:
        return identity(value)
    inner = _chosen(path[1:], value, otherwise)
    pair = (otherwise, inner) if path[0].is_taken_if else (inner, otherwise)
    return merge_branches(path[0].predicate, *pair)
