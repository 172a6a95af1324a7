"""Trains on the demo's records: ``python -m headrace.demo.train --directory DIR``.

The queues, the loop and the end of it are the training template of TensorFlow 1; the network is
NumPy's. The variables hold the network's parameters for the checkpoint.
"""

from __future__ import annotations

from pathlib import Path

import click

import headrace.tf1 as tf
from headrace.demo.model import Adam, initial_parameters, loss_and_gradients
from headrace.demo.progress import Progress
from headrace.demo.records import NUM_EXAMPLES, SeenExamples, read_digit, shard_paths

NUM_READERS = 2
MIN_AFTER_DEQUEUE = 1_000


def example_batches(
    directory: Path, num_epochs: int, batch_size: int, capacity: int, seed: int
) -> list[tf.Tensor]:
    """Adds the input pipeline: file names, two reader threads, an example queue that shuffles.

    Returns:
        Images, float32, (batch, 784); labels, int64, (batch,); ids, int64, (batch,).
    """
    names = tf.train.string_input_producer(
        shard_paths(directory, "train"), num_epochs=num_epochs, shuffle=True, seed=seed
    )
    batch: list[tf.Tensor] = tf.train.shuffle_batch(
        read_digit(names),
        batch_size=batch_size,
        capacity=capacity,
        min_after_dequeue=MIN_AFTER_DEQUEUE,
        num_threads=NUM_READERS,
        seed=seed,
        allow_smaller_final_batch=True,
    )
    return batch


def train(directory: Path, num_epochs: int, batch_size: int, seed: int) -> int:
    """Trains, checks that every example of every epoch came once, saves a checkpoint.

    Returns:
        How many steps it took.
    """
    parameters = initial_parameters(seed)
    optimizer = Adam(parameters)
    seen = SeenExamples("train")
    capacity = MIN_AFTER_DEQUEUE + 8 * batch_size
    batch = example_batches(directory, num_epochs, batch_size, capacity, seed)
    example_queue = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[-1].queue
    fetches = [*batch, example_queue.size()]
    variables = {name: tf.Variable(value, name=name) for name, value in parameters.items()}
    saver = tf.train.Saver(save_relative_paths=True)
    num_steps = 0
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        with Progress(NUM_EXAMPLES["train"], num_epochs, capacity) as progress:
            try:
                while not coord.should_stop():
                    images, labels, ids, queue_size = session.run(fetches)
                    loss, gradients = loss_and_gradients(parameters, images, labels)
                    optimizer.step(gradients)
                    seen.add(ids)
                    num_steps += 1
                    progress.advance(len(ids), loss, int(queue_size))
            except tf.errors.OutOfRangeError:
                pass  # The epochs are over.
            finally:
                coord.request_stop()
        coord.join(threads)
        if problem := seen.problem(num_epochs):
            raise click.ClickException(problem)
        for name, variable in variables.items():
            variable.load(parameters[name], session)
        saver.save(session, str(directory / "digits.ckpt"), global_step=num_steps)
    return num_steps


@click.command()
@click.option("--directory", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--epochs", type=click.IntRange(min=1), default=12, show_default=True)
@click.option("--batch-size", type=click.IntRange(min=1), default=128, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
def main(directory: Path, epochs: int, batch_size: int, seed: int) -> None:
    """Trains on the records in DIRECTORY and saves a checkpoint beside them."""
    num_steps = train(directory, epochs, batch_size, seed)
    click.echo(
        f"  every one of {NUM_EXAMPLES['train']:,} examples was seen exactly once "
        f"in each of {epochs} epochs"
    )
    click.echo(f"  saved a checkpoint after {num_steps} steps")


if __name__ == "__main__":
    main()
