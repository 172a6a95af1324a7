"""Creators for the sessions inside monitored sessions.

Source: `tf.train.ChiefSessionCreator` and `tf.train.WorkerSessionCreator` in TensorFlow 1.15.
"""

from abc import ABC, abstractmethod
from typing import Final

from headrace.graph import get_default_graph
from headrace.tf1.session import ConfigProto, Session
from headrace.tf1.training.scaffold import Scaffold
from headrace.tf1.training.session_manager import SessionManager

__all__ = ["ChiefSessionCreator", "SessionCreator", "WorkerSessionCreator"]

_HALF_AN_HOUR: Final = 30 * 60


class SessionCreator(ABC):
    """The base class of objects that create sessions."""

    @abstractmethod
    def create_session(self) -> Session:
        """Creates a session whose variables have values."""


class ChiefSessionCreator(SessionCreator):
    """Creates sessions and initializes or restores their variables.

    Args:
        scaffold: The parts of the graph that a session needs. Defaults to a new `Scaffold`.
        master: The target of the sessions.
        config: The options of the sessions.
        checkpoint_dir: The directory whose newest checkpoint is restored, if there is one.
        checkpoint_filename_with_path: The checkpoint to restore, instead of a directory.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_filename_with_path = checkpoint_filename_with_path
        self._scaffold = scaffold or Scaffold()
        self._session_manager: SessionManager | None = None
        self._master = master
        self._config = config

    def create_session(self) -> Session:
        """Finalizes the graph and creates a session, which is restored or initialized."""
        scaffold = self._scaffold.finalize()
        if self._session_manager is None:
            self._session_manager = _manager(scaffold)
        return self._session_manager.prepare_session(
            self._master,
            saver=scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_filename_with_path,
            config=self._config,
            init_op=scaffold.init_op,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


class WorkerSessionCreator(SessionCreator):
    """Creates sessions that wait until the chief has initialized the variables.

    Args:
        scaffold: The parts of the graph that a session needs. Defaults to a new `Scaffold`.
        master: The target of the sessions.
        config: The options of the sessions.
        max_wait_secs: The maximum time to wait, in seconds.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigProto | None = None,
        max_wait_secs: float = _HALF_AN_HOUR,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._session_manager: SessionManager | None = None
        self._master = master
        self._config = config
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Session:
        """Finalizes the graph and waits; see `SessionManager.wait_for_session`."""
        scaffold = self._scaffold.finalize()
        if self._session_manager is None:
            self._session_manager = _manager(scaffold)
        return self._session_manager.wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )


def _manager(scaffold: Scaffold) -> SessionManager:
    return SessionManager(
        local_init_op=scaffold.local_init_op,
        local_init_feed_dict=scaffold.local_init_feed_dict,
        ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op,
        graph=get_default_graph(),
    )
