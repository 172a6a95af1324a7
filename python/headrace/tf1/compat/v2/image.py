"""`tf.compat.v2.image`: resizing as TensorFlow 2 does, with antialiasing."""

from headrace.ops.image.resizing import ResizeFilter as ResizeMethod
from headrace.ops.image.resizing import resize

__all__ = ["ResizeMethod", "resize"]
