"""Resamples batches: each example appears, on average, as often as its rate specifies.

Source: `tf.contrib.training.resample_at_rate` and `weighted_resample` in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.dtypes import int32
from headrace.graph import Tensor, TensorLike, name_scope
from headrace.tf1 import ops

__all__ = ["resample_at_rate", "weighted_resample"]


def resample_at_rate(
    inputs: Sequence[TensorLike],
    rates: TensorLike,
    scope: str | None = None,
    seed: int | None = None,
    back_prop: bool = False,
) -> list[Tensor]:
    """Repeats or drops each example of a batch at random.

    The number of copies of an example has a Poisson distribution whose mean is its rate.

    Args:
        inputs: The tensors of a batch, (batch, …).
        rates: The mean number of copies of each example, a float vector.
        scope: Name of the scope.
        seed: The seed of the operation. Together with the seed of the graph, it determines the
            random numbers.
        back_prop: Has no effect, because there are no gradients.

    Returns:
        The copied tensors, (copies, …): first the first copy of each example, then the second
        copies, and so on. There may be no copies at all.
    """
    with name_scope(scope, "resample_at_rate", list(inputs)):
        means = ops.convert_to_tensor(rates, name="rates")
        # Simulates random events, on average one per unit of time. The number of copies is the
        # number of events before time `mean`.
        waited = ops.zeros_like(means)

        def is_early(waited: Tensor, _: Tensor) -> Tensor:
            return ops.reduce_any(ops.less(waited, means))

        def wait(waited: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
            drawn = ops.random_uniform(ops.shape(means), dtype=means.dtype.base_dtype, seed=seed)
            later = waited - ops.log1p(-drawn)
            return later, counts + ops.cast(ops.less(later, means), int32)

        _, counts = ops.while_loop(is_early, wait, [waited, ops.zeros_like(means, dtype=int32)])
        most = ops.reduce_max(ops.concat([counts, [0]], 0))
        is_copy = ops.less(ops.expand_dims(ops.range(most), 1), ops.expand_dims(counts, 0))
        rows = ops.where(is_copy)[:, 1]
        return [ops.gather(tensor, rows) for tensor in inputs]


def weighted_resample(
    inputs: Sequence[TensorLike],
    weights: TensorLike,
    overall_rate: TensorLike,
    scope: str | None = None,
    mean_decay: float = 0.999,
    warmup: int = 10,
    seed: int | None = None,
) -> tuple[list[Tensor], Tensor]:
    """Repeats or drops each example of a batch at random, in proportion to its weight.

    The mean weight is estimated from the batches so far, in local variables.

    Args:
        inputs: The tensors of a batch, (batch, …).
        weights: The weight of each example, a float32 vector.
        overall_rate: The mean number of copies of all examples.
        scope: The name of the scope and of the variable scope.
        mean_decay: The weight of the old estimate in the new one, once `warmup` is over.
        warmup: The number of batches at the start for which the plain mean is used.
        seed: The seed of the operation. Together with the seed of the graph, it determines the
            random numbers.

    Returns:
        The copied tensors, as from `resample_at_rate`, and the rate of each copy.
    """
    converted: list[Any] = [ops.convert_to_tensor(tensor) for tensor in inputs]
    with name_scope(scope, "weighted_resample", converted) as inner:
        each = ops.convert_to_tensor(weights)
        with ops.variable_scope(scope, "estimate_mean", values=converted):
            seen = ops.get_local_variable("resample_count", initializer=0)
            estimate = ops.get_local_variable("estimated_mean", initializer=0.0)
        count = ops.assign_add(seen, 1)
        share = ops.truediv(count - 1, ops.minimum(count, warmup))
        decay = ops.minimum(share, mean_decay)
        mean = ops.assign_moving_average(estimate, ops.reduce_mean(each), decay, zero_debias=False)
        rates = each * overall_rate / mean
        drawn, *copies = resample_at_rate([rates, *converted], rates, inner, seed)
        return copies, drawn
