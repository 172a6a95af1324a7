"""`tf.compat.v2`: the few functions of TensorFlow 2 that TensorFlow 1 programs use."""

from typing import TYPE_CHECKING

from headrace.tf1.compat.v2 import image, io
from headrace.tf1.namespace import namespace

__all__ = ["image", "io"]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
