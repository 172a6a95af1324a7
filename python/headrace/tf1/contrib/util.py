"""`tf.contrib.util`: the values of tensors, and tensors as protocol buffers.

Source: `tf.contrib.util` in TensorFlow 1.15.
"""

from typing import TYPE_CHECKING

from headrace.ops.framework.folding import constant_value
from headrace.tf1.namespace import namespace

if TYPE_CHECKING:
    from headrace.tf1.adapters.tensor_protos import make_ndarray, make_tensor_proto

__all__ = ["constant_value", "make_ndarray", "make_tensor_proto"]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    # Names that need protocol buffers are loaded on first use.
    _LATE = dict.fromkeys(
        ["make_ndarray", "make_tensor_proto"], "headrace.tf1.adapters.tensor_protos"
    )
    __getattr__, __dir__ = namespace(__name__, __all__, _LATE)
