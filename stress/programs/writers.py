"""Programs that write various kinds of files.

Run as `python -m stress.programs.writers NAME DIRECTORY SEED`.

Their output depends on the seed: 0 for the old files, and 1 for the new ones.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import headrace as hr
import headrace.tf1 as tf
from headrace.cli.main import main
from headrace.io.records import TFRecordWriter
from headrace.tf1 import checkpoint

__all__ = ["WRITERS"]

_RECORDS = 400


def records(directory: Path, seed: int, compression: str = "") -> None:
    """Writes a file of records."""
    with TFRecordWriter(directory / "file", compression) as writer:
        for number in range(_RECORDS):
            writer.write(b"%d %d" % (seed, number) + bytes(2000))


def gzip_records(directory: Path, seed: int) -> None:
    """Writes a compressed file of records."""
    records(directory, seed, "GZIP")


def variables(directory: Path, seed: int) -> None:
    """Writes `Saver` checkpoints with different names, and their list."""
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(np.full(20_000, seed, np.float32), name="v")
        session.run(variable.initializer)
        saver = tf.train.Saver(max_to_keep=1)
        if seed:
            saver.recover_last_checkpoints([str(directory / "model-0")])
        saver.save(session, str(directory / "model"), seed)


def overwritten(directory: Path, seed: int) -> None:
    """Writes a `Saver` checkpoint that replaces one with the same name."""
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(np.full(20_000, seed, np.float32), name="v")
        session.run(variable.initializer)
        tf.train.Saver().save(session, str(directory / "model"))


def session(directory: Path, seed: int) -> None:
    """Writes a checkpoint of a whole session."""
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(99, [tf.int64], [[]], name="q")
        variable = tf.Variable(np.full(20_000, seed, np.float32), name="v")
        sess.run([variable.initializer, queue.enqueue_many([[seed] * 50])])
        checkpoint.save(sess, directory / "file")


def events(directory: Path, seed: int) -> None:
    """Writes another event file."""
    with tf.summary.FileWriter(str(directory), filename_suffix=f".{seed}") as writer:
        for step in range(20):
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="x")]), step)
            if step % 5 == 4:
                writer.flush()


def written_file(directory: Path, seed: int) -> None:
    """Writes a file with an operation."""
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.write_file(str(directory / "file"), b"%d" % seed * 50_000))


def _command(directory: Path, *arguments: str) -> None:
    os.chdir(directory)
    sys.argv = ["headrace", *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


def convert(directory: Path, seed: int) -> None:
    """Writes shards with `headrace convert`."""
    if not seed:
        for table in (0, 1):
            rows = "".join(f"{number},{table}\n" for number in range(300))
            (directory / f"table{table}.csv").write_text(f"a,b\n{rows}")
    _command(
        directory,
        *("convert", f"table{seed}.csv", "out.tfrecord", "--shards", "3", "--overwrite"),
    )


def index(directory: Path, seed: int) -> None:
    """Writes an index of records in headrace's format."""
    _write_records(directory, seed)
    _command(directory, "index", "records")


def shuffled(directory: Path, seed: int) -> None:
    """Writes the index that a shuffle stores next to the records, if possible."""
    _write_records(directory, seed)
    os.environ["XDG_CACHE_HOME"] = os.path.join(os.devnull, "nowhere")
    shuffled = hr.tfrecords(directory / "records").shuffle(seed=1).batch(100)
    batches = list(shuffled.options(num_threads=1))
    lengths = sorted(len(record) for batch in batches for record in batch["record"])
    if lengths != list(range(2000 + seed)):
        raise RuntimeError(f"records: {len(lengths)} of them, expected others")


def dali_index(directory: Path, seed: int) -> None:
    """Writes an index of records in NVIDIA DALI's format."""
    _write_records(directory, seed)
    _command(directory, "index", "--dali", "records")


def _write_records(directory: Path, seed: int) -> None:
    path = directory / "records"
    with TFRecordWriter(path) as writer:
        for number in range(2000 + seed):
            writer.write(b"x" * number)
    # An index contains the file's modification time.
    os.utime(path, (1_000_000 + seed, 1_000_000 + seed))


def cached(directory: Path, seed: int) -> None:
    """Writes parts of remote files to the local cache."""
    url = f"{os.environ['STRESS_URL']}/{seed}"
    pipe = hr.text_lines(url).options(cache_directory=str(directory / "kept"))
    digest = sum(len(batch["text"]) for batch in pipe.batch(10_000))
    print(json.dumps(digest))


WRITERS: dict[str, Callable[[Path, int], None]] = {
    writer.__name__: writer
    for writer in (
        *(records, gzip_records, variables, overwritten, session, events, written_file),
        *(convert, index, shuffled, dali_index, cached),
    )
}


if __name__ == "__main__":
    try:
        WRITERS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
