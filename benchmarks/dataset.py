"""The benchmark data, which is created once and is the same on every machine."""

import hashlib
import json
import math
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from benchmarks.workload import ROOT, Part, Workload

HOME = Path(os.environ.get("HEADRACE_BENCH_DATA", ROOT / ".bench" / "data"))


class Selection(NamedTuple):
    """The input of one run.

    Attributes:
        files: Their paths.
        num_epochs: The number of times the files are read.
        count: The expected number of examples.
        sums: The expected sums over the examples.
    """

    files: list[str]
    num_epochs: int
    count: int
    sums: list[int]


def ensure(workload: Workload, scale: float = 1.0) -> tuple[Path, list[Part]]:
    """Creates a workload's data, unless exactly this code has already created it.

    Args:
        workload: The workload.
        scale: The required fraction of the data.

    Returns:
        The data's directory and parts.

    Raises:
        MissingPhotographsError: If the photographs for the data are not available.
    """
    assert workload.make is not None
    count = max(round(workload.count * scale), 1)
    source = Path(str(sys.modules[workload.make.__module__].__file__))
    home = HOME / f"{workload.make.__module__.rpartition('.')[2]}-{count}"
    stamp = home.with_suffix(".json")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    if stamp.exists():
        contents = json.loads(stamp.read_text())
        if contents["source"] == digest:
            return home, [Part(**part) for part in contents["parts"]]
    print(f"making the data of {workload.name} ...", file=sys.stderr)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    parts = workload.make(home, count)
    stamp.write_text(json.dumps({"source": digest, "parts": [asdict(part) for part in parts]}))
    return home, parts


def files_of(workload: Workload) -> list[str]:
    """Returns the paths of all data files of a workload. Creates the files if necessary."""
    home, parts = ensure(workload)
    return select(home, parts, len(parts)).files


def select(home: Path, parts: Sequence[Part], num_parts: int) -> Selection:
    """Returns an input equivalent to a number of parts.

    If fewer parts are requested than exist, this is one pass over the first parts. Otherwise, it is
    all parts, repeated as often as necessary.
    """
    chosen = parts[:num_parts]
    num_epochs = math.ceil(num_parts / len(chosen))
    return Selection(
        files=[str(home / name) for part in chosen for name in part.files],
        num_epochs=num_epochs,
        count=num_epochs * sum(part.count for part in chosen),
        sums=[num_epochs * sum(each) for each in zip(*(p.sums for p in chosen), strict=True)],
    )


def bounds_of(count: int, num_files: int) -> list[tuple[int, int]]:
    """Splits a number of examples among files. Returns each file's first example and its end."""
    ends = [count * number // num_files for number in range(num_files + 1)]
    return list(pairwise(ends))
