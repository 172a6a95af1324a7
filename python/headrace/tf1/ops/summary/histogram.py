"""Histogram summaries.

Source: `tf.summary.histogram` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input
from headrace.tf1.ops.summary.tag import SUMMARIZABLE, summarize

__all__ = ["histogram"]


def histogram(
    name: str,
    values: TensorLike,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """Creates a histogram summary of the values of a tensor.

    Args:
        name: See `scalar`.
        values: Numbers, of any shape.
        collections: See `scalar`.
        family: See `scalar`.

    Returns:
        See `scalar`.

    Raises:
        InvalidArgumentError: At run time, if a value is not finite.
        TypeError: If `values` are not numbers.
    """
    inputs = Input("values", values, allowed=SUMMARIZABLE)
    return summarize("HistogramSummary", "tag", name, inputs, collections, family)


define("HistogramSummary")
