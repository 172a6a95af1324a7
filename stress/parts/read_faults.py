"""Lets calls that find, open, read and close files fail; expects an error or all data."""

import errno
import functools
import gc
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.io.storage.server import Server

from headrace.core import errors
from stress import syscall_faults
from stress.collecting import DATA_ERRORS, words_of
from stress.files.subjects import Subject, listings, pipelines, subjects
from stress.part import Options, Result
from stress.reading import difference
from stress.watchdog import deadline

# The share of it that runs each night.
NIGHTLY = 0.2
# Calls that fail, and their errors. Interrupted calls are repeated.
_ERRORS = {
    "getdents64": ("EIO", "ESTALE"),
    "read": ("EIO", "ESTALE", "EINTR"),
    "pread64": ("EIO", "ESTALE", "EINTR"),
    "lseek": ("EIO",),
    "fadvise64": ("EIO",),
    "close": ("EIO",),
    "openat": ("EIO", "EACCES", "EMFILE", "ESTALE", "EINTR"),
}
_OTHERS = ("EIO", "EACCES", "ESTALE")
# `ValueError`: a saver does not find the checkpoint.
_ALLOWED = (
    *DATA_ERRORS,
    errors.UnknownError,
    errors.PermissionDeniedError,
    OSError,
    ValueError,
)
# As in TensorFlow, for all errors of the system.
_SAYING_MISSING = ("load_checkpoint", "ListDirectory")
_FEWEST = 8
_MANY = 20_000
# Of very frequent calls, this many fail at the start, one in the middle, and the last one; strace
# counts up to `_MOST`.
_FIRST = 20
_MOST = 65_535


@dataclass
class _Case:
    """A call that fails.

    Attributes:
        subject: The file and how to read it.
        expected: The result without a fault.
        num_left: The number of additional files, such as connections, that are open afterwards.
        call: The system call.
        number: The number of the call in its thread, from 1.
        error: The error of the call.
    """

    subject: Subject
    expected: list[Any]
    num_left: int
    call: str
    number: int
    error: str

    def __str__(self) -> str:
        return f"{self.subject.name}, {self.call} number {self.number}: {self.error}"


def run(options: Options) -> Result:
    """Lets each call for each file fail, each time in a separate child process."""
    result = Result()
    if not syscall_faults.is_there():
        result.failures.append("strace is not there, or may not trace: apt-get install strace")
        return result
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory, Server() as server:
        trace = Path(directory, "trace")
        cases = list(_cases(Path(directory), server, trace))
        draws = Random(options.seed)
        for case in draws.sample(cases, min(len(cases), max(_FEWEST, options.times(len(cases))))):
            with deadline(str(case)):
                _try(case, trace, counts, result.failures)
    result.figures["calls that were to fail"] = counts.total()
    result.figures.update({words: counts[words] for words in sorted(counts)})
    return result


def _cases(directory: Path, server: Server, trace: Path) -> Iterator[_Case]:
    small, large = directory / "small", directory / "large"
    small.mkdir()
    large.mkdir()
    for subject in (*subjects(small, server), *pipelines(large, _MANY), *listings(directory)):
        if not subject.is_named:
            continue  # the program reads the file itself
        with deadline(f"{subject.name}, with no fault"):
            expected = list(subject.read())
            read = functools.partial(_num_left, subject)
            num_left = syscall_faults.in_child(read, subject.file, "", trace)
        for call, num_calls in syscall_faults.calls_in(trace).items():
            count = min(num_calls, _MOST)
            for number in sorted({*range(1, min(count, _FIRST) + 1), count // 2 + 1, count}):
                for error in _ERRORS.get(call, _OTHERS):
                    yield _Case(subject, expected, num_left, call, number, error)


def _num_left(subject: Subject) -> int:
    num_open = _num_open()
    for _ in subject.read():
        pass
    gc.collect()
    return _num_open() - num_open


def _try(case: _Case, trace: Path, counts: Counter[str], failures: list[str]) -> None:
    inject = f"-e inject={case.call}:error={case.error}:when={case.number}"
    file = case.subject.file
    outcome, wrong = syscall_faults.in_child(lambda: _judged(case), file, inject, trace)
    if "(INJECTED)" not in trace.read_text():
        outcome = "did not come again"
    counts[f"{case.call} with {case.error}: {outcome}"] += 1
    if wrong is not None:
        failures.append(f"{case}: {wrong}"[:600])


def _judged(case: _Case) -> tuple[str, str | None]:
    """Reads, and returns the outcome and its defect, if any."""
    num_open = _num_open()
    values: list[Any] = []
    failure: BaseException | None = None
    try:
        for value in case.subject.read():
            values.append(value)
    except BaseException as error:
        failure = error.with_traceback(None)
        # Tracebacks keep frames alive, and the objects that these use.
        failure.__context__ = failure.__cause__ = None
    gc.collect()
    num_left = _num_open() - num_open
    if case.call != "close" and num_left > case.num_left:
        return "", f"{num_left} files stay open; {words_of(failure)}"
    is_prefix = values == case.expected[: len(values)]
    if failure is not None:
        wrong = _wrong_error(case, failure)
        if wrong is None and not is_prefix:
            wrong = difference(values, case.expected)
        return "an error", wrong and f"{wrong}: {words_of(failure)}"
    if values == case.expected:
        return "whole data", None
    if case.error in case.subject.hides:
        return "files that cannot be listed are skipped, as in TensorFlow", None
    return "other data", f"{difference(values, case.expected)}, and no error"


def _wrong_error(case: _Case, error: BaseException) -> str | None:
    subject, words = case.subject, words_of(error)
    is_silent = os.strerror(getattr(errno, case.error)) not in words
    # For a checkpoint, the prefix is enough.
    name = re.sub(r"\.(index|data-\d+-of-\d+)$", "", str(subject.file))
    if not isinstance(error, _ALLOWED):
        return "an error of another kind"
    if name not in words:
        return "the error does not name the file"
    if case.error == "EINTR" and not subject.file.is_dir():
        return "an interrupted call is not made again"
    is_missing = is_silent and isinstance(error, errors.NotFoundError)
    if is_missing and not any(way in subject.name for way in _SAYING_MISSING):
        return "what cannot be read is said to be missing"
    return None


def _num_open() -> int:
    return len(os.listdir("/proc/self/fd"))
