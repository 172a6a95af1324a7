"""Text and CSV files with what Python and pyarrow have."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np


def lines_of(files: Iterable[str]) -> Iterator[bytes]:
    """Yields the lines of text files."""
    for name in files:
        yield from Path(name).read_bytes().splitlines()


def tables_of(files: Iterable[str], has_threads: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields features, float32, (n, 10), and labels, int32, (n,), which pyarrow parsed."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import csv  # noqa: PLC0415

    names = [f"f{number}" for number in range(10)]
    types = dict.fromkeys(names, pa.float32()) | {"label": pa.int32()}
    for name in files:
        batches = csv.open_csv(
            name,
            csv.ReadOptions(column_names=list(types), use_threads=has_threads),
            convert_options=csv.ConvertOptions(column_types=types),
        )
        for batch in batches:
            features = np.empty((batch.num_rows, 10), np.float32)
            for number in range(10):
                features[:, number] = batch.column(number).to_numpy()
            yield features, batch.column(10).to_numpy()
