"""Merges summaries.

Source: `tf.summary.merge` and `tf.summary.merge_all` in TensorFlow 1.15.
"""

from collections.abc import Sequence
from typing import Any

from headrace.core import dtypes
from headrace.graph import GraphKeys, Tensor, add_to_collections, define, get_collection, name_scope
from headrace.ops.framework.arguments import InputList, apply_op
from headrace.tf1.ops.summary.tag import infer_string

__all__ = ["merge", "merge_all"]


def merge(
    inputs: Sequence[Any], collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """Merges summaries into one.

    Args:
        inputs: Serialized summaries.
        collections: The collections to add the result to (optional).
        name: Name of the operation.

    Returns:
        A scalar string: a serialized `Summary` with all values.

    Raises:
        InvalidArgumentError: At run time, if two summaries have the same tag, or an input is not a
            summary.
        ValueError: If `inputs` is empty.
    """
    if not inputs:
        raise ValueError(
            "List argument 'inputs' to 'MergeSummary' Op with length 0 shorter than minimum "
            "length 1."
        )
    with name_scope(name, "Merge", inputs):
        op_inputs = [InputList("inputs", inputs, dtypes.string)]
        op = apply_op("MergeSummary", op_inputs, infer_string, name=name)
    add_to_collections(collections or [], op.outputs[0])
    return op.outputs[0]


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | Any:  # Programs run the result without checking whether it is None.
    """Merges all summaries in a collection into one.

    Args:
        key: Name of the collection.
        scope: A regular expression that the names must match.
        name: Name of the operation.

    Returns: See `merge`, or None if there are no summaries.
    """
    summaries = get_collection(key, scope=scope)
    return merge(summaries, name=name) if summaries else None


define("MergeSummary")
