"""Trains on the demo's records: ``python -m headrace.demo.train --directory DIR``.

The pipeline's threads read, decode and shuffle while the loop trains a network in NumPy.
"""

from __future__ import annotations

from pathlib import Path

import click

import headrace as hr
from headrace.demo.model import Adam, initial_parameters, loss_and_gradients, save_parameters
from headrace.demo.progress import Progress
from headrace.demo.records import NUM_EXAMPLES, SeenExamples, digits


def training_batches(directory: Path, num_epochs: int, batch_size: int, seed: int) -> hr.Pipeline:
    """Returns a pipeline over all epochs, each in a different order, as one stream of batches.

    The components are the same as in `headrace.demo.records.digits`. The last batch may be smaller.
    """
    examples = digits(directory, "train").shuffle(seed=seed)
    return examples.epochs(num_epochs).batch(batch_size)


def finished_share(batches: hr.Batches) -> float:
    """Returns how full the queue of finished batches was on average, 0 to 1."""
    return batches.statistics().stages[-1].fill or 0.0


def train(directory: Path, num_epochs: int, batch_size: int, seed: int) -> int:
    """Trains, checks that every example was seen once per epoch, and saves a checkpoint.

    Returns:
        The number of steps.
    """
    parameters = initial_parameters(seed)
    optimizer = Adam(parameters)
    seen = SeenExamples("train")
    num_steps = 0
    with (
        iter(training_batches(directory, num_epochs, batch_size, seed)) as batches,
        Progress(NUM_EXAMPLES["train"], num_epochs) as progress,
    ):
        for batch in batches:
            loss, gradients = loss_and_gradients(parameters, batch["image"], batch["label"])
            optimizer.step(gradients)
            seen.add(batch["id"])
            num_steps += 1
            progress.advance(len(batch["id"]), loss, finished_share(batches))
    if problem := seen.problem(num_epochs):
        raise click.ClickException(problem)
    click.echo(f"  {batches.bottleneck()}")
    save_parameters(directory, parameters)
    return num_steps


@click.command()
@click.option("--directory", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--epochs", type=click.IntRange(min=1), default=12, show_default=True)
@click.option("--batch-size", type=click.IntRange(min=1), default=128, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
def main(directory: Path, epochs: int, batch_size: int, seed: int) -> None:
    """Trains on the records in DIRECTORY and saves a checkpoint there."""
    num_steps = train(directory, epochs, batch_size, seed)
    click.echo(
        f"  each of {NUM_EXAMPLES['train']:,} examples was seen exactly once in each of {epochs} "
        "epochs"
    )
    click.echo(f"  saved a checkpoint after {num_steps} steps")


if __name__ == "__main__":
    main()
