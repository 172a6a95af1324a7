import re

import numpy as np
import pytest

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, np.int32),
        (1.5, np.float32),
        (True, np.bool_),
        ("s", bytes),
        ([1, 2], np.ndarray),
        (["a", "b"], np.ndarray),
        ([[1.5]], np.ndarray),
    ],
)
def test_the_function_gets_arrays_scalars_and_bytes(run, value, kind):
    seen = []
    x = tf.constant(value)
    result = tf.py_func(lambda a: seen.append(a) or a, [x], x.dtype)
    assert np.array_equal(run(result), run(x))
    assert isinstance(seen[0], kind)


def test_the_function_may_write_into_its_arguments(run):
    def double(a):
        a *= 2
        return a

    x = tf.constant([1, 2])
    assert run([tf.py_func(double, [x], tf.int32), x])[0].tolist() == [2, 4]
    assert run(x).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("returned", "dtype", "value"),
    [
        ("é", tf.string, "é".encode()),
        (b"a\0b", tf.string, b"a\0b"),
        (np.array(["a", "bc"]), tf.string, [b"a", b"bc"]),
        ([["a", "b"]], tf.string, [b"a", b"b"]),
        (1, tf.int64, 1),
        (1.5, tf.float64, 1.5),
        (True, tf.bool, True),
        ([np.array([1, 2])], tf.int64, [1, 2]),
        ([[1, 2]], tf.int64, [1, 2]),
        (np.arange(4).reshape(2, 2).T, tf.int64, [[0, 2], [1, 3]]),
    ],
)
def test_results_are_taken_as_they_are(run, returned, dtype, value):
    result = tf.py_func(lambda: returned, [], dtype)
    assert (result.dtype, result.shape.rank) == (dtype, None)
    assert np.array_equal(run(result), np.array(value, dtype.as_numpy_dtype))


def test_a_list_of_types_gives_a_list_of_tensors(run):
    results = tf.py_func(lambda: ("a", 1), [], [tf.string, tf.int64])
    assert run(results) == [b"a", 1]
    assert run(tf.py_func(lambda: 1, [], [tf.int64])) == [1]


def test_no_types_give_the_operation(run):
    calls = []
    op = tf.py_func(lambda: calls.append(1), [], [])
    assert isinstance(op, tf.Operation)
    assert run(op) is None
    assert calls == [1]


@pytest.mark.parametrize(
    ("returned", "types", "words"),
    [
        ((1, 2), tf.int64, r"pyfunc_\d+ returns 2 values, but expects to see 1 values\."),
        (1, [tf.int64] * 2, r"pyfunc_\d+ returns 1 values, but expects to see 2 values\."),
        (None, tf.int64, r"pyfunc_\d+ returns 0 values, but expects to see 1 values\."),
        (1, tf.int32, r"0-th value returned by pyfunc_\d+ is int64, but expects int32"),
        (1.5, tf.float32, r"0-th value returned by pyfunc_\d+ is double, but expects float"),
        (("a", "b"), [tf.string, tf.int64], r"1-th value returned by .* is string, but expects i"),
        (np.float16(1), tf.float32, r"is half, but expects float"),
        (object(), tf.int64, r"Unsupported object type object"),
        (np.array([b"a", None]), tf.string, r"Unsupported object type NoneType"),
    ],
)
def test_results_that_do_not_fit_the_types_fail_the_run(run, returned, types, words):
    with pytest.raises(IAE, match=words):
        run(tf.py_func(lambda: returned, [], types))


def test_the_operation_says_that_it_is_the_users():
    result = tf.py_func(len, [tf.constant("a")], tf.int64)
    op = result.op
    assert (op.name, op.type) == ("PyFunc", "PyFunc")
    assert op.get_attr("python_function") is True
    assert op.kernel.function is len
    assert tf.py_func(len, ["a"], tf.int64, stateful=False).op.type == "PyFuncStateless"
    assert tf.py_func(len, ["a"], tf.int64, name="f").op.inputs[0].op.name == "f/input_0"


def test_only_functions_are_accepted():
    with pytest.raises(TypeError, match="func must be callable, got None"):
        tf.py_func(None, [], tf.int64)
    with pytest.raises(TypeError, match="Tensor objects are only iterable"):
        tf.py_func(len, tf.constant("a"), tf.int64)


def test_the_users_exception_is_named_in_the_runs_error(run):
    def fail():
        raise KeyError("the user's")

    with pytest.raises(Exception, match=re.escape("the user's")):
        run(tf.py_func(fail, [], tf.int64))


def test_stop_iteration_is_the_end_of_the_input(run):
    numbers = iter([1, 2])
    following = tf.py_func(lambda: next(numbers), [], tf.int64)
    assert [run(following), run(following)] == [1, 2]
    with pytest.raises(tf.errors.OutOfRangeError):
        run(following)


def test_a_function_may_write_to_what_it_is_given():
    large = tf.constant(np.zeros(10_000))

    def write(array):
        array += 1
        return array.sum()

    with tf.Session() as session:
        total = tf.py_func(write, [large], tf.float64)
        for _ in range(2):
            assert session.run([total, tf.reduce_sum(large)]) == [10_000, 0]
