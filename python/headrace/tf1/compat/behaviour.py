"""Calls that make TensorFlow 1 programs run on TensorFlow 2, but have no effect here.

Source: `tensorflow.compat.v1` of TensorFlow 2.
"""

__all__ = [
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_v2_behavior",
    "executing_eagerly",
]


def disable_eager_execution() -> None:
    """Does nothing, because everything is a graph."""


def disable_resource_variables() -> None:
    """Does nothing, because variables behave as in TensorFlow 1."""


def disable_v2_behavior() -> None:
    """Does nothing, because everything behaves as in TensorFlow 1."""


def executing_eagerly() -> bool:
    """Returns False."""
    return False
