"""The error classes of TensorFlow 1, for the engine and for files (see `headrace.core.errors`)."""

from headrace.core.errors import *  # noqa: F403
from headrace.core.errors import __all__


def __dir__() -> list[str]:
    return sorted(__all__)
