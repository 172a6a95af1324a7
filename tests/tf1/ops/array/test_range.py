import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf


class TestRange:
    def test_range_counts_up_and_down(self, run):
        assert run(tf.range(3)).tolist() == [0, 1, 2]
        assert run(tf.range(1, 6, 2)).tolist() == [1, 3, 5]
        assert run(tf.range(3, 0, -1)).tolist() == [3, 2, 1]
        assert run(tf.range(0)).tolist() == []
        assert run(tf.range(limit=4, start=2)).tolist() == [2, 3]

    def test_range_has_the_widest_type_of_its_arguments(self):
        assert tf.range(3).dtype == tf.int32
        assert tf.range(tf.constant(3, tf.int64)).dtype == tf.int64
        assert tf.range(0, 1.5).dtype == tf.float32
        assert tf.range(3, dtype=tf.float64).dtype == tf.float64

    def test_range_length_is_known_for_constant_arguments(self):
        assert tf.range(1, 7, 2).shape == [3]
        assert tf.range(tf.placeholder(tf.int32, [])).shape.as_list() == [None]
        assert tf.range(0.0, 1.0, 0.1).shape == [10]

    def test_range_of_floats_counts_in_steps(self, run):
        np.testing.assert_allclose(run(tf.range(0.0, 1.0, 0.25)), [0.0, 0.25, 0.5, 0.75])

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ((0, 5, 0), "Requires delta != 0"),
            ((5, 1), "Requires start <= limit when delta > 0: 5/1"),
            ((1, 5, -1), "Requires start >= limit when delta < 0: 1/5"),
        ],
    )
    def test_range_delta_must_point_towards_the_limit(self, run, hidden, arguments, words):
        with pytest.raises(ValueError, match=words):
            tf.range(*arguments)
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(tf.range(*map(hidden, arguments)))

    @pytest.mark.parametrize("limit", ["a", np.uint8(3)])
    def test_range_of_unsupported_types_requires_a_dtype(self, limit):
        with pytest.raises(AssertionError, match="range: cannot choose a type"):
            tf.range(limit)

    @given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(bool))
    def test_range_matches_python(self, start, limit, delta):
        if (limit - start) * delta < 0:
            return
        with tf.Graph().as_default(), tf.Session() as session:
            result = tf.range(start, limit, delta)
            assert session.run(result).tolist() == list(range(start, limit, delta))
            assert result.shape == [len(range(start, limit, delta))]


class TestLinSpace:
    def test_lin_space_includes_both_ends(self, run):
        result = tf.lin_space(0.0, 1.0, 5)
        assert result.shape == [5]
        assert run(result).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
        assert run(tf.linspace(2.0, 9.0, 1)).tolist() == [2.0]

    def test_lin_space_requires_a_positive_num(self, run, hidden):
        with pytest.raises(ValueError, match=re.escape("Requires num > 0: 0")):
            tf.lin_space(0.0, 1.0, 0)
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape("Requires num > 0: 0")):
            run(tf.lin_space(0.0, 1.0, hidden(0)))
