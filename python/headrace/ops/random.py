"""Operations whose results are random.

Source: `tf.random_shuffle` of TensorFlow 1.15.
"""

from typing import Any

from headrace.graph import Tensor, get_seed
from headrace.ops.arguments import Input, apply_op
from headrace.ops.inference import like

__all__ = ["random_shuffle"]


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Returns the rows of a tensor in random order.

    Each session has its own sequence of orders. With a seed, every session begins the same one.

    Args:
        value: The tensor; its first axis is shuffled.
        seed: With the graph's seed, determines the sequence; see `headrace.graph.get_seed`.
        name: Name of the operation.

    Returns:
        A tensor of the same shape.
    """
    seed1, seed2 = get_seed(seed)
    attrs = {"seed": seed1 or 0, "seed2": seed2 or 0}
    return apply_op("RandomShuffle", [Input("value", value)], like, name=name, attrs=attrs).outputs[
        0
    ]
