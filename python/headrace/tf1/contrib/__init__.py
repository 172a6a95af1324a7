"""The modules of `tf.contrib` that input pipelines use."""

from typing import TYPE_CHECKING

from headrace.tf1.contrib import (
    framework,
    image,
    learn,
    lookup,
    losses,
    metrics,
    slim,
    staging,
    training,
    util,
)
from headrace.tf1.namespace import namespace

__all__ = [
    "framework",
    "image",
    "learn",
    "lookup",
    "losses",
    "metrics",
    "slim",
    "staging",
    "training",
    "util",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
