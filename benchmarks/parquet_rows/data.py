"""Parquet files with eight features, a number, a label and a short string a row."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.parquet_rows.work import FEATURES, FRACTION, TEXT, files_of, sums_of

GROUP_ROWS = 50_000
LABELS = 1_000


def make(home: Path, count: int) -> list[int]:
    """Writes rows into files of row groups; returns sums over them."""
    rng = np.random.default_rng(10)
    files = files_of(home)
    totals = np.zeros(4, np.int64)
    bounds = np.linspace(0, count, len(files) + 1).astype(int)
    for name, begin, end in zip(files, bounds, bounds[1:], strict=False):
        size = int(end - begin)
        columns = {
            feature: (rng.integers(0, FRACTION, size) / FRACTION).astype(np.float32)
            for feature in FEATURES
        }
        columns["id"] = np.arange(begin, end)
        columns["label"] = rng.integers(0, LABELS, size)
        columns[TEXT] = pa.array([f"{x:x}" for x in rng.integers(0, 2**50, size).tolist()])
        pq.write_table(pa.table(columns), name, row_group_size=GROUP_ROWS)
        totals += sums_of(columns)[1:]
    return totals.tolist()
