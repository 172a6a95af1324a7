"""`tf.compat.v2`: the few things that only TensorFlow 2 can do and programs of TensorFlow 1 use."""

from headrace.tf1.compat.v2 import image

__all__ = ["image"]
