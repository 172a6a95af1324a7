"""`tf.compat.v2.image`: resizing with antialiasing, as in TensorFlow 2."""

from typing import TYPE_CHECKING

from headrace.ops.image.resize import ResizeMethod, resize, resize_with_pad
from headrace.tf1.namespace import namespace

__all__ = ["ResizeMethod", "resize", "resize_with_pad"]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
