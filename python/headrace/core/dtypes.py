"""Element types of tensors, with TensorFlow 1.15's names and numbers.

Every type exists twice: as a base type (`float32`) and as a reference type (`float32_ref`).
Operations that own a mutable buffer, such as variables, have outputs of reference types. `as_dtype`
converts anything that identifies a type.

Source: `tf.DType` and `tf.as_dtype` in TensorFlow 1.15.
"""

import builtins
from collections.abc import Sequence
from typing import Any, Final, TypeAlias, cast

import numpy as np

from headrace.core.repr_prefix import displayed_name

__all__ = [
    "DType",
    "DTypeLike",
    "DTypesLike",
    "as_dtype",
    "bool",
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
    "string",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

_REF_OFFSET: Final = 100

# enum number -> (name, NumPy type), base types only.
_BASE_TYPES: Final[dict[int, tuple[str, type[np.generic]]]] = {
    1: ("float32", np.float32),
    2: ("float64", np.float64),
    3: ("int32", np.int32),
    4: ("uint8", np.uint8),
    5: ("int16", np.int16),
    6: ("int8", np.int8),
    7: ("string", np.object_),
    8: ("complex64", np.complex64),
    9: ("int64", np.int64),
    10: ("bool", np.bool_),
    17: ("uint16", np.uint16),
    18: ("complex128", np.complex128),
    19: ("float16", np.float16),
    20: ("resource", np.object_),
    22: ("uint32", np.uint32),
    23: ("uint64", np.uint64),
}


class DType:
    """The type of the elements of a tensor.

    It compares equal to anything that `as_dtype` would convert to it, so `tf.int32 == "int32"` and
    `tf.int32 == np.int32` are true.

    Args:
        type_enum: TensorFlow's number for the type. For reference types, add 100.

    Raises:
        TypeError: If no type has this number.
    """

    __slots__ = (
        "_is_ref_dtype",
        "_numpy_type",
        "_type_enum",
        "base_dtype",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "is_numpy_compatible",
        "is_quantized",
        "is_unsigned",
        "name",
    )

    base_dtype: "DType"

    def __init__(self, type_enum: int) -> None:
        self._is_ref_dtype = type_enum > _REF_OFFSET
        base = type_enum - _REF_OFFSET if self._is_ref_dtype else type_enum
        if base not in _BASE_TYPES:
            raise TypeError(f"type_enum is not a valid types_pb2.DataType: {type_enum!r}")
        name, numpy_type = _BASE_TYPES[base]
        kind = np.dtype(numpy_type).kind
        self._type_enum = type_enum
        self._numpy_type = numpy_type
        self.name = f"{name}_ref" if self._is_ref_dtype else name
        self.is_bool = kind == "b"
        self.is_integer = kind in "iu"
        self.is_unsigned = kind == "u"
        self.is_floating = kind == "f"
        self.is_complex = kind == "c"
        self.is_quantized = False
        self.is_numpy_compatible = name != "resource"
        self.base_dtype = DType(base) if self._is_ref_dtype else self

    @property
    def as_numpy_dtype(self) -> type[np.generic]:
        """The NumPy scalar type, which is `np.object_` for string and resource."""
        return self._numpy_type

    @property
    def as_datatype_enum(self) -> int:
        """TensorFlow's number for this type."""
        return self._type_enum

    @property
    def real_dtype(self) -> "DType":
        """The type of the real part, such as float32 for complex64; otherwise, the base type."""
        halves = {"complex64": float32, "complex128": float64}
        return halves.get(self.base_dtype.name, self.base_dtype)

    @property
    def size(self) -> int:
        """The size of one element in bytes: a pointer's size for string, and 1 for resource."""
        return 1 if self.base_dtype.name == "resource" else np.dtype(self._numpy_type).itemsize

    @property
    def min(self) -> Any:
        """The smallest value.

        Raises:
            TypeError: If the type has no order or no bounds (bool, string, complex, resource).
        """
        return self._numeric_info("minimum").min

    @property
    def max(self) -> Any:
        """The largest value.

        Raises:
            TypeError: If the type has no order or no bounds (bool, string, complex, resource).
        """
        return self._numeric_info("maximum").max

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of pixel values in images: (0, 1) for floats, (0, max) for integers.

        Raises:
            ValueError: If images cannot have this type.
        """
        if self.is_floating:
            return 0, 1
        if self.is_bool:
            return 0, True
        if self.is_integer:
            return 0, int(self.max)
        raise ValueError(f"{self} does not have defined limits.")

    def is_compatible_with(self, other: "DTypeLike") -> builtins.bool:
        """Returns whether a value of type `other` can be used where this type is expected.

        Args:
            other: Anything that `as_dtype` accepts.

        Returns:
            True if `other` is the same type or a reference to this type.
        """
        other = as_dtype(other)
        return self._type_enum in (other.as_datatype_enum, other.base_dtype.as_datatype_enum)

    def _numeric_info(self, which: str) -> Any:
        if self.is_floating:
            return np.finfo(cast("Any", self._numpy_type))
        if self.is_integer:
            return np.iinfo(cast("Any", self._numpy_type))
        raise TypeError(f"Cannot find {which} value of {self}.")

    @property
    def _as_ref(self) -> "DType":
        return self if self._is_ref_dtype else _INTERNED[self._type_enum + _REF_OFFSET]

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        if other is None:
            return False
        try:
            return self._type_enum == as_dtype(cast("DTypeLike", other))._type_enum
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self._type_enum

    def __int__(self) -> int:
        return self._type_enum

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return displayed_name("headrace.core.dtypes", self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


_INTERNED: Final[dict[int, DType]] = {}
for _enum in _BASE_TYPES:
    _INTERNED[_enum] = DType(_enum)
    _INTERNED[_enum + _REF_OFFSET] = DType(_enum + _REF_OFFSET)
    _INTERNED[_enum + _REF_OFFSET].base_dtype = _INTERNED[_enum]

float32: Final = _INTERNED[1]
float64: Final = _INTERNED[2]
int32: Final = _INTERNED[3]
uint8: Final = _INTERNED[4]
int16: Final = _INTERNED[5]
int8: Final = _INTERNED[6]
string: Final = _INTERNED[7]
complex64: Final = _INTERNED[8]
int64: Final = _INTERNED[9]
bool: Final = _INTERNED[10]
uint16: Final = _INTERNED[17]
complex128: Final = _INTERNED[18]
float16: Final = _INTERNED[19]
resource: Final = _INTERNED[20]
uint32: Final = _INTERNED[22]
uint64: Final = _INTERNED[23]
half: Final = float16
double: Final = float64

_BY_NAME: Final[dict[str, DType]] = {dtype.name: dtype for dtype in _INTERNED.values()}
for _alias, _name in (("half", "float16"), ("float", "float32"), ("double", "float64")):
    _BY_NAME[_alias] = _BY_NAME[_name]
    _BY_NAME[f"{_alias}_ref"] = _BY_NAME[f"{_name}_ref"]

_BY_TYPE: Final[dict[type, DType]] = {
    float: float32,
    builtins.bool: bool,
    object: string,
    np.str_: string,
    np.bytes_: string,
    # On some platforms, NumPy has two names for the same integer width.
    **{
        kind: _BY_NAME[np.dtype(kind).name]
        for kind in (np.longlong, np.ulonglong, np.intc, np.uintc)
    },
    **{
        dtype.as_numpy_dtype: dtype
        for dtype in _INTERNED.values()
        if dtype is dtype.base_dtype and dtype is not resource
    },
}


# Types that `as_dtype` accepts.
DTypeLike: TypeAlias = DType | np.dtype[Any] | type | str | int
# One type, or one for each of several components.
DTypesLike: TypeAlias = DTypeLike | Sequence[DTypeLike]


def as_dtype(type_value: DTypeLike) -> DType:
    """Converts anything that identifies an element type to a `DType`.

    Args:
        type_value: A `DType`, TensorFlow's number for one, a name such as "float32" or
            "float32_ref", a NumPy scalar type or dtype, or one of the Python types float (float32),
            bool and object (string).

    Returns:
        The unique `DType` object for this type.

    Raises:
        TypeError: If the argument does not identify a type.
    """
    if isinstance(type_value, DType):
        return type_value
    dtype: DType | None = None
    if isinstance(type_value, str):
        dtype = _BY_NAME.get(type_value)
    elif isinstance(type_value, type):
        dtype = _BY_TYPE.get(type_value)
    elif isinstance(type_value, np.dtype):
        dtype = _BY_TYPE.get(type_value.type)
    elif isinstance(type_value, int):
        dtype = _INTERNED.get(type_value)
    if dtype is None:
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")
    return dtype


def kernel_name(dtype: DType) -> str:
    """Returns the name that kernels use in messages, such as `float` for float32."""
    names = {float16: "half", float32: "float", float64: "double"}
    return names.get(dtype, dtype.name)
