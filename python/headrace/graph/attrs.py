"""Checks the attributes of operations."""

from collections.abc import Mapping
from typing import Any, Final

from headrace.core.shapes import TensorShape

__all__ = ["check_attrs"]

_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**63 - 1


def check_attrs(op_name: str, attrs: Mapping[str, Any]) -> None:
    """Raises ValueError if an integer attribute has more than 64 bits."""
    for name, value in attrs.items():
        kind = type(value)
        if kind is int:
            _check(op_name, name, value)
        elif kind is list or kind is tuple:
            for item in value:
                _check_item(op_name, name, item)
        elif kind is TensorShape:
            _check_item(op_name, name, value)


def _check_item(op_name: str, name: str, item: object) -> None:
    if type(item) is int:
        _check(op_name, name, item)
    elif type(item) is TensorShape and item.rank is not None:
        for size in item.as_list():
            if size is not None:
                _check(op_name, name, size)


def _check(op_name: str, name: str, value: int) -> None:
    if not _SMALLEST <= value <= _LARGEST:
        raise ValueError(
            f"operation '{op_name}', attr '{name}': Value out of range: {value}, expected a "
            "64-bit integer. Pass a smaller number."
        )
