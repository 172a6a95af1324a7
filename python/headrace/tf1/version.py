"""`tf.version`: the TensorFlow version that programs read."""

from typing import TYPE_CHECKING, Final

from headrace.graph.versions import (
    GRAPH_DEF_VERSION,
    GRAPH_DEF_VERSION_MIN_CONSUMER,
    GRAPH_DEF_VERSION_MIN_PRODUCER,
)
from headrace.tf1.namespace import namespace

__all__ = [
    "COMPILER_VERSION",
    "GIT_VERSION",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "VERSION",
]

VERSION: Final = "1.15.0"
"""The version of TensorFlow."""

# The value in a TensorFlow that was not built from a git repository.
GIT_VERSION: Final = "unknown"
COMPILER_VERSION: Final = "unknown"

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
