"""`tf.nn`: activations and last-layer losses, but no layers."""

from typing import TYPE_CHECKING

from headrace.ops.math.activations import (
    elu,
    l2_loss,
    leaky_relu,
    relu6,
    selu,
    softplus,
    softsign,
    zero_fraction,
)
from headrace.ops.math.arithmetic import sigmoid, tanh
from headrace.ops.math.cross_entropy import log_poisson_loss
from headrace.ops.math.nn import relu
from headrace.ops.math.top_k import in_top_k, top_k
from headrace.tf1.adapters.math import l2_normalize, moments, softmax
from headrace.tf1.adapters.matrices import depth_to_space, space_to_depth
from headrace.tf1.adapters.nn import (
    log_softmax,
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from headrace.tf1.namespace import namespace

__all__ = [
    "depth_to_space",
    "elu",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "log_poisson_loss",
    "log_softmax",
    "moments",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "tanh",
    "top_k",
    "weighted_cross_entropy_with_logits",
    "zero_fraction",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
