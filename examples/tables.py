"""Trains and validates a linear model on a table, once from CSV and once from Parquet.

`split` keeps the same rows for validation in every epoch. NumPy converts and joins the columns of
whole batches. You need pyarrow to write Parquet, but not to read it.
"""

import csv
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr

FEATURES = ("rooms", "area", "age")
COLUMNS = {"rooms": int, "area": float, "age": float, "price": float}


def write(folder: Path, num_rows: int) -> None:
    """Writes `flats.csv` and `flats.parquet` with flats and their prices."""
    rng = np.random.default_rng(1)
    rooms = rng.integers(1, 6, num_rows)
    area = (20 * rooms + rng.uniform(0, 20, num_rows)).astype(np.float32)
    age = rng.uniform(0, 100, num_rows).astype(np.float32)
    noise = rng.normal(0, 0.1, num_rows)
    price = (0.2 * rooms + 0.03 * area - 0.01 * age + noise).astype(np.float32)
    table = {"rooms": rooms, "area": area, "age": age, "price": price}
    with (folder / "flats.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    pq.write_table(pa.table(table), folder / "flats.parquet", row_group_size=500)


def joined(batch: dict[str, Any]) -> dict[str, Any]:
    """Returns normalized inputs and prices: float32, (batch, 4) and (batch,)."""
    rooms, area, age = (batch[name].astype(np.float32) for name in FEATURES)
    inputs = [rooms / 3 - 1, area / 70 - 1, age / 50 - 1, np.ones_like(age)]
    return {"x": np.stack(inputs, axis=1), "y": batch["price"]}


def main(flats: hr.Pipeline, num_epochs: int) -> float:
    """Trains on nine tenths of a table, and returns the mean squared error on the rest."""
    train, validation = flats.split(0.9, 0.1, seed=1)
    weights = np.zeros(4, np.float32)
    for batch in train.shuffle(seed=2).epochs(num_epochs).batch(64).map(joined):
        errors = batch["x"] @ weights - batch["y"]
        weights -= 0.1 * batch["x"].T @ errors / len(errors)
    squares = [
        (batch["x"] @ weights - batch["y"]) ** 2 for batch in validation.batch(64).map(joined)
    ]
    return float(np.concatenate(squares).mean())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), 2_000)
        lines = hr.csv(f"{folder}/flats.csv", COLUMNS)
        print(f"CSV: mean squared error {main(lines, 20):.3f}")
        table = hr.parquet(f"{folder}/flats.parquet", columns=list(COLUMNS))
        print(f"Parquet: mean squared error {main(table, 20):.3f}")
