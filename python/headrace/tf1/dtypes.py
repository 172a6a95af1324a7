"""`tf.dtypes`: element types and conversions between them."""

from headrace.dtypes import (
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
from headrace.ops.casting import cast
from headrace.ops.saturation import saturate_cast
from headrace.ops.strings import as_string

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
