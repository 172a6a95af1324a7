"""The programs of the benchmarks, pipelines and those with TensorFlow 1's names."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import headrace as hr
import headrace.tf1 as tf
from benchmarks.pipelines.checksums import CHECKSUMS
from benchmarks.pipelines.dataset import stem_of

NUM_EPOCHS = 3


def run(files: dict[str, list[str]]) -> None:
    """Takes all batches of each program.

    Args:
        files: For each data set its files.
    """
    for task in CHECKSUMS:
        stem = stem_of(task)
        for package in ("tf1", "best"):
            _run_queues(_module(package, stem), task, files[stem])
        module = _module("pipeline", stem)
        # Digits and images have functions of their own.
        made: hr.Pipeline = getattr(module, task)(files[stem], NUM_EPOCHS)
        for pipeline in (made, made.options(strings="arrow", deterministic=False)):
            for _ in pipeline:
                pass


def _module(package: str, stem: str) -> Any:
    return import_module(f"benchmarks.pipelines.{package}.{stem}")


def _run_queues(module: Any, task: str, files: Sequence[str]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        batch = getattr(module, task)(files, NUM_EPOCHS)
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                session.run(batch)
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads)
