"""`tf.estimator`: what feeds an estimator. The estimators themselves are training."""

from typing import TYPE_CHECKING

from headrace.tf1.estimator import inputs
from headrace.tf1.estimator.mode_keys import EstimatorModeKeys as ModeKeys
from headrace.tf1.namespace import namespace

__all__ = ["ModeKeys", "inputs"]

if not TYPE_CHECKING:  # For mypy a wrong name is an error.
    __getattr__, __dir__ = namespace(__name__, __all__)
