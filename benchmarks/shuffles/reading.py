"""One pass over lines in an order, or its beginning: prints its cost as JSON."""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any, Final

import headrace as hr

#: What each order gives to `shuffle`; None for no shuffle.
ORDERS: Final[dict[str, dict[str, Any] | None]] = {
    "no shuffle": None,
    "window, files in order": {"window": 10_000, "num_open": 1, "files": "in order"},
    "window, files": {"window": 10_000},
    "window, blocks of 4 MiB": {"window": 10_000, "block_bytes": 4 << 20},
    "window, blocks of 256 KiB": {"window": 10_000, "block_bytes": 256 << 10},
    "window, blocks of 4 KiB": {"window": 10_000, "block_bytes": 4 << 10},
    "all examples": {},
}


#: The features of an `Example`, as W1 has them.
_FEATURES: Final = {"image": bytes, "label": int}


def source_of(paths: list[str]) -> hr.Pipeline:
    """Returns the pipeline that reads files of one kind, by their extension."""
    match paths[0].rpartition(".")[2]:
        case "tfrecord":
            return hr.tfrecords(paths).parse(_FEATURES)
        case "parquet":
            return hr.parquet(paths)
        case _:
            return hr.text_lines(paths)


def private_bytes() -> int:
    """Returns the memory of this process, without the pages of files, in bytes."""
    text = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    found = re.search(r"Anonymous: +(\d+) kB", text)
    assert found is not None
    return 1024 * int(found[1])


def main() -> None:
    paths, order, most_batches = sys.argv[1].split(","), ORDERS[sys.argv[2]], int(sys.argv[3])
    pipe = source_of(paths)
    if order is not None:
        pipe = pipe.shuffle(seed=1, **order)
    next(iter(hr.arrays({"n": [0]}).batch(1)))  # What the first pipeline of a process takes.
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
    found = {
        "count": count,
        "seconds": seconds,
        "first_seconds": first,
        "private_bytes": memory,
        "scanned": index.scanned,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
