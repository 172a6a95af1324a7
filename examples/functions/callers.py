"""Runs a pipeline with one thread, several threads, and processes. All yield the same batches."""

import argparse
import zlib
from collections.abc import Callable
from typing import TypedDict

import numpy as np

import headrace as hr


class Callers(TypedDict, total=False):
    """Arguments of `map` that select threads or processes for a function."""

    num_threads: int
    num_processes: int


def compare(pipeline: Callable[[Callers], hr.Pipeline], description: str | None) -> None:
    """Prints the number of batches, their checksum and the bottleneck for each choice.

    Args:
        pipeline: Creates the pipeline, given these arguments of `map`.
        description: The description in the program's help.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--callers", type=int, default=2, help="threads, and processes")
    number = parser.parse_args().callers
    ways: dict[str, Callers] = {
        "one thread": {},
        f"{number} threads": {"num_threads": number},
        f"{number} processes": {"num_processes": number},
    }
    for name, callers in ways.items():
        checksum = num_batches = 0
        with iter(pipeline(callers)) as batches:
            for batch in batches:
                num_batches += 1
                for value in batch.values():
                    checksum = zlib.crc32(np.ascontiguousarray(value).tobytes(), checksum)
        seconds = batches.statistics().seconds
        print(f"{name}: {num_batches} batches, checksum {checksum:08x}, {seconds:.2f} s")
        print(f"    {batches.bottleneck()}")
