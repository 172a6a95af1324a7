import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


class TestAsString:
    @pytest.mark.parametrize(
        ("value", "options", "text"),
        [
            (-2, {}, "-2"),
            (np.uint64(2**63), {}, "9223372036854775808"),
            (True, {}, "true"),
            (b"x", {}, "x"),
            (2.25, {}, "2.250000"),
            (np.float64(1 / 3), {}, "0.333333"),
            (float("nan"), {}, "nan"),
            (float("-inf"), {}, "-inf"),
            (1.5, {"precision": 2}, "1.50"),
            (1.5, {"scientific": True}, "1.500000e+00"),
            (1e20, {"scientific": True, "precision": 3}, "1.000e+20"),
            (1e20, {"shortest": True}, "1e+20"),
            (123456789.0, {"shortest": True}, "1.23457e+08"),
            (7, {"width": 4}, "   7"),
            (7, {"width": 4, "fill": "0"}, "0007"),
            (7, {"width": 4, "fill": "-"}, "7   "),
            (7, {"width": 1, "fill": "+"}, "+7"),
            (1 + 2j, {}, "(1.000000,2.000000)"),
        ],
    )
    def test_as_string_formats_like_printf(self, run, value, options, text):
        assert run(tf.as_string(value, **options)) == text.encode()

    def test_as_string_keeps_the_shape(self, run):
        result = tf.as_string([[1, 2]])
        assert (result.op.name, result.dtype, result.shape) == ("AsString", tf.string, [1, 2])
        assert run(result).tolist() == [[b"1", b"2"]]

    @pytest.mark.parametrize(
        ("value", "options", "words"),
        [
            (1, {"fill": "00"}, "Fill string must be one or fewer characters"),
            (1, {"fill": "x"}, "Fill argument not supported: x"),
            (1, {"precision": 2}, "precision not supported for datatype int32"),
            (1, {"shortest": True}, "scientific and shortest format not supported for datatype in"),
            (
                1.5,
                {"scientific": True, "shortest": True},
                "Cannot select both scientific and shortest notation",
            ),
        ],
    )
    def test_as_string_rejects_invalid_options(self, run, value, options, words):
        with pytest.raises(IAE, match=words):
            run(tf.as_string(value, **options))


class TestStringJoin:
    def test_string_join_joins_elementwise(self, run):
        result = tf.string_join(["a", ["b", "c"], "d"], separator="-")
        assert (result.op.name, result.shape) == ("StringJoin", [2])
        assert run(result).tolist() == [b"a-b-d", b"a-c-d"]
        assert run(tf.string_join(["a", "b"])) == b"ab"

    def test_string_join_rejects_different_shapes(self, run, hidden):
        with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal"):
            tf.string_join([["a"], ["b", "c"]])
        with pytest.raises(IAE, match=re.escape("Input shapes do not match: [1] vs. [2]")):
            run(tf.string_join([hidden(["a"]), hidden(["b", "c"])]))

    def test_string_join_requires_an_input(self):
        with pytest.raises(ValueError, match="List argument 'inputs' to 'StringJoin' Op with len"):
            tf.string_join([])


class TestStringToNumber:
    @pytest.mark.parametrize(
        ("text", "number"),
        [
            *(("1", 1), (" 1 ", 1), ("\t1\n", 1), ("1.5", 1.5), (".5", 0.5), ("5.", 5)),
            *(("1e3", 1000), ("-1E-2", -0.01), ("0x10", 16), ("0x1p3", 8), ("+5", 5)),
            *(("inf", np.inf), ("-Infinity", -np.inf), ("1e400", np.inf), ("nan", np.nan)),
        ],
    )
    def test_string_to_number_parses_floats(self, run, text, number):
        for dtype in (tf.float32, tf.float64):
            value = run(tf.string_to_number(text, dtype))
            assert value.dtype == dtype.as_numpy_dtype
            np.testing.assert_allclose(value, number)

    def test_string_to_number_parses_integers(self, run):
        result = tf.string_to_number(["1", " -7 ", "+5"], tf.int32)
        assert (result.op.name, result.dtype, result.shape) == ("StringToNumber", tf.int32, [3])
        assert run(result).tolist() == [1, -7, 5]
        assert run(tf.string_to_number(str(2**40), tf.int64)) == 2**40
        assert run(tf.string_to_number(input="3")) == 3.0

    @pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64])
    @pytest.mark.parametrize("text", ["x", "", "1_0", "1.5f", "- 5", "1 2", "1\0"])
    def test_string_to_number_rejects_non_numeric_text(self, run, text, dtype):
        words = f"StringToNumberOp could not correctly convert string: {text}".replace(
            "\0", "\\x00"
        )
        with pytest.raises(IAE, match=re.escape(words)):
            run(tf.string_to_number(text, dtype))

    @pytest.mark.parametrize(
        ("text", "dtype"),
        [
            *(("1.5", tf.int32), ("0x10", tf.int32), ("nan", tf.int64), ("1e3", tf.int64)),
            *((str(2**31), tf.int32), (str(2**63), tf.int64)),
        ],
    )
    def test_string_to_number_rejects_invalid_integers(self, run, text, dtype):
        with pytest.raises(IAE, match="could not correctly convert string"):
            run(tf.string_to_number(text, dtype))

    def test_string_to_number_rejects_unsupported_types_and_two_inputs(self):
        with pytest.raises(TypeError, match="'out_type' has DataType bool not in list of allowed"):
            tf.string_to_number("1", tf.bool)
        with pytest.raises(ValueError, match="Cannot specify both 'string_tensor' and 'input'"):
            tf.string_to_number("1", input="1")

    @given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5))
    def test_numbers_formatted_by_as_string_can_be_parsed(self, numbers):
        with tf.Graph().as_default(), tf.Session() as session:
            texts = tf.as_string(np.array(numbers, np.int64))
            assert session.run(tf.string_to_number(texts, tf.int64)).tolist() == numbers


def test_zero_fill_pads_only_numbers(run):
    words = run(tf.as_string([np.nan, -np.inf, 1.5], width=5, precision=1, fill="0"))
    assert words.tolist() == [b"  nan", b" -inf", b"001.5"]


def test_separator_can_be_bytes(run):
    assert run(tf.string_join(["a", "b"], b"\xff")) == b"a\xffb"


def test_string_join_requires_a_list():
    with pytest.raises(TypeError, match="Expected list for 'inputs' argument to 'StringJoin' Op"):
        tf.string_join("ab")
