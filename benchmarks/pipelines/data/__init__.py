"""Makes the data of the benchmarks, the same on every machine. Takes a minute, once."""

import hashlib
import shutil
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.pipelines import dataset
from benchmarks.pipelines.data.photographs import MissingSourceError as MissingSourceError


def ensure(stem: str) -> None:
    """Makes a data set, unless there is one that this very code made.

    Raises:
        MissingSourceError: What it is made of cannot be had.
    """
    maker = import_module(f"{__name__}.{stem}")
    source = hashlib.sha256(Path(str(maker.__file__)).read_bytes()).hexdigest()
    home = dataset.ROOT / stem
    stamp = home / "source"
    if stamp.exists() and stamp.read_text() == source:
        return
    print(f"making the data of {stem!r} ...", file=sys.stderr)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    maker.make()
    stamp.write_text(source)
