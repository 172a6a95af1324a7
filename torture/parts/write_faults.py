"""Writers that are killed at each call that writes, or whose calls fail: old files or new ones."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.storage.server import Server

import headrace.tf1 as tf
from torture import traced
from torture.part import Options, Result
from torture.writers import WRITERS

# What fails, and how.
_ERRORS = {
    "write": ("ENOSPC", "EIO", "EDQUOT"),
    "pwrite64": ("ENOSPC",),
    "fsync": ("EIO",),
    "fdatasync": ("EIO",),
    "rename": ("EIO", "ENOSPC", "EACCES"),
    "renameat2": ("EIO",),
    "ftruncate": ("EIO",),
    "mkdir": ("ENOSPC", "EACCES"),
}
_TEMPORARY = re.compile(r"\.tmp[0-9a-f]{16}$")
_Files = dict[str, bytes]


def run(options: Options) -> Result:
    """Kills writers, and lets their calls fail, at one call after the other."""
    result = Result()
    if not traced.is_there():
        result.failures.append("strace is not there, or may not trace: apt-get install strace")
        return result
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory, _server():
        draws = Random(options.seed)
        writers = draws.sample(list(WRITERS), max(1, min(len(WRITERS), options.times(10))))
        cases = [case for name in writers for case in _cases(name, Path(directory))]
        for case in draws.sample(cases, max(2, min(len(cases), options.times(len(cases))))):
            _try(*case, Path(directory), counts, result.failures)
    result.figures.update({words: counts[words] for words in sorted(counts)})
    return result


@contextmanager
def _server() -> Iterator[None]:
    with Server() as server:
        server.files["lines"] = b"".join(b"line %d\n" % number for number in range(120_000))
        os.environ["TORTURE_URL"] = f"{server.url}/lines"
        yield


def _cases(writer: str, directory: Path) -> Iterator[tuple[str, str, int, str | None]]:
    """Yields the writer, a call of it, which one, and the error; None to be killed there."""
    place = _old(writer, directory)
    for call, count in traced.counted(writer, place).items():
        for number in range(1, count + 1):
            for error in (None, *_ERRORS.get(call, ())):
                yield writer, call, number, error


def _old(writer: str, directory: Path) -> Path:
    """Returns a directory with the old files of a writer."""
    kept, place = directory / f"{writer}.old", directory / "place"
    if not kept.exists():
        kept.mkdir()
        done = traced.run(writer, kept, 0)
        if done.returncode:
            raise RuntimeError(f"{writer} does not run: {done.stderr}")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(kept, place)
    return place


def _try(
    writer: str,
    call: str,
    number: int,
    error: str | None,
    directory: Path,
    counts: Counter[str],
    failures: list[str],
) -> None:
    what = f"{writer}, {call} number {number}: {error or 'kill -9'}"
    place = _old(writer, directory)
    old = _files(place)
    how = f"error={error}" if error else "signal=KILL"
    try:
        done = traced.run(writer, place, 1, f"-e inject={call}:{how}:when={number}")
        seen, left = _files(place), _left(place)
        again = traced.run(writer, place, 1)
    except subprocess.TimeoutExpired:
        failures.append(f"{what}: a hang")
        return
    is_of_file = error is not None and traced.has_hit(place)
    kind = (
        "kills"
        if error is None
        else "calls for files that fail"
        if is_of_file
        else "others that fail"
    )
    counts[kind] += 1
    counts["temporary files left by kills"] += len(left)
    wrong = _CHECKS.get(writer, _check_files)(writer, old, seen, _files(place))
    if wrong is None and not error and done.returncode != -signal.SIGKILL:
        wrong = f"it was not killed: {done.returncode} {done.stderr}"
    if wrong is None and not all(name.startswith(".") for name in left):
        wrong = f"patterns and directories find {left}"
    if wrong is None and again.returncode:
        wrong = f"the next writer fails: {again.stderr}"
    if wrong is None and is_of_file and done.returncode == 0 and seen == old:
        wrong = "nothing was written, and nobody said so"
    if wrong is None and is_of_file and done.returncode and not _is_named(done.stderr):
        wrong = f"the error does not name the file: {done.stderr}"
    if wrong is None and _left(place) and (error or writer == "convert"):
        wrong = f"temporary files are left: {_left(place)}"
    if wrong is not None:
        failures.append(f"{what}: {wrong}"[:600])


def _files(place: Path) -> _Files:
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and not _TEMPORARY.search(path.name)
    }


def _left(place: Path) -> list[str]:
    return [path.name for path in place.rglob("*") if _TEMPORARY.search(path.name)]


def _is_named(text: str) -> bool:
    names = ("place", "out", "table", "records", "model", "file", "kept", "events")
    return any(name in text for name in names) and "Traceback" not in text


def _check_files(writer: str, old: _Files, seen: _Files, new: _Files) -> str | None:
    """Each file is the old one or the new one."""
    for name, data in seen.items():
        if data not in (old.get(name), new.get(name)):
            return f"{name} has {len(data)} bytes, and is neither the old file nor the new one"
    lost = [name for name in old if name not in seen and name in new]
    return f"lost: {lost}" if lost else None


def _check_shards(writer: str, old: _Files, seen: _Files, new: _Files) -> str | None:
    """--overwrite removes the old shards first; what is there is whole."""
    shards = {name: data for name, data in seen.items() if name.endswith(".tfrecord")}
    kept = {name: data for name, data in old.items() if name not in shards}
    return _check_files(writer, old, {**shards, **kept}, new)


def _check_variables(writer: str, old: _Files, seen: _Files, new: _Files) -> str | None:
    """The last checkpoint of the list is whole."""
    with tempfile.TemporaryDirectory() as directory:
        for name, data in seen.items():
            Path(directory, name).write_bytes(data)
        latest = tf.train.latest_checkpoint(directory)
        if latest is None:
            return f"there is no last checkpoint in {sorted(seen)}"
        try:
            values = set(tf.train.load_checkpoint(latest).get_tensor("v").tolist())
        except tf.errors.OpError as error:
            return f"the last checkpoint cannot be read: {error}"
    expected = {float(latest.rpartition("-")[2])}
    return None if values == expected else f"{latest} has the values {sorted(values)[:3]}"


def _check_events(writer: str, old: _Files, seen: _Files, new: _Files) -> str | None:
    """Old files stay; what there is of a new one is read, up to its end."""
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


def _check_cache(writer: str, old: _Files, seen: _Files, new: _Files) -> str | None:
    """Each part that has its name ends with its checksum; see tests of damaged parts."""
    return None if seen.items() <= new.items() else "a part is another one"


_CHECKS: dict[str, Callable[[str, _Files, _Files, _Files], str | None]] = {
    "variables": _check_variables,
    "events": _check_events,
    "convert": _check_shards,
    "cached": _check_cache,
}
