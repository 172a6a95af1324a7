"""Hooks that end training or delay its start.

Source: `tf.train.StopAtStepHook`, `tf.train.NanTensorHook`, `tf.train.GlobalStepWaiterHook` of
TensorFlow 1.15.
"""

import logging
import time
from typing import Any, Final

import numpy as np

from headrace.core.wait_registry import RegisteredWait
from headrace.tf1.coordinator import Coordinator
from headrace.tf1.session import Session
from headrace.tf1.training.hooks.run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from headrace.tf1.training.step_tensor import require_global_step

__all__ = [
    "GlobalStepWaiterHook",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "StopAtStepHook",
]

_LOOK_SECS: Final = 0.5
_SECS_BETWEEN_NOTES: Final = 60.0

_log = logging.getLogger(__name__)


class StopAtStepHook(SessionRunHook):
    """Stops the training at a step.

    Args:
        num_steps: The number of steps after the first step of the session.
        last_step: The global step at which to stop. If this step has already been reached, the
            training stops after the next run.

    Raises:
        ValueError: Unless exactly one of these arguments is given.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        """Finds the global step.

        Raises:
            RuntimeError: If there is no global step.
        """
        self._step = require_global_step("StopAtStepHook")

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        """Computes the last step. A recreated session stops at the same step."""
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = int(session.run(self._step)) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Requests a stop if the step is reached."""
        assert self._last_step is not None
        # The run may have read the step before or after it was counted.
        is_near = run_values.results + 1 >= self._last_step
        if is_near and run_context.session.run(self._step) >= self._last_step:
            run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    """Raised when the loss is NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Stops the training when a tensor is NaN.

    Args:
        loss_tensor: A scalar tensor, or its name.
        fail_on_nan_loss: Whether to raise an error. If False, the training only stops.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the tensor."""
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Checks the tensor.

        Raises:
            NanLossDuringTrainingError: If the tensor is NaN and `fail_on_nan_loss` is True.
        """
        if not np.isnan(run_values.results):
            return
        if self._fail_on_nan_loss:
            _log.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        _log.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Delays the first run until other workers reach a global step.

    Args:
        wait_until_step: The step to wait for. 0 or less means no delay.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step
        self._is_over = False

    def begin(self) -> None:
        """Finds the global step.

        Raises:
            RuntimeError: If there is no global step.
        """
        self._is_over = False
        self._step = require_global_step("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Waits, before the first run only."""
        if not self._is_over and self._wait_until_step > 0:
            with RegisteredWait(lambda: f"global step {self._wait_until_step}"):
                self._wait(run_context.session)
        self._is_over = True
        return None

    def _wait(self, session: Session) -> None:
        _log.info("Waiting for global step %d before starting training.", self._wait_until_step)
        next_note = time.monotonic() + _SECS_BETWEEN_NOTES
        while (step := int(session.run(self._step))) < self._wait_until_step:
            if time.monotonic() >= next_note:
                next_note += _SECS_BETWEEN_NOTES
                _log.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    self._wait_until_step,
                    step,
                )
            # Other processes count the steps, and they do not wake this one.
            time.sleep(_LOOK_SECS)
