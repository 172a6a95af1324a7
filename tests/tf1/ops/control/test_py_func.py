import sys
import traceback

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
def test_function_receives_arrays_scalars_and_bytes(run, value, kind):
    seen = []
    x = tf.constant(value)
    result = tf.py_func(lambda a: seen.append(a) or a, [x], x.dtype)
    assert np.array_equal(run(result), run(x))
    assert isinstance(seen[0], kind)


def test_function_can_modify_its_arguments(run):
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
def test_py_func_results_are_returned_unchanged(run, returned, dtype, value):
    result = tf.py_func(lambda: returned, [], dtype)
    assert (result.dtype, result.shape.rank) == (dtype, None)
    assert np.array_equal(run(result), np.array(value, dtype.as_numpy_dtype))


def test_list_of_types_returns_a_list_of_tensors(run):
    results = tf.py_func(lambda: ("a", 1), [], [tf.string, tf.int64])
    assert run(results) == [b"a", 1]
    assert run(tf.py_func(lambda: 1, [], [tf.int64])) == [1]


def test_py_func_without_output_types_returns_the_operation(run):
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
def test_results_that_do_not_match_the_types_fail_the_run(run, returned, types, words):
    with pytest.raises(IAE, match=words):
        run(tf.py_func(lambda: returned, [], types))


def test_py_func_operation_is_marked_as_a_python_function():
    result = tf.py_func(len, [tf.constant("a")], tf.int64)
    op = result.op
    assert (op.name, op.type) == ("PyFunc", "PyFunc")
    assert op.get_attr("python_function") is True
    assert op.kernel.function is len
    assert tf.py_func(len, ["a"], tf.int64, stateful=False).op.type == "PyFuncStateless"
    assert tf.py_func(len, ["a"], tf.int64, name="f").op.inputs[0].op.name == "f/input_0"


def test_py_func_accepts_only_callables():
    with pytest.raises(TypeError, match="func must be callable, got None"):
        tf.py_func(None, [], tf.int64)
    with pytest.raises(TypeError, match="Tensor objects are only iterable"):
        tf.py_func(len, tf.constant("a"), tf.int64)


def raising(error):
    def function():
        raise error

    return tf.py_func(function, [], tf.int64, name="f")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("the user's"), tf.errors.InvalidArgumentError),
        (UnicodeDecodeError("utf8", b"", 0, 1, "the user's"), tf.errors.InvalidArgumentError),
        (TypeError("the user's"), tf.errors.InvalidArgumentError),
        (StopIteration("the user's"), tf.errors.OutOfRangeError),
        (MemoryError("the user's"), tf.errors.ResourceExhaustedError),
        (NotImplementedError("the user's"), tf.errors.UnimplementedError),
        (StopAsyncIteration("the user's"), tf.errors.UnknownError),
        (KeyError("the user's"), tf.errors.UnknownError),
        (OSError("the user's"), tf.errors.UnknownError),
        (tf.errors.DataLossError(None, None, "the user's"), tf.errors.DataLossError),
        (tf.errors.OutOfRangeError(None, None, "the user's"), tf.errors.OutOfRangeError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_exception_determines_the_error_class_and_is_its_cause(run, error, kind):
    with pytest.raises(tf.errors.OpError, match="the user's") as caught:
        run(raising(error))
    assert type(caught.value) is kind
    assert caught.value.op.name == "f"
    assert caught.value.__cause__ is error
    assert [frame.name for frame in traceback.extract_tb(error.__traceback__)][-1] == "function"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_base_exception_is_raised_unchanged(run, error):
    with pytest.raises(type(error)) as caught:
        run(raising(error))
    assert caught.value is error


def test_panic_in_a_function_is_raised_unchanged(run):
    """A panic of another library in Rust, for example, is not an Exception."""

    class PanicException(BaseException):
        pass

    with pytest.raises(PanicException):
        run(raising(PanicException("index out of bounds")))


def test_stop_iteration_ends_the_input(run):
    numbers = iter([1, 2])
    following = tf.py_func(lambda: next(numbers), [], tf.int64)
    assert [run(following), run(following)] == [1, 2]
    with pytest.raises(tf.errors.OutOfRangeError):
        run(following)


def test_function_can_run_the_session_that_calls_it():
    x = tf.placeholder(tf.int64, [])
    with tf.Session() as session:
        double = tf.py_func(lambda a: session.run(inner, {x: a}) * 2, [x], tf.int64)
        inner = tf.py_func(lambda a: a + 1, [x], tf.int64)
        assert session.run(double, {x: 3}) == 8


def test_functions_of_one_run_are_called_in_creation_order(run):
    calls = []
    ops = [tf.py_func(lambda n=n: calls.append(n), [], []) for n in range(5)]
    run(ops)
    assert calls == [0, 1, 2, 3, 4]


def test_functions_are_called_from_python_and_not_from_the_engine(run):
    """Otherwise Python could not end its thread when the program exits."""
    names = []

    def look():
        frame = sys._getframe()
        while frame is not None:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        return 1

    run(tf.py_func(look, [], tf.int64))
    assert names.index("call_functions") < names.index("_execute") < names.index("run")


def test_modified_arguments_do_not_change_the_constant():
    large = tf.constant(np.zeros(10_000))

    def write(array):
        array += 1
        return array.sum()

    with tf.Session() as session:
        total = tf.py_func(write, [large], tf.float64)
        for _ in range(2):
            assert session.run([total, tf.reduce_sum(large)]) == [10_000, 0]
