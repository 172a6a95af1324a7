"""Batches text lines of similar lengths, with a queue for each range of lengths.

Padding a batch to its longest line wastes little if the other lines are nearly as long. Each line
goes into the queue of its bucket, and the batches of all buckets go into one queue. The text is the
source code of Python's standard library.
"""

import argparse
import sysconfig
from pathlib import Path

import numpy as np

import headrace.tf1 as tf

BOUNDS = [10, 20, 40, 60]
"""Bucket k holds lines shorter than bound k; the last one all others."""


def characters_of(line: tf.Tensor) -> tf.Tensor:
    """Returns a line's bytes, uint8, (length,)."""
    return tf.decode_raw(line, tf.uint8)


def bucketed_batches(characters: tf.Tensor, batch_size: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns batches of lines. All lines of a batch are from the same bucket.

    Args:
        characters: One line, uint8, (length,).
        batch_size: The number of lines in a batch. The last batches may be smaller.

    Returns:
        Lines, uint8, (batch, longest), padded with 0; their lengths, int32, (batch,).
    """
    length = tf.size(characters)
    bucket = tf.reduce_sum(tf.cast(tf.greater_equal(length, BOUNDS), tf.int32))
    queues = [
        tf.PaddingFIFOQueue(8 * batch_size, [tf.uint8, tf.int32], shapes=[(None,), ()])
        for _ in range(len(BOUNDS) + 1)
    ]
    chosen = tf.QueueBase.from_list(bucket, queues)
    tf.train.add_queue_runner(
        tf.train.QueueRunner(
            queues[0],
            [chosen.enqueue([characters, length])],
            close_op=tf.group(*[queue.close() for queue in queues]),
            cancel_op=tf.group(*[queue.close(cancel_pending_enqueues=True) for queue in queues]),
        )
    )
    batches = tf.PaddingFIFOQueue(4, [tf.uint8, tf.int32], shapes=[(None, None), (None,)])
    tf.train.add_queue_runner(
        tf.train.QueueRunner(
            batches, [batches.enqueue(queue.dequeue_up_to(batch_size)) for queue in queues]
        )
    )
    lines, lengths = batches.dequeue()
    return lines, lengths


def main(num_files: int, batch_size: int) -> None:
    """Batches the lines of some files, and prints the share of padding."""
    library = Path(sysconfig.get_paths()["stdlib"])
    paths = sorted(str(path) for path in library.glob("*.py"))[:num_files]
    names = tf.train.string_input_producer(paths, num_epochs=1)
    _, line = tf.TextLineReader().read(names)
    batch = bucketed_batches(characters_of(line), batch_size)

    num_lines = num_characters = num_cells = 0
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                lines, lengths = session.run(batch)
                assert np.array_equal((lines != 0).sum(axis=1), lengths)
                num_lines += len(lines)
                num_characters += int(lengths.sum())
                num_cells += lines.size
        except tf.errors.OutOfRangeError:
            pass  # All files have been read.
        finally:
            coord.request_stop()
        coord.join(threads)
    expected = sum(len(Path(path).read_bytes().splitlines()) for path in paths)
    print(f"{num_lines} lines of {expected}, padding {1 - num_characters / num_cells:.0%}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=64)
    arguments = parser.parse_args()
    main(arguments.files, arguments.batch_size)
