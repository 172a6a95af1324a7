"""Libraries for tables read CSV files; NumPy shuffles blocks of rows and cuts batches."""

import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.pipelines import consume
from benchmarks.pipelines.libraries.shuffling import epochs_of, shuffled_rows


def polars_blocks(files: list[str]) -> Iterator[Any]:
    import polars as pl  # noqa: PLC0415

    names = [f"f{number}" for number in range(10)]
    schema = dict.fromkeys(names, pl.Float32) | {"label": pl.Int32}
    for name in files:
        table = pl.read_csv(name, has_header=False, schema=schema)
        yield table.select(names).to_numpy(), table["label"].to_numpy()


def arrow_blocks(files: list[str]) -> Iterator[Any]:
    from benchmarks.pipelines.libraries import text  # noqa: PLC0415

    return text.tables_of(files, has_threads=True)


def batches_of(task: str, files: list[str], num_epochs: int) -> Iterator[Any]:
    blocks = polars_blocks if "--polars" in sys.argv else arrow_blocks
    return shuffled_rows(blocks(epochs_of(files, num_epochs)), 256)


if __name__ == "__main__":
    consume.run(batches_of)
