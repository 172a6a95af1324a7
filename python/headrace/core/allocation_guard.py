"""Checks large allocations, and rejects arrays that can never fit into memory.

Linux overcommits memory: it lets NumPy create an array of any size, and kills the process once the
memory is used. Operations therefore call this check first. The engine checks its own allocations in
the same way.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace._native import memory_limit
from headrace.core.dtypes import as_dtype, kernel_name, string
from headrace.core.errors import InvalidArgumentError, ResourceExhaustedError
from headrace.core.shapes import bracketed

__all__ = ["available_bytes", "check_array", "check_bytes"]

_MAX_ELEMENTS = 2**63 - 1
# In NumPy, a string costs a pointer plus a Python object. The engine needs about as much.
_STRING_BYTES = 40

_NUM_COPIES = 2

# The limit in bytes and its source, determined only once.
_LIMIT, _OWNER = memory_limit()


def available_bytes() -> int:
    """Returns the memory of this machine or its control group, including swap space."""
    return _LIMIT


def check_array(shape: Iterable[Any], dtype: npt.DTypeLike) -> None:
    """Checks that an array could fit into memory.

    Args:
        shape: The sizes of its axes.
        dtype: The dtype of the array, which is object for strings.

    Raises:
        InvalidArgumentError: If the array would have more than 2**63 - 1 elements.
        ResourceExhaustedError: If this machine or its control group does not have enough memory.
    """
    sizes = [int(size) for size in shape]
    if math.prod(max(size, 1) for size in sizes) > _MAX_ELEMENTS:
        text = f"Shape {bracketed(sizes)} would have more than 2**63 - 1 elements"
        raise InvalidArgumentError(None, None, text)
    kind = as_dtype(np.dtype(dtype))
    item_bytes = _STRING_BYTES if kind == string else np.dtype(dtype).itemsize
    purpose = (
        f"OOM when allocating tensor with shape{bracketed(sizes)} and type {kernel_name(kind)}"
    )
    # The engine copies the array, so it briefly exists twice.
    check_bytes(_NUM_COPIES * math.prod(sizes) * item_bytes, purpose)


def check_bytes(num_bytes: int, purpose: str) -> None:
    """Checks that one allocation could fit into memory.

    Args:
        num_bytes: The number of bytes.
        purpose: The start of the error message.

    Raises:
        ResourceExhaustedError: If this machine or its control group does not have enough memory.
    """
    if num_bytes > _LIMIT:
        text = (
            f"{purpose}: {num_bytes} bytes were requested, expected at most the {_LIMIT} of "
            f"{_OWNER}. Use less memory, or a machine or control group with more of it"
        )
        raise ResourceExhaustedError(None, None, text)
