"""Errors of the engine and of files: the classes of TensorFlow 1 (`headrace.core.errors`)."""

from headrace.core.errors import *  # noqa: F403
from headrace.core.errors import __all__


def __dir__() -> list[str]:
    return sorted(__all__)
