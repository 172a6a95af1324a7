"""Programs that run until a signal ends them: `python -m stress.programs.endless NAME PATH`.

They exit with 7 and print the reason.
"""

import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import NoReturn

import headrace as hr
import headrace.tf1 as tf
from headrace.io.atomic_file import replacing


class Terminated(BaseException):
    """The process received SIGTERM."""


def terminate(number: int, frame: FrameType | None) -> NoReturn:
    """Handles SIGTERM."""
    raise Terminated


def pipeline(path: Path) -> None:
    """Iterates forever with native functions."""
    for _ in hr.text_lines(path).shuffle(window=100, seed=1).epochs().batch(8):
        begun()


def functions(path: Path) -> None:
    """Iterates forever with Python functions."""
    pipe = hr.text_lines(path).map(lambda line: {"n": len(line["text"])})
    for _ in pipe.filter(lambda row: row["n"] % 2).epochs().batch(8):
        begun()


def session(path: Path) -> None:
    """Runs a TensorFlow 1 program with queue runners forever."""
    names = tf.train.string_input_producer([str(path)])
    line = tf.TextLineReader().read(names).value
    batch = tf.train.shuffle_batch([line], 8, 100, 20, num_threads=2)
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while True:
                sess.run(batch)
                begun()
        finally:
            coord.request_stop()
            coord.join(threads)


def writer(path: Path) -> None:
    """Replaces a file repeatedly."""
    while True:
        with replacing(path.with_name("written")) as file:
            for _ in range(50):
                file.write(bytes(10_000))
            file.write(b"end\n")
        begun()


_first = threading.Lock()


def begun() -> None:
    """Prints a line when the loop has started."""
    if _first.acquire(blocking=False):
        print("begun", flush=True)


PROGRAMS = {one.__name__: one for one in (pipeline, functions, session, writer)}

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        PROGRAMS[sys.argv[1]](Path(sys.argv[2]))
    except BaseException as error:
        print(type(error).__name__, flush=True)
        alive = [one.name for one in threading.enumerate() if one is not threading.main_thread()]
        if alive and sys.argv[1] != "functions":
            print(f"threads are left: {alive}", flush=True)
            sys.exit(8)
        sys.exit(7)
    os._exit(9)
