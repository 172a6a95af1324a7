"""`tf.estimator`: input functions and mode keys, but no estimators."""

from typing import TYPE_CHECKING

from headrace.tf1.estimator import inputs
from headrace.tf1.estimator.mode_keys import EstimatorModeKeys as ModeKeys
from headrace.tf1.namespace import namespace

__all__ = ["ModeKeys", "inputs"]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
