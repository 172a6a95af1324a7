"""Monitored sessions, which initialize or restore variables, run hooks and end cleanly.

Source: `tf.train.MonitoredSession`, `tf.train.SingularMonitoredSession` and
`tf.train.MonitoredTrainingSession` in TensorFlow 1.15.
"""

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, NoReturn, Self, TypeVar

from headrace.core.errors import OutOfRangeError
from headrace.graph import Graph, get_default_graph
from headrace.tf1.protos import RunMetadata
from headrace.tf1.session import ConfigProto, RunOptions, Session
from headrace.tf1.training.hooked_session import PREEMPTION_ERRORS, HookedSession
from headrace.tf1.training.hooks.checkpoint import CheckpointSaverHook
from headrace.tf1.training.hooks.reporting import StepCounterHook, SummarySaverHook
from headrace.tf1.training.hooks.run_hook import SessionRunHook
from headrace.tf1.training.scaffold import Scaffold
from headrace.tf1.training.session_creator import (
    ChiefSessionCreator,
    SessionCreator,
    WorkerSessionCreator,
)

__all__ = ["MonitoredSession", "MonitoredTrainingSession", "SingularMonitoredSession"]

_T = TypeVar("_T")

# Exceptions that end training without an error.
_ENDS: Final = (OutOfRangeError, StopIteration)
_USE_DEFAULT: Final[Any] = object()

_log = logging.getLogger(__name__)


class StepContext:
    """The argument of a step function: the session with and without hooks."""

    def __init__(self, session: Session, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks_fn = run_with_hooks_fn

    @property
    def session(self) -> Session:
        """The session. Its `run` calls no hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Runs like `MonitoredSession.run`."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self) -> NoReturn:
        """Stops the training by leaving the step function and the `with` block of the session."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class _MonitoredSession:
    """The common base class of monitored sessions."""

    StepContext = StepContext

    def __init__(
        self,
        session_creator: SessionCreator,
        hooks: Sequence[SessionRunHook] | None,
        should_recover: bool,
        stop_grace_period_secs: float,
    ) -> None:
        self._made_in = get_default_graph()
        self._graph_was_finalized = self._made_in.finalized
        self._hooks = list(hooks or ())
        self._session_creator = session_creator
        self._should_recover = should_recover
        self._stop_grace_period_secs = stop_grace_period_secs
        for hook in self._hooks:
            hook.begin()
        # Programs look for the session in attributes with this name.
        self._sess: HookedSession | None = self._create()
        self._is_closed = False

    def _create(self) -> HookedSession:
        while True:
            try:
                return HookedSession(
                    self._session_creator.create_session(),
                    self._hooks,
                    self._stop_grace_period_secs,
                )
            except PREEMPTION_ERRORS as error:
                if not self._should_recover:
                    raise
                _log.info("The session could not be created, trying again: %s", error)

    @property
    def graph(self) -> Graph | None:
        """The graph, or None once the session is closed."""
        return None if self._sess is None else self._sess.session.graph

    def _tf_sess(self) -> Session | None:
        # Programs call this method.
        return None if self._sess is None else self._sess.session

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Runs the session like `Session.run`, and calls the hooks.

        Args:
            fetches: The fetches.
            feed_dict: The feeds.
            options: The options of the run, to which hooks may add.
            run_metadata: See `Session.run`.

        Returns:
            The values, in the structure of `fetches`.

        Raises:
            RuntimeError: If the session is closed, a hook has already requested a stop, or two
                hooks feed the same tensor.
        """
        return self._retrying(lambda sess: sess.run(fetches, feed_dict, options, run_metadata))

    def run_step_fn(self, step_fn: Callable[..., _T]) -> _T:
        """Calls a function that runs a step, which may be several runs.

        Args:
            step_fn: The function. It is called with a `StepContext`, and again if the session had
                to be recreated.

        Returns:
            The result of the function.

        Raises:
            StopIteration: If the function calls `request_stop`. It ends the `with` block.
            ValueError: If the function has the wrong parameters.
        """
        arguments = tuple(inspect.signature(step_fn).parameters)
        if arguments not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and "
                f"`step_context` arguments if it's an instance method. Got {arguments} instead."
            )
        return self._retrying(lambda sess: step_fn(StepContext(sess.session, sess.run)))

    def _retrying(self, function: Callable[[HookedSession], _T]) -> _T:
        """Calls a function with the session. After a preemption, repeats it with a new session."""
        if self._is_closed:
            raise RuntimeError(
                "Run called on a monitored session that is closed. Create another one."
            )
        while True:
            if self._sess is None:
                self._sess = self._create()
            try:
                return function(self._sess)
            except PREEMPTION_ERRORS as error:
                if not self._should_recover:
                    raise
                _log.info("The session was preempted and will be created again: %s", error)
                self._abandon()

    def _abandon(self) -> None:
        sess, self._sess = self._sess, None
        if sess is not None:
            with suppress(Exception):
                sess.close()

    def should_stop(self) -> bool:
        """Returns whether training should stop, because a hook requested it or a thread ended.

        Raises:
            BaseException: The error that ended a thread. Only a `SingularMonitoredSession` raises
                it here; the others raise it in `close`.
        """
        if self._is_closed or self._sess is None:
            return True
        try:
            return self._sess.should_stop()
        except PREEMPTION_ERRORS:
            if not self._should_recover:
                raise
            self._abandon()
            self._sess = self._create()
            return False
        except Exception:
            if not self._should_recover:
                raise
            # The next run or `close` raises the error.
            return False

    def close(self) -> None:
        """Calls the hooks' `end`, stops the threads and closes the session.

        Raises:
            BaseException: The error that ended a thread.
            RuntimeError: If the session is already closed.
        """
        self._close(is_failed=False)

    def _close(self, is_failed: bool) -> None:
        if self._is_closed:
            raise RuntimeError("Session is already closed.")
        try:
            if not is_failed and self._sess is not None:
                for hook in self._hooks:
                    hook.end(self._sess.session)
        finally:
            self._is_closed = True
            sess, self._sess = self._sess, None
            try:
                if sess is not None:
                    self._close_session(sess)
            finally:
                if not self._graph_was_finalized:
                    self._made_in._unsafe_unfinalize()

    def _close_session(self, sess: HookedSession) -> None:
        try:
            sess.close()
        except PREEMPTION_ERRORS as error:
            _log.info("A thread was preempted when the session was closed: %s", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        is_end = kind in _ENDS
        self._close(is_failed=kind is not None and not is_end)
        return kind is None or is_end


class MonitoredSession(_MonitoredSession):
    """A session that initializes or restores variables, and runs hooks and queue runners.

    If the session is preempted (AbortedError, UnavailableError), it is recreated from the last
    checkpoint. The end of the input (OutOfRangeError) ends the `with` block without an error. The
    graph is finalized while the session is open.

    Args:
        session_creator: Creates the sessions. Defaults to a `ChiefSessionCreator`.
        hooks: The hooks, which are called in each run.
        stop_grace_period_secs: The time that threads have to end when the session is closed, in
            seconds.
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(
            session_creator or ChiefSessionCreator(), hooks, True, stop_grace_period_secs
        )


class SingularMonitoredSession(_MonitoredSession):
    """A monitored session that is never recreated. `raw_session` returns its underlying session.

    Args:
        hooks: The hooks, which are called in each run.
        scaffold: The parts of the graph that a session needs. Defaults to a new `Scaffold`.
        master: The target of the session.
        config: The options of the session.
        checkpoint_dir: The directory whose newest checkpoint is restored, if there is one.
        stop_grace_period_secs: The time that threads have to end when the session is closed, in
            seconds.
        checkpoint_filename_with_path: The checkpoint to restore, instead of a directory.
    """

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Session | None:
        """Returns the session itself, without hooks, or None after it is closed."""
        return self._tf_sess()


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = _USE_DEFAULT,
    save_summaries_steps: int | None = _USE_DEFAULT,
    save_summaries_secs: float | None = _USE_DEFAULT,
    config: ConfigProto | None = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: int | None = _USE_DEFAULT,
    summary_dir: str | None = None,
) -> MonitoredSession:
    """Creates a monitored session with the usual hooks for training.

    Args:
        master: The target of the session.
        is_chief: Whether this process initializes variables, saves checkpoints and writes
            summaries.
        checkpoint_dir: The directory to restore checkpoints from and save them to. By default,
            there are no checkpoints.
        scaffold: The parts of the graph that a session needs. Defaults to a new `Scaffold`.
        hooks: The hooks, which are called in each run.
        chief_only_hooks: Additional hooks if `is_chief` is True.
        save_checkpoint_secs: The time between checkpoints, in seconds. Defaults to 600 if
            `save_checkpoint_steps` is not given either. None or 0 disables them.
        save_summaries_steps: The number of steps between summaries. Defaults to 100 if
            `save_summaries_secs` is not given either. None or 0 disables them.
        save_summaries_secs: The time between summaries, in seconds. None or 0 disables them.
        config: The options of the session.
        stop_grace_period_secs: The time that threads have to end when the session is closed, in
            seconds.
        log_step_count_steps: The number of steps between log messages with the steps per second.
            None or 0 disables them.
        max_wait_secs: The maximum time that a worker waits for the chief, in seconds.
        save_checkpoint_steps: The number of steps between checkpoints. None or 0 disables them.
        summary_dir: The directory of summaries. Defaults to `checkpoint_dir`.

    Returns:
        The session.
    """
    scaffold = scaffold or Scaffold()
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
    summaries_steps, summaries_secs = _interval(
        (save_summaries_steps, save_summaries_secs), (100, None)
    )
    save_steps, save_secs = _interval((save_checkpoint_steps, save_checkpoint_secs), (None, 600))
    all_hooks = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir and log_step_count_steps and log_step_count_steps > 0:
        all_hooks.append(
            StepCounterHook(every_n_steps=log_step_count_steps, output_dir=summary_dir)
        )
    if summary_dir and (summaries_steps or summaries_secs):
        all_hooks.append(
            SummarySaverHook(
                summaries_steps, summaries_secs, output_dir=summary_dir, scaffold=scaffold
            )
        )
    if checkpoint_dir and (save_steps or save_secs):
        all_hooks.append(
            CheckpointSaverHook(checkpoint_dir, save_secs, save_steps, scaffold=scaffold)
        )
    all_hooks += hooks or ()
    chief = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(chief, all_hooks, stop_grace_period_secs)


def _interval(
    interval: tuple[int | None, float | None], default: tuple[int | None, float | None]
) -> tuple[int | None, float | None]:
    """Returns an interval in steps and seconds. The defaults apply if neither is given."""
    if interval == (_USE_DEFAULT, _USE_DEFAULT):
        return default
    steps, seconds = (None if value is _USE_DEFAULT else value for value in interval)
    return steps, seconds  # type: ignore[return-value]
