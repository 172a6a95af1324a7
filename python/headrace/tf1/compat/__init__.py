"""`tf.compat`: conversion between text and bytes, names from TensorFlow 2, and `install`.

Source: `tf.compat` in TensorFlow 1.15.
"""

import numbers
import os
from typing import TYPE_CHECKING, Final, TypeVar, overload

import numpy as np

from headrace.core.shapes import dimension_at_index, dimension_value
from headrace.tf1.compat import v1, v2
from headrace.tf1.namespace import namespace

if TYPE_CHECKING:
    from headrace.tf1.compat.installation import install

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "install",
    "integral_types",
    "path_to_str",
    "real_types",
    "v1",
    "v2",
]

T = TypeVar("T")

bytes_or_text_types: Final = (bytes, str)
integral_types: Final = (numbers.Integral, np.integer)
real_types: Final = (numbers.Real, np.integer, np.floating)
complex_types: Final = (numbers.Complex, np.number)


def as_bytes(bytes_or_text: bytes | bytearray | str, encoding: str = "utf-8") -> bytes:
    """Returns bytes unchanged, and a string encoded.

    Raises:
        TypeError: If the argument has any other type.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: bytes | str, encoding: str = "utf-8") -> str:
    """Returns a string unchanged, and bytes decoded.

    Raises:
        TypeError: If the argument has any other type.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str: Final = as_text


def as_str_any(value: object) -> str:
    """Converts bytes as `as_str` does, and anything else with `str`."""
    return as_text(value) if isinstance(value, bytes) else str(value)


@overload
def path_to_str(path: os.PathLike[str] | os.PathLike[bytes]) -> str: ...


@overload
def path_to_str(path: T) -> T: ...


def path_to_str(path: object) -> object:
    """Returns a path as a string, and any other object unchanged."""
    return as_text(os.fspath(path)) if isinstance(path, os.PathLike) else path


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(
        __name__, __all__, {"install": "headrace.tf1.compat.installation"}
    )
