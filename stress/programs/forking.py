"""A program that forks while it iterates.

Run as `python -m stress.programs.forking PATH COUNT SEED NUMBER`.
"""

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from random import Random
from typing import Any

import headrace as hr
import headrace.tf1 as tf
from headrace.core.errors import FailedPreconditionError

_CHILD_S = 15


def main(path: str, count: int, draws: Random) -> None:
    """Forks repeatedly at random moments, and prints the children's results."""
    pipe = hr.text_lines(path).map(lambda line: line).shuffle(window=50, seed=1).batch(8)
    uninterrupted = [batch["text"].tolist() for batch in pipe]
    left = count
    names = tf.train.string_input_producer([path])
    line = tf.TextLineReader().read(names).value
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        while left:
            batches = iter(pipe)
            taken = []
            positions = {draws.randrange(len(uninterrupted)) for _ in range(3)}
            for number, batch in enumerate(batches):
                taken.append(batch["text"].tolist())
                sess.run(line)
                if number in positions and left:
                    time.sleep(draws.choice([0, draws.uniform(0, 0.002)]))
                    left -= 1
                    _forked(draws, batches, pipe, uninterrupted, lambda: sess.run(line))
            if taken != uninterrupted:
                print("FAILED: the parent's batches are others after a fork", flush=True)
        coord.request_stop()
        coord.join(threads)


def _forked(
    draws: Random, batches: Any, pipe: Any, uninterrupted: list[Any], run: Callable[[], Any]
) -> None:
    how = draws.choice(["parent's iterator", "parent's session", "new pipeline", "leave"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        signal.alarm(_CHILD_S)
        os._exit(_in_child(how, batches, pipe, uninterrupted, run))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    print("forked", flush=True)
    if code:
        print(f"FAILED: {how} in the child: it ended with {code}", flush=True)


def _in_child(
    how: str, batches: Any, pipe: Any, uninterrupted: list[Any], run: Callable[[], Any]
) -> int:
    """Returns 0 if the child works or raises a clear error."""
    try:
        if how == "parent's iterator":
            return _refused(lambda: next(batches))
        if how == "parent's session":
            return _refused(run, may_work=True)
        if how == "new pipeline":
            return 0 if [batch["text"].tolist() for batch in pipe] == uninterrupted else 2
        return 0
    except BaseException as error:
        print(f"in the child: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return 3


def _refused(call: Callable[[], Any], may_work: bool = False) -> int:
    try:
        call()
    except (FailedPreconditionError, RuntimeError) as error:
        return 0 if "fork" in str(error) else 4
    return 0 if may_work else 5


if __name__ == "__main__":
    seed = f"{sys.argv[3]} forks {sys.argv[4]}"
    main(sys.argv[1], int(sys.argv[2]), Random(seed))
