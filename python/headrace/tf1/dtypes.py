"""`tf.dtypes`: element types and conversions between them."""

from typing import TYPE_CHECKING

from headrace.core.dtypes import (
    DType,
    as_dtype,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    resource,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from headrace.ops.math.cast import cast
from headrace.ops.math.saturate_cast import saturate_cast
from headrace.ops.strings.convert import as_string
from headrace.tf1.namespace import namespace

__all__ = [
    "DType",
    "as_dtype",
    "as_string",
    "bool",
    "cast",
    "complex64",
    "complex128",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "resource",
    "saturate_cast",
    "string",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
