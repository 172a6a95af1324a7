"""Reads W1 from a server that is far away: `python -m benchmarks.remote`."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from benchmarks.pipelines.dataset import ROOT, parts_of

STEM = "examples"
NUM_PARTS = (1, 2, 4, 8, 16, 32)


@contextmanager
def serving(
    latency_s: float, bytes_a_second: float, directory: Path = ROOT / STEM
) -> Iterator[str]:
    """Serves the files of a directory, the data of W1, and gives the URL of the server."""
    command = [sys.executable, "-m", "benchmarks.remote.server", str(directory)]
    command += [str(latency_s), str(bytes_a_second)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.terminate()


def rate(url: str, num_parts: int) -> float:
    """Reads the data once, in a process of its own; returns bytes a second."""
    environment = os.environ | {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "HEADRACE_STORAGE_PARTS": str(num_parts),
    }
    command = [sys.executable, "-m", "benchmarks.remote.reading", STEM]
    finished = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found = json.loads(finished.stdout)
    expected = sum(part.count for part in parts_of(STEM)) * found["times"]
    assert found["count"] == expected, f"{found['count']} examples came, expected {expected}"
    return float(found["num_bytes"] / found["seconds"])


@click.command()
@click.option("--latency", default=0.05, show_default=True, help="Seconds until an answer begins.")
@click.option("--bandwidth", default=125e6, show_default=True, help="Bytes a second of the line.")
@click.option("--rounds", default=3, show_default=True, help="How often each is measured.")
def main(latency: float, bandwidth: float, rounds: int) -> None:
    """Prints the share of the bandwidth that W1 gets, for each number of parts in flight a file.

    The server limits all connections together. Time counts from the first request on.
    """
    with serving(latency, bandwidth) as url:
        rates = {n: [rate(url, n) for _ in range(rounds)] for n in NUM_PARTS}
    for num_parts, found in rates.items():
        shares = sorted(one / bandwidth for one in found)
        spread = f"{shares[0]:.0%} to {shares[-1]:.0%}"
        click.echo(f"{num_parts} parts: {statistics.median(shares):.0%} ({spread})")


if __name__ == "__main__":
    main()
