"""Supervisors, which prepare a session, run helper threads during training, and then stop them.

Source: `tf.train.Supervisor` and `tf.train.basic_train_loop` in TensorFlow 1.15.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Thread
from typing import Any, Final

from headrace.core.dtypes import int32, int64
from headrace.core.errors import AbortedError
from headrace.graph import Graph, GraphKeys, Operation, get_default_graph
from headrace.ops.control.control_flow import group
from headrace.tf1.coordinator import Coordinator, LooperThread
from headrace.tf1.events import FileWriter
from headrace.tf1.ops.summary.merge import merge_all
from headrace.tf1.ops.variables.global_step import global_step as count_steps
from headrace.tf1.ops.variables.initialization import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from headrace.tf1.protos import SessionLog, Summary
from headrace.tf1.queue_runners import QueueRunner
from headrace.tf1.saver import Saver, write_graph
from headrace.tf1.session import ConfigProto, RunOptions, Session
from headrace.tf1.training.services import (
    ServedTraining,
    checkpoint_thread,
    step_counter_thread,
    summary_thread,
)
from headrace.tf1.training.session_manager import SessionManager

__all__ = ["Supervisor", "basic_train_loop"]

_VARIABLE_TYPES: Final = frozenset({"Variable", "VariableV2"})

_log = logging.getLogger(__name__)


class Supervisor:
    """Prepares a session, runs service threads during training, and ends them.

    The graph is finalized. `USE_DEFAULT` means the item in the graph's collection, or a new item
    that is added to the collection. None means that there is no item.

    Args:
        graph: The graph. Defaults to the default graph.
        ready_op: Returns the names of the variables without a value.
        ready_for_local_init_op: Like `ready_op`, but for the variables that `local_init_op` needs.
        is_chief: Whether this process initializes variables, saves checkpoints and writes
            summaries.
        init_op: Initializes the variables. Defaults to all global variables.
        init_feed_dict: The feeds of `init_op`.
        local_init_op: Runs in each new session, even if it is restored. By default, it initializes
            the local variables and lookup tables.
        logdir: The directory of checkpoints and event files. None or "" disables both.
        summary_op: The summaries to write. By default, all summaries are merged.
        saver: Saves and restores checkpoints.
        global_step: The tensor that counts steps.
        save_summaries_secs: The time between summaries, in seconds. 0 disables them.
        save_model_secs: The time between checkpoints, in seconds. 0 disables them.
        recovery_wait_secs: The time in seconds between two checks of whether the model is ready.
        stop_grace_secs: The time that threads have to end, in seconds.
        checkpoint_basename: The prefix of checkpoint names.
        session_manager: Creates the sessions.
        summary_writer: Writes the events. Defaults to a new writer for `logdir`.
        init_fn: Called with the session after `init_op`.
        local_init_run_options: Options for running `local_init_op`.

    Raises:
        ValueError: If this is not the chief and a variable has no device.
    """

    # This is an int, as in TensorFlow, because programs pass 0.
    USE_DEFAULT: Final[Any] = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Mapping[Any, Any] | None = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | os.PathLike[str] | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Saver | int | None = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: FileWriter | int | None = USE_DEFAULT,
        init_fn: Callable[[Session], object] | None = None,
        local_init_run_options: RunOptions | None = None,
    ) -> None:
        self._graph = get_default_graph() if graph is None else graph
        with self._graph.as_default():
            self._ready_op = self._given_or_found(
                ready_op, GraphKeys.READY_OP, report_uninitialized_variables
            )
            self._ready_for_local_init_op = self._given_or_found(
                ready_for_local_init_op,
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(global_variables()),
            )
            self._init_op = self._given_or_found(
                init_op, GraphKeys.INIT_OP, global_variables_initializer
            )
            self._local_init_op = self._given_or_found(
                local_init_op, GraphKeys.LOCAL_INIT_OP, _initialize_local
            )
            self._saver = self._given_or_found(
                saver, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None
            )
            self._summary_op = self._given_or_found(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self._global_step = self._given_or_found(
                global_step, GraphKeys.GLOBAL_STEP, self._find_global_step
            )
        self._init_feed_dict = init_feed_dict
        self._init_fn = init_fn
        self._is_chief = is_chief
        self._coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._logdir = (os.fspath(logdir) or None) if is_chief and logdir is not None else None
        self._save_path = (
            os.path.join(self._logdir, checkpoint_basename) if self._logdir is not None else None
        )
        self._summary_writer: FileWriter | None = None
        if not _is_default(summary_writer):
            self._summary_writer = summary_writer  # type: ignore[assignment]
        elif self._logdir is not None:
            self._summary_writer = FileWriter(self._logdir)
        self._is_graph_written = False
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=(
                None if self._local_init_op is None else self._ready_for_local_init_op
            ),
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._check_devices()
        self._graph.finalize()

    def _given_or_found(self, argument: Any, key: str, make: Callable[[], Any]) -> Any:
        """Returns the argument, or a collection's first item if it is `USE_DEFAULT`."""
        if not _is_default(argument):
            return argument
        members = self._graph.get_collection(key)
        if members:
            return members[0]
        default = make()
        if default is not None:
            self._graph.add_to_collection(key, default)
        return default

    def _find_global_step(self) -> Any:
        try:
            step = self._graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
        if step.dtype.base_dtype in (int32, int64):
            return step
        _log.warning("Found 'global_step' is not an int type: %s", step.dtype)
        return None

    def _check_devices(self) -> None:
        if self._is_chief:
            return
        for op in self._graph.get_operations():
            if op.type in _VARIABLE_TYPES and not op.device:
                raise ValueError(
                    f"When using replicas, all Variables must have their device set: {op}"
                )

    @property
    def is_chief(self) -> bool:
        """Whether the supervisor initializes variables, saves checkpoints and writes summaries."""
        return self._is_chief

    @property
    def session_manager(self) -> SessionManager:
        """Creates the sessions."""
        return self._session_manager

    @property
    def coord(self) -> Coordinator:
        """Stops and joins the threads."""
        return self._coord

    @property
    def init_op(self) -> Any:
        """Initializes the variables."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Mapping[Any, Any] | None:
        """The feeds of `init_op`."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """Returns the names of the variables without a value."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """Returns the names of the variables without a value that `local_init_op` needs."""
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> FileWriter | None:
        """Writes the events. It is None if there is no writer."""
        return self._summary_writer

    @property
    def summary_op(self) -> Any:
        """The summaries to write."""
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float | None:
        """The time between summaries in seconds, or None if this is not the chief."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        """The tensor that counts steps, or None if there is none."""
        return self._global_step

    @property
    def saver(self) -> Any:
        """Saves and restores checkpoints. It is None if there is nothing to save."""
        return self._saver

    @property
    def save_model_secs(self) -> float | None:
        """The time between checkpoints in seconds, or None if this is not the chief."""
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """The common prefix of checkpoint names.

        None if there is no `logdir`.
        """
        return self._save_path

    def start_standard_services(self, sess: Session) -> list[LooperThread] | None:
        """Starts the threads that write summaries, count steps and save checkpoints.

        Args:
            sess: The session.

        Returns:
            The threads, or None if there is no `logdir`.

        Raises:
            RuntimeError: If this is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors "
                "can write events."
            )
        if not self._logdir:
            _log.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        training = ServedTraining(sess, self._coord, self._global_step, self._summary_writer)
        if self._global_step is not None and self._summary_writer is not None:
            self._summary_writer.add_session_log(
                SessionLog(status=SessionLog.START), count_steps(sess, self._global_step)
            )
        threads: list[LooperThread] = []
        if self._save_summaries_secs and self._summary_writer is not None:
            if self._summary_op is not None:
                threads.append(
                    summary_thread(training, self._summary_op, self._save_summaries_secs)
                )
            if self._global_step is not None:
                threads.append(step_counter_thread(training, self._save_summaries_secs))
        if self._saver is not None and self._save_model_secs:
            assert self._save_path is not None
            threads.append(
                checkpoint_thread(training, self._saver, self._save_path, self._save_model_secs)
            )
        for thread in threads:
            thread.start()
        return threads

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: ConfigProto | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """Creates a session whose variables have values, and starts the queue runners.

        Args:
            master: The target of the session.
            config: The options of the session.
            wait_for_checkpoint: Whether to wait for a checkpoint.
            max_wait_secs: The maximum time to wait, in seconds.
            start_standard_services: Whether to start the queue runners, and the services if this is
                the chief.

        Returns:
            The session.

        Raises:
            DeadlineExceededError: If this is not the chief and the time has expired.
            RuntimeError: If the variables still have no values.
        """
        self._coord.clear_stop()
        if self._summary_writer is not None:
            self._summary_writer.reopen()
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(
                master, config=config, max_wait_secs=max_wait_secs
            )
        if start_standard_services:
            _log.info("Starting queue runners.")
            self.start_queue_runners(sess)
        return sess

    def _write_graph(self) -> None:
        if self._logdir is not None:
            write_graph(self._graph, self._logdir, "graph.pbtxt")
        if self._summary_writer is not None and not self._is_graph_written:
            self._summary_writer.add_graph(self._graph)
            self._is_graph_written = True

    def start_queue_runners(
        self, sess: Session, queue_runners: Sequence[QueueRunner] | None = None
    ) -> list[Thread]:
        """Starts the threads of queue runners.

        Args:
            sess: The session.
            queue_runners: The runners. Defaults to the runners of the graph.

        Returns:
            The threads.
        """
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        threads: list[Thread] = []
        for runner in queue_runners:
            threads += runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        return threads

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., object],
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Starts a thread that calls a function at intervals; see `LooperThread`.

        Args:
            timer_interval_secs: The interval in seconds, or None for no pause.
            target: The function.
            args: The positional arguments.
            kwargs: The keyword arguments.
        """
        looper = LooperThread(self._coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def stop(
        self,
        threads: Iterable[Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops the threads and waits until they end, without closing the session.

        Args:
            threads: Threads to wait for, in addition to the services and queue runners.
            close_summary_writer: Whether to close the event file.
            ignore_live_threads: Whether threads are allowed to continue after the grace period.

        Raises:
            BaseException: The error that ended a thread.
            RuntimeError: If threads are still running after the grace period.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._summary_writer is not None:
                self._summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self._summary_writer.close()
                self._is_graph_written = False

    def request_stop(self, ex: BaseException | tuple[Any, ...] | None = None) -> None:
        """Asks the threads to stop; see `Coordinator.request_stop`."""
        self._coord.request_stop(ex=ex)

    def should_stop(self) -> bool:
        """Returns whether a stop was requested."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """Returns a context whose errors request a stop; see `Coordinator.stop_on_exception`."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until a stop is requested."""
        self._coord.wait_for_stop()

    def summary_computed(
        self, sess: Session, summary: Summary | bytes, global_step: int | None = None
    ) -> None:
        """Writes a summary.

        Args:
            sess: The session.
            summary: The result of running a summary operation.
            global_step: The step of the summary. Defaults to the step of the session.

        Raises:
            RuntimeError: If the supervisor has no summary writer.
        """
        if self._summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = count_steps(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: ConfigProto | None = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """Yields a session. After the `with` block, its threads are stopped and it is closed.

        The end of the input (OutOfRangeError) ends the block without an error.

        Args:
            master: The target of the session.
            config: The options of the session.
            start_standard_services: Whether to start the services and the queue runners.
            close_summary_writer: Whether to close the event file.

        Raises:
            BaseException: The first error raised in the block or in a thread.
        """
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(
                master, config=config, start_standard_services=start_standard_services
            )
            yield sess
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if sess is not None:
                    with suppress(Exception):
                        sess.close()

    # The methods' original names.
    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Loop = loop
    Stop = stop
    RequestStop = request_stop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _is_default(argument: object) -> bool:
    return isinstance(argument, int) and argument == Supervisor.USE_DEFAULT


def _initialize_local() -> Operation:
    tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(local_variables_initializer(), *tables)


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., object],
    args: Iterable[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Calls a function repeatedly until the supervisor should stop.

    After an AbortedError, the loop continues with a new session.

    Args:
        supervisor: The supervisor that provides the session.
        train_step_fn: The function to call with the session, `args` and `kwargs`.
        args: Positional arguments.
        kwargs: Keyword arguments.
        master: The target of the session.

    Raises:
        BaseException: The first error, other than AbortedError, that the function or a thread
            raises.
    """
    is_aborted = True
    while is_aborted:
        is_aborted = False
        try:
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *(args or ()), **(kwargs or {}))
        except AbortedError:
            is_aborted = True
