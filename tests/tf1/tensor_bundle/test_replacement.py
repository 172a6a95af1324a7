"""Replacing a checkpoint: at any moment the old or the new one can be restored."""

import contextlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headrace.tf1.tensor_bundle import BundleReader, replacement, write_bundle
from headrace.tf1.tensor_bundle.replacement import data_path

# Ends like kill -9 at the rename of this number.
_KILLED = """
import os
import sys

import numpy as np

from headrace.core import engine
from headrace.io import storage
from headrace.tf1 import tensor_bundle
from headrace.tf1.tensor_bundle import replacement, write_bundle

prefix, last = sys.argv[1], int(sys.argv[2])
calls = 0


def counted(function):
    def call(*arguments):
        global calls
        calls += 1
        if calls > last:
            os._exit(9)
        return function(*arguments)

    return call


replacement.AtomicFile.publish = counted(replacement.AtomicFile.publish)
os.link, os.replace = counted(os.link), counted(os.replace)
replacement.remove = counted(replacement.remove)
write_bundle(prefix, {"v": np.full(5000, 2.0), "name": b"new"})
"""
_NUM_CALLS = 6


def killed(prefix: Path, num_calls: int) -> int:
    command = [sys.executable, "-c", _KILLED, str(prefix), str(num_calls)]
    return subprocess.run(command, timeout=60, check=False).returncode


def values(prefix: Path) -> tuple[float, bytes]:
    reader = BundleReader(prefix)
    (value,) = set(reader.read("v").tolist())
    return value, reader.read("name").item()


@pytest.mark.parametrize("num_calls", range(_NUM_CALLS + 1))
def test_writer_killed_at_any_rename_leaves_a_valid_checkpoint(tmp_path, num_calls):
    prefix = tmp_path / "model"
    write_bundle(prefix, {"v": np.full(5000, 1.0), "name": b"old"})
    assert killed(prefix, num_calls) == (9 if num_calls < _NUM_CALLS else 0)
    # The data and their index have to be there: from then on it is the new one.
    assert values(prefix) == ((1.0, b"old") if num_calls < 2 else (2.0, b"new"))
    # The next one gets the usual names and removes all leftovers.
    write_bundle(prefix, {"v": np.full(10, 3.0), "name": b"next"})
    assert values(prefix) == (3.0, b"next")
    seen = sorted(name for name in os.listdir(tmp_path) if not name.startswith("."))
    assert seen == ["model.data-00000-of-00001", "model.index"]


class Killed(BaseException):
    """Ends a writer, after which only temporary files are removed."""


def ended(monkeypatch: pytest.MonkeyPatch, prefix: Path, value: float, num_calls: int) -> None:
    """Writes a checkpoint, up to a number of calls that change names."""
    calls = itertools.count()

    def counted(function):
        def call(*arguments):
            if next(calls) >= num_calls:
                raise Killed
            return function(*arguments)

        return call

    with monkeypatch.context() as patch:
        publish = replacement.AtomicFile.publish
        patch.setattr(replacement.AtomicFile, "publish", counted(publish))
        patch.setattr(os, "link", counted(os.link))
        patch.setattr(os, "replace", counted(os.replace))
        patch.setattr(replacement, "remove", counted(replacement.remove))
        with contextlib.suppress(Killed):
            write_bundle(prefix, {"v": np.full(5000, value), "name": b"%d" % value})


def test_several_killed_writers_leave_a_valid_checkpoint(tmp_path, monkeypatch):
    for first, second in itertools.product(range(_NUM_CALLS), repeat=2):
        prefix = tmp_path / f"model-{first}-{second}"
        write_bundle(prefix, {"v": np.full(5000, 1.0), "name": b"1"})
        ended(monkeypatch, prefix, 2.0, first)
        before = values(prefix)
        assert before in [(1.0, b"1"), (2.0, b"2")]
        ended(monkeypatch, prefix, 3.0, second)
        assert values(prefix) in [before, (3.0, b"3")]


def test_second_data_file_of_a_sharded_checkpoint_is_not_removed(tmp_path):
    prefix = str(tmp_path / "model")
    write_bundle(prefix, {"v": np.ones(3)})
    for shard in (0, 1):
        Path(data_path(prefix, 2, shard)).write_bytes(b"other")
    write_bundle(prefix, {"v": np.zeros(3)})
    assert BundleReader(prefix).read("v").tolist() == [0, 0, 0]
    assert Path(data_path(prefix, 2, 1)).read_bytes() == b"other"


def test_symbolic_links_to_a_checkpoint_are_kept(tmp_path):
    (tmp_path / "there").mkdir()
    prefix, there = tmp_path / "model", tmp_path / "there" / "model"
    write_bundle(there, {"v": np.ones(3)})
    for end in ("index", "data-00000-of-00001"):
        Path(f"{prefix}.{end}").symlink_to(f"{there}.{end}")
    write_bundle(prefix, {"v": np.zeros(3)})
    for each in (prefix, there):
        assert BundleReader(each).read("v").tolist() == [0, 0, 0]
    assert Path(f"{prefix}.data-00000-of-00001").is_symlink()
