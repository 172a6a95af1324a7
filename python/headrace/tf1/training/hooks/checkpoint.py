"""A hook that saves checkpoints, and the listeners that it calls.

Source: `tf.train.CheckpointSaverHook` and `tf.train.CheckpointSaverListener` in TensorFlow 1.15.
"""

import logging
import os
from collections.abc import Sequence

from headrace.graph import GraphKeys, get_collection
from headrace.tf1.coordinator import Coordinator
from headrace.tf1.events import FileWriterCache
from headrace.tf1.protos import SessionLog
from headrace.tf1.saver import Saver, write_graph
from headrace.tf1.session import Session
from headrace.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from headrace.tf1.training.scaffold import Scaffold
from headrace.tf1.training.step_tensor import require_global_step
from headrace.tf1.training.step_timer import SecondOrStepTimer

__all__ = ["CheckpointSaverHook", "CheckpointSaverListener"]

_log = logging.getLogger(__name__)


class CheckpointSaverListener:
    """The base class of listeners that are called at each checkpoint. Its methods do nothing."""

    def begin(self) -> None:
        """Called once, before the session is created."""

    def before_save(self, session: Session, global_step_value: int) -> None:
        """Called before a checkpoint is written.

        Args:
            session: The session.
            global_step_value: The global step.
        """

    def after_save(self, session: Session, global_step_value: int) -> bool | None:
        """Called after a checkpoint is written.

        Args:
            session: The session.
            global_step_value: The global step.

        Returns:
            True to stop the training.
        """
        return None

    def end(self, session: Session, global_step_value: int) -> None:
        """Called at the end.

        Args:
            session: The session.
            global_step_value: The global step.
        """


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint at the start, at intervals, and at the end.

    Args:
        checkpoint_dir: The directory.
        save_secs: The interval in seconds.
        save_steps: The interval in steps.
        saver: Saves the checkpoints.
        checkpoint_basename: The prefix of the file names.
        scaffold: The scaffold whose saver is used if `saver` is None. If both are None, the saver
            in the collection `GraphKeys.SAVERS` is used.
        listeners: `CheckpointSaverListener`s to call at each checkpoint.
        save_graph_def: Whether to write the graph as text, once, to `graph.pbtxt`.

    Raises:
        ValueError: Unless exactly one interval is given, or if both `saver` and `scaffold` are
            given.
    """

    def __init__(
        self,
        checkpoint_dir: str | os.PathLike[str],
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Scaffold | None = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver = saver
        self._scaffold = scaffold
        self._checkpoint_dir = os.fspath(checkpoint_dir)
        self._save_path = os.path.join(self._checkpoint_dir, checkpoint_basename)
        self._clock = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or ())
        self._save_graph_def = save_graph_def

    def begin(self) -> None:
        """Finds the global step and opens an event file.

        Raises:
            RuntimeError: If the graph has no global step.
        """
        self._summary_writer = FileWriterCache.get(self._checkpoint_dir)
        self._step = require_global_step("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Saves the first checkpoint."""
        step = int(session.run(self._step))
        if self._save_graph_def:
            write_graph(session.graph, self._checkpoint_dir, "graph.pbtxt")
        self._save(session, step)
        self._clock.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Saves a checkpoint, if one is due."""
        if not self._clock.should_trigger_for_step(run_values.results + 1):
            return
        # The run may have read the step before or after it was counted.
        step = int(run_context.session.run(self._step))
        if self._clock.should_trigger_for_step(step):
            self._clock.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Session) -> None:
        """Saves the last checkpoint, unless its step is already saved."""
        step = int(session.run(self._step))
        if step != self._clock.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Session, step: int) -> bool:
        """Saves a checkpoint. Returns whether a listener requested a stop."""
        _log.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._save_path, global_step=step)
        note = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path)
        self._summary_writer.add_session_log(note, step)
        stops = [listener for listener in self._listeners if listener.after_save(session, step)]
        if stops:
            _log.info("A CheckpointSaverListener requested that training be stopped: %s", stops)
        return bool(stops)

    def _get_saver(self) -> Saver:
        if self._saver is None and self._scaffold is not None:
            saver: Saver = self._scaffold.saver
            return saver
        if self._saver is None:
            savers = get_collection(GraphKeys.SAVERS)
            if len(savers) != 1:
                raise RuntimeError(
                    f"{len(savers) or 'No'} items in collection {GraphKeys.SAVERS}, expected one "
                    "saver. Please add a saver to the collection or provide a saver or scaffold."
                )
            self._saver = savers[0]
        return self._saver
