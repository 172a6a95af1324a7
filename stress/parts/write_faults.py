"""Kills writers at each writing call, or lets the call fail, and expects old or new files."""

import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from stress import syscall_faults
from stress.files.served_lines import served_lines
from stress.files.writer_output import files_in, is_named, left_in, wrong_files
from stress.part import Options, Result
from stress.programs.writers import WRITERS

# The share of it that runs each night.
NIGHTLY = 0.2
# Calls that fail, and their errors.
_ERRORS = {
    "write": ("ENOSPC", "EIO", "EDQUOT"),
    "pwrite64": ("ENOSPC",),
    "fsync": ("EIO",),
    "fdatasync": ("EIO",),
    "rename": ("EIO", "ENOSPC", "EACCES"),
    "renameat2": ("EIO",),
    "ftruncate": ("EIO",),
    "mkdir": ("ENOSPC", "EACCES"),
    "openat": ("ENOSPC", "EACCES", "EMFILE", "EROFS"),
    "close": ("EIO",),
}
# In a cache, the thread of each write varies between runs.
_NOT_AGAIN = "calls that did not come again"


def run(options: Options) -> Result:
    """Kills writers at each call in turn, and lets each call fail."""
    result = Result()
    if not syscall_faults.is_there():
        result.failures.append("strace is not there, or may not trace: apt-get install strace")
        return result
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory, served_lines():
        draws = Random(options.seed)
        writers = draws.sample(list(WRITERS), max(1, min(len(WRITERS), options.times(10))))
        cases = [case for name in writers for case in _cases(name, Path(directory))]
        for case in draws.sample(cases, max(2, min(len(cases), options.times(len(cases))))):
            _try(*case, Path(directory), counts, result.failures)
    result.figures.update({words: counts[words] for words in sorted(counts)})
    return result


def _cases(writer: str, directory: Path) -> Iterator[tuple[str, str, int, str | None]]:
    """Yields the writer, its call, the number of the call, and the error (None for a kill)."""
    folder = _old(writer, directory)
    for call, numbers in syscall_faults.counted(writer, folder).items():
        for number in numbers:
            for error in (None, *_ERRORS.get(call, ())):
                yield writer, call, number, error


def _old(writer: str, directory: Path) -> Path:
    """Returns a directory with the old files of a writer."""
    kept, folder = directory / f"{writer}.old", directory / "place"
    if not kept.exists():
        kept.mkdir()
        done = syscall_faults.run(writer, kept, 0)
        if done.returncode:
            raise RuntimeError(f"{writer} does not run: {done.stderr}")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(kept, folder)
    return folder


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
    folder = _old(writer, directory)
    old = files_in(folder)
    how = f"error={error}" if error else "signal=KILL"
    try:
        done = syscall_faults.run(writer, folder, 1, f"-e inject={call}:{how}:when={number}")
        is_again = syscall_faults.is_closed_again(folder)
        seen, left = files_in(folder), left_in(folder)
        again = syscall_faults.run(writer, folder, 1)
    except subprocess.TimeoutExpired:
        if writer == "cached" and not syscall_faults.has_hit(folder):
            counts[_NOT_AGAIN] += 1
            return
        failures.append(f"{what}: a hang")
        return
    is_of_file = error is not None and syscall_faults.has_hit(folder)
    kind = (
        "kills"
        if error is None
        else "calls for files that fail"
        if is_of_file
        else "others that fail"
    )
    counts[kind] += 1
    counts["temporary files left by kills"] += len(left)
    wrong = wrong_files(writer, old, seen, files_in(folder))
    if writer == "cached" and not error and done.returncode == 0:
        # The number of calls that set file times depends on the writer's speed.
        counts["kills"] -= 1
        counts[_NOT_AGAIN] += 1
    elif wrong is None and not error and done.returncode != -signal.SIGKILL:
        wrong = f"it was not killed: {done.returncode} {done.stderr}"
    if wrong is None and not all(name.startswith(".") for name in left):
        wrong = f"patterns and directories find {left}"
    if wrong is None and again.returncode:
        wrong = f"the next writer fails: {again.stderr}"
    is_silent = is_of_file and done.returncode == 0
    if wrong is None and is_silent and seen == old:
        wrong = "nothing was written, and nobody said so"
    if wrong is None and is_silent and call == "close" and not is_again:
        wrong = "it was not closed, and nobody said so"
    if wrong is None and is_of_file and done.returncode and not is_named(done.stderr):
        wrong = f"the error does not name the file: {done.stderr}"
    if wrong is None and left_in(folder) and (error or writer == "convert"):
        wrong = f"temporary files are left: {left_in(folder)}"
    if wrong is not None:
        failures.append(f"{what}: {wrong}"[:600])
