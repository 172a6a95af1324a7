"""The TensorFlow versions whose programs and graphs are supported."""

from typing import Final

__all__ = ["GRAPH_DEF_VERSION", "GRAPH_DEF_VERSION_MIN_CONSUMER", "GRAPH_DEF_VERSION_MIN_PRODUCER"]

GRAPH_DEF_VERSION: Final = 134
"""The version of the graphs that TensorFlow 1.15 writes. headrace writes the same version."""

GRAPH_DEF_VERSION_MIN_CONSUMER: Final = 0
"""The oldest version of a reader that can read these graphs."""

GRAPH_DEF_VERSION_MIN_PRODUCER: Final = 0
"""The oldest version of a graph that can be read."""
