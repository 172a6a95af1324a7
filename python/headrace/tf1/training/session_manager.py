"""Creates sessions with initialized or restored variables.

Source: `tf.train.SessionManager` in TensorFlow 1.15.
"""

import logging
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headrace.core import errors
from headrace.core.wait_registry import RegisteredWait
from headrace.graph import Graph, get_default_graph
from headrace.tf1.saver import Saver, get_checkpoint_state
from headrace.tf1.session import ConfigProto, RunOptions, Session

__all__ = ["SessionManager"]

_log = logging.getLogger(__name__)


class SessionManager:
    """Creates sessions whose variables have values.

    Args:
        local_init_op: Runs in each new session, even if it is restored.
        ready_op: Returns the names of the variables without a value, a string vector. The vector is
            empty if the session is ready. You can also pass an operation that fails if a variable
            has no value, such as the result of `assert_variables_initialized`. None means that a
            session is always ready.
        ready_for_local_init_op: Like `ready_op`, but for the variables that `local_init_op` needs.
        graph: The graph of the sessions. Defaults to the default graph.
        recovery_wait_secs: The time between two checks for a checkpoint, or for variables that
            another process initializes, in seconds.
        local_init_run_options: Options for running `local_init_op`.
        local_init_feed_dict: The feeds of `local_init_op`.

    Raises:
        ValueError: If `ready_for_local_init_op` is given, but `local_init_op` is not.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: RunOptions | None = None,
        local_init_feed_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Saver | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigProto | None = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[[Session], object] | None = None,
    ) -> Session:
        """Creates a session and restores its variables, or initializes them without a checkpoint.

        Args:
            master: The target of the session.
            init_op: Runs if there is no checkpoint.
            saver: Restores the checkpoint. By default, there is no checkpoint.
            checkpoint_dir: The directory whose newest checkpoint is restored.
            checkpoint_filename_with_path: The checkpoint to restore, instead of a directory.
            wait_for_checkpoint: Whether to wait for a checkpoint in the directory.
            max_wait_secs: The maximum time to wait, in seconds.
            config: The options of the session.
            init_feed_dict: The feeds of `init_op`.
            init_fn: Called with the session after `init_op`.

        Returns:
            The session.

        Raises:
            RuntimeError: If the variables still have no values.
            ValueError: If both a directory and a checkpoint are given.
        """
        sess, is_restored = self._restored(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        if not is_restored:
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError(
                    "Model is not initialized and no init_op or init_fn or local_init_op was given"
                )
            if init_op is not None:
                sess.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(sess)
        for state, reason in (
            ("ready for local_init", self._why_not_local(sess)),
            ("ready", self._why_not_ready(sess)),
        ):
            if reason is not None:
                raise RuntimeError(
                    f"Init operations did not make model {state}.  Init op: "
                    f"{_name_of(init_op)}, init fn: {init_fn}, local_init_op: "
                    f"{_name_of(self._local_init_op)}, error: {reason}"
                )
        return sess

    def recover_session(
        self,
        master: str,
        saver: Saver | None = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: ConfigProto | None = None,
    ) -> tuple[Session, bool]:
        """Creates a session and restores its variables, if there is a checkpoint.

        Args:
            master: See `prepare_session`.
            saver: See `prepare_session`.
            checkpoint_dir: See `prepare_session`.
            checkpoint_filename_with_path: See `prepare_session`.
            wait_for_checkpoint: See `prepare_session`.
            max_wait_secs: See `prepare_session`.
            config: See `prepare_session`.

        Returns:
            The session, and whether all its variables have values.

        Raises:
            ValueError: If both a directory and a checkpoint are given.
        """
        sess, is_restored = self._restored(
            master,
            saver,
            checkpoint_dir,
            checkpoint_filename_with_path,
            wait_for_checkpoint,
            max_wait_secs,
            config,
        )
        reason_local = self._why_not_local(sess)
        if not is_restored:
            return sess, False
        origin = checkpoint_dir or checkpoint_filename_with_path
        if reason_local is not None:
            _log.info(
                "Restoring model from %s did not make model ready for local init: %s",
                origin,
                reason_local,
            )
            return sess, False
        reason = self._why_not_ready(sess)
        if reason is not None:
            _log.info("Restoring model from %s did not make model ready: %s", origin, reason)
            return sess, False
        _log.info("Restored model from %s", origin)
        return sess, True

    def wait_for_session(
        self, master: str, config: ConfigProto | None = None, max_wait_secs: float = math.inf
    ) -> Session:
        """Creates a session and waits until all its variables have values.

        In headrace, each session has its own variables, which no other process initializes. The
        wait therefore ends only if `local_init_op` initializes all variables.

        Args:
            master: The target of the session.
            config: The options of the session.
            max_wait_secs: The maximum time to wait, in seconds.

        Returns:
            The session.

        Raises:
            DeadlineExceededError: If the time has expired.
        """
        deadline = time.monotonic() + max_wait_secs
        while True:
            sess = Session(master, graph=self._graph, config=config)
            reason_local = self._why_not_local(sess)
            reason = self._why_not_ready(sess)
            if reason is None:
                return sess
            sess.close()
            _log.info(
                "Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                reason_local,
                reason,
            )
            if time.monotonic() + self._recovery_wait_secs >= deadline:
                raise errors.DeadlineExceededError(
                    None,
                    None,
                    f"Session was not ready after waiting {max_wait_secs:.0f} secs. "
                    f"({reason}) headrace sessions do not share variables: pass is_chief=True "
                    "to initialize them in this session.",
                )
            with RegisteredWait(lambda: "another process to initialize the variables"):
                time.sleep(self._recovery_wait_secs)

    def _restored(
        self,
        master: str,
        saver: Saver | None,
        checkpoint_dir: str | None,
        checkpoint_filename: str | None,
        wait_for_checkpoint: bool,
        max_wait_secs: float,
        config: ConfigProto | None,
    ) -> tuple[Session, bool]:
        """Creates a session. Also returns whether its variables were restored."""
        sess = Session(master, graph=self._graph, config=config)
        if checkpoint_dir and checkpoint_filename:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        if saver is None or not (checkpoint_dir or checkpoint_filename):
            return sess, False
        if checkpoint_filename:
            saver.restore(sess, checkpoint_filename)
            return sess, True
        assert checkpoint_dir
        deadline = time.monotonic() + max_wait_secs
        while (state := get_checkpoint_state(checkpoint_dir)) is None:
            if not wait_for_checkpoint or time.monotonic() >= deadline:
                return sess, False
            _log.info("Waiting for checkpoint to be available.")
            with RegisteredWait(lambda: f"a checkpoint in {checkpoint_dir}"):
                time.sleep(self._recovery_wait_secs)
        saver.restore(sess, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return sess, True

    def _why_not_ready(self, sess: Session) -> str | None:
        return _why_not(self._ready_op, sess)

    def _why_not_local(self, sess: Session) -> str | None:
        """Runs `local_init_op`. Returns the reason why it could not run, or None."""
        if self._local_init_op is None:
            return None
        reason = _why_not(self._ready_for_local_init_op, sess)
        if reason is None:
            _log.info("Running local_init_op.")
            sess.run(
                self._local_init_op,
                feed_dict=self._local_init_feed_dict,
                options=self._local_init_run_options,
            )
            _log.info("Done running local_init_op.")
        return reason


def _why_not(op: Any, sess: Session) -> str | None:
    """Returns None if `op` reports that everything is ready, otherwise a message."""
    if op is None:
        return None
    try:
        names = sess.run(op)
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            _log.warning("Model not ready raised: %s", error)
            raise
        return str(error)
    # An assertion returns nothing, or the variables' ranks.
    if names is None or names.dtype == np.int32 or names.size == 0:
        return None
    return f"Variables not initialized: {', '.join(name.decode() for name in names)}"


def _name_of(op: Any) -> str:
    return str(getattr(op, "name", op))
