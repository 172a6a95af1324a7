"""Measures the speed of shuffles and their indexes: `python -m benchmarks.shuffles`."""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from benchmarks.remote import serving, variables_of

LINE = b"x" * 188
LATENCY_S, BYTES_A_SECOND = 0.05, 125e6

# The arguments of `shuffle` for each order. None for no shuffle.
ORDERS: Final[dict[str, dict[str, Any] | None]] = {
    "no shuffle": None,
    "window, files in order": {"window": 10_000, "num_open": 1, "file_order": "sequential"},
    "window, files": {"window": 10_000},
    "window, blocks of 4 MiB": {"window": 10_000, "block_bytes": 4 << 20},
    "window, blocks of 256 KiB": {"window": 10_000, "block_bytes": 256 << 10},
    "window, blocks of 4 KiB": {"window": 10_000, "block_bytes": 4 << 10},
    "all examples": {},
}


def write_files(directory: Path, num_files: int, num_lines: int) -> None:
    """Writes files of 200-byte lines."""
    directory.mkdir()
    for file in range(num_files):
        lines = b"".join(b"%05d %05d%s\n" % (file, line, LINE) for line in range(num_lines))
        (directory / f"{file:03}.txt").write_bytes(lines)


def write_examples(directory: Path, num_files: int, num_examples: int) -> None:
    """Writes TFRecords of `Example`s like W1's: 784 bytes and a label."""
    random = np.random.default_rng(1)
    images = random.integers(0, 256, (num_examples, 784), np.uint8)
    pipe = hr.arrays({"image": images, "label": np.arange(num_examples)})
    pipe = pipe.map(lambda row: {"image": row["image"].tobytes(), "label": row["label"]})
    pipe.write(directory / "{shard:03}.tfrecord", num_shards=num_files)


def write_rows(directory: Path, num_files: int, num_rows: int) -> None:
    """Writes Parquet files with eight floats and a number per row, in row groups of 50,000."""
    directory.mkdir()
    random = np.random.default_rng(1)
    for file, ids in enumerate(np.array_split(np.arange(num_rows), num_files)):
        columns = {f"x{index}": random.random(len(ids), np.float32) for index in range(8)}
        table = pa.table(columns | {"id": ids})
        pq.write_table(table, directory / f"{file:03}.parquet", row_group_size=50_000)


def reading(paths: str | Path, order: str, batches: int = 0, url: str = "") -> dict[str, Any]:
    """Reads all batches, or a number of batches, in an order. Uses a separate process."""
    command = [sys.executable, "-m", "benchmarks.shuffles", "read", str(paths), order, str(batches)]
    environment = variables_of(url) if url else os.environ
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def orders(directory: Path, rounds: int, what: str) -> None:
    """Prints the speed of each order, compared with a window over unshuffled files.

    Parquet's pieces are row groups, so it has no blocks of bytes.
    """
    paths = ",".join(str(path) for path in sorted(directory.glob("[0-9]*")))
    names = [order for order in ORDERS if what != "rows" or "blocks" not in order]
    rates_of: dict[str, list[float]] = {order: [] for order in names}
    for _ in range(rounds):
        for order in names:
            run = reading(paths, order)
            rates_of[order].append(run["count"] / run["seconds"])
    base = rates_of["window, files in order"]
    for order, rates in rates_of.items():
        ratio = statistics.median(one / other for one, other in zip(rates, base, strict=True))
        click.echo(
            f"{what}, {order}: {statistics.median(rates):,.0f}/s, {ratio:.0%} of files in order"
        )


def first_batches(directory: Path, rounds: int) -> None:
    """Prints the time to the first batch of a full shuffle."""
    for _ in range(rounds):
        for index in directory.glob("*.hrindex"):
            index.unlink()
        cold, warm = (reading(directory, "all examples", 1) for _ in range(2))
        click.echo(
            f"first batch of all examples: {cold['first_seconds']:.2f} s with a scan of "
            f"{cold['scanned']} files, {warm['first_seconds']:.2f} s with {warm['scanned']} scanned"
        )


def large_index(directory: Path, num_lines: int) -> None:
    """Prints the time to the first batch and the memory use with a large index."""
    directory.mkdir()
    path = directory / "lines.txt"
    with path.open("wb") as file:
        for _ in range(0, num_lines, 1_000_000):
            file.write(b"a\n" * 1_000_000)
    reading(path, "all examples", 1)
    run = reading(path, "all examples", 1)
    click.echo(
        f"index of {num_lines:,} records: first batch after {run['first_seconds']:.3f} s, "
        f"{run['private_bytes'] / 2**20:.1f} MiB of private memory, {run['scanned']} scanned"
    )


def remote(directory: Path, rounds: int) -> None:
    """Prints the share of a server's bandwidth that each order uses."""
    files = sorted(directory.glob("*.txt"))
    num_bytes = sum(path.stat().st_size for path in files)
    urls = ",".join(f"s3://bucket/{path.name}" for path in files)
    for order in ("window, files in order", "window, files", "window, blocks of 4 MiB"):
        shares = []
        for _ in range(rounds):
            with serving(LATENCY_S, BYTES_A_SECOND, directory) as url:
                run = reading(urls, order, url=url)
            shares.append(num_bytes / run["seconds"] / BYTES_A_SECOND)
        click.echo(f"remote, {order}: {statistics.median(shares):.0%} of the bandwidth")


@click.group(invoke_without_command=True)
@click.option("--rounds", default=3, show_default=True, help="How often each is measured.")
@click.option("--files", default=200, show_default=True, help="How many files are read.")
@click.option("--lines", default=10_000, show_default=True, help="The lines of a file.")
@click.option("--indexed", default=100_000_000, show_default=True, help="Records of one index.")
@click.pass_context
def main(context: click.Context, rounds: int, files: int, lines: int, indexed: int) -> None:
    """Measures files in the page cache, with one thread per CPU."""
    if context.invoked_subcommand:
        return
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary, "lines")
        write_files(directory, files, lines)
        orders(directory, rounds, "lines")
        write_examples(Path(temporary, "examples"), 20, 60_000)
        orders(Path(temporary, "examples"), rounds, "examples")
        write_rows(Path(temporary, "rows"), 20, 2_000_000)
        orders(Path(temporary, "rows"), rounds, "rows")
        first_batches(directory, rounds)
        remote(directory, rounds)
        large_index(Path(temporary, "large"), indexed)


@main.command()
@click.argument("paths")
@click.argument("order", type=click.Choice(list(ORDERS)))
@click.argument("most_batches", type=int)
def read(paths: str, order: str, most_batches: int) -> None:
    """Reads one pass in an order, or only some batches, and prints the costs as JSON."""
    pipe = source_of(paths.split(","))
    arguments = ORDERS[order]
    if arguments is not None:
        pipe = pipe.shuffle(seed=1, **arguments)
    next(iter(hr.arrays({"n": [0]}).batch(1)))  # Excludes start-up costs.
    before = private_bytes()
    begin = time.monotonic()
    first, count, num_batches = 0.0, 0, 0
    with iter(pipe.batch(1000)) as batches:
        for batch in batches:
            first = first or time.monotonic() - begin
            count += len(next(iter(batch.values())))
            num_batches += 1
            if num_batches == most_batches:
                break
        seconds = time.monotonic() - begin
        index = batches.statistics().index
        memory = private_bytes() - before
    figures = {
        "count": count,
        "seconds": seconds,
        "first_seconds": first,
        "private_bytes": memory,
        "scanned": index.scanned,
    }
    print(json.dumps(figures))


def source_of(paths: list[str]) -> hr.Pipeline:
    """Returns the pipeline that reads files of one kind, by their extension."""
    match paths[0].rpartition(".")[2]:
        case "tfrecord":
            return hr.tfrecords(paths).parse({"image": bytes, "label": int})
        case "parquet":
            return hr.parquet(paths)
        case _:
            return hr.text_lines(paths)


def private_bytes() -> int:
    """Returns this process's memory in bytes, excluding file pages."""
    text = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    match = re.search(r"Anonymous: +(\d+) kB", text)
    assert match is not None
    return 1024 * int(match[1])


if __name__ == "__main__":
    main()
