"""Shuffles the rows of a tensor.

Source: `tf.random_shuffle` in TensorFlow 1.15.
"""

from __future__ import annotations

from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.inference import like
from headrace.ops.random.seeds import seed_attrs

__all__ = ["random_shuffle"]


def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Shuffles the rows of a tensor.

    Args:
        value: The tensor. Its first axis is shuffled.
        seed: Only used in TensorFlow 1 graphs. In a pipeline, set the seed of `map` instead.
        name: Name of the operation.

    Returns:
        A tensor of the same shape.
    """
    attrs = seed_attrs(seed)
    op = apply_op("RandomShuffle", [Input("value", value)], like, name=name, attrs=attrs)
    return op.outputs[0]


define("RandomShuffle", is_stateful=True, is_random=True)
