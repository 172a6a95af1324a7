"""Queue runners keep queues filled, with threads that run until the input ends."""

from headrace.queue_runner.definition import QueueRunnerDef
from headrace.queue_runner.loops import CoordinatorLike
from headrace.queue_runner.runner import QueueRunner
from headrace.queue_runner.starting import add_queue_runner, start_queue_runners

__all__ = [
    "CoordinatorLike",
    "QueueRunner",
    "QueueRunnerDef",
    "add_queue_runner",
    "start_queue_runners",
]
