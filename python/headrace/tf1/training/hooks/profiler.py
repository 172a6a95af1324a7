"""A hook that traces some steps.

Source: `tf.train.ProfilerHook` in TensorFlow 1.15.
"""

import os
from os import PathLike, fspath

from headrace.tf1 import gfile
from headrace.tf1.events import FileWriterCache
from headrace.tf1.protos import RunMetadata
from headrace.tf1.session import RunOptions
from headrace.tf1.session.traces.timeline import Timeline
from headrace.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from headrace.tf1.training.step_tensor import require_global_step
from headrace.tf1.training.step_timer import SecondOrStepTimer

__all__ = ["ProfilerHook"]


class ProfilerHook(SessionRunHook):
    """Writes the start and end of each operation in some of the steps.

    The trace is written to `timeline-STEP.json`, for Chrome's tracing, and to an event, for
    TensorBoard. The first run reads the step, so the second run is the first that can be traced.

    Args:
        save_steps: The interval in steps.
        save_secs: The interval in seconds.
        output_dir: The directory of the files.
        show_dataflow: Whether the trace has arrows; see `Timeline`.
        show_memory: Accepted for compatibility, but not used.

    Raises:
        ValueError: Unless exactly one interval is given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | PathLike[str] = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._directory = fspath(output_dir)
        self._show_dataflow, self._show_memory = show_dataflow, show_memory

    def begin(self) -> None:
        """Finds the global step.

        Raises:
            RuntimeError: If the graph has no global step.
        """
        self._next_step: int | None = None
        self._global_step = require_global_step("ProfilerHook")
        self._writer = FileWriterCache.get(self._directory)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Requests a trace, if one is due."""
        step = self._next_step
        self._is_due = step is not None and self._timer.should_trigger_for_step(step)
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._is_due else None
        return SessionRunArgs(self._global_step, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the trace, if one was requested."""
        step = int(run_values.results) + 1
        if self._next_step is None:
            self._timer.update_last_triggered_step(step - 1)
        if self._is_due and run_values.run_metadata is not None:
            step = int(run_context.session.run(self._global_step))
            self._timer.update_last_triggered_step(step)
            self._write(step, run_values.run_metadata)
        self._next_step = step + 1

    def end(self, session: object) -> None:
        """Flushes all events."""
        self._writer.flush()

    def _write(self, step: int, run_metadata: RunMetadata) -> None:
        timeline = Timeline(run_metadata.step_stats)
        text = timeline.generate_chrome_trace_format(self._show_dataflow, self._show_memory)
        with gfile.GFile(os.path.join(self._directory, f"timeline-{step}.json"), "w") as file:
            file.write(text)
        self._writer.add_run_metadata(run_metadata, f"step_{step}", step)
