"""Iterates over a pipeline while another process watches its memory.

Prints `ready` when all is imported and one tiny pipeline has run, waits for a line, iterates, and
prints a line of JSON: how many batches came, the bytes of the largest, and the error if there was
one.
"""

import argparse
import json
import sys
import time
from typing import Any

import numpy as np

import headrace as hr
from benchmarks.memory import cases
from benchmarks.memory.watching import READY


def size_of(batch: dict[str, Any]) -> int:
    """Returns how many bytes a batch has, its strings included."""
    return sum(map(_array_bytes, batch.values()))


def _array_bytes(array: Any) -> int:
    objects = sum(map(sys.getsizeof, array.ravel())) if array.dtype == object else 0
    return int(array.nbytes) + objects


def iterate(pipeline: Any, seconds: float) -> dict[str, Any]:
    """Takes batches for some seconds."""
    end = time.monotonic() + seconds
    num_batches = num_examples = largest = 0
    try:
        with iter(pipeline) as batches:
            for batch in batches:
                num_batches += 1
                num_examples += len(next(iter(batch.values())))
                largest = max(largest, size_of(batch))
                if time.monotonic() > end:
                    break
    except hr.errors.ResourceExhaustedError as error:
        return {"error": str(error), "batches": num_batches, "batch_bytes": largest}
    return {"batches": num_batches, "examples": num_examples, "batch_bytes": largest}


def main() -> None:
    """Iterates over the pipeline that the arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=cases.CASES)
    parser.add_argument("window", type=int)
    parser.add_argument("memory_bytes", type=int, help="0 for the default")
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    pipeline = cases.make(arguments.case, arguments.window, arguments.memory_bytes or None)
    if arguments.case == "parquet":
        pipeline.spec  # noqa: B018 - loads pyarrow
    tiny = hr.arrays({"x": np.arange(8)}).map(lambda example: example).shuffle(window=4, seed=1)
    list(tiny.batch(2))
    print(READY, flush=True)
    sys.stdin.readline()
    print(json.dumps(iterate(pipeline, arguments.seconds)), flush=True)


if __name__ == "__main__":
    main()
