import pickle

import numpy as np
import pytest

from headrace.core import dtypes
from headrace.core.dtypes import DType, as_dtype
from headrace.core.repr_prefix import displayed_name

REFERENCE = as_dtype("float32_ref")
NUMBERS = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": 7,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "resource": 20,
    "uint32": 22,
    "uint64": 23,
}


@pytest.mark.parametrize(("name", "number"), NUMBERS.items())
def test_each_type_has_its_tensorflow_name_and_number(name, number):
    dtype = getattr(dtypes, name)
    assert (dtype.name, dtype.as_datatype_enum, int(dtype)) == (name, number, number)
    assert as_dtype(name) is dtype
    assert as_dtype(number) is dtype
    assert as_dtype(f"{name}_ref").as_datatype_enum == number + 100


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (np.float32, "float32"),
        (np.dtype("uint8"), "uint8"),
        (np.array([1]).dtype, "int64"),
        (np.array(["a"]).dtype, "string"),
        (np.array([b"a"]).dtype, "string"),
        (object, "string"),
        (float, "float32"),
        (bool, "bool"),
        (np.longlong, "int64"),
        ("half", "float16"),
        ("float", "float32"),
        ("double_ref", "float64_ref"),
        (dtypes.int32, "int32"),
    ],
)
def test_as_dtype_converts_any_type_name(value, name):
    assert as_dtype(value).name == name


@pytest.mark.parametrize("value", [int, str, complex, None, "foo", 1000, [], np.datetime64])
def test_as_dtype_rejects_values_that_are_not_types(value):
    with pytest.raises(TypeError, match=r"Cannot convert value .* to a TensorFlow DType"):
        as_dtype(value)


def test_unknown_type_number_is_rejected():
    with pytest.raises(TypeError, match=r"type_enum is not a valid types_pb2.DataType: 1000"):
        DType(1000)


def test_str_and_repr_match_tensorflow():
    assert repr(dtypes.float32) == displayed_name("headrace.core.dtypes", "float32")
    assert str(dtypes.float32) == "<dtype: 'float32'>"
    assert repr(REFERENCE) == displayed_name("headrace.core.dtypes", "float32_ref")


def test_reference_type_has_a_base_and_is_compatible_in_one_direction():
    assert REFERENCE.base_dtype is dtypes.float32
    assert REFERENCE._is_ref_dtype
    assert not dtypes.float32._is_ref_dtype
    assert dtypes.float32.is_compatible_with(REFERENCE)
    assert not REFERENCE.is_compatible_with(dtypes.float32)
    assert dtypes.float32 != REFERENCE


def test_types_equal_their_names():
    assert dtypes.int32 == "int32"
    assert dtypes.int32 == np.int32
    assert dtypes.int32 != "int64"
    assert dtypes.int32 is not None
    assert dtypes.int32 != None  # noqa: E711 (the operator is what is tested)
    assert dtypes.int32 != "no type"
    assert len({dtypes.int32, as_dtype("int32")}) == 1


@pytest.mark.parametrize(
    ("dtype", "kinds"),
    [
        (dtypes.float16, {"floating"}),
        (dtypes.int8, {"integer"}),
        (dtypes.uint8, {"integer", "unsigned"}),
        (dtypes.bool, {"bool"}),
        (dtypes.complex64, {"complex"}),
        (dtypes.string, set()),
        (dtypes.resource, set()),
        (REFERENCE, {"floating"}),
    ],
)
def test_types_have_kinds(dtype, kinds):
    every = ("floating", "integer", "unsigned", "bool", "complex")
    assert {kind for kind in every if getattr(dtype, f"is_{kind}")} == kinds


def test_types_have_numpy_types_and_sizes():
    assert dtypes.string.as_numpy_dtype is np.object_
    assert dtypes.bool.as_numpy_dtype is np.bool_
    assert (dtypes.float16.size, dtypes.int64.size, dtypes.resource.size) == (2, 8, 1)
    assert dtypes.complex64.real_dtype is dtypes.float32
    assert dtypes.complex128.real_dtype is dtypes.float64
    assert dtypes.int32.real_dtype is dtypes.int32


def test_types_have_bounds():
    assert (dtypes.int8.min, dtypes.uint16.max) == (-128, 65535)
    assert dtypes.float32.max == np.finfo(np.float32).max
    assert dtypes.float32.limits == (0, 1)
    assert dtypes.int8.limits == (0, 127)
    assert dtypes.bool.limits == (0, True)
    with pytest.raises(TypeError, match="Cannot find minimum value of <dtype: 'bool'>"):
        _ = dtypes.bool.min
    with pytest.raises(TypeError, match="Cannot find maximum value of <dtype: 'string'>"):
        _ = dtypes.string.max
    with pytest.raises(ValueError, match="<dtype: 'string'> does not have defined limits"):
        _ = dtypes.string.limits


def test_unpickled_type_is_the_same_object():
    assert pickle.loads(pickle.dumps(dtypes.string)) is dtypes.string
    assert pickle.loads(pickle.dumps(REFERENCE)) is REFERENCE
