"""Evaluates the checkpoint: ``python -m headrace.demo.evaluate --directory DIR``."""

from __future__ import annotations

from pathlib import Path

import click

from headrace.demo.model import load_parameters, logits
from headrace.demo.records import NUM_EXAMPLES, SeenExamples, digits

REQUIRED_ACCURACY = 0.90


def evaluate(directory: Path, batch_size: int) -> float:
    """Loads the checkpoint and returns its accuracy on the test records, from 0 to 1.

    Raises:
        click.ClickException: If the checkpoint does not exist, or an example was not seen exactly
            once.
    """
    try:
        parameters = load_parameters(directory)
    except FileNotFoundError:
        raise click.ClickException(f"{directory} contains no checkpoint. Train first.") from None
    seen = SeenExamples("test")
    num_correct = 0
    for batch in digits(directory, "test").batch(batch_size):
        recognised = logits(parameters, batch["image"]).argmax(axis=1)
        num_correct += int((recognised == batch["label"]).sum())
        seen.add(batch["id"])
    if problem := seen.problem(num_epochs=1):
        raise click.ClickException(problem)
    return num_correct / NUM_EXAMPLES["test"]


@click.command()
@click.option("--directory", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--batch-size", type=click.IntRange(min=1), default=128, show_default=True)
def main(directory: Path, batch_size: int) -> None:
    """Evaluates the checkpoint in DIRECTORY on the test records there."""
    accuracy = evaluate(directory, batch_size)
    click.echo(f"  each of {NUM_EXAMPLES['test']:,} examples was seen exactly once")
    click.echo(f"Test accuracy: {accuracy:.3f}")
    if accuracy < REQUIRED_ACCURACY:
        raise click.ClickException(f"The test accuracy is below {REQUIRED_ACCURACY:.2f}.")


if __name__ == "__main__":
    main()
