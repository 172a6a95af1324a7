"""Trains, saves, restores and evaluates, like `headrace demo`, but as a TensorFlow 1 program.

It uses queues of file names and of examples, queue runners, a coordinator and a saver. It also
counts the ids of the examples, to check that each one appears exactly once per epoch.
`docs/start/demo.md` describes the data, and the same job as a pipeline.
"""

import argparse
from pathlib import Path

import headrace.tf1 as tf
from headrace.demo.data import write_digits
from headrace.demo.model import Adam, Parameters, initial_parameters, logits, loss_and_gradients
from headrace.demo.records import NUM_EXAMPLES, SeenExamples, shard_paths

NUM_READERS = 2
MIN_AFTER_DEQUEUE = 1_000


def read_digit(names: tf.QueueBase) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Adds the operations that read, parse and scale one digit from the files in a queue.

    Returns:
        The image, float32, (784,), with a mean of about 0 and a range of 1, the label, int64, a
        scalar, and the id, int64, a scalar.
    """
    _, record = tf.TFRecordReader().read(names)
    digit = tf.parse_single_example(
        record,
        {
            "image": tf.FixedLenFeature((), tf.string),
            "label": tf.FixedLenFeature((), tf.int64),
            "id": tf.FixedLenFeature((), tf.int64),
        },
    )
    pixels = tf.reshape(tf.decode_raw(digit["image"], tf.uint8), [784])
    return tf.cast(pixels, tf.float32) * (1 / 255) - 0.13, digit["label"], digit["id"]


def training_batch(directory: Path, num_epochs: int, batch_size: int) -> list[tf.Tensor]:
    """Adds the input pipeline: file names, two reader threads, and a shuffling queue."""
    names = tf.train.string_input_producer(shard_paths(directory, "train"), num_epochs=num_epochs)
    batch: list[tf.Tensor] = tf.train.shuffle_batch(
        read_digit(names),
        batch_size=batch_size,
        capacity=MIN_AFTER_DEQUEUE + 8 * batch_size,
        min_after_dequeue=MIN_AFTER_DEQUEUE,
        num_threads=NUM_READERS,
        allow_smaller_final_batch=True,
    )
    return batch


def test_batch(directory: Path, batch_size: int) -> list[tf.Tensor]:
    """Adds the input pipeline of the evaluation: one epoch, in order."""
    names = tf.train.string_input_producer(
        shard_paths(directory, "test"), num_epochs=1, shuffle=False
    )
    batch: list[tf.Tensor] = tf.train.batch(
        read_digit(names), batch_size=batch_size, allow_smaller_final_batch=True
    )
    return batch


def make_variables(parameters: Parameters) -> dict[str, tf.Variable]:
    """Adds variables for the network's parameters, so that a saver can save and restore them."""
    return {name: tf.Variable(value, name=name) for name, value in parameters.items()}


def train(directory: Path, num_epochs: int, batch_size: int) -> int:
    """Trains, saves a checkpoint, and returns the number of steps."""
    parameters = initial_parameters(seed=1)
    optimizer = Adam(parameters)
    seen = SeenExamples("train")
    num_steps = 0
    batch = training_batch(directory, num_epochs, batch_size)
    variables = make_variables(parameters)
    saver = tf.train.Saver(save_relative_paths=True)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                images, labels, ids = session.run(batch)
                loss, gradients = loss_and_gradients(parameters, images, labels)
                optimizer.step(gradients)
                seen.add(ids)
                num_steps += 1
                if num_steps % 100 == 0:
                    print(f"step {num_steps}: loss {loss:.2f}")
        except tf.errors.OutOfRangeError:
            print(f"{num_epochs} epochs are over; {seen.problem(num_epochs) or 'all were seen'}")
        finally:
            coord.request_stop()
        coord.join(threads)
        for name, variable in variables.items():
            variable.load(parameters[name], session)
        saver.save(session, str(directory / "digits.ckpt"), global_step=num_steps)
    return num_steps


def evaluate(directory: Path, batch_size: int) -> float:
    """Restores the newest checkpoint, and returns its accuracy on the test records, from 0 to 1."""
    num_correct = 0
    batch = test_batch(directory, batch_size)
    variables = make_variables(initial_parameters(seed=1))
    checkpoint = tf.train.latest_checkpoint(str(directory))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        tf.train.Saver().restore(session, checkpoint)
        parameters = session.run(variables)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                images, labels, _ = session.run(batch)
                num_correct += int((logits(parameters, images).argmax(axis=1) == labels).sum())
        except tf.errors.OutOfRangeError:
            pass  # All files have been read.
        finally:
            coord.request_stop()
        coord.join(threads)
    return num_correct / NUM_EXAMPLES["test"]


def main(directory: Path, num_epochs: int, batch_size: int) -> None:
    """Writes the digits to a directory, trains on them, and evaluates the network."""
    write_digits(directory)
    with tf.Graph().as_default():
        num_steps = train(directory, num_epochs, batch_size)
    with tf.Graph().as_default():
        accuracy = evaluate(directory, batch_size)
    print(f"{num_steps} steps, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=128)
    arguments = parser.parse_args()
    main(arguments.directory, arguments.epochs, arguments.batch_size)
