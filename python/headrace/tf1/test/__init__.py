"""`tf.test`: graph tests, and functions that list devices. The only device is the CPU."""

from typing import TYPE_CHECKING

from headrace.tf1.namespace import namespace
from headrace.tf1.test.directories import get_temp_dir

if TYPE_CHECKING:
    from unittest import mock

    from headrace.tf1.test.case import TestCase, main
    from headrace.tf1.test.graph_defs import assert_equal_graph_def

__all__ = [
    "TestCase",
    "assert_equal_graph_def",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_gpu_available",
    "main",
    "mock",
]

# Names that need other packages are loaded on first use.
_LATE = {
    "TestCase": "headrace.tf1.test.case",
    "assert_equal_graph_def": "headrace.tf1.test.graph_defs",
    "main": "headrace.tf1.test.case",
    "mock": "unittest",
}


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Returns False, because operations run on the processor."""
    return False


def is_built_with_cuda() -> bool:
    """Returns False, because there are no kernels for GPUs."""
    return False


def is_built_with_gpu_support() -> bool:
    """Returns False, because there are no kernels for GPUs."""
    return False


def is_built_with_rocm() -> bool:
    """Returns False, because there are no kernels for GPUs."""
    return False


def is_built_with_xla() -> bool:
    """Returns False, because graphs are not compiled."""
    return False


def gpu_device_name() -> str:
    """Returns an empty string, because there is no GPU."""
    return ""


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__, _LATE)
