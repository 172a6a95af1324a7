"""Checks the directory after a writer was killed or failed: all files must be old or new."""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import headrace.tf1 as tf

__all__ = ["Files", "files_in", "is_named", "left_in", "wrong_files"]

Files = dict[str, bytes]
"""The contents of files, by name."""

_TEMPORARY = re.compile(r"\.tmp[0-9a-f]{16}$")


def files_in(folder: Path) -> Files:
    """Returns the files, without temporary ones."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not _TEMPORARY.search(path.name)
    }


def left_in(folder: Path) -> list[str]:
    """Returns the names of temporary files."""
    return [path.name for path in folder.rglob("*") if _TEMPORARY.search(path.name)]


def is_named(text: str) -> bool:
    """Returns whether an error names the written file, and is not a traceback."""
    names = ("place", "out", "table", "records", "model", "file", "kept", "events")
    return any(name in text for name in names) and "Traceback" not in text


def _check_files(writer: str, old: Files, seen: Files, new: Files) -> str | None:
    """Checks that each file is the old one or the new one."""
    for name, data in seen.items():
        if data not in (old.get(name), new.get(name)):
            return f"{name} has {len(data)} bytes, and is neither the old file nor the new one"
    lost = [name for name in old if name not in seen and name in new]
    return f"lost: {lost}" if lost else None


def _check_shards(writer: str, old: Files, seen: Files, new: Files) -> str | None:
    """--overwrite removes the old shards first. All existing shards must be complete."""
    shards = {name: data for name, data in seen.items() if name.endswith(".tfrecord")}
    kept = {name: data for name, data in old.items() if name not in shards}
    return _check_files(writer, old, {**shards, **kept}, new)


def _check_variables(writer: str, old: Files, seen: Files, new: Files) -> str | None:
    """Checks that the last checkpoint of the list is complete and has the values for its name."""
    return _check_last(seen, lambda latest: {float(latest.rpartition("-")[2])})


def _check_overwritten(writer: str, old: Files, seen: Files, new: Files) -> str | None:
    """Checks that the checkpoint is the old one or the new one."""
    return _check_last(seen, lambda latest: {0.0, 1.0})


def _check_last(seen: Files, expected: Callable[[str], set[float]]) -> str | None:
    """Checks that the last checkpoint of the list has one of the values expected for its name."""
    with tempfile.TemporaryDirectory() as directory:
        for name, data in seen.items():
            # The list contains the paths at which they were written.
            kept = re.sub(rb'"[^"]*/', b'"', data) if name == "checkpoint" else data
            Path(directory, name).write_bytes(kept)
        latest = tf.train.latest_checkpoint(directory)
        if latest is None:
            return f"there is no last checkpoint in {sorted(seen)}"
        try:
            values = set(tf.train.load_checkpoint(latest).get_tensor("v").tolist())
        except tf.errors.OpError as error:
            return f"the last checkpoint cannot be read: {error}"
    is_one = len(values) == 1 and values <= expected(latest)
    return None if is_one else f"{latest} has the values {sorted(values)[:3]}"


def _check_events(writer: str, old: Files, seen: Files, new: Files) -> str | None:
    """Checks that old files remain, and that a new file can be read as far as it was written."""
    for name, data in old.items():
        if seen.get(name) != data:
            return f"{name} is another one"
    for name in seen.keys() - old.keys():
        with tempfile.NamedTemporaryFile() as file:
            file.write(seen[name])
            file.flush()
            try:
                steps = [event.step for event in tf.train.summary_iterator(file.name)]
            except tf.errors.DataLossError as error:
                if "truncated" not in str(error):
                    return str(error)
                continue
        if steps not in ([], [0, *range(len(steps) - 1)]):
            return f"{name} has the steps {steps}"
    return None


def _check_cache(writer: str, old: Files, seen: Files, new: Files) -> str | None:
    """Each part with its final name ends with its checksum (see the tests of damaged parts)."""
    return None if seen.items() <= new.items() else "a part is another one"


def wrong_files(writer: str, old: Files, seen: Files, new: Files) -> str | None:
    """Returns a description of the defect in files after a fault, or None.

    Args:
        writer: Its name in `stress.programs.writers`.
        old: The files before.
        seen: The files after the fault.
        new: The files of a writer without a fault.
    """
    return _CHECKS.get(writer, _check_files)(writer, old, seen, new)


_CHECKS: dict[str, Callable[[str, Files, Files, Files], str | None]] = {
    "variables": _check_variables,
    "overwritten": _check_overwritten,
    "events": _check_events,
    "convert": _check_shards,
    "cached": _check_cache,
}
