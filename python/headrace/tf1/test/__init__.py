"""`tf.test`: questions about devices. The processor is the only device."""

from typing import TYPE_CHECKING

from headrace.tf1.namespace import namespace

__all__ = ["gpu_device_name", "is_built_with_cuda", "is_gpu_available"]


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Returns False: operations run on the processor."""
    return False


def is_built_with_cuda() -> bool:
    """Returns False: there are no kernels for GPUs."""
    return False


def gpu_device_name() -> str:
    """Returns an empty string: there is no GPU."""
    return ""


if not TYPE_CHECKING:  # Hidden from mypy, so that it reports wrong names.
    __getattr__, __dir__ = namespace(__name__, __all__)
