"""Determines which runs of a session report the cost of each operation.

Source: `GraphOptions.build_cost_model` and `build_cost_model_after` in TensorFlow 1.15.
"""

import threading
from collections import Counter
from collections.abc import Hashable

__all__ = ["CostSteps"]


class CostSteps:
    """Counts the runs of each combination of fetches and feeds, safely across threads.

    Args:
        every: The number of runs per report. The last of these runs reports costs.
        after: The number of runs before counting starts.
    """

    def __init__(self, every: int, after: int) -> None:
        self._every = every
        self._after = after
        self._num_runs: Counter[Hashable] = Counter()
        self._lock = threading.Lock()

    def count(self, key: Hashable) -> bool:
        """Counts a run and returns whether it should report costs."""
        with self._lock:
            self._num_runs[key] += 1
            number = self._num_runs[key] - self._after
        return number > 0 and number % self._every == 0
