"""Evaluates the newest checkpoint: ``python -m headrace.demo.evaluate --directory DIR``."""

from __future__ import annotations

from pathlib import Path

import click

import headrace.tf1 as tf
from headrace.demo.model import initial_parameters, logits
from headrace.demo.records import NUM_EXAMPLES, SeenExamples, read_digit, shard_paths

REQUIRED_ACCURACY = 0.90


def evaluate(directory: Path, batch_size: int) -> float:
    """Restores the newest checkpoint and returns its accuracy on the test records, 0 to 1.

    Raises:
        click.ClickException: No checkpoint is there, or an example was not seen exactly once.
    """
    names = tf.train.string_input_producer(
        shard_paths(directory, "test"), num_epochs=1, shuffle=False
    )
    batch = tf.train.batch(read_digit(names), batch_size=batch_size, allow_smaller_final_batch=True)
    variables = {
        name: tf.Variable(value, name=name) for name, value in initial_parameters(seed=0).items()
    }
    checkpoint = tf.train.latest_checkpoint(str(directory))
    if checkpoint is None:
        raise click.ClickException(f"{directory} holds no checkpoint. Train first.")
    seen = SeenExamples("test")
    num_correct = 0
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        tf.train.Saver().restore(session, checkpoint)
        parameters = session.run(variables)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop():
                images, labels, ids = session.run(batch)
                num_correct += int((logits(parameters, images).argmax(axis=1) == labels).sum())
                seen.add(ids)
        except tf.errors.OutOfRangeError:
            pass  # The files are read.
        finally:
            coord.request_stop()
        coord.join(threads)
    if problem := seen.problem(num_epochs=1):
        raise click.ClickException(problem)
    return num_correct / NUM_EXAMPLES["test"]


@click.command()
@click.option("--directory", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--batch-size", type=click.IntRange(min=1), default=128, show_default=True)
def main(directory: Path, batch_size: int) -> None:
    """Evaluates the newest checkpoint in DIRECTORY on the test records there."""
    accuracy = evaluate(directory, batch_size)
    click.echo(f"  every one of {NUM_EXAMPLES['test']:,} examples was seen exactly once")
    click.echo(f"Test accuracy: {accuracy:.3f}")
    if accuracy < REQUIRED_ACCURACY:
        raise click.ClickException(f"The test accuracy is below {REQUIRED_ACCURACY:.2f}.")


if __name__ == "__main__":
    main()
