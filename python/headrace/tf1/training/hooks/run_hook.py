"""Hooks: objects that take part in every run of a monitored session.

Source: `tf.train.SessionRunHook` and related classes in TensorFlow 1.15.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.tf1.coordinator import Coordinator
from headrace.tf1.protos import RunMetadata
from headrace.tf1.session import RunOptions, Session

__all__ = ["SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues"]


class SessionRunArgs(NamedTuple):
    """The fetches and feeds that a hook adds to a run, or that the program passed.

    Attributes:
        fetches: Additional fetches (optional).
        feed_dict: Additional feeds (optional).
        options: The options of the run (optional).
    """

    fetches: Any
    feed_dict: Mapping[Any, Any] | None = None
    options: RunOptions | None = None


class SessionRunValues(NamedTuple):
    """The results of a run for a hook.

    Attributes:
        results: The values of the hook's fetches, in the same structure, or None if it fetched
            nothing.
        options: The options of the run.
        run_metadata: The session's metadata for the run.
    """

    results: Any
    options: RunOptions | None
    run_metadata: RunMetadata | None


class SessionRunContext:
    """One run of a monitored session, for hooks."""

    def __init__(self, original_args: SessionRunArgs, session: Session) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The arguments that the program passed to `run`."""
        return self._original_args

    @property
    def session(self) -> Session:
        """The session that runs."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook has requested to stop the training."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Requests that the training stops. The session's `should_stop` then returns True."""
        self._stop_requested = True


class SessionRunHook:
    """The base class of all hooks. Its methods do nothing, and subclasses override some of them."""

    def begin(self) -> None:
        """Called once, before the session is created. The graph can be changed only here."""

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Called after a session is created and its queue runners are started.

        Args:
            session: The session.
            coord: The coordinator that stops the queue runners.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run.

        Args:
            run_context: The run.

        Returns:
            Additional fetches and feeds, or None.
        """

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each successful run.

        Args:
            run_context: The run.
            run_values: The values of the hook's fetches.
        """

    def end(self, session: Session) -> None:
        """Called at the end, unless the training fails.

        Args:
            session: The session, which is closed afterwards.
        """
