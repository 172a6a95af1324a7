"""A supervisor's threads, for summaries, steps per second and checkpoints.

Source: `tf.train.Supervisor` in TensorFlow 1.15.
"""

import logging
import time
from dataclasses import dataclass
from typing import Any

from headrace.tf1.coordinator import Coordinator, LooperThread
from headrace.tf1.events import FileWriter
from headrace.tf1.ops.variables.global_step import global_step
from headrace.tf1.protos import SessionLog, Summary
from headrace.tf1.saver import Saver
from headrace.tf1.session import Session

__all__ = ["ServedTraining", "checkpoint_thread", "step_counter_thread", "summary_thread"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServedTraining:
    """The objects that the threads need.

    Attributes:
        session: The session.
        coord: The coordinator that stops the threads.
        step: The global step, or None if the graph has none.
        writer: The event file, or None.
    """

    session: Session
    coord: Coordinator
    step: Any
    writer: FileWriter | None


def summary_thread(training: ServedTraining, summary_op: Any, seconds: float) -> LooperThread:
    """Creates the thread that writes summaries.

    Args:
        training: The training to serve.
        summary_op: The tensor with the summaries.
        seconds: The interval in seconds.
    """

    def write() -> None:
        if training.step is None:
            summary, step = training.session.run(summary_op), None
        else:
            summary, step = training.session.run([summary_op, training.step])
        if training.writer is not None:
            _log.info("Recording summary at step %s.", step)
            training.writer.add_summary(summary, step)

    return LooperThread(training.coord, seconds, target=write)


def step_counter_thread(training: ServedTraining, seconds: float) -> LooperThread:
    """Creates the thread that measures the steps per second, for the log and for TensorBoard.

    Args:
        training: The training to serve, which must have a global step.
        seconds: The interval in seconds.
    """
    tag = f"{training.step.op.name}/sec"
    last = (time.monotonic(), global_step(training.session, training.step))

    def count() -> None:
        nonlocal last
        now = (time.monotonic(), global_step(training.session, training.step))
        elapsed, steps = now[0] - last[0], now[1] - last[1]
        last = now
        rate = steps / elapsed if elapsed > 0 else 0.0
        if training.writer is not None:
            summary = Summary(value=[Summary.Value(tag=tag, simple_value=rate)])
            training.writer.add_summary(summary, now[1])
        _log.info("%s: %g", tag, rate)

    return LooperThread(training.coord, seconds, target=count)


def checkpoint_thread(
    training: ServedTraining, saver: Saver, path: str, seconds: float
) -> LooperThread:
    """Creates the thread that saves checkpoints.

    Args:
        training: The training to serve.
        saver: The saver that saves the checkpoints.
        path: The prefix of the file names.
        seconds: The interval in seconds.
    """

    def save() -> None:
        _log.info("Saving checkpoint to path %s", path)
        saver.save(training.session, path, global_step=training.step)
        if training.writer is not None and training.step is not None:
            note = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=path)
            training.writer.add_session_log(note, global_step(training.session, training.step))

    return LooperThread(training.coord, seconds, target=save)
