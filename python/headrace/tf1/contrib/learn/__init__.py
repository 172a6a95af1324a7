"""`tf.contrib.learn`: its input functions. Its estimators are training."""

from typing import TYPE_CHECKING

from headrace.tf1.contrib.learn import io
from headrace.tf1.namespace import namespace

__all__ = ["io"]

if not TYPE_CHECKING:  # For mypy a wrong name is an error.
    __getattr__, __dir__ = namespace(__name__, __all__)
