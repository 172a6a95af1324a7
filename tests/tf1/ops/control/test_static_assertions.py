import re

import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
    ("check", "good", "bad", "built", "ran"),
    [
        (tf.assert_rank, 1, 2, "must have rank 2.", "must have rank] [2]"),
        (
            tf.assert_rank_at_least,
            1,
            2,
            "must have rank at least 2.",
            "must have rank at least] [2]",
        ),
        (tf.assert_rank_in, (0, 1), (2, 3), "must have rank in (2, 3).", "rank in] [2] [3]"),
    ],
)
def test_rank_assertions_check_static_and_dynamic_ranks(run, hidden, check, good, bad, built, ran):
    x = tf.constant([5, 6], name="x")
    assert check(x, good).type == "NoOp"
    assert run(check(hidden([5, 6]), good)) is None
    words = f"here.  Tensor x:0 {built}  Received rank 1, shape (2,)"
    with pytest.raises(ValueError, match=re.escape(words)):
        check(x, bad, message="here")
    with pytest.raises(IAE, match=re.escape(f"{ran} [Received shape: ] [2]")):
        run(check(hidden([5, 6]), bad))


def test_assert_rank_requires_an_int32_scalar():
    with pytest.raises(ValueError, match=re.escape("Rank must be a scalar.")):
        tf.assert_rank([1], [1])
    with pytest.raises(TypeError, match=r"rank:0 must be of type tf\.int32; got tf\.float32"):
        tf.assert_rank_in([1], [1.5])


def test_type_assertions_check_the_dtype():
    x = tf.constant(1, name="x")
    assert tf.assert_type(x, tf.int32).type == "NoOp"
    assert tf.assert_integer(x).type == "NoOp"
    with pytest.raises(TypeError, match=r"here\.  x:0 must be of type tf\.float32; got tf\.int32"):
        tf.assert_type(x, tf.float32, message="here")
    with pytest.raises(TypeError, match=r'here\.  Expected "x" to be integer type\.  Found: '):
        tf.assert_integer(1.5, message="here")


def test_assert_scalar_checks_the_static_shape(hidden):
    x = tf.constant(1)
    assert tf.assert_scalar(x) is x
    with pytest.raises(ValueError, match=r"Expected scalar shape for .*:0, saw shape: \(1,\)"):
        tf.assert_scalar([1])
    with pytest.raises(ValueError, match="saw shape: <unknown>"):
        tf.assert_scalar(hidden(1))


def test_assert_same_float_dtype_returns_the_common_dtype():
    single, double = tf.constant(1.0), tf.constant(1.0, tf.float64)
    assert tf.assert_same_float_dtype() == tf.float32
    assert tf.assert_same_float_dtype([double]) == tf.float64
    assert tf.assert_same_float_dtype([single, single], tf.float32) == tf.float32
    with pytest.raises(ValueError, match=r"must be of the same type .* as Const:0"):
        tf.assert_same_float_dtype([single, double])
    with pytest.raises(ValueError, match=r"must be of the same type \(<dtype: 'float64'>\)\."):
        tf.assert_same_float_dtype([single], tf.float64)
    with pytest.raises(ValueError, match="Expected floating point type, got <dtype: 'int32'>"):
        tf.assert_same_float_dtype([tf.constant(1)])


def test_strings_and_tensors_are_not_proper_iterables():
    tf.assert_proper_iterable([1])
    for values in ("a", tf.constant([1]), np.zeros(2)):
        with pytest.raises(TypeError, match='"values" to be a "proper" iterable'):
            tf.assert_proper_iterable(values)
    with pytest.raises(TypeError, match=r"to be iterable\.  Found: <class 'int'>"):
        tf.assert_proper_iterable(5)


def test_is_numeric_tensor_accepts_only_tensors_of_numbers():
    assert tf.is_numeric_tensor(tf.constant(1))
    assert not tf.is_numeric_tensor(tf.constant("a"))
    assert not tf.is_numeric_tensor(1)


@pytest.mark.parametrize(
    ("values", "is_non_decreasing", "is_strictly_increasing"),
    [
        ([1, 2, 3], True, True),
        ([1, 1, 2], True, False),
        ([1, 0], False, False),
        ([[1, 2], [3, 4]], True, True),
        ([5], True, True),
        ([], True, True),
        (np.array([255, 0], np.uint8), False, False),
    ],
)
def test_monotonicity_checks_match_their_definition(
    run, values, is_non_decreasing, is_strictly_increasing
):
    results = run([tf.is_non_decreasing(values), tf.is_strictly_increasing(values)])
    assert results == [is_non_decreasing, is_strictly_increasing]


def test_monotonicity_checks_reject_strings():
    with pytest.raises(TypeError, match="Expected x to be numeric, instead found: Tensor"):
        tf.is_non_decreasing(["a"])
