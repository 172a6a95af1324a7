"""TensorFlow 1 programs that are stopped midway, in this process or in their own.

    python -m tests.tf1.checkpoint.programs PROGRAM DIRECTORY whole
    python -m tests.tf1.checkpoint.programs PROGRAM DIRECTORY save 0 3 7
    python -m tests.tf1.checkpoint.programs PROGRAM DIRECTORY resume 3

prints the fetched values as JSON. `save` saves before the steps of these numbers and continues;
`resume` continues from such a checkpoint.
"""

import json
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import headrace.tf1 as tf
from headrace.tf1 import checkpoint

SEED = 5
_TIMEOUT_MS = 20_000


@dataclass(frozen=True)
class Program:
    """A program.

    Attributes:
        fetches: What each step fetches.
        full: Queues that are drawn from at random: a step begins when they are full, or closed, so
            that it does not depend on how fast the runners are.
        at_end: What is fetched once, at the end.
        feed: Called before each step with the session and the number of the step.
    """

    fetches: Any
    full: Sequence[tf.QueueBase] = ()
    at_end: Any = field(default_factory=list)
    feed: Callable[[tf.Session, int], None] = lambda session, step: None


def write_files(directory: Path) -> None:
    """Writes the files that the programs read."""
    for part in range(4):
        numbers = range(10 * part, 10 * part + 5 + part)
        lines = [f"{number},word {number}" for number in numbers]
        (directory / f"{part}.csv").write_text("\n".join(["number,word", *lines]) + "\n")
        records = b"".join(np.array([n, -n], "<i4").tobytes() + b"gap" for n in numbers)
        (directory / f"{part}.bin").write_bytes(zlib.compress(b"head" + records + b"e"))
        for end, options in (("tfrecords", ""), ("gz", "GZIP")):
            path = str(directory / f"{part}.{end}")
            with tf.python_io.TFRecordWriter(path, tf.python_io.TFRecordOptions(options)) as file:
                for number in numbers:
                    file.write(_example(number).SerializeToString())


def _example(number: int) -> Any:
    values = tf.train.Int64List(value=range(number % 4))
    features = {
        "number": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
        "values": tf.train.Feature(int64_list=values),
        "bytes": tf.train.Feature(bytes_list=tf.train.BytesList(value=[bytes(range(number, 100))])),
    }
    return tf.train.Example(features=tf.train.Features(feature=features))


def _names(directory: Path, end: str, **arguments: Any) -> tf.FIFOQueue:
    names = sorted(map(str, directory.glob(f"*.{end}")))
    assert len(names) == 4
    return tf.train.string_input_producer(
        names, **{"num_epochs": 3, "seed": SEED, "capacity": 2, **arguments}
    )


def _parsed(serialized: tf.Tensor) -> dict[str, Any]:
    return tf.parse_single_example(
        serialized,
        {
            "number": tf.FixedLenFeature([], tf.int64),
            "values": tf.VarLenFeature(tf.int64),
            "bytes": tf.FixedLenFeature([], tf.string),
        },
    )


def records(directory: Path) -> Program:
    """Compressed records, parsed, with random numbers of two kinds, in batches."""
    reader = tf.TFRecordReader(options=tf.python_io.TFRecordOptions("GZIP"))
    key, value = reader.read(_names(directory, "gz"))
    number = _parsed(value)["number"]
    noise = tf.random_uniform([2], seed=SEED) + tf.random_normal([2], seed=SEED)
    fetches = tf.train.batch([key, number, noise], 4, capacity=6, allow_smaller_final_batch=True)
    return Program(fetches, at_end=[reader.num_records_produced(), tf.local_variables()])


def shuffled(directory: Path) -> Program:
    """Records through two queues in a row, the last one shuffled."""
    _, value = tf.TFRecordReader().read(_names(directory, "tfrecords"))
    first = tf.train.batch([_parsed(value)["number"]], 1, capacity=3)
    numbers = tf.train.shuffle_batch(
        [first, tf.random_uniform([1], seed=SEED)], 3, 20, 9, seed=SEED, enqueue_many=True
    )
    return Program(numbers, full=[numbers[0].op.inputs[0].op.owner])


def lines(directory: Path) -> Program:
    """Lines of text below a header, several at a time, and a count of them."""
    reader = tf.TextLineReader(skip_header_lines=1)
    keys, texts = reader.read_up_to(_names(directory, "csv", shuffle=False), 3)
    number, word = tf.decode_csv(texts, [[0], [""]])
    fetches = tf.train.batch([keys, number, word], 5, capacity=7, enqueue_many=True)
    return Program(fetches, at_end=reader.num_work_units_completed())


def fixed_length(directory: Path) -> Program:
    """Fixed-length records in compressed files, with a queue without shapes."""
    reader = tf.FixedLengthRecordReader(8, 4, 1, 11, encoding="ZLIB")
    key, value = reader.read(_names(directory, "bin"))
    queue = tf.FIFOQueue(4, [tf.string, tf.int32])
    enqueue = queue.enqueue([key, tf.decode_raw(value, tf.int32)])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue]))
    return Program(queue.dequeue(), at_end=reader.num_records_produced())


def whole_files(directory: Path) -> Program:
    """Files as records, and names as records."""
    _, text = tf.WholeFileReader().read(_names(directory, "csv"))
    name, _ = tf.IdentityReader().read(_names(directory, "csv", num_epochs=None, seed=SEED + 1))
    return Program(tf.train.batch([text, name], 1, capacity=3))


def ranges(directory: Path) -> Program:
    """Numbers and slices without files, drawn in a random order."""
    number = tf.train.range_input_producer(7, num_epochs=4, seed=SEED, capacity=3).dequeue()
    table = tf.constant(np.arange(24).reshape(12, 2))
    row, square = tf.train.slice_input_producer([table, table**2], seed=SEED, num_epochs=3)
    return Program(
        tf.train.batch([number, row, square], 2, capacity=5), at_end=tf.local_variables()
    )


def padded(directory: Path) -> Program:
    """Padded lists of different lengths, and sparse tensors that wait in a table."""

    def values() -> tf.SparseTensor:
        _, value = tf.TFRecordReader().read(_names(directory, "tfrecords"))
        return _parsed(value)["values"]

    dense = tf.sparse_tensor_to_dense(values())
    padded = tf.train.batch([dense], 3, capacity=5, dynamic_pad=True)
    sparse = tf.train.batch([values()], 2, capacity=5)
    return Program({"padded": padded, "sparse": [sparse.indices, sparse.values]})


def images(directory: Path) -> Program:
    """Bytes that become floats, scaled and cropped at random, as large as photographs' parts."""
    number = tf.train.range_input_producer(9, num_epochs=5, seed=SEED).dequeue()
    pixels = tf.cast(tf.range(192) * (number + 1) % 256, tf.uint8)
    image = tf.cast(tf.reshape(pixels, [8, 8, 3]), tf.float32) * (1 / 255) - 0.5
    image = tf.random_crop(tf.image.random_flip_left_right(image, seed=SEED), [6, 6, 3], seed=SEED)
    fetches = tf.train.shuffle_batch([image, number], 2, 8, 5, seed=SEED)
    return Program(fetches, full=[fetches[0].op.inputs[0].op.owner])


def priorities(directory: Path) -> Program:
    """A priority queue in which many elements have the same priority."""
    number = tf.train.range_input_producer(40, num_epochs=2, seed=SEED).dequeue()
    queue = tf.PriorityQueue(6, [tf.int32], [[]])
    enqueue = queue.enqueue([tf.cast(number % 3, tf.int64), number])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue]))
    return Program(queue.dequeue(), full=[queue])


def counted(directory: Path) -> Program:
    """A step that counts after its enqueue, and one of several elements."""
    number = tf.train.range_input_producer(50, num_epochs=1, shuffle=False).dequeue()
    counter = tf.Variable(0, name="counter")
    queue = tf.FIFOQueue(2, [tf.int32], [[]])
    with tf.control_dependencies([queue.enqueue_many([tf.stack([number, -number])])]):
        count = counter.assign_add(1)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [count.op]))
    return Program(queue.dequeue(), at_end=counter)


def fed(directory: Path) -> Program:
    """A queue that the training loop fills, and whose runner waits for it most of the time."""
    value = tf.placeholder(tf.int32, [])
    queue = tf.FIFOQueue(9, [tf.int32], [[]])
    enqueue, close = queue.enqueue(value), queue.close()
    number = queue.dequeue()
    noise = tf.random_uniform([], maxval=number + 100, dtype=tf.int32, seed=SEED)
    batch = tf.train.batch([number, noise], 1, capacity=4)

    def feed(session: tf.Session, step: int) -> None:
        if step == 20:
            session.run(close)
            raise tf.errors.OutOfRangeError(None, None, "the end")
        session.run(enqueue, {value: step})

    return Program(batch, feed=feed)


def fed_names(directory: Path) -> Program:
    """A reader that waits for a name of the training loop most of the time."""
    value = tf.placeholder(tf.string, [])
    queue = tf.FIFOQueue(9, [tf.string], [[]])
    enqueue, close = queue.enqueue(value), queue.close()
    reader = tf.TextLineReader(skip_header_lines=1)
    _, line = reader.read(queue)
    batch = tf.train.batch([line], 5, capacity=8)

    def feed(session: tf.Session, step: int) -> None:
        if step == 12:
            session.run(close)
        elif step < 12:
            session.run(enqueue, {value: str(directory / f"{step % 4}.csv")})

    return Program(batch, feed=feed, at_end=reader.num_work_units_completed())


PROGRAMS: dict[str, Callable[[Path], Program]] = {
    make.__name__: make
    for make in (
        *(records, shuffled, lines, fixed_length, whole_files, ranges),
        *(padded, images, priorities, counted, fed, fed_names),
    )
}


def run(
    program: Program,
    directory: Path,
    first_step: int = 0,
    saves: Iterable[int] = (),
    limit: int | None = None,
) -> list[Any]:
    """Runs a program, from a checkpoint if `first_step` is not 0, and returns the fetched values.

    Args:
        program: The program, which is in the default graph.
        directory: Where its checkpoints are.
        first_step: The number of its first step.
        saves: The steps before which it is saved.
        limit: The step at which it stops.
    """
    outputs: list[Any] = []
    config = tf.ConfigProto(operation_timeout_in_ms=_TIMEOUT_MS)
    with tf.Session(config=config) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        if first_step:
            checkpoint.restore(session, path_of(directory, first_step))
        coord = tf.train.Coordinator()
        tf.train.start_queue_runners(session, coord)
        try:
            for step in range(first_step, sys.maxsize if limit is None else limit):
                if step in saves:
                    checkpoint.save(session, path_of(directory, step))
                program.feed(session, step)
                for queue in program.full:
                    _wait_until_full(session, queue)
                outputs.append(_plain(session.run(program.fetches)))
        except tf.errors.OutOfRangeError:
            outputs.append(_plain(session.run(program.at_end)))
        coord.request_stop()
        coord.join()
    return outputs


def path_of(directory: Path, step: int) -> Path:
    return directory / f"{step}.checkpoint"


def _wait_until_full(session: tf.Session, queue: tf.QueueBase) -> None:
    while True:
        stats = session.queue_statistics(queue)
        if stats.is_closed or (stats.size == stats.capacity and stats.num_waiting_enqueues):
            return
        time.sleep(0.0005)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [str(value.dtype), value.shape, zlib.crc32(value.tobytes()), value.tolist()[:2]]
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)


def main(name: str, where: str, what: str, *steps: str) -> None:
    """Prints the values that a program fetches (see above)."""
    directory, numbers = Path(where), list(map(int, steps))
    program = PROGRAMS[name](directory)
    if what == "resume":
        outputs = [run(program, directory, step) for step in numbers]
    else:
        outputs = [run(program, directory, saves=numbers)]
    print(json.dumps(outputs))


if __name__ == "__main__":
    main(*sys.argv[1:])
