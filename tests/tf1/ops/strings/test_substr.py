import re

import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


class TestSubstr:
    @pytest.mark.parametrize(
        ("text", "pos", "length", "part"),
        [
            ("hello", 1, 3, b"ell"),
            ("hello", -3, 2, b"ll"),
            ("hello", 5, 2, b""),
            ("hello", 2, 100, b"llo"),
            ("hello", 2, -1, b"llo"),
            (["hello", "world"], [1, 2], [3, 1], [b"ell", b"r"]),
            ("hello", [1, 2], [3, 1], [b"ell", b"l"]),
            ([["ab", "cd"], ["ef", "gh"]], [0, 1], [1, 1], [[b"a", b"d"], [b"e", b"h"]]),
        ],
    )
    def test_substr_returns_a_part_of_each_string(self, run, text, pos, length, part):
        result = tf.substr(text, pos, length)
        assert result.shape == np.shape(part)
        value = run(result)
        assert (value if isinstance(value, bytes) else value.tolist()) == part

    def test_substr_counts_bytes_or_characters(self, run):
        assert run(tf.strings.substr("äöü", 1, 1)) == b"\xa4"
        assert run(tf.strings.substr("äöü", 1, 1, unit="UTF8_CHAR")) == "ö".encode()
        assert run(tf.strings.substr("äöü", -2, 9, unit="UTF8_CHAR")) == "öü".encode()

    @pytest.mark.parametrize(
        ("pos", "unit", "words"),
        [
            (6, "BYTE", "pos 6 out of range for string b'hello' at index 0"),
            (-6, "BYTE", "pos -6 out of range for string b'hello' at index 0"),
            (6, "UTF8_CHAR", "pos 6 out of range for string at index 0"),
        ],
    )
    def test_substr_fails_at_run_time_outside_the_string(self, run, pos, unit, words):
        with pytest.raises(IAE, match=words):
            run(tf.substr("hello", pos, 1, unit=unit))

    def test_substr_rejects_incompatible_shapes_and_units(self, run, hidden):
        with pytest.raises(ValueError, match="Dimensions must be equal, but are 2 and 3"):
            tf.substr(["a", "b"], [0, 0, 0], [1, 1, 1])
        with pytest.raises(ValueError, match="Shape must be rank 0 but is rank 1"):
            tf.substr("a", [0], 1)
        with pytest.raises(ValueError, match="pos and len shapes must match"):
            tf.substr("a", [0], [1, 1])
        words = "Attr 'unit' of 'Substr' Op passed string 'CHAR' not in: \"BYTE\""
        with pytest.raises(ValueError, match=words):
            tf.substr("a", 0, 1, unit="CHAR")
        with pytest.raises(IAE, match="pos and len should have the same shape"):
            run(tf.substr("a", hidden([0]), hidden([1, 1])))
        with pytest.raises(IAE, match=re.escape("Incompatible shapes: [2] vs. [3]")):
            run(tf.substr(hidden(["a", "b"]), hidden([0, 0, 0]), hidden([1, 1, 1])))


def test_length_counts_bytes_or_characters(run):
    assert run(tf.strings.length(["a", "", "äö"])).tolist() == [1, 0, 4]
    assert run(tf.strings.length(["a", "", "äö"], unit="UTF8_CHAR")).tolist() == [1, 0, 2]
    with pytest.raises(ValueError, match="'unit' of 'StringLength' Op passed string 'X' not in"):
        tf.strings.length("a", unit="X")


def test_lower_and_upper_convert_case(run):
    assert run(tf.strings.lower("AÄ")) == "aÄ".encode()
    assert run(tf.strings.lower("AÄ", encoding="utf-8")) == "aä".encode()
    assert run(tf.strings.upper(["aä"])).tolist() == ["Aä".encode()]
    assert run(tf.strings.upper(["aä"], encoding="utf-8")).tolist() == ["AÄ".encode()]
    with pytest.raises(IAE, match="is supported, received latin-1"):
        run(tf.strings.upper("a", encoding="latin-1"))


def test_strip_removes_surrounding_spaces(run):
    assert run(tf.string_strip(["  a b \t\n", "c", "\v \r"])).tolist() == [b"a b", b"c", b""]
    assert tf.strings.strip(tf.placeholder(tf.string, [None])).shape.as_list() == [None]


class TestReduceJoin:
    ROWS = (("a", "b"), ("c", "d"))

    @pytest.mark.parametrize(
        ("axis", "value"),
        [
            (0, [b"ac", b"bd"]),
            (1, [b"ab", b"cd"]),
            (-1, [b"ab", b"cd"]),
            ([0, 1], b"acbd"),
            ([1, 0], b"abcd"),
            (None, b"abcd"),
            ([], [[b"a", b"b"], [b"c", b"d"]]),
        ],
    )
    def test_reduce_join_joins_along_axes(self, run, axis, value):
        axis = tf.constant(axis, tf.int32, shape=[0]) if axis == [] else axis
        result = tf.reduce_join(self.ROWS, axis)
        assert result.shape == np.shape(value)
        values = run(result)
        assert (values if isinstance(values, bytes) else values.tolist()) == value

    def test_reduce_join_can_keep_axes_and_separate_strings(self, run):
        result = tf.strings.reduce_join(self.ROWS, 1, keepdims=True, separator="-")
        assert run(result).tolist() == [[b"a-b"], [b"c-d"]]
        assert run(tf.reduce_join(self.ROWS, reduction_indices=0, keep_dims=True)).shape == (1, 2)
        assert run(tf.reduce_join("a")) == b"a"

    def test_reduce_join_rejects_invalid_or_duplicate_axes(self, run, hidden):
        with pytest.raises(ValueError, match="Invalid reduction dimension 2 for input with 2"):
            tf.reduce_join(self.ROWS, 2)
        with pytest.raises(tf.errors.OutOfRangeError, match="Invalid reduction dimension 2 for"):
            run(tf.reduce_join(hidden(self.ROWS), hidden(2)))
        with pytest.raises(IAE, match="Duplicate reduction dimension -2"):
            run(tf.reduce_join(hidden(self.ROWS), hidden([0, -2])))
