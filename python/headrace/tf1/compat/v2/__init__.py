"""`tf.compat.v2`: the few things that only TensorFlow 2 can do and programs of TensorFlow 1 use."""

from typing import TYPE_CHECKING

from headrace.tf1.compat.v2 import image, io
from headrace.tf1.namespace import namespace

__all__ = ["image", "io"]

if not TYPE_CHECKING:  # For mypy a wrong name is an error.
    __getattr__, __dir__ = namespace(__name__, __all__)
