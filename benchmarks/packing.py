"""Compares packing algorithms on the same lists: `python -m benchmarks.packing`."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.environments import python_of
from benchmarks.workload import ROOT

LENGTH = 2048
MAX_OPEN = 64
NAME = "tokens"

Rows = Iterable[dict[str, Any]]


def with_headrace(lists: list[np.ndarray]) -> Rows:
    """Packs with headrace."""
    import headrace as hr

    examples = hr.iterable(lambda: ({NAME: array} for array in lists))
    return examples.pack(LENGTH, NAME, max_open=MAX_OPEN)


def with_grain(lists: list[np.ndarray]) -> Rows:
    """Packs with Grain's first-fit packing."""
    import grain
    from grain.experimental import FirstFitPackIterDataset

    data = grain.MapDataset.source(lists).map(lambda array: {NAME: array})
    return FirstFitPackIterDataset(
        data.to_iter_dataset(), length_struct={NAME: LENGTH}, num_packing_bins=MAX_OPEN
    )


PACKERS: dict[str, Callable[[list[np.ndarray]], Rows]] = {
    "headrace": with_headrace,
    "grain": with_grain,
}


def lists_of(count: int) -> list[np.ndarray]:
    """Returns lists with text-like lengths: log-normal, a median of 300, and at most one row."""
    random = np.random.default_rng(1)
    lengths = np.clip(random.lognormal(np.log(300), 1.0, count), 1, LENGTH).astype(int)
    return [np.full(length, number, np.int32) for number, length in enumerate(lengths, 1)]


def pack(name: str, count: int) -> None:
    """Packs lists, and prints the time and the filled fraction of the rows."""
    lists = lists_of(count)
    begin = time.perf_counter()
    num_rows = num_tokens = total = 0
    for row in PACKERS[name](lists):
        num_rows += 1
        num_tokens += int(np.count_nonzero(row[NAME]))
        total += int(row[NAME].sum(dtype=np.int64))
    seconds = time.perf_counter() - begin
    if total != sum(int(array.sum(dtype=np.int64)) for array in lists):
        raise AssertionError("the rows do not have what the lists have")
    print(json.dumps({"seconds": seconds, "padding": 1 - num_tokens / (num_rows * LENGTH)}))


def run(python: str, name: str, count: int) -> dict[str, float]:
    """Runs a packer in a separate process, and returns its output."""
    command = [python, "-m", "benchmarks.packing", name, str(count)]
    environment = {"PYTHONPATH": f"{ROOT / 'python'}:{ROOT}"}
    done = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True, env=environment
    )
    return dict(json.loads(done.stdout))


def main(rounds: int = 5, count: int = 20_000) -> None:
    """Packs the same lists with each installable packer in turn."""
    grain = python_of("grain")
    pythons = {"headrace": sys.executable, **({"grain": str(grain)} if grain else {})}
    runs = [
        {name: run(python, name, count) for name, python in pythons.items()} for _ in range(rounds)
    ]
    for name in pythons:
        rates = [count / one[name]["seconds"] for one in runs]
        print(
            f"{name}: {statistics.median(rates):,.0f} lists a second "
            f"({min(rates):,.0f} to {max(rates):,.0f}), {runs[0][name]['padding']:.2%} fills up"
        )
    if "grain" in pythons:
        ratios = [one["grain"]["seconds"] / one["headrace"]["seconds"] for one in runs]
        print(f"headrace / grain: {statistics.median(ratios):.1f}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        pack(sys.argv[1], int(sys.argv[2]))
    else:
        main()
