"""Queue runners, whose threads keep queues filled until the input ends."""

from headrace.tf1.queue_runners.definition import QueueRunnerDef
from headrace.tf1.queue_runners.loops import CoordinatorLike
from headrace.tf1.queue_runners.runner import QueueRunner
from headrace.tf1.queue_runners.starting import add_queue_runner, start_queue_runners

__all__ = [
    "CoordinatorLike",
    "QueueRunner",
    "QueueRunnerDef",
    "add_queue_runner",
    "start_queue_runners",
]
