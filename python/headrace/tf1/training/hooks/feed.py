"""A hook that feeds each run.

Source: `tf.train.FeedFnHook` in TensorFlow 1.15.
"""

from collections.abc import Callable, Mapping
from typing import Any

from headrace.tf1.training.hooks.run_hook import SessionRunArgs, SessionRunContext, SessionRunHook

__all__ = ["FeedFnHook"]


class FeedFnHook(SessionRunHook):
    """Calls a function before each run and feeds the values that it returns.

    Args:
        feed_fn: A function that returns the feeds for one run.
    """

    def __init__(self, feed_fn: Callable[[], Mapping[Any, Any]]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Calls the function to get the feeds."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
