"""`tf.nn`: what an evaluation needs of a network's last layer; no other layers are here."""

from typing import TYPE_CHECKING

from headrace.ops.math.arithmetic import sigmoid, tanh
from headrace.ops.math.nn import relu
from headrace.ops.math.top_k import in_top_k, top_k
from headrace.tf1.adapters.math import l2_normalize, moments, softmax
from headrace.tf1.namespace import namespace

__all__ = ["in_top_k", "l2_normalize", "moments", "relu", "sigmoid", "softmax", "tanh", "top_k"]

if not TYPE_CHECKING:  # For mypy a wrong name is an error.
    __getattr__, __dir__ = namespace(__name__, __all__)
