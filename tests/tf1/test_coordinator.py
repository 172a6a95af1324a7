import signal
import sys
import threading
import traceback

import pytest

from headrace.core.errors import CancelledError, OutOfRangeError
from headrace.tf1 import coordinator
from headrace.tf1.coordinator import Coordinator, LooperThread

TIMEOUT = 10.0
"""Seconds after which a wait that should have ended has failed."""


def start(target, *args):
    thread = threading.Thread(target=target, args=args)
    thread.start()
    return thread


def raise_and_report(coord, error):
    try:
        raise error
    except type(error) as caught:
        coord.request_stop(caught)


@pytest.fixture
def coord():
    return Coordinator()


@pytest.fixture
def release():
    """An event that ends the threads waiting for it, at the latest after the test."""
    event = threading.Event()
    yield event
    event.set()


# Stopping


def test_new_coordinator_is_neither_stopped_nor_joined(coord):
    assert not coord.should_stop()
    assert not coord.joined
    coord.raise_requested_exception()


def test_requested_stop_is_visible_until_cleared(coord):
    coord.request_stop()
    assert coord.should_stop()
    assert coord.wait_for_stop(TIMEOUT)
    coord.clear_stop()
    assert not coord.should_stop()


def test_wait_for_stop_returns_false_after_its_timeout(coord):
    assert coord.wait_for_stop(0.01) is False
    assert coord.wait_for_stop(-1) is False


def test_stop_wakes_every_waiting_thread(coord):
    threads = [start(coord.wait_for_stop) for _ in range(5)]
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=TIMEOUT)


def test_clean_types_must_be_exception_types():
    with pytest.raises(TypeError, match=r"clean_stop_exception_types: got 3, expected"):
        Coordinator(clean_stop_exception_types=[ValueError, 3])


# Exceptions


def test_join_raises_the_handled_exception_with_its_traceback(coord):
    error = ValueError("bad record")
    raise_and_report(coord, error)
    with pytest.raises(ValueError, match="bad record") as raised:
        coord.join()
    assert raised.value is error
    assert "raise_and_report" in "".join(traceback.format_tb(raised.tb))


def test_exc_info_triple_is_recorded_unchanged(coord):
    try:
        raise KeyError("k")
    except KeyError:
        triple = sys.exc_info()
    coord.request_stop(triple)
    with pytest.raises(KeyError) as raised:
        coord.raise_requested_exception()
    assert raised.value is triple[1]


def test_exception_outside_an_except_block_is_recorded(coord):
    error = RuntimeError("never raised")
    coord.request_stop(error)
    assert coord.should_stop()
    with pytest.raises(RuntimeError) as raised:
        coord.join()
    assert raised.value is error


def test_handled_exception_takes_precedence_over_the_argument(coord):
    try:
        raise KeyError("handled")
    except KeyError:
        coord.request_stop(RuntimeError("argument"))
    with pytest.raises(KeyError, match="handled"):
        coord.join()


def test_argument_determines_whether_a_stop_is_clean(coord):
    try:
        raise KeyError("handled")
    except KeyError:
        coord.request_stop(OutOfRangeError(None, None, "end"))
    coord.join()
    coord.clear_stop()
    try:
        raise OutOfRangeError(None, None, "end")
    except OutOfRangeError:
        coord.request_stop(RuntimeError("argument"))
    with pytest.raises(OutOfRangeError):
        coord.join()


@pytest.mark.parametrize("wrong", [(None, None, None), (), (ValueError,), "text"])
def test_stop_with_a_non_exception_still_stops(coord, wrong):
    coord.request_stop(wrong)
    assert coord.should_stop()
    with pytest.raises(
        ValueError, match=r"ex must be a tuple or sys.exc_info must return the current exception"
    ):
        coord.join()


@pytest.mark.parametrize("as_triple", [False, True])
def test_end_of_the_input_is_a_plain_stop(coord, as_triple):
    error = OutOfRangeError(None, None, "end")
    coord.request_stop((OutOfRangeError, error, None) if as_triple else error)
    assert coord.should_stop()
    coord.join()


def test_clean_types_can_be_chosen():
    coord = Coordinator(clean_stop_exception_types=[StopIteration])
    coord.request_stop(StopIteration())
    coord.join()
    coord.clear_stop()
    raise_and_report(coord, OutOfRangeError(None, None, "end"))
    with pytest.raises(OutOfRangeError):
        coord.join()


def test_only_the_first_exception_counts(coord):
    raise_and_report(coord, ValueError("first"))
    raise_and_report(coord, KeyError("second"))
    with pytest.raises(ValueError, match="first"):
        coord.join()


def test_exception_after_a_plain_stop_is_dropped(coord):
    coord.request_stop()
    raise_and_report(coord, CancelledError(None, None, "Enqueue operation was cancelled"))
    coord.join()


def test_every_join_raises_the_exception_until_the_stop_is_cleared(coord):
    raise_and_report(coord, ValueError("kept"))
    traces = []
    for _ in range(3):
        with pytest.raises(ValueError, match="kept") as raised:
            coord.join()
        traces.append(len(traceback.extract_tb(raised.tb)))
    assert len(set(traces)) == 1
    coord.clear_stop()
    coord.join()


@pytest.mark.parametrize("as_triple", [False, True])
def test_exception_after_join_is_raised_in_the_caller(coord, as_triple):
    coord.join()
    error = ValueError("late")
    with pytest.raises(ValueError, match="late") as raised:
        coord.request_stop((ValueError, error, None) if as_triple else error)
    assert raised.value is error
    assert not coord.should_stop()


@pytest.mark.parametrize("ex", [None, OutOfRangeError(None, None, "end")])
def test_plain_or_clean_stop_after_join_only_stops(coord, ex):
    coord.join()
    coord.request_stop(ex)
    assert coord.should_stop()
    coord.join()


def test_reported_error_is_logged(coord, caplog):
    with caplog.at_level("INFO", logger="headrace.tf1.coordinator"):
        raise_and_report(coord, ValueError("bad record"))
    assert "Error reported to Coordinator: bad record" in caplog.text


@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt(), SystemExit(1)])
def test_stop_on_exception_swallows_every_exception_and_stops(coord, error):
    with coord.stop_on_exception():
        raise error
    with pytest.raises(type(error)) as raised:
        coord.join()
    assert raised.value is error


def test_stop_on_exception_without_an_exception_does_nothing(coord):
    with coord.stop_on_exception():
        pass
    assert not coord.should_stop()


# Joining


def test_join_without_threads_returns_at_once(coord):
    coord.join()
    assert coord.joined
    assert not coord.should_stop()


def test_join_waits_for_passed_and_registered_threads(coord, release):
    threads = [threading.Thread(target=release.wait, args=(TIMEOUT,)) for _ in range(2)]
    coord.register_thread(threads[0])
    for thread in threads:
        thread.start()
    joiner = start(coord.join, [threads[1]])
    assert not coord.joined
    release.set()
    joiner.join(TIMEOUT)
    assert coord.joined
    assert not any(thread.is_alive() for thread in threads)


def test_join_treats_a_thread_that_was_never_started_as_dead(coord):
    never_started = threading.Thread(target=print)
    coord.register_thread(never_started)
    coord.join([never_started])
    assert coord.joined


def test_join_returns_without_a_stop_once_the_last_thread_has_ended(coord, release):
    thread = start(release.wait, TIMEOUT)
    threading.Timer(0.2, release.set).start()
    coord.join([thread])
    assert coord.joined


def test_join_waits_for_a_thread_registered_meanwhile(coord, release):
    second_release = threading.Event()
    second = threading.Thread(target=second_release.wait, args=(TIMEOUT,))

    def register_second():
        release.wait(TIMEOUT)
        coord.register_thread(second)
        second.start()

    first = start(register_second)
    joiner = start(coord.join, [first])
    release.set()
    first.join(TIMEOUT)
    assert not coord.joined
    assert joiner.is_alive()
    second_release.set()
    joiner.join(TIMEOUT)
    assert coord.joined


def test_join_unregisters_the_threads(coord, release):
    thread = start(release.wait, TIMEOUT)
    coord.register_thread(thread)
    coord.request_stop()
    coord.join(stop_grace_period_secs=0, ignore_live_threads=True)
    coord.join(stop_grace_period_secs=0)


def test_join_names_the_threads_that_outlive_the_grace_period(coord, release):
    threads = [
        threading.Thread(target=release.wait, args=(TIMEOUT,), name=name) for name in ("a", "b")
    ]
    for thread in threads:
        thread.start()
    coord.request_stop()
    with pytest.raises(
        RuntimeError, match=r"Coordinator stopped with threads still running: (a b|b a)$"
    ):
        coord.join(threads, stop_grace_period_secs=0.05)
    assert coord.joined


def test_join_only_logs_live_threads_on_request(coord, release, caplog):
    thread = threading.Thread(target=release.wait, args=(TIMEOUT,), name="straggler")
    thread.start()
    coord.request_stop()
    with caplog.at_level("INFO", logger="headrace.tf1.coordinator"):
        coord.join([thread], stop_grace_period_secs=0.05, ignore_live_threads=True)
    assert "Coordinator stopped with threads still running: straggler" in caplog.text


def test_exception_takes_precedence_over_live_threads(coord, release):
    thread = start(release.wait, TIMEOUT)
    raise_and_report(coord, ValueError("cause"))
    with pytest.raises(ValueError, match="cause"):
        coord.join([thread], stop_grace_period_secs=0.05)


def test_joining_thread_does_not_wait_for_itself(coord):
    seen = []

    def join():
        coord.register_thread(threading.current_thread())
        coord.request_stop()
        try:
            coord.join()
        except RuntimeError as error:
            seen.append(str(error))

    thread = threading.Thread(target=join, name="me")
    thread.start()
    thread.join(TIMEOUT)
    assert seen == ["Coordinator stopped with threads still running: me"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("is_stopped", [False, True])
def test_ctrl_c_ends_join_at_once(coord, release, is_stopped):
    thread = start(release.wait, TIMEOUT)
    if is_stopped:
        coord.request_stop()
    main_thread = threading.main_thread().ident
    interrupt = threading.Timer(0.1, signal.pthread_kill, (main_thread, signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        coord.join([thread])
    assert not coord.joined


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_signal_handler_can_request_the_stop_join_waits_for(coord):
    thread = start(coord.wait_for_stop, TIMEOUT)
    before = signal.signal(signal.SIGTERM, lambda *_: coord.request_stop())
    try:
        main_thread = threading.main_thread().ident
        threading.Timer(0.05, signal.pthread_kill, (main_thread, signal.SIGTERM)).start()
        coord.join([thread], stop_grace_period_secs=TIMEOUT)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert coord.should_stop()


# Callbacks


def test_callback_is_called_once_in_the_thread_that_requests_the_stop(coord):
    callers = []
    coord.add_stop_callback(lambda: callers.append(threading.current_thread()))
    thread = start(coord.request_stop)
    thread.join(TIMEOUT)
    coord.request_stop()
    assert callers == [thread]


def test_callback_added_after_a_stop_is_called_at_once(coord):
    coord.request_stop()
    called = threading.Event()
    coord.add_stop_callback(called.set)
    assert called.is_set()


def test_callback_can_use_the_coordinator_from_another_thread(coord):
    seen = []

    def look():
        thread = start(lambda: seen.append(coord.wait_for_stop(TIMEOUT)))
        thread.join(TIMEOUT)

    coord.add_stop_callback(look)
    coord.request_stop()
    assert seen == [True]


def test_removed_callback_is_not_called(coord):
    called = threading.Event()
    coord.add_stop_callback(called.set)
    coord.remove_stop_callback(called.set)
    coord.remove_stop_callback(called.set)
    coord.request_stop()
    assert not called.is_set()


def test_called_callback_is_not_kept_for_the_next_stop(coord):
    num_calls = []
    coord.add_stop_callback(lambda: num_calls.append(1))
    coord.request_stop()
    coord.clear_stop()
    coord.request_stop()
    assert num_calls == [1]


def test_failing_callback_is_logged_and_does_not_prevent_others(coord, caplog):
    called = threading.Event()
    coord.add_stop_callback(lambda: 1 / 0)
    coord.add_stop_callback(called.set)
    coord.request_stop()
    assert called.is_set()
    assert "ZeroDivisionError" in caplog.text


# LooperThread


def test_looper_thread_is_a_registered_daemon_that_calls_its_target(coord):
    calls = []

    def target(number, *, word):
        calls.append((number, word))
        if len(calls) == 3:
            coord.request_stop()

    looper = LooperThread.loop(coord, None, target, args=(1,), kwargs={"word": "w"})
    assert looper.daemon
    coord.join(stop_grace_period_secs=TIMEOUT)
    assert not looper.is_alive()
    assert calls == [(1, "w")] * 3


def test_looper_thread_requires_a_coordinator():
    with pytest.raises(ValueError, match="'coord' argument must be a Coordinator"):
        LooperThread("coord", 1.0)


@pytest.mark.parametrize("arguments", [{"args": (1,)}, {"kwargs": {"a": 1}}])
def test_arguments_without_a_target_are_rejected(coord, arguments):
    with pytest.raises(
        ValueError,
        match="'args' and 'kwargs' argument require that you also pass 'target'",
    ):
        LooperThread(coord, 1.0, **arguments)


class RecordingLooper(LooperThread):
    """Writes down which of its methods were called."""

    def __init__(self, coord, timer_interval_secs, on_run):
        super().__init__(coord, timer_interval_secs)
        self.calls = []
        self.on_run = on_run

    def start_loop(self):
        self.calls.append("start")

    def run_loop(self):
        self.calls.append("run")
        self.on_run(self)

    def stop_loop(self):
        self.calls.append("stop")


@pytest.mark.parametrize("interval", [None, 0.001])
def test_looper_thread_starts_runs_and_stops_its_loop(coord, interval):
    looper = RecordingLooper(coord, interval, lambda self: coord.request_stop())
    looper.start()
    coord.join(stop_grace_period_secs=TIMEOUT)
    assert looper.calls == ["start", "run", "stop"]


@pytest.mark.parametrize("interval", [None, 0.001])
def test_looper_thread_of_a_stopped_coordinator_only_starts_and_stops(coord, interval):
    coord.request_stop()
    looper = RecordingLooper(coord, interval, lambda self: None)
    looper.start()
    coord.join(stop_grace_period_secs=TIMEOUT)
    assert looper.calls == ["start", "stop"]


@pytest.mark.parametrize("interval", [None, 0.001])
def test_failing_looper_thread_stops_the_others_and_skips_stop_loop(coord, interval):
    looper = RecordingLooper(coord, interval, lambda self: 1 / 0)
    looper.start()
    with pytest.raises(ZeroDivisionError):
        coord.join(stop_grace_period_secs=TIMEOUT)
    assert looper.calls == ["start", "run"]


class ClockCoordinator(Coordinator):
    """Waits by advancing a clock, and stops at the seventh wait."""

    def __init__(self):
        super().__init__()
        self.now = 100.0
        self.waits = []

    def monotonic(self):
        return self.now

    def wait_for_stop(self, timeout=None):
        self.waits.append(timeout)
        self.now += max(timeout, 0.0)
        return len(self.waits) == 7


def test_looper_thread_calls_at_once_and_catches_up_on_missed_calls(monkeypatch):
    coord = ClockCoordinator()
    monkeypatch.setattr(coordinator, "time", coord)
    durations = iter([3.5, 0.0, 0.0, 0.0, 0.25, 0.0])
    times = []

    def target():
        times.append(coord.now - 100.0)
        coord.now += next(durations)

    LooperThread(coord, 1.0, target).run()
    assert times == [0.0, 3.5, 3.5, 3.5, 4.0, 5.0]
    assert coord.waits == [0.0, -2.5, -1.5, -0.5, 0.5, 0.75, 1.0]


def test_stop_ends_a_looper_thread_waiting_for_its_next_tick(coord):
    ran = threading.Event()
    looper = LooperThread.loop(coord, 1000.0, ran.set)
    assert ran.wait(TIMEOUT)
    coord.request_stop()
    coord.join(stop_grace_period_secs=TIMEOUT)
    assert not looper.is_alive()
