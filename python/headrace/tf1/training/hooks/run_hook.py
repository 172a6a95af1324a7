"""Hooks: objects that take part in every run of a monitored session.

Source: `tf.train.SessionRunHook` and related classes of TensorFlow 1.15.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.tf1.coordinator import Coordinator
from headrace.tf1.protos import RunMetadata
from headrace.tf1.session import RunOptions, Session

__all__ = ["SessionRunArgs", "SessionRunContext", "SessionRunHook", "SessionRunValues"]


class SessionRunArgs(NamedTuple):
    """The fetches and feeds that a hook adds to a run, or that the program gave to it.

    Attributes:
        fetches: Additional fetches; None for none.
        feed_dict: Additional feeds; None for none.
        options: Options of the run; None for none.
    """

    fetches: Any
    feed_dict: Mapping[Any, Any] | None = None
    options: RunOptions | None = None


class SessionRunValues(NamedTuple):
    """The results of a run for a hook.

    Attributes:
        results: The values of the hook's fetches, in their structure; None if it fetched nothing.
        options: The options of the run.
        run_metadata: The session's metadata of the run.
    """

    results: Any
    options: RunOptions | None
    run_metadata: RunMetadata | None


class SessionRunContext:
    """One run of a monitored session, as hooks see it."""

    def __init__(self, original_args: SessionRunArgs, session: Session) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The arguments that the program gave to `run`."""
        return self._original_args

    @property
    def session(self) -> Session:
        """The session that runs."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """True if a hook has asked for the end of the training."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Asks for the end of the training: `should_stop` of the session is True from then on."""
        self._stop_requested = True


class SessionRunHook:
    """The base of all hooks, whose methods do nothing. Subclasses override some."""

    def begin(self) -> None:
        """Called once, before the session is made. The graph may be changed here only."""

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Called when a session was made, and its queue runners started.

        Args:
            session: The session.
            coord: Stops the threads of its queue runners.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run.

        Args:
            run_context: The run.

        Returns:
            Additional fetches and feeds; None for none.
        """

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run, unless it failed.

        Args:
            run_context: The run.
            run_values: The values of the hook's fetches.
        """

    def end(self, session: Session) -> None:
        """Called at the end, unless the training ended with an error.

        Args:
            session: The session, which is closed after that.
        """
