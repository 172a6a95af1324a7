import re

import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError

COMPARISONS = [
    (tf.assert_equal, "==", [1, 2], [1, 2], [1, 3]),
    (tf.assert_none_equal, "!=", [1, 2], [2, 1], [1, 3]),
    (tf.assert_less, "<", [1, 2], [2, 3], [2, 2]),
    (tf.assert_less_equal, "<=", [1, 2], [1, 3], [1, 1]),
    (tf.assert_greater, ">", [1, 2], [0, 1], [0, 2]),
    (tf.assert_greater_equal, ">=", [1, 2], [1, 1], [1, 3]),
]
SIGNS = [
    (tf.assert_positive, "x > 0", [1, 2], [1, 0]),
    (tf.assert_negative, "x < 0", [-1, -2], [-1, 0]),
    (tf.assert_non_negative, "x >= 0", [1, 0], [-1, 0]),
    (tf.assert_non_positive, "x <= 0", [-1, 0], [1, 0]),
]


@pytest.mark.parametrize(("check", "symbol", "x", "good", "bad"), COMPARISONS)
class TestComparisons:
    def test_comparison_assertion_passes_if_it_holds_everywhere(
        self, run, hidden, check, symbol, x, good, bad
    ):
        assert run([check(x, good), check(hidden(x), hidden(good))]) == [None, None]

    def test_failed_comparison_assertion_ends_a_run(self, run, hidden, check, symbol, x, good, bad):
        words = f"assertion failed: [here] [Condition x {symbol} y did not hold element-wise:]"
        with pytest.raises(IAE) as caught:
            run(check(hidden(x), hidden(bad), message="here"))
        assert caught.value.message.startswith(words)
        assert f"= ] [{bad[0]} {bad[1]}]" in caught.value.message

    def test_comparison_of_constants_fails_at_once(self, check, symbol, x, good, bad):
        with pytest.raises(IAE) as caught:
            check(x, bad, message="here")
        first, second, name, value, *_ = str(caught.value).splitlines()
        assert (first, value) == ("here", "[1 2]")
        assert second == f"Condition x {symbol} y did not hold element-wise:"
        assert name.startswith("x (assert_")

    def test_failed_assertion_shows_the_data_argument(
        self, run, hidden, check, symbol, x, good, bad
    ):
        with pytest.raises(IAE, match=re.escape("assertion failed: [7...] [hey]")):
            run(check(hidden(x), hidden(bad), data=[hidden([7, 8]), "hey"], summarize=1))


@pytest.mark.parametrize(("check", "condition", "good", "bad"), SIGNS)
def test_sign_assertions_check_each_element(run, hidden, check, condition, good, bad):
    assert run([check(good), check(hidden(good))]) == [None, None]
    words = re.escape(f"Condition {condition} did not hold element-wise:")
    with pytest.raises(IAE, match=words):
        check(bad)
    with pytest.raises(IAE, match=re.escape("[here.  ] [") + words):
        run(check(hidden(bad), message="here"))


def test_operations_can_depend_on_an_assertion(run, hidden):
    with tf.control_dependencies([tf.assert_equal(hidden(1), 2)]):
        waiting = tf.identity(hidden(7))
    with pytest.raises(IAE, match="Condition x == y did not hold"):
        run(waiting)


def test_assertion_operands_must_match_in_type_and_shape(run, hidden):
    with pytest.raises(TypeError, match="does not match type int32 of argument 'x'"):
        tf.assert_equal(tf.constant(1), tf.constant(1.5))
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 2 and 3"):
        tf.assert_equal([1, 2], [1, 2, 3])
    assert run(tf.assert_equal([1, 1], 1)) is None
    assert run(tf.assert_equal("a", "a")) is None


class TestNear:
    def test_assert_near_accepts_small_differences(self, run, hidden):
        run(tf.assert_near(hidden([1.0]), hidden([1.0000001])))
        run(tf.assert_near(hidden([1.0]), hidden([1.05]), rtol=0.1))
        run(tf.assert_near(hidden([1.0]), hidden([1.05]), atol=0.1))

    def test_assert_near_fails_on_large_differences(self, run, hidden):
        with pytest.raises(IAE) as caught:
            run(tf.assert_near(hidden([1.0, 2.0]), hidden([1.0, 2.1]), message="here"))
        assert "[here.  ] [x and y not equal to tolerance rtol = Tensor" in caught.value.message
        assert "[1 2.1]" in caught.value.message

    def test_assert_near_requires_floats(self):
        with pytest.raises(ValueError, match="assert_near: x has type int32, expected a floating"):
            tf.assert_near(1, 1)


def test_assertion_in_a_branch_is_checked_only_if_the_branch_runs(run):
    def guarded():
        with tf.control_dependencies([tf.assert_positive(tf.constant(3) // 4)]):
            return tf.constant(5)

    expected = tf.placeholder(tf.bool, [])
    result = tf.cond(expected, guarded, lambda: tf.constant(7))
    assert run(result, {expected: False}) == 7
    with pytest.raises(tf.errors.InvalidArgumentError, match="x > 0 did not hold"):
        run(result, {expected: True})
