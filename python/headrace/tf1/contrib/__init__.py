"""`tf.contrib`: what of it makes inputs."""

from typing import TYPE_CHECKING

from headrace.tf1.contrib import (
    framework,
    image,
    learn,
    lookup,
    losses,
    metrics,
    slim,
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
    "training",
    "util",
]

if not TYPE_CHECKING:  # For mypy a wrong name is an error.
    __getattr__, __dir__ = namespace(__name__, __all__)
