"""Coordinators, which stop a group of threads and raise their first error in the joining thread.

A coordinator consists of a stop flag, the exception that caused the stop, and a set of threads. It
neither starts nor owns threads: plain `threading.Thread`s, queue runners and `LooperThread`s can
share a coordinator.

One condition variable guards every field. Its lock is re-entrant, so a signal handler may call
`request_stop` while the interrupted thread is inside a method of the same coordinator.

Source: `tf.train.Coordinator` and `tf.train.LooperThread` in TensorFlow 1.15.
"""

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Final

from headrace.core.errors import OutOfRangeError
from headrace.core.wait_registry import RegisteredWait

__all__ = ["Coordinator", "LooperThread"]

_Reported = tuple[BaseException, TracebackType | None]

_NO_EXCEPTION: Final = (
    "ex must be a tuple or sys.exc_info must return the current exception: got {!r}. "
    "Call request_stop with an exception, or with sys.exc_info() inside an except block."
)
# Threads don't announce that they have ended, so `join` polls: at short intervals at first, then at
# this interval.
_FIRST_LOOK_SECS: Final = 0.001
_LONGEST_LOOK_SECS: Final = 0.05
# The name suffix of threads in which queue runners close their queues after a stop.
_WAITS_FOR_STOP: Final = "-close_on_stop"

_log = logging.getLogger(__name__)


class Coordinator:
    """Stops a set of threads together and re-raises their first error.

    You can call every method from any thread.

    Args:
        clean_stop_exception_types: Exception types that mean the end of the input, not an error. A
            stop requested with one of these types counts as a plain stop. Defaults to
            `(OutOfRangeError,)`.

    Raises:
        TypeError: If `clean_stop_exception_types` is not a collection of exception types.

    Attributes:
        patience_secs: The time after which `join` warns that it is still waiting and nobody has
            requested a stop.

    Source: `tf.train.Coordinator` in TensorFlow 1.15.
    """

    patience_secs: ClassVar[float] = 3.0

    def __init__(
        self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None
    ) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (OutOfRangeError,)
        clean_types = tuple(clean_stop_exception_types)
        for clean_type in clean_types:
            if not (isinstance(clean_type, type) and issubclass(clean_type, BaseException)):
                raise TypeError(
                    f"clean_stop_exception_types: got {clean_type!r}, expected exception classes."
                )
        self._clean_stop_exception_types = clean_types
        # Programs that change a coordinator from outside acquire this lock, as in TensorFlow.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._stop_requested = False
        self._exception: _Reported | None = None
        self._joined = False
        self._registered_threads: set[threading.Thread] = set()
        self._stop_callbacks: list[Callable[[], object]] = []

    @property
    def joined(self) -> bool:
        """Whether `join` has returned since the last `clear_stop`."""
        return self._joined

    def should_stop(self) -> bool:
        """Returns whether a stop was requested. Never blocks."""
        return self._stop_requested

    def request_stop(self, ex: BaseException | tuple[Any, ...] | None = None) -> None:
        """Asks all threads to stop. The first exception is kept for `join`.

        Only the exception of the first request counts; later ones are dropped. If you pass a bare
        exception inside an except block, the exception being handled is kept instead. Elsewhere,
        the exception itself is kept.

        Args:
            ex: The reason: an exception, or the triple of `sys.exc_info()`. None means a plain
                stop. An exception of a clean type counts as None.

        Raises:
            BaseException: The exception that was passed, if the threads have already been joined.
                Otherwise, the exception would be lost.
        """
        exception = None if self._is_clean(ex) else _find_exception(ex)
        with self._changed:
            is_unheard = exception is not None and self._joined
            is_first = not (is_unheard or self._stop_requested)
            callbacks = self._begin_stop(exception) if is_first else []
        if exception and is_unheard:
            _reraise(exception)
        if exception and is_first:
            _log.info("Error reported to Coordinator: %s", exception[0], exc_info=exception[0])
        for callback in callbacks:
            try:
                callback()
            except Exception:
                # The caller who requested the stop did not cause the error, and the other callbacks
                # must still run.
                _log.exception("Exception in a stop callback of a Coordinator: %r", callback)

    def _is_clean(self, ex: BaseException | tuple[Any, ...] | None) -> bool:
        """Returns whether `request_stop` was called for a normal stop, without an error."""
        reason = ex[1] if isinstance(ex, tuple) and len(ex) > 1 else ex
        return ex is None or isinstance(reason, self._clean_stop_exception_types)

    def _begin_stop(self, exception: _Reported | None) -> list[Callable[[], object]]:
        """Sets the flag under the lock. Returns the callbacks to call outside the lock."""
        self._exception = exception
        self._stop_requested = True
        self._changed.notify_all()
        callbacks, self._stop_callbacks = self._stop_callbacks, []
        return callbacks

    def clear_stop(self) -> None:
        """Makes the coordinator usable again by clearing the stop, its exception and the join."""
        with self._changed:
            self._stop_requested = False
            self._exception = None
            self._joined = False

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Requests a stop if the body raises an exception of any kind. The exception is suppressed.

        Does nothing if the body raises no exception.
        """
        try:
            yield
        except BaseException:
            self.request_stop(sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Blocks until a stop is requested.

        Args:
            timeout: The maximum time to wait, in seconds. Defaults to no limit.

        Returns:
            Whether a stop was requested. False if the timeout expired first.
        """
        with self._changed:
            if self._stop_requested:
                return True
            with RegisteredWait(lambda: "a coordinator to stop (nobody has requested it)"):
                return self._changed.wait_for(self.should_stop, timeout)

    def add_stop_callback(self, callback: Callable[[], object]) -> None:
        """Registers a function to call once when a stop is requested, or now if one already was.

        The thread that requests the stop calls the function, outside any lock. The function must
        not block. If it raises an exception, the exception is logged and dropped.

        Args:
            callback: Called without arguments. It is not called again at a later stop.
        """
        with self._changed:
            if not self._stop_requested:
                self._stop_callbacks.append(callback)
                return
        callback()

    def remove_stop_callback(self, callback: Callable[[], object]) -> None:
        """Undoes one `add_stop_callback`. Does nothing if the function is not registered."""
        with self._changed, contextlib.suppress(ValueError):
            self._stop_callbacks.remove(callback)

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread that `join` waits for. You can add threads even while `join` is waiting."""
        with self._changed:
            self._registered_threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Blocks until the threads have ended, then re-raises the exception that stopped them.

        `join` waits without a time limit until a stop is requested, and then at most for the grace
        period. It returns as soon as all threads have ended. A thread that was never started counts
        as ended. Ctrl-C ends the wait.

        Args:
            threads: Threads to wait for, in addition to the registered ones.
            stop_grace_period_secs: The time in seconds that threads have to end after a stop.
            ignore_live_threads: If True, only logs which threads are still running after the grace
                period.

        Raises:
            BaseException: The exception kept by `request_stop`, with its own traceback. Every
                further call raises it again, until `clear_stop`.
            RuntimeError: If threads are still running after the grace period.
        """
        joined = frozenset(threads or ())
        with RegisteredWait(lambda: self._what_join_awaits(joined)):
            self._wait_for_stop_or_end(joined)
            self._wait_for_end(joined, stop_grace_period_secs)
        stragglers = [thread.name for thread in self._live_threads(joined)]
        with self._changed:
            self._joined = True
            self._registered_threads.clear()
        self.raise_requested_exception()
        if stragglers:
            message = f"Coordinator stopped with threads still running: {' '.join(stragglers)}"
            if not ignore_live_threads:
                raise RuntimeError(message)
            _log.info("%s", message)

    def raise_requested_exception(self) -> None:
        """Raises the exception with which the stop was requested, if any."""
        with self._changed:
            exception = self._exception
        if exception:
            _reraise(exception)

    def _live_threads(self, joined: frozenset[threading.Thread]) -> list[threading.Thread]:
        with self._changed:
            threads = joined | self._registered_threads
        return [thread for thread in threads if thread.is_alive()]

    def _what_join_awaits(self, joined: frozenset[threading.Thread]) -> str:
        # The lock is not held here, because the function that describes the wait may acquire it.
        threads = joined | set(self._registered_threads)
        names = sorted(repr(thread.name) for thread in threads if thread.is_alive())
        stop = "a stop was requested" if self._stop_requested else "no stop was requested"
        return f"a coordinator's threads to end ({stop}): {', '.join(names) or 'none'}"

    def _wait_for_stop_or_end(self, joined: frozenset[threading.Thread]) -> None:
        look_secs = _FIRST_LOOK_SECS
        work_until = time.monotonic()
        has_warned = False
        while (threads := self._live_threads(joined)) and not self.wait_for_stop(look_secs):
            look_secs = min(2 * look_secs, _LONGEST_LOOK_SECS)
            if not all(thread.name.endswith(_WAITS_FOR_STOP) for thread in threads):
                work_until = time.monotonic()
            elif not has_warned and time.monotonic() - work_until >= self.patience_secs:
                has_warned = True
                _log.warning(
                    "Coordinator.join: the only threads left are %d of queue runners, which "
                    "wait for a stop that nobody has requested. Call coord.request_stop() "
                    "before join.",
                    len(threads),
                )

    def _wait_for_end(self, threads: frozenset[threading.Thread], grace_period_secs: float) -> None:
        deadline = time.monotonic() + min(grace_period_secs, threading.TIMEOUT_MAX)
        this_thread = threading.current_thread()
        while True:
            others = [thread for thread in self._live_threads(threads) if thread is not this_thread]
            left_secs = deadline - time.monotonic()
            if not others or left_secs <= 0:
                return
            others[0].join(min(left_secs, threading.TIMEOUT_MAX))


def exception_of(coord: object) -> BaseException | None:
    """Returns the exception with which a stop was requested, or None if it is unknown."""
    reported = getattr(coord, "_exception", None)
    return reported[0] if isinstance(reported, tuple) else None


def _find_exception(ex: BaseException | tuple[Any, ...] | None) -> _Reported:
    """Finds the exception and traceback that an argument of `request_stop` represents.

    An argument that is not an exception becomes a ValueError, so even an incorrect request stops
    the threads.
    """
    if isinstance(ex, tuple):
        exception, trace = (*ex, None, None, None)[1:3]
    else:
        exception = sys.exception() or ex
        trace = getattr(exception, "__traceback__", None)
    if isinstance(exception, BaseException):
        return exception, trace if isinstance(trace, TracebackType) else None
    return ValueError(_NO_EXCEPTION.format(ex)), None


def _reraise(exception: _Reported) -> None:
    """Raises an exception with the traceback that it had when it was reported."""
    raise exception[0].with_traceback(exception[1])


class LooperThread(threading.Thread):
    """A daemon thread that calls a function repeatedly until its coordinator stops.

    Subclasses can override `start_loop`, `run_loop` and `stop_loop` instead of passing a target. An
    exception in any of them requests a stop. After an exception in `start_loop` or `run_loop`,
    `stop_loop` is not called.

    Args:
        coord: The coordinator. The thread registers itself with it.
        timer_interval_secs: The time in seconds between the starts of two calls. Calls are
            scheduled from the first one: after a slow call, missed calls follow without a pause. If
            None, there are no pauses.
        target: The function to call.
        args: The positional arguments.
        kwargs: The keyword arguments.

    Raises:
        ValueError: If `coord` is not a `Coordinator`, or arguments are given without a target.

    Source: `tf.train.LooperThread` in TensorFlow 1.15.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., object] | None = None,
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__(daemon=True)
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._loop_target = target
        self._loop_args = tuple(args or ())
        self._loop_kwargs = dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., object],
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> "LooperThread":
        """Creates a `LooperThread`, starts it and returns it."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """Runs the loop. `start` calls this method."""
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                next_call = time.monotonic()
                while not self._coord.wait_for_stop(next_call - time.monotonic()):
                    next_call += self._timer_interval_secs
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once, in the thread, before the first `run_loop`."""

    def stop_loop(self) -> None:
        """Called once, in the thread, after the last `run_loop`."""

    def run_loop(self) -> None:
        """Called repeatedly. Calls the target if there is one."""
        if self._loop_target is not None:
            self._loop_target(*self._loop_args, **self._loop_kwargs)
