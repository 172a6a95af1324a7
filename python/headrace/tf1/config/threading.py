"""`tf.config.threading`: thread counts, which have no effect.

The engine uses the CPU cores that the process may use.

Source: `tf.config.threading` in TensorFlow 1.15.
"""

from typing import TYPE_CHECKING, Final

from headrace.tf1.namespace import namespace

__all__ = [
    "get_inter_op_parallelism_threads",
    "get_intra_op_parallelism_threads",
    "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
]

_counts: Final = {"inter": 0, "intra": 0}


def get_inter_op_parallelism_threads() -> int:
    """Returns the number that was set. Initially 0."""
    return _counts["inter"]


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Stores the number of threads that run operations, which has no effect.

    Args:
        num_threads: The number of threads. 0 lets the library choose.
    """
    _counts["inter"] = num_threads


def get_intra_op_parallelism_threads() -> int:
    """Returns the number that was set. Initially 0."""
    return _counts["intra"]


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Stores the number of threads that one operation may use, which has no effect.

    Args:
        num_threads: The number of threads. 0 lets the library choose.
    """
    _counts["intra"] = num_threads


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
