"""A shuffled table beside what one writes by hand: `python -m benchmarks.shuffled_tables`.

Each program runs in a process of its own, all of them in turn. Ratios are of processor time, which
other work on the machine changes less than time, and of rates.
"""

import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Final

import click
import numpy as np

from benchmarks.workloads.parquet_rows import permuted_tables

WINDOW, BATCH_SIZE, GROUP_ROWS = 100_000, 4_096, 131_072
FEATURES: Final = [f"f{number}" for number in range(8)]
NUMBERS: Final = [*FEATURES, "id", "label"]
TEXT: Final = "name"
WARM_UP_S, SECONDS = 1.0, 2.0
KINDS: Final = {"numbers": NUMBERS, "arrow": [*NUMBERS, TEXT], "str": [*NUMBERS, TEXT]}
"""The columns of each kind of batch; strings as Arrow or as `str` objects."""
PROGRAMS: Final = ("headrace", "by hand", "not shuffled")


def write_table(path: Path, num_rows: int) -> None:
    """Writes rows of eight features, two integers and a string of twelve characters."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=num_rows).astype(np.float32) for name in FEATURES}
    columns |= {"id": np.arange(num_rows), "label": rng.integers(0, 1000, num_rows)}
    columns[TEXT] = pa.array([f"user-{x:07d}" for x in rng.integers(0, 10**6, num_rows).tolist()])
    pq.write_table(pa.table(columns), path, row_group_size=GROUP_ROWS)


def by_hand(path: Path, kind: str) -> Iterator[list[Any]]:
    """Yields shuffled batches as pyarrow and NumPy make them, without end."""
    import pyarrow.dataset as ds

    def blocks() -> Iterator[Any]:
        return ds.dataset(path).to_batches(columns=KINDS[kind], batch_size=GROUP_ROWS)

    epochs = chain.from_iterable(blocks() for _ in repeat(None))
    for rows in permuted_tables(epochs, np.random.default_rng(0)):
        is_kept = [kind == "arrow" and name == TEXT for name in rows.column_names]
        columns = zip(rows.columns, is_kept, strict=True)
        yield [column if kept else column.to_numpy() for column, kept in columns]


def with_headrace(path: Path, kind: str, *, is_shuffled: bool) -> Iterator[list[Any]]:
    """Yields batches, without end."""
    import headrace as hr

    rows = hr.parquet(path, KINDS[kind])
    rows = rows.shuffle(window=WINDOW, seed=1) if is_shuffled else rows
    strings = "arrow" if kind == "arrow" else "numpy"
    for batch in rows.epochs().batch(BATCH_SIZE).options(strings=strings):
        yield list(batch.values())


def run(path: Path, kind: str, program: str) -> None:
    """Prints the rate and the processor time of a program, and its memory at the end."""
    if program == "by hand":
        batches = by_hand(path, kind)
    else:
        batches = with_headrace(path, kind, is_shuffled=program == "headrace")
    begin = time.perf_counter()
    while time.perf_counter() - begin < WARM_UP_S:
        next(batches)
    count, begin, processor = 0, time.perf_counter(), time.process_time()
    while (seconds := time.perf_counter() - begin) < SECONDS:
        count += len(next(batches)[0])
    spent = (time.process_time() - processor) / count
    # `getrusage` counts the process that started this one, too.
    [peak] = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    print(
        json.dumps({"rate": count / seconds, "ns": spent * 1e9, "peak": int(peak) / 1024}),
        flush=True,
    )


def report(rounds: int, runs: dict[tuple[str, str], list[dict[str, float]]]) -> None:
    """Prints a line for each program: its medians, and the ratios to the others of its kind."""
    for (kind, program), own in runs.items():
        ours = runs[kind, "headrace"]
        rate, spent, peak = (statistics.median(run[key] for run in own) for key in own[0])
        of = zip(ours, own, strict=True)
        ratios = [(one["rate"] / other["rate"], other["ns"] / one["ns"]) for one, other in of]
        by_rate, by_time = (
            f"{statistics.median(each):.2f} ({min(each):.2f} to {max(each):.2f})"
            for each in zip(*ratios, strict=True)
        )
        click.echo(f"{kind} {program}: {rate / 1e6:.2f} M rows/s, {spent:.0f} ns, {peak:.0f} MiB")
        click.echo(f"  headrace ÷ this: {by_time} by processor time, {by_rate} by rate")
    click.echo(f"medians of {rounds} rounds, and the least and the largest ratio")


@click.command()
@click.option("--rounds", default=5, show_default=True, help="How often each program runs.")
@click.option("--rows", default=2_000_000, show_default=True, help="The rows of the table.")
def main(rounds: int, rows: int) -> None:
    """Measures shuffled batches of a table, beside pyarrow and NumPy by hand."""
    runs: dict[tuple[str, str], list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "rows.parquet"
        write_table(path, rows)
        keys = [(kind, program) for kind in KINDS for program in PROGRAMS]
        for number in range(rounds):
            for kind, program in keys[:: 1 if number % 2 == 0 else -1]:
                command = [sys.executable, "-m", "benchmarks.shuffled_tables", str(path), kind]
                done = subprocess.run([*command, program], check=True, capture_output=True)
                runs.setdefault((kind, program), []).append(json.loads(done.stdout))
    report(rounds, {key: runs[key] for key in keys})


if __name__ == "__main__":
    match sys.argv[1:]:
        case [path, kind, program] if kind in KINDS:
            run(Path(path), kind, program)
        case _:
            main()
