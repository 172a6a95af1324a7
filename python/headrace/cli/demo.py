"""``headrace demo``: a complete job, from files on disk to a network that reads digits.

The command runs the programs of `headrace.demo` one after the other, each in its own process, and
manages their directory. It does not import them, so it starts fast.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from headrace.cli.foreground import Foreground, ProgramFailed
from headrace.cli.interrupts import Interrupted


@click.command(short_help="Train a network to read digits.")
@click.option(
    "--epochs", type=click.IntRange(min=1), default=12, show_default=True, help="Number of epochs."
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    default=128,
    show_default=True,
    help="Number of examples in a batch.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the records and the checkpoint in this directory. By default, they are removed.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Seed for shuffling and for the initial weights of the network.",
)
@click.pass_context
def demo(
    context: click.Context, epochs: int, batch_size: int, output: Path | None, seed: int
) -> None:
    """Train a small network to read digits.

    The demo writes 5,000 real digits as TFRecords, trains on them, saves a checkpoint, restores it
    in another process and evaluates it.

    The exit code is 0 if every example was seen exactly once in every epoch and the test accuracy
    is at least 0.90. Otherwise it is 1, or 130 after Ctrl-C.
    """
    try:
        with Foreground() as foreground, _directory(output) as path:
            here = ("--directory", str(path))
            size = ("--batch-size", str(batch_size))
            click.echo(f"Writing digits to {output or path}")
            foreground.run("headrace.demo.data", *here)
            click.echo("Training: records -> parse -> decode -> shuffle -> batches -> NumPy")
            foreground.run(
                "headrace.demo.train", *here, *size, "--epochs", str(epochs), "--seed", str(seed)
            )
            click.echo("Evaluating the checkpoint in a new process")
            foreground.run("headrace.demo.evaluate", *here, *size)
    except Interrupted as interruption:
        # The last program may have left the cursor at the end of a progress bar.
        click.echo("\nInterrupted." if sys.stderr.isatty() else "Interrupted.", err=True)
        context.exit(interruption.exit_code)
    except ProgramFailed as failure:
        context.exit(failure.exit_code)


@contextmanager
def _directory(output: Path | None) -> Iterator[Path]:
    """Yields a temporary directory, and moves its files to `output` at the end.

    They are moved only on success, so an interrupted run leaves no files behind.
    """
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="headrace-demo-", dir=output) as path:
        yield Path(path)
        if output is not None:
            for file in Path(path).iterdir():
                file.replace(output / file.name)
