"""`tf.train.queue_runner`: the runners under their module's name."""

from headrace.queue_runner import QueueRunner, add_queue_runner, start_queue_runners

__all__ = ["QueueRunner", "add_queue_runner", "start_queue_runners"]
