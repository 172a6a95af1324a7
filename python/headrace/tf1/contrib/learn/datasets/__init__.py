"""`tf.contrib.learn.datasets`: data sets read from local files."""

from typing import TYPE_CHECKING

from headrace.tf1.contrib.learn.datasets import mnist
from headrace.tf1.namespace import namespace

__all__ = ["mnist"]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
