"""A timer that triggers an action after a number of seconds or steps.

Source: `tf.train.SecondOrStepTimer` in TensorFlow 1.15.
"""

import time

__all__ = ["SecondOrStepTimer"]


class SecondOrStepTimer:
    """Triggers an action at the first step and then at regular intervals.

    Args:
        every_secs: The interval in seconds.
        every_steps: The interval in steps.

    Raises:
        ValueError: Unless exactly one of these arguments is given.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Resets the timer, so that the next step is the first one."""
        self._last_step: int | None = None
        self._last_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Returns whether the action is due at a step. It is never due twice at the same step."""
        if self._last_step is None or self._last_time is None:
            return True
        if step == self._last_step:
            return False
        if self._every_secs is not None:
            return time.monotonic() >= self._last_time + self._every_secs
        return self._every_steps is not None and step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Records that the action was done at a step.

        Returns:
            The seconds and the steps since the last time, or (None, None) at the first time.
        """
        now = time.monotonic()
        since: tuple[float | None, int | None] = (None, None)
        if self._last_time is not None and self._last_step is not None:
            since = (now - self._last_time, step - self._last_step)
        self._last_time, self._last_step = now, step
        return since

    def last_triggered_step(self) -> int | None:
        """Returns the step of the last action, or None."""
        return self._last_step
