"""Readers of a disk that takes its time for each read: text lines, of which all are summed up.

The files are named pipes. Behind each stands a thread that sleeps before each block that it writes,
and a pipe has room for one block, so that a reader waits that long for each, whoever else reads.
"""

import argparse
import fcntl
import os
import tempfile
import threading
import time
from pathlib import Path

import headrace.tf1 as tf
from benchmarks.pipelines.consume import Meter

BLOCK_BYTES = 4_096
"""The least room that a pipe can have."""

LINE = b"%015d"
LINES_PER_BLOCK = BLOCK_BYTES // 16
BATCH_SIZE = LINES_PER_BLOCK


def serve(path: Path, num_blocks: int, seconds: float) -> None:
    """Writes the lines of one file, a block at a time."""
    block = b"".join(LINE % number + b"\n" for number in range(LINES_PER_BLOCK))
    with path.open("wb", buffering=0) as pipe:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, BLOCK_BYTES)
        for _ in range(num_blocks):
            time.sleep(seconds)
            pipe.write(block)


def read(paths: list[Path], num_readers: int, meter: Meter) -> None:
    """Takes all lines of some files, several of which are read at a time."""
    names = tf.train.string_input_producer([str(path) for path in paths], num_epochs=1)
    readers = [[tf.TextLineReader().read(names)[1]] for _ in range(num_readers)]
    batch = tf.train.batch_join(readers, BATCH_SIZE, allow_smaller_final_batch=True)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        meter.begin()
        try:
            while not coord.should_stop():
                meter.take(session.run(batch))
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads)


def main() -> None:
    """Reads the files that the arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--readers", type=int, default=1)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--blocks", type=int, default=20, help="How long each file is.")
    parser.add_argument("--milliseconds", type=float, default=10.0, help="What a block takes.")
    options = parser.parse_args()
    meter = Meter("lines")
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory) / f"{number}.txt" for number in range(options.files)]
        for path in paths:
            os.mkfifo(path)
        arguments = (options.blocks, options.milliseconds / 1e3)
        servers = [threading.Thread(target=serve, args=(path, *arguments)) for path in paths]
        for server in servers:
            server.start()
        read(paths, options.readers, meter)
        for server in servers:
            server.join()
    meter.report()


if __name__ == "__main__":
    main()
