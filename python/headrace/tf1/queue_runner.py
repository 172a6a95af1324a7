"""`tf.train.queue_runner`: queue runners, under the name of their module."""

from typing import TYPE_CHECKING

from headrace.tf1.namespace import namespace
from headrace.tf1.queue_runners import QueueRunner, add_queue_runner, start_queue_runners

__all__ = ["QueueRunner", "add_queue_runner", "start_queue_runners"]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
