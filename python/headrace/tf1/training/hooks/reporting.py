"""Hooks that report on training: in the log, in an event file or at the end.

Source: `tf.train.LoggingTensorHook`, `tf.train.StepCounterHook`, `tf.train.SummarySaverHook`,
`tf.train.FinalOpsHook` in TensorFlow 1.15.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

from headrace.core.errors import OutOfRangeError
from headrace.graph import Tensor
from headrace.tf1.events import FileWriter, FileWriterCache
from headrace.tf1.ops.variables.global_step import get_global_step
from headrace.tf1.protos import SessionLog, Summary
from headrace.tf1.session import Session
from headrace.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from headrace.tf1.training.scaffold import Scaffold
from headrace.tf1.training.step_tensor import find_element, require_global_step
from headrace.tf1.training.step_timer import SecondOrStepTimer

__all__ = ["FinalOpsHook", "LoggingTensorHook", "StepCounterHook", "SummarySaverHook"]

_log = logging.getLogger(__name__)


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors in some runs, at level INFO.

    Args:
        tensors: Tensors or their names: a list, or a dict by name in the log.
        every_n_iter: The interval in runs, starting with the first.
        every_n_secs: The interval in seconds, starting with the first run.
        at_end: Whether to log at the end as well.
        formatter: A function that converts a dict of values to a log line.

    Raises:
        ValueError: If both intervals are given, no option is given, or `every_n_iter` is not
            positive.
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Sequence[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                "provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        is_named = isinstance(tensors, Mapping)
        self._given = dict(tensors) if is_named else {tensor: tensor for tensor in tensors}
        self._tags = sorted(tensors) if is_named else list(tensors)
        self._formatter = formatter
        self._at_end = at_end
        self._clock = SecondOrStepTimer(every_secs=every_n_secs or 0.0, every_steps=None)
        if every_n_iter is not None:
            self._clock = SecondOrStepTimer(every_steps=every_n_iter)
        self._only_at_end = only_at_end

    def begin(self) -> None:
        """Finds the tensors.

        Raises:
            ValueError: If a tensor is not in the default graph.
        """
        self._clock.reset()
        self._num_runs = 0
        self._tensors = {tag: find_element(tensor) for tag, tensor in self._given.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the tensors, if they are to be logged."""
        self._is_due = not self._only_at_end and self._clock.should_trigger_for_step(self._num_runs)
        return SessionRunArgs(self._tensors) if self._is_due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs the values, if they were fetched."""
        if self._is_due:
            self._log_tensors(run_values.results)
        self._num_runs += 1

    def end(self, session: Session) -> None:
        """Logs the values at the end, if `at_end` is True."""
        if self._at_end:
            self._log_tensors(session.run(self._tensors))

    def _log_tensors(self, values: dict[Any, Any]) -> None:
        seconds, _ = self._clock.update_last_triggered_step(self._num_runs)
        if self._formatter:
            _log.info("%s", self._formatter(values))
            return
        text = ", ".join(f"{tag} = {values[tag]}" for tag in self._tags)
        _log.info("%s", text if seconds is None else f"{text} ({seconds:.3f} sec)")


class StepCounterHook(SessionRunHook):
    """Counts steps per second, for the log and for TensorBoard.

    Args:
        every_n_steps: The interval in steps.
        every_n_secs: The interval in seconds, if `every_n_steps` is None.
        output_dir: The directory of the event file.
        summary_writer: The writer to use for events, instead of a new one for `output_dir`.

    Raises:
        ValueError: Unless exactly one interval is given.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | PathLike[str] | None = None,
        summary_writer: FileWriter | None = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._clock = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._output_dir = output_dir
        self._summary_writer = summary_writer

    def begin(self) -> None:
        """Finds the global step and opens the event file.

        Raises:
            RuntimeError: If there is no global step.
        """
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._step = require_global_step("StepCounterHook")
        self._tag = f"{get_global_step().op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Reports the steps per second, if they are due."""
        if not self._clock.should_trigger_for_step(run_values.results + 1):
            return
        step = int(run_context.session.run(self._step))
        if not self._clock.should_trigger_for_step(step):
            return
        seconds, steps = self._clock.update_last_triggered_step(step)
        if seconds is not None and steps is not None:
            self._log_and_record(steps, seconds, step)

    def _log_and_record(self, elapsed_steps: int, elapsed_time: float, global_step: int) -> None:
        # Programs override this method.
        rate = elapsed_steps / elapsed_time if elapsed_time > 0 else float("inf")
        if self._summary_writer is not None:
            summary = Summary(value=[Summary.Value(tag=self._tag, simple_value=rate)])
            self._summary_writer.add_summary(summary, global_step)
        _log.info("%s: %g", self._tag, rate)


class SummarySaverHook(SessionRunHook):
    """Writes summaries to an event file.

    Args:
        save_steps: The interval in steps, starting with the first run.
        save_secs: The interval in seconds, starting with the first run.
        output_dir: The directory of the event file.
        summary_writer: The writer to use for events, instead of a new one for `output_dir`.
        scaffold: The scaffold whose `summary_op` is written.
        summary_op: A tensor with a summary, or a list of tensors, instead of `scaffold`.

    Raises:
        ValueError: Unless exactly one interval and exactly one of `scaffold` and `summary_op` are
            given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | PathLike[str] | None = None,
        summary_writer: FileWriter | None = None,
        scaffold: Scaffold | None = None,
        summary_op: Tensor | list[Tensor] | None = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._clock = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._summary_op = summary_op
        self._scaffold = scaffold
        self._output_dir = output_dir
        self._summary_writer = summary_writer

    def begin(self) -> None:
        """Finds the global step and opens the event file.

        Raises:
            RuntimeError: If there is no global step.
        """
        if self._summary_writer is None and self._output_dir:
            self._summary_writer = FileWriterCache.get(self._output_dir)
        self._next_step: int | None = None
        self._step = require_global_step("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the global step, and the summaries if they are due."""
        self._is_due = self._next_step is None or self._clock.should_trigger_for_step(
            self._next_step
        )
        requests: dict[str, Any] = {"global_step": self._step}
        summaries = self._summaries() if self._is_due else []
        if summaries:
            requests["summary"] = summaries
        return SessionRunArgs(requests)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the summaries that were fetched."""
        if self._summary_writer is None:
            return
        step = run_values.results["global_step"] + 1
        if self._is_due:
            step = run_context.session.run(self._step)
        if self._next_step is None:
            self._summary_writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self._is_due:
            self._clock.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._summary_writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Session | None = None) -> None:
        """Flushes all summaries."""
        if self._summary_writer is not None:
            self._summary_writer.flush()

    def _summaries(self) -> list[Tensor]:
        op = self._summary_op
        if op is None and self._scaffold is not None:
            op = self._scaffold.summary_op
        if op is None:
            return []
        return op if isinstance(op, list) else [op]


class FinalOpsHook(SessionRunHook):
    """Fetches values at the end of the training.

    Args:
        final_ops: The fetches at the end: one fetch or a structure of fetches.
        final_ops_feed_dict: The feeds at the end.
    """

    def __init__(
        self, final_ops: Any, final_ops_feed_dict: Mapping[Any, Any] | None = None
    ) -> None:
        self._final_ops = final_ops
        self._final_ops_feed_dict = final_ops_feed_dict
        self._final_ops_values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values of `final_ops`, or None before the end."""
        return self._final_ops_values

    def end(self, session: Session) -> None:
        """Fetches the values.

        Raises:
            OutOfRangeError: If the values depend on an input that has ended.
        """
        if self._final_ops is None:
            return
        try:
            self._final_ops_values = session.run(
                self._final_ops, feed_dict=self._final_ops_feed_dict
            )
        except (OutOfRangeError, StopIteration) as error:
            _log.warning(
                "FinalOpsHook: the final operations raised %s. They should not depend on the "
                "input, because it has ended.",
                type(error).__name__,
            )
            raise
