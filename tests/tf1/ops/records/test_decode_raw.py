import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError

TYPES = [
    *(tf.float16, tf.float32, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8),
    *(tf.uint16, tf.bool, tf.complex64, tf.complex128),
]


def decode(value, dtype, little_endian=True):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.decode_raw(value, dtype, little_endian=little_endian))


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.name)
class TestEveryType:
    @given(data=st.data())
    def test_numpy_bytes_are_decoded(self, dtype, data):
        numbers = data.draw(npst.arrays(dtype.as_numpy_dtype, npst.array_shapes(max_dims=1)))
        decoded = decode(numbers.tobytes(), dtype)
        assert (decoded.dtype, decoded.shape) == (numbers.dtype, numbers.shape)
        assert decoded.tobytes() == numbers.tobytes()

    def test_big_endian_bytes_are_swapped(self, dtype):
        size = np.dtype(dtype.as_numpy_dtype).itemsize
        content = bytes([0, 1] * size)
        decoded = decode(content, dtype, little_endian=False)
        # All bytes of a complex number are reversed.
        assert decoded.tobytes() == content[:size][::-1] + content[size:][::-1]


def test_strings_become_rows_on_a_new_last_axis(run):
    strings = tf.placeholder(tf.string, [None, 2])
    numbers = tf.decode_raw(strings, tf.uint8)
    assert (numbers.op.name, numbers.dtype, numbers.shape.as_list()) == (
        *("DecodeRaw", tf.uint8, [None, 2, None]),
    )
    assert run(numbers, {strings: [["ab", "cd"]]}).tolist() == [[[97, 98], [99, 100]]]
    assert run(numbers, {strings: [["", ""]]}).shape == (1, 2, 0)
    assert run(numbers, {strings: np.empty((0, 2), object)}).shape == (0, 2, 0)
    assert tf.decode_raw(tf.placeholder(tf.string), tf.uint8).shape.rank is None


def test_any_nonzero_byte_is_true():
    assert decode(b"\0\x01\x02\xff", tf.bool).tolist() == [False, True, True, True]


def test_old_argument_name_is_accepted(run):
    assert run(tf.decode_raw(bytes="a", out_type=tf.int8)).tolist() == [97]
    assert tf.io.decode_raw is tf.decode_raw


@pytest.mark.parametrize(
    ("value", "dtype", "words"),
    [
        (
            "abc",
            tf.int16,
            "DecodeRaw has length 3 that is not a multiple of 2, the size of int16. Ch",
        ),
        (
            "a" * 9,
            tf.float64,
            "DecodeRaw has length 9 that is not a multiple of 8, the size of double",
        ),
        (
            "a" * 8,
            tf.complex128,
            "has length 8 that is not a multiple of 16, the size of complex128",
        ),
        (["abc", "d"], tf.uint8, "be the same size, but element 1 has size 3 != 1. Decode each"),
        ([["ab", "ab"], ["ab", ""]], tf.uint8, "the same size, but element 3 has size 2 != 0"),
        (["", "a"], tf.int64, "the same size, but element 1 has size 0 != 1"),
    ],
)
def test_strings_of_the_wrong_length_are_rejected(run, value, dtype, words):
    with pytest.raises(IAE, match=words):
        run(tf.decode_raw(value, dtype))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"input_bytes": "a", "bytes": "a"}, ValueError, "Cannot specify both 'bytes' and 'input_"),
        ({}, ValueError, "None values not supported"),
        (
            {"input_bytes": "a", "out_type": None},
            ValueError,
            "missing 1 positional argument: 'out_",
        ),
        (
            {"input_bytes": "a", "out_type": tf.string},
            TypeError,
            "DataType string not in list of a",
        ),
        ({"input_bytes": "a", "out_type": "x"}, TypeError, "Expected DataType for argument 'out_t"),
        (
            {"input_bytes": 5},
            TypeError,
            "Expected string passed to parameter 'bytes' of op 'DecodeR",
        ),
        (
            {"input_bytes": "a", "little_endian": 1},
            TypeError,
            "Expected bool for argument 'little_e",
        ),
    ],
)
def test_invalid_arguments_are_rejected_at_once(arguments, error, words):
    with pytest.raises(error, match=words):
        tf.decode_raw(**{"out_type": tf.uint8} | arguments)


class TestFixedLength:
    """`tf.compat.v2.io.decode_raw`."""

    @pytest.mark.parametrize(
        ("strings", "dtype", "little_endian", "length", "expected"),
        [
            ([b"abcd", b"ab"], tf.uint8, True, 3, [[97, 98, 99], [97, 98, 0]]),
            ([b"\1\2\3\4", b"\1\2"], tf.int16, False, 4, [[258, 772], [258, 0]]),
            ([[b"a"], [b""]], tf.int8, True, 2, [[[97, 0]], [[0, 0]]]),
            (b"\1\2", tf.int32, True, 8, [513, 0]),
            (b"\xff", tf.int64, False, 8, [-(2**56)]),
        ],
    )
    def test_strings_are_truncated_and_padded_to_the_fixed_length(
        self, run, strings, dtype, little_endian, length, expected
    ):
        numbers = tf.compat.v2.io.decode_raw(strings, dtype, little_endian, length)
        assert numbers.op.type == "DecodePaddedRaw"
        assert numbers.shape.as_list() == list(np.shape(expected))
        value = run(numbers)
        assert value.tolist() == expected
        assert value.dtype == dtype.as_numpy_dtype

    def test_missing_fixed_length_means_decode_raw(self, run):
        numbers = tf.compat.v2.io.decode_raw(["ab", "cd"], tf.uint8)
        assert (numbers.op.type, run(numbers).tolist()) == ("DecodeRaw", [[97, 98], [99, 100]])

    def test_unknown_fixed_length_yields_an_unknown_size(self, run):
        length = tf.placeholder(tf.int32)
        numbers = tf.compat.v2.io.decode_raw(["abc"], tf.uint8, fixed_length=length)
        assert numbers.shape.as_list() == [1, None]
        assert run(numbers, {length: 2}).tolist() == [[97, 98]]
        with pytest.raises(IAE, match=r"fixed_length \(0\) must be greater than zero"):
            run(numbers, {length: 0})
        numbers = tf.compat.v2.io.decode_raw(["abc"], tf.int16, fixed_length=length)
        with pytest.raises(IAE, match=r"\(3\) must be a multiple of the size of out_type \(2\)"):
            run(numbers, {length: 3})

    @pytest.mark.parametrize(
        ("dtype", "length", "kind", "words"),
        [
            (tf.int16, 3, ValueError, "evenly divisible by 2 but is 3 for 'DecodePaddedRaw'"),
            (tf.int16, -2, ValueError, "must be non-negative but is -2"),
            (tf.int16, [2], ValueError, "Shape must be rank 0 but is rank 1"),
            (tf.bool, 1, TypeError, "DataType bool not in list of allowed values"),
        ],
    )
    def test_incompatible_lengths_and_types_are_rejected(self, dtype, length, kind, words):
        with pytest.raises(kind, match=words):
            tf.compat.v2.io.decode_raw(["abcd"], dtype, fixed_length=length)
