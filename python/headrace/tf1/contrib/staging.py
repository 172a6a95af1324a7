"""`tf.contrib.staging`: buffers between parts of a program.

Source: `tf.contrib.staging` in TensorFlow 1.15.
"""

from typing import TYPE_CHECKING

from headrace.tf1.namespace import namespace
from headrace.tf1.ops.queues.staging import StagingArea

__all__ = ["StagingArea"]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
