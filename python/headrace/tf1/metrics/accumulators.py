"""Code that all metrics share: local variables, and pairs of a value and an update operation."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import dtypes
from headrace.core.dtypes import DType
from headrace.graph import GraphKeys, Tensor, add_to_collections
from headrace.tf1 import ops

__all__ = ["Collections", "Metric", "metric_variable", "published"]

Collections = str | Sequence[str] | None
"""One or several collections. None for none."""

Metric = tuple[Tensor, Tensor]
"""The value of a metric, and an operation that adds a batch and returns the new value."""


def metric_variable(
    shape: Sequence[int], dtype: DType = dtypes.float32, name: str | None = None
) -> ops.Variable:
    """Creates a local variable of zeros that is also in the collection `METRIC_VARIABLES`.

    Args:
        shape: The shape of the variable.
        dtype: The dtype of the variable.
        name: The name of the variable.
    """
    return ops.Variable(
        lambda: ops.zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        name=name,
    )


def published(
    value: Tensor,
    update: Tensor,
    metrics_collections: Collections,
    updates_collections: Collections,
) -> Metric:
    """Adds a metric to the requested collections and returns it."""
    if metrics_collections:
        add_to_collections(metrics_collections, value)
    if updates_collections:
        add_to_collections(updates_collections, update)
    return value, update
