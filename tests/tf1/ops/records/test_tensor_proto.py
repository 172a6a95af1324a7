import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError

TYPES = [
    *(tf.float16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8),
    *(tf.uint16, tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128),
]


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
@given(data=st.data())
def test_serialized_tensors_round_trip(dtype, data):
    shape = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
    array = data.draw(npst.arrays(dtype.as_numpy_dtype, shape))
    with tf.Graph().as_default(), tf.Session() as session:
        parsed = session.run(tf.parse_tensor(tf.serialize_tensor(tf.constant(array)), dtype))
    assert (parsed.dtype, parsed.shape) == (array.dtype, array.shape)
    assert parsed.tobytes() == array.tobytes()


@given(st.lists(st.binary()))
def test_serialized_strings_round_trip(strings):
    with tf.Graph().as_default(), tf.Session() as session:
        source = tf.constant(strings, tf.string, [len(strings), 1])
        parsed = session.run(tf.parse_tensor(tf.serialize_tensor(source), tf.string))
    assert parsed.tolist() == [[item] for item in strings]


def test_serialized_bytes_match_tensorflow(run):
    assert run(tf.serialize_tensor([[1, 2]])) == (
        b'\x08\x03\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02"\x08\x01\0\0\0\x02\0\0\0'
    )
    assert run(tf.serialize_tensor(["ab", ""])) == b"\x08\x07\x12\x04\x12\x02\x08\x02B\x02abB\0"
    assert run(tf.serialize_tensor(True)) == b'\x08\x0a\x12\0"\x01\x01'


def test_operations_have_the_expected_types_shapes_and_names():
    parsed = tf.parse_tensor(tf.placeholder(tf.string), "float32")
    assert (parsed.op.name, parsed.dtype, parsed.shape.rank) == ("ParseTensor", tf.float32, None)
    serialized = tf.io.serialize_tensor(parsed)
    assert (serialized.op.name, serialized.dtype, serialized.shape) == (
        *("SerializeTensor", tf.string, []),
    )


VALUES = {
    "fewer values than elements": (b"\x08\x03\x12\x04\x12\x02\x08\x03\x38\x01\x38\x02", [1, 2, 2]),
    "no values": (b"\x08\x03\x12\x04\x12\x02\x08\x02", [0, 0]),
    "more values": (b"\x08\x03\x12\x04\x12\x02\x08\x01\x3a\x02\x05\x06", [5]),
    "unknown fields": (b"\x18\x01\x08\x03\x12\x00\x38\x07\xfa\x07\x01x", 7),
}


@pytest.mark.parametrize(("serialized", "values"), VALUES.values(), ids=VALUES)
def test_other_wire_formats_are_read(run, serialized, values):
    assert run(tf.parse_tensor(serialized, tf.int32)).tolist() == values


DAMAGED = {
    "text": (b"bogus", "Could not parse `serialized` as TensorProto: 'bogus'"),
    "no UTF-8": (b"\xff", "Could not parse `serialized` as TensorProto: '\ufffd'"),
    "a huge length": (b"\x22\xff\xff\xff\xff\x0f", "Could not parse `serialized` as TensorProto"),
    "half a float": (
        b"\x08\x01\x12\x00\x2a\x02\0\0",
        "Could not parse `serialized` as TensorProto",
    ),
    "nothing": (b"", "Cannot parse tensor from proto: unknown element type 0"),
    "another type": (
        b"\x08\x01\x12\x00",
        "Type mismatch between parsed tensor (float) and dtype (in",
    ),
    "a short content": (
        b"\x08\x03\x12\x00\x22\x01a",
        "Cannot parse tensor from proto: the content ha",
    ),
    "a negative size": (
        *(
            b"\x08\x03\x12\x0d\x12\x0b\x08" + b"\xff" * 9 + b"\x01",
            "shape [-1] does not fit into a message",
        ),
    ),
    "a huge size": (
        b"\x08\x03\x12\x08\x12\x06\x08\x80\x80\x80\x80\x40",
        "Cannot parse tensor from proto: a int32 tensor of shape [17179869184] does not fit into",
    ),
}


@pytest.mark.parametrize(("serialized", "words"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_tensors_are_rejected(run, serialized, words):
    with pytest.raises(IAE) as caught:
        run(tf.parse_tensor(serialized, tf.int32))
    assert words in caught.value.message


def test_invalid_arguments_are_rejected(run):
    with pytest.raises(TypeError, match="Expected DataType for argument 'out_type' not 'x'"):
        tf.parse_tensor("", "x")
    with pytest.raises(TypeError, match="Expected string passed to parameter 'serialized'"):
        tf.parse_tensor(5, tf.int32)
    with pytest.raises(IAE, match=r"Expected `serialized` to be a scalar, got shape: \[1\]"):
        run(tf.parse_tensor([b""], tf.int32))


@given(st.data())
def test_damage_yields_an_error_or_a_different_tensor_but_never_a_crash(data):
    with tf.Graph().as_default(), tf.Session() as session:
        record = bytearray(session.run(tf.serialize_tensor(np.arange(4, dtype=np.uint8))))
        for _ in range(data.draw(st.integers(1, 3))):
            record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 127))
        try:
            value = session.run(tf.parse_tensor(bytes(record), tf.uint8))
        except IAE:
            return
        assert value.dtype == np.uint8
