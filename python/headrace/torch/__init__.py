"""A drop-in for PyTorch's `DataLoader` that can resume at any batch.

A program only needs to change its import to `from headrace.torch import DataLoader`. Requires
PyTorch.
"""

from headrace.core.optional_dependencies import missing_torch

if missing := missing_torch():
    raise ModuleNotFoundError(f"headrace.torch: {missing}", name="torch")

from headrace.torch.data_loader import DataLoader

__all__ = ["DataLoader"]
