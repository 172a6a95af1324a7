# ruff: noqa: PT009, PT027  (these assertions are made of those of unittest)
"""Test cases with sessions, and comparisons of computed values.

Source: `tf.test.TestCase` in TensorFlow 1.15.
"""

from __future__ import annotations

import random
import re
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.core.errors import OpError
from headrace.core.optional_dependencies import missing_absl
from headrace.graph import (
    DeviceSpec,
    Graph,
    Tensor,
    get_default_session,
    reset_default_graph,
    set_random_seed,
)
from headrace.ops.sparse.tensor import SparseTensor
from headrace.tf1.session import ConfigProto, Session
from headrace.tf1.test.directories import get_temp_dir

if missing := missing_absl():
    raise ModuleNotFoundError(f"tf.test: {missing}", name="absl")

from absl import app
from absl.testing import absltest

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["TestCase", "main"]

_SEED: Final = 87654321
_Array: TypeAlias = npt.NDArray[Any]
_Match: TypeAlias = str | Callable[[BaseException], object]


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the tests of the started program and ends the process.

    Args:
        argv: The command line, starting with the program's name. Defaults to `sys.argv`.
    """
    items = None if argv is None else list(argv)
    app.run(lambda rest: absltest.run_tests(rest, (), {}), argv=items)


class TestCase(absltest.TestCase):
    """The base class of graph tests. Each test starts with an empty graph and the same seeds.

    If a subclass overrides `setUp` or `tearDown`, it must call the method of this class.
    """

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        self._threads: list[_CheckedThread] = []
        self._directory: str | None = None
        self._cached: tuple[Session, Graph | None, ConfigProto | None] | None = None

    def setUp(self) -> None:
        """Clears the default graph and sets the seeds."""
        super().setUp()
        self._close_cached_session()
        random.seed(_SEED)
        np.random.seed(_SEED)
        reset_default_graph()
        set_random_seed(_SEED)
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")

    def tearDown(self) -> None:
        """Closes the session. Fails if a thread of `checkedThread` was not joined."""
        for thread in self._threads:
            thread.check_termination()
        self._close_cached_session()
        super().tearDown()

    def _close_cached_session(self) -> None:
        if self._cached is not None:
            self._cached[0].close()
            self._cached = None

    def get_temp_dir(self) -> str:
        """Returns a directory of this test, which is removed when the process ends."""
        if self._directory is None:
            self._directory = tempfile.mkdtemp(dir=get_temp_dir())
        return self._directory

    @contextmanager
    def session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """Yields a new default session for the `with` block, and closes it at the end.

        Args:
            graph: The graph of the session. Defaults to the default graph.
            config: The options of the session.
            use_gpu: Has no effect.
            force_gpu: Has no effect.
        """
        with Session(graph=graph, config=config) as session:
            yield session

    @contextmanager
    def cached_session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """Yields the cached session of this test, which is closed after the test.

        Args:
            graph: The graph of the session. Defaults to the default graph at the start of the test.
            config: The options of the session.
            use_gpu: Has no effect.
            force_gpu: Has no effect.

        Raises:
            ValueError: If the graph or the options differ from the first call.
        """
        if self._cached is None:
            self._cached = Session(graph=graph, config=config), graph, config
        session, first_graph, first_config = self._cached
        for what, is_same in (("graph", graph is first_graph), ("config", config is first_config)):
            if not is_same:
                raise ValueError(
                    f"The {what} used to get the cached session is different than the one that "
                    "was used to create the session. Maybe create a new session with "
                    "self.session()"
                )
        with session.graph.as_default(), session.as_default():
            yield session

    @contextmanager
    def test_session(
        self,
        graph: Graph | None = None,
        config: ConfigProto | None = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """Yields a new session if a graph is passed, and the session of this test otherwise."""
        if graph is not None:
            with self.session(graph, config) as session:
                yield session
            return
        if self._cached is None:
            self._cached = Session(config=config), graph, config
        _, first_graph, first_config = self._cached
        with self.cached_session(first_graph, first_config) as session:
            yield session

    def evaluate(self, tensors: Any) -> Any:
        """Returns the values of tensors, in their structure.

        The values are computed in the default session, or in the session of this test if there is
        none.
        """
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.test_session() as own:
            return own.run(tensors)

    def checkedThread(
        self,
        target: Callable[..., object],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> _CheckedThread:
        """Creates a thread whose `join` fails the test if the function has raised an error.

        Args:
            target: The function.
            args: The positional arguments.
            kwargs: The keyword arguments.
        """
        thread = _CheckedThread(self, target, args or (), kwargs or {})
        self._threads.append(thread)
        return thread

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Fails if two numbers differ by more than `err`."""
        self.assertTrue(
            f1 == f2 or abs(f1 - f2) <= err,
            f"{f1:f} != {f2:f} +/- {err:f}{f' ({msg})' if msg is not None else ''}",
        )

    def assertArrayNear(
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Fails if the numbers of two sequences differ by more than `err`."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for first, second in zip(farray1, farray2, strict=True):
            self.assertNear(float(first), float(second), err, msg)

    def assertNDArrayNear(
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Fails if the norm of the difference of two arrays is larger than `err`."""
        difference = np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2))
        self.assertLessEqual(difference, err, msg)

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Fails if an element differs by more than `atol + rtol * abs(b)`, or a shape differs.

        Args:
            a: The expected values: arrays, numbers, tensors, or lists and dicts of these.
            b: The actual values.
            rtol: The tolerance relative to `b`.
            atol: The tolerance.
            msg: An additional error message.
        """
        first, second = self._values_of(a, b)
        self._assert_all_close(first, second, rtol, atol, msg)

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """Calls `assertAllClose` with the tolerances of the less precise type.

        Args:
            a: See `assertAllClose`.
            b: See `assertAllClose`.
            rtol: The relative tolerance for float64.
            atol: The tolerance for float64.
            float_rtol: The relative tolerance for float32, if it is larger.
            float_atol: The tolerance for float32, if it is larger.
            half_rtol: The relative tolerance for float16, if it is larger.
            half_atol: The tolerance for float16, if it is larger.
            bfloat16_rtol: Has no effect.
            bfloat16_atol: Has no effect.
            msg: An additional error message.
        """
        first, second = (np.asarray(value) for value in self._values_of(a, b))
        for kinds, relative, absolute in (
            ((np.float32, np.complex64), float_rtol, float_atol),
            ((np.float16,), half_rtol, half_atol),
        ):
            if first.dtype in kinds or second.dtype in kinds:
                rtol, atol = max(rtol, relative), max(atol, absolute)
        self._assert_all_close(first, second, rtol, atol, msg)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        """Fails if `assertAllClose` passes with the same arguments."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        raise AssertionError("The two values are close at all elements")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fails if elements or shapes differ. NaN equals NaN.

        Args:
            a: The expected values: an array, a number or a tensor.
            b: The actual values.
            msg: An additional error message.
        """
        first, second = (np.asarray(value) for value in self._values_of(a, b))
        self._assert_same_shape(first, second, msg)
        is_same = np.asarray(first == second)
        if first.dtype.kind in "fc" and second.dtype.kind in "fc":
            is_same = is_same | (np.isnan(first) & np.isnan(second))
        if not is_same.all():
            places = np.argwhere(~is_same)
            self.fail(
                f"{len(places)} of {is_same.size} elements are not equal{_after(msg)}: first at "
                f"{places[0].tolist()}, {first[tuple(places[0])]!r} and "
                f"{second[tuple(places[0])]!r}\na: {first}\nb: {second}"
            )

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fails if `assertAllEqual` passes."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(f"The two values are equal at all elements{_after(msg)}")

    def assertAllGreater(self, a: Any, comparison_target: float) -> None:
        """Fails unless all elements are greater than a number."""
        self._assert_all(a, np.greater, comparison_target, "greater than")

    def assertAllLess(self, a: Any, comparison_target: float) -> None:
        """Fails unless all elements are less than a number."""
        self._assert_all(a, np.less, comparison_target, "less than")

    def assertAllGreaterEqual(self, a: Any, comparison_target: float) -> None:
        """Fails unless all elements are at least a number."""
        self._assert_all(a, np.greater_equal, comparison_target, "greater than or equal to")

    def assertAllLessEqual(self, a: Any, comparison_target: float) -> None:
        """Fails unless all elements are at most a number."""
        self._assert_all(a, np.less_equal, comparison_target, "less than or equal to")

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: float,
        upper_bound: float,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Fails unless all elements are within a range.

        Args:
            target: Numbers.
            lower_bound: The lower end.
            upper_bound: The upper end.
            open_lower_bound: Whether the lower end is excluded.
            open_upper_bound: Whether the upper end is excluded.
        """
        low = np.greater if open_lower_bound else np.greater_equal
        high = np.less if open_upper_bound else np.less_equal
        self._assert_all(target, low, lower_bound, "above the lower bound")
        self._assert_all(target, high, upper_bound, "below the upper bound")

    def assertAllInSet(self, target: Any, expected_set: Collection[Any]) -> None:
        """Fails unless all elements are in a set."""
        others = np.setdiff1d(np.asarray(self._value_of(target)).ravel(), list(expected_set))
        if others.size:
            raise AssertionError(
                f"{others.size} unique element(s) are not in the set {expected_set}: {others}"
            )

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Fails unless an array has the given type."""
        self.assertEqual(np.asarray(self._value_of(target)).dtype, expected_dtype)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        """Fails unless a tensor has the static shape of an array. Nothing is run.

        Raises:
            TypeError: If an argument has the wrong type.
        """
        if not isinstance(np_array, (np.ndarray, np.generic)):
            raise TypeError("np_array must be a Numpy ndarray or Numpy scalar")
        if not isinstance(tf_tensor, Tensor):
            raise TypeError("tf_tensor must be a Tensor")
        self.assertEqual(list(np_array.shape), tf_tensor.shape.as_list(), msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Fails unless two device names or `DeviceSpec`s refer to the same device."""
        names = [
            (device if isinstance(device, DeviceSpec) else DeviceSpec.from_string(device or ""))
            for device in (device1, device2)
        ]
        self.assertEqual(names[0].to_string(), names[1].to_string(), msg)

    def assertProtoEquals(
        self, expected_message_maybe_ascii: Message | str, message: Message, msg: str | None = None
    ) -> None:
        """Fails unless two messages are equal.

        Args:
            expected_message_maybe_ascii: A message of the same type, or its text.
            message: The actual message.
            msg: An additional error message.
        """
        from google.protobuf import text_format  # noqa: PLC0415

        expected: Any = expected_message_maybe_ascii
        if isinstance(expected, str):
            expected = text_format.Parse(expected, type(message)())
        self.assertIs(type(expected), type(message), msg)
        if expected != message:
            self.fail(f"Messages differ{_after(msg)}:\n{expected}\n!=\n{message}")

    @contextmanager
    def assertRaisesWithPredicateMatch(  # type: ignore[override]
        self, exception_type: type[BaseException], expected_err_re_or_predicate: _Match
    ) -> Iterator[None]:
        """Fails unless the `with` block raises an error that matches.

        Args:
            exception_type: The error class.
            expected_err_re_or_predicate: A regular expression to find in the message, or a function
                that accepts the error and returns whether it matches.
        """
        try:
            yield
        except exception_type as error:
            expected = expected_err_re_or_predicate
            text = error.message if isinstance(error, OpError) else str(error)
            if not (expected(error) if callable(expected) else re.search(expected, text)):
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
        except Exception as error:
            raise AssertionError(f"Exception of type {type(error)}: {error}") from error
        else:
            self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: _Match) -> Any:
        """Fails unless the `with` block raises an `OpError` that matches."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """Fails unless a string starts with a prefix."""
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r}{_after(msg)}")

    def assertItemsEqual(self, first: Any, second: Any, msg: str | None = None) -> None:
        """Calls `assertCountEqual`."""
        self.assertCountEqual(first, second, msg)

    def assertRaisesRegexp(self, *args: Any, **kwargs: Any) -> Any:
        """Calls `assertRaisesRegex`."""
        return self.assertRaisesRegex(*args, **kwargs)

    def _values_of(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Returns both values. Two tensors are evaluated in the same run."""
        if _is_symbolic(a) and _is_symbolic(b):
            first, second = self.evaluate([a, b])
            return first, second
        return self._value_of(a), self._value_of(b)

    def _value_of(self, value: Any) -> Any:
        if _is_symbolic(value):
            return self.evaluate(value)
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            value = value._asdict()
        if isinstance(value, Mapping):
            return {key: self._value_of(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._value_of(item) for item in value]
        return value

    def _assert_all_close(
        self, a: Any, b: Any, rtol: float, atol: float, msg: str | None, path: str = ""
    ) -> None:
        if isinstance(a, Mapping) or isinstance(b, Mapping):
            if not (isinstance(a, Mapping) and isinstance(b, Mapping)):
                raise ValueError(f"Can't compare dict to non-dict, {a} vs {b}{path}")
            self.assertCountEqual(a, b, f"mismatched keys{path}{_after(msg)}")
            for key in a:
                self._assert_all_close(a[key], b[key], rtol, atol, msg, f"{path}[{key!r}]")
        elif _is_list_of_arrays(a) or _is_list_of_arrays(b):
            self.assertEqual(len(a), len(b), f"mismatched length{path}{_after(msg)}")
            for place, (first, second) in enumerate(zip(a, b, strict=True)):
                self._assert_all_close(first, second, rtol, atol, msg, f"{path}[{place}]")
        else:
            first, second = np.asarray(a), np.asarray(b)
            self._assert_same_shape(first, second, f"{path}{_after(msg)}")
            where = f"at {path}{_after(msg)}" if path else msg or ""
            np.testing.assert_allclose(first, second, rtol, atol, err_msg=where)

    def _assert_same_shape(self, first: _Array, second: _Array, msg: str | None) -> None:
        self.assertEqual(
            first.shape,
            second.shape,
            f"Shape mismatch: expected {first.shape}, got {second.shape}{_after(msg)}",
        )

    def _assert_all(
        self, values: Any, compare: Callable[..., Any], limit: float, words: str
    ) -> None:
        array = np.asarray(self._value_of(values))
        if array.dtype.kind not in "iuf":
            raise AssertionError(f"{array} has type {array.dtype}, expected numbers.")
        is_wrong = ~compare(array, limit)
        if is_wrong.any():
            raise AssertionError(
                f"{is_wrong.sum()} of the {array.size} element(s) are not {words} {limit}: "
                f"{array[is_wrong]}"
            )


class _CheckedThread:
    """A thread whose errors fail the test."""

    def __init__(
        self,
        test: TestCase,
        target: Callable[..., object],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        self._test = test
        self._call = target, tuple(args), dict(kwargs)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: BaseException | None = None
        self._is_joined = False

    def _run(self) -> None:
        target, args, kwargs = self._call
        try:
            target(*args, **kwargs)
        except BaseException as error:
            self._error = error

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def join(self) -> None:
        """Waits until the function has returned. Fails the test if it raised an error."""
        self._is_joined = True
        self._thread.join()
        if self._error is not None:
            text = f"Error in checkedThread: {self._error}"
            raise self._test.failureException(text) from self._error

    def is_alive(self) -> bool:
        """Returns whether the function is still running."""
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Fails the test unless the thread was joined."""
        if not self._is_joined:
            state = "is still running" if self.is_alive() else "was not joined"
            self._test.fail(f"A checked thread {state}. Call its join() method.")


def _is_symbolic(value: object) -> bool:
    return isinstance(value, (Tensor, SparseTensor)) or hasattr(value, "_as_graph_element")


def _is_list_of_arrays(value: object) -> bool:
    """Returns whether a list cannot be an array, because its items are dicts or differ in shape."""
    if not isinstance(value, (list, tuple)):
        return False
    try:
        return np.asarray(value).dtype.kind == "O"
    except ValueError:
        return True


def _after(msg: str | None) -> str:
    return f" ({msg})" if msg else ""
