"""Runs a pipeline for long and prints how much memory it had soon, and at the end."""

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

import headrace.tf1 as tf
from benchmarks.memory.anonymous import anonymous_bytes
from benchmarks.pipelines.best.examples import examples
from benchmarks.pipelines.best.lines import lines
from benchmarks.pipelines.checksums import CHECKSUMS

TASKS: dict[str, Callable[[list[str], int], Any]] = {"lines": lines, "examples": examples}


def run(task: str, files: Sequence[str], count: int, soon: int) -> dict[str, int]:
    """Takes examples.

    Args:
        task: A key of `TASKS`.
        files: What is read, again and again.
        count: How many examples to take.
        soon: After how many to look for the first time.

    Returns:
        How many examples were taken, and the memory in bytes: soon, at the end, and the most.
    """
    batch = TASKS[task](list(files), None)  # type: ignore[arg-type]
    seen = 0
    at_soon = most = now = 0
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        while seen < count:
            taken, _ = CHECKSUMS[task](session.run(batch))
            seen += taken
            if seen % (16 * taken) == 0 or seen >= count:
                now = anonymous_bytes()
                most = max(most, now)
            if seen >= soon and not at_soon:
                at_soon = anonymous_bytes()
        coord.request_stop()
        coord.join(threads)
    return {"count": seen, "soon_bytes": at_soon, "end_bytes": now, "most_bytes": most}


def main() -> None:
    """Runs the pipeline that the arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument("--soon", type=int, default=100_000)
    arguments = parser.parse_args()
    print(json.dumps(run(arguments.task, arguments.files, arguments.count, arguments.soon)))


if __name__ == "__main__":
    main()
