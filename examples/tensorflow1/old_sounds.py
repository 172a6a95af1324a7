"""Cuts sounds into pieces in a thread that feeds a padding queue, as WaveNet programs do.

The program still imports TensorFlow: `install` makes headrace available under that name. Don't run
it in a process that has loaded TensorFlow.
"""

import argparse
import threading

import headrace.tf1

headrace.tf1.compat.install("tensorflow")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.ops import data_flow_ops  # noqa: E402

RATE = 8_000


def sounds(num_sounds, generator):
    """Yields waves of different lengths, (samples, 1), with a silent beginning, and their pitch."""
    for number in range(num_sounds):
        pitch = 200 + 40 * (number % 5)
        length = int(generator.integers(600, 2_000))
        wave = np.sin(2 * np.pi * pitch * np.arange(length) / RATE)
        yield np.concatenate([np.zeros(300), wave]).astype(np.float32)[:, None], pitch


class SoundReader:
    """Reads sounds in a thread, and puts pieces of them into queues."""

    def __init__(self, coord, num_sounds, piece, overlap, queue_size=16):
        self._coord = coord
        self._num_sounds = num_sounds
        self._piece = piece
        self._overlap = overlap
        self._wave = tf.placeholder(dtype=tf.float32, shape=None)
        self._pitch = tf.placeholder(dtype=tf.int32, shape=())
        self._queue = tf.PaddingFIFOQueue(queue_size, ["float32"], shapes=[(None, 1)])
        self._enqueue = self._queue.enqueue([self._wave])
        self._pitches = data_flow_ops.PaddingFIFOQueue(queue_size, ["int32"], shapes=[()])
        self._enqueue_pitch = self._pitches.enqueue([self._pitch])
        self._close = [queue.close() for queue in (self._queue, self._pitches)]

    def dequeue(self, number):
        """Returns at most this many pieces, padded to the longest, and their pitches."""
        return self._queue.dequeue_up_to(number), self._pitches.dequeue_up_to(number)

    def start(self, session):
        """Starts the thread."""
        thread = threading.Thread(target=self._read, args=(session,), daemon=True)
        thread.start()
        return [thread]

    def _read(self, session):
        with self._coord.stop_on_exception():
            for wave, pitch in sounds(self._num_sounds, np.random.default_rng(1)):
                if self._coord.should_stop():
                    return
                loud = wave[np.argmax(np.abs(wave[:, 0]) > 0.01) :]
                rest = np.pad(loud, [[self._overlap, 0], [0, 0]])
                while len(rest) > self._overlap:
                    piece = rest[: self._overlap + self._piece]
                    session.run(self._enqueue, feed_dict={self._wave: piece})
                    session.run(self._enqueue_pitch, feed_dict={self._pitch: pitch})
                    rest = rest[self._piece :]
            session.run(self._close)


def main():
    """Feeds sounds, and measures the resulting pieces."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--sounds", type=int, default=40)
    args = parser.parse_args()
    coord = tf.train.Coordinator()
    with tf.name_scope("create_inputs"):
        reader = SoundReader(coord, args.sounds, piece=500, overlap=50)
        batch, pitches = reader.dequeue(8)
    loudness = tf.sqrt(tf.reduce_mean(tf.square(batch[:, 50:]), axis=[1, 2]))
    num_pieces, lengths, results = 0, set(), set()
    with tf.Session(config=tf.ConfigProto(log_device_placement=False)) as session:
        session.run(tf.global_variables_initializer())
        threads = reader.start(session)
        try:
            while not coord.should_stop():
                waves, numbers, loud = session.run([batch, pitches, loudness])
                assert waves.dtype == np.float32
                assert len(waves) == len(numbers) == len(loud)
                num_pieces += len(waves)
                lengths.add(waves.shape[1])
                results.update(int(number) for number in numbers)
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads)
    print(f"{num_pieces} pieces of {args.sounds} sounds, padded to at most {max(lengths)} samples")
    print("pitches:", *sorted(results))


if __name__ == "__main__":
    main()
