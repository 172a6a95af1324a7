"""Reads TFRecords: all steps from file names to shuffled batches.

`convert_to_records.py` writes the files. Two threads read, parse and decode while the loop trains.
The queue of `shuffle_batch` holds enough digits to mix them well.
"""

import argparse
from pathlib import Path

from digits import Learner, load

import headrace.tf1 as tf


def read_and_decode(names: tf.QueueBase) -> tuple[tf.Tensor, tf.Tensor]:
    """Adds the operations that read one digit.

    Returns:
        The image, float32, (784,), with a mean of about 0 and a range of 1, and the label, int32, a
        scalar.
    """
    _, serialized = tf.TFRecordReader().read(names)
    features = tf.parse_single_example(
        serialized,
        features={
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape([784])
    return tf.cast(image, tf.float32) * (1 / 255) - 0.13, tf.cast(features["label"], tf.int32)


def main(directory: Path, num_epochs: int, batch_size: int) -> None:
    """Trains on the digits in a directory."""
    with tf.name_scope("input"):
        names = tf.train.string_input_producer(
            tf.train.match_filenames_once(str(directory / "train-*.tfrecords")),
            num_epochs=num_epochs,
        )
        batch = tf.train.shuffle_batch(
            read_and_decode(names),
            batch_size=batch_size,
            num_threads=2,
            capacity=1_000 + 3 * batch_size,
            min_after_dequeue=1_000,
        )
    learner = Learner()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                loss = learner.step(*session.run(batch))
                if learner.num_steps % 100 == 0:
                    print(f"step {learner.num_steps}: loss {loss:.2f}")
        except tf.errors.OutOfRangeError:
            print(f"{num_epochs} epochs are over")
        finally:
            coord.request_stop()
        coord.join(threads)
    _, test = load(0)
    print(f"{learner.num_steps} steps, accuracy {learner.accuracy(*test):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=100)
    arguments = parser.parse_args()
    main(arguments.directory, arguments.epochs, arguments.batch_size)
