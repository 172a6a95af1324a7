"""The loop around a program with TensorFlow 1's queues: where a user's training would stand."""

from collections.abc import Callable
from typing import Any

from benchmarks.pipelines.consume import Meter, parse_arguments

Programs = dict[str, Callable[[list[str], int], Any]]
"""For each task what makes the tensors of a batch of file names and a number of epochs."""


def run(tf: Any, programs: Programs) -> None:
    """Fetches batches until the input ends, and prints what that took.

    Args:
        tf: The library: `headrace.tf1` or TensorFlow.
        programs: The program's tasks; the first argument of the command says which to run.
    """
    arguments = parse_arguments()
    batch = programs[arguments.task](arguments.files, arguments.epochs)
    meter = Meter(arguments.task)
    meter.begin()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                meter.take(session.run(batch))
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads)
    meter.report()
