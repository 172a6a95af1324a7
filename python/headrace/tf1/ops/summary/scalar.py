"""Summaries of a single number.

Source: `tf.summary.scalar` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input
from headrace.tf1.ops.summary.tag import SUMMARIZABLE, summarize

__all__ = ["scalar"]


def scalar(
    name: str,
    tensor: TensorLike,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """Creates a summary of one number.

    Args:
        name: The tag. The name scope is added as a prefix. Invalid characters are replaced with
            "_".
        tensor: A scalar number.
        collections: The collections to add the summary to. Defaults to `GraphKeys.SUMMARIES`.
        family: A prefix for the tag, which TensorBoard uses to group summaries.

    Returns:
        A scalar string: a serialized `Summary`, for `FileWriter.add_summary`.

    Raises:
        InvalidArgumentError: At run time, if `tensor` is not a scalar.
        TypeError: If `tensor` is not a number.
    """
    values = Input("values", tensor, allowed=SUMMARIZABLE)
    return summarize("ScalarSummary", "tags", name, values, collections, family)


define("ScalarSummary")
