"""`tf.losses`: loss functions for predictions, without gradients."""

from typing import TYPE_CHECKING

from headrace.tf1.losses.cross_entropies import (
    sigmoid_cross_entropy,
    softmax_cross_entropy,
    sparse_softmax_cross_entropy,
)
from headrace.tf1.losses.differences import (
    absolute_difference,
    cosine_distance,
    hinge_loss,
    huber_loss,
    log_loss,
    mean_pairwise_squared_error,
    mean_squared_error,
)
from headrace.tf1.losses.reduction import (
    Reduction,
    add_loss,
    compute_weighted_loss,
    get_losses,
    get_regularization_loss,
    get_regularization_losses,
    get_total_loss,
)
from headrace.tf1.namespace import namespace

__all__ = [
    "Reduction",
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_loss",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "huber_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
