"""How full the queues are, as a tensor that a program can fetch by its name."""

from headrace.graph import Tensor
from headrace.ops.placeholders import identity

__all__ = ["summarize_fullness"]


def summarize_fullness(fraction: Tensor, name: str) -> Tensor:
    """Adds a float32 scalar from 0 to 1 under the name of TensorFlow's summary of it.

    Args:
        fraction: The fraction.
        name: `fraction_of_CAPACITY_full`, within the current name scope.
    """
    return identity(fraction, name=name)
