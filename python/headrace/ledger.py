"""Ledgers: files with one line per training step, which prove which data each step saw."""

import fcntl
import json
import math
import os
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, SupportsFloat

__all__ = ["Ledger", "LedgerEntry", "read_ledger"]

_VERSION: Final = 1
# The first bytes of each ledger.
_FIRST: Final = b'{"ledger":'
_KEYS: Final = ("step", "epoch", "examples", "digest", "parts")
# The largest integer that a float in JSON can represent exactly.
_MOST: Final = 1 << 53


class HasOrder(Protocol):
    """An iteration whose position can be recorded: `Batches`, or a loop over a loader."""

    @property
    def epoch(self) -> int | None: ...

    @property
    def position(self) -> int: ...

    @property
    def counts(self) -> dict[str, int]: ...

    def digest(self) -> str: ...


class LedgerEntry(NamedTuple):
    """One line of a ledger.

    Attributes:
        step: The number of the step.
        epoch: The number of the epoch in which the iteration started.
        examples: The number of examples in the global order up to and including this step, over all
            ranks.
        digest: The digest of the global order up to this step. See `Batches.digest`.
        parts: The number of examples from each part of `mix` up to this step.
        numbers: Your own numbers, such as the loss.
    """

    step: int
    epoch: int
    examples: int
    digest: str
    parts: dict[str, int]
    numbers: dict[str, float]


class Ledger:
    """A file with one line per training step: a digest of the data so far, and your own numbers.

    `headrace audit` compares ledgers of several runs and finds the first step at which their data
    differed. `headrace replay` prints the records that a step saw.

    If the file exists, the ledger continues it. Each line is written with a single system call, so
    a killed program leaves at most one partial line, which the next `Ledger` removes. Only one
    process can write to a ledger at a time. The digest is the same on all ranks, so it is enough if
    rank 0 writes one.

    Args:
        path: The path of the file. Missing directories are not created.

    Raises:
        OSError: If the file cannot be opened.
        BlockingIOError: If another process is writing to it.
        ValueError: If the file is not a ledger or is damaged. The message names the line.

    Examples:
        >>> from headrace.ledger import read_ledger
        >>> pipe = hr.arrays({"x": range(6)}).shuffle(seed=7).batch(2)
        >>> with hr.Ledger("run.ledger") as ledger, iter(pipe) as batches:
        ...     for step, batch in enumerate(batches):
        ...         ledger.record(step, batches, loss=0.5)
        >>> [entry.examples for entry in read_ledger("run.ledger")]
        [2, 4, 6]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path: Final = os.fspath(path)
        self._file: Final = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._is_closed = False
        # Each step's line offset, and the lines that name the parts.
        self._steps, self._offsets = array("q"), array("q")
        self._parts: list[tuple[int, tuple[str, ...]]] = []
        try:
            self._lock()
            self._end = self._scan()
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BlockingIOError(
                error.errno,
                "another process writes to this ledger. Write one ledger per process, for example "
                "on rank 0 only",
                self._path,
            ) from error

    def _scan(self) -> int:
        """Reads the existing lines, removes a partial one, and returns the end of the file."""
        end = 0
        with open(self._path, "rb") as lines:
            for number, (line, content) in enumerate(_parsed(lines, self._path), 1):
                if "ledger" in content:
                    self._parts.append((end, tuple(content["parts"])))
                else:
                    self._check_order(content["step"], number)
                    self._steps.append(content["step"])
                    self._offsets.append(end)
                end += len(line)
        os.ftruncate(self._file, end)
        return end

    def _check_order(self, step: int, number: int) -> None:
        if self._steps and step <= self._steps[-1]:
            raise _damaged(self._path, number)

    def record(self, step: int, batches: HasOrder, **numbers: SupportsFloat) -> None:
        """Appends the line for a step.

        Call this after the last batch of the step. If the ledger already has this step, for example
        after a resume, the new line replaces that step and all later ones. A line is about 100
        bytes long.

        Args:
            step: The number of the step, from 0. You can leave out steps.
            batches: The iteration that returned the step's batches: a `Batches`, or the loop or
                loader of `to_torch` or `to_jax`.
            **numbers: Your own numbers, such as `loss=0.5`.

        Raises:
            FailedPreconditionError: If the pipeline has no global order. See `Batches.digest`.
            TypeError: If `batches` has no digest, or one of your numbers is not a number.
            ValueError: If `step` is negative, or the name of a number is reserved.
        """
        if self._is_closed:
            raise ValueError(f"{self._path}: the ledger is closed. Open it again.")
        if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step < _MOST:
            raise ValueError(f"Ledger.record: step is {step!r}, expected an int of at least 0.")
        if reserved := [name for name in numbers if name in (*_KEYS, "ledger")]:
            raise ValueError(f"Ledger.record: {reserved[0]!r} is a reserved name. Rename it.")
        if not hasattr(batches, "digest"):
            raise TypeError(
                f"Ledger.record: batches is a {type(batches).__name__}, expected an iteration: "
                "write batches = iter(pipe) before the loop, and pass it here."
            )
        counts = batches.counts
        content = {
            "step": step,
            "epoch": batches.epoch or 0,
            "examples": batches.position,
            "digest": batches.digest(),
            **({"parts": list(counts.values())} if counts else {}),
            **{name: _number(name, value) for name, value in numbers.items()},
        }
        self._remove_from(step)
        if not self._parts or self._parts[-1][1] != tuple(counts):
            # If the disk is full, nothing is added, so the step can be recorded again.
            offset = self._write({"ledger": _VERSION, "parts": list(counts)})
            self._parts.append((offset, tuple(counts)))
        self._offsets.append(self._write(content))
        self._steps.append(step)

    def _remove_from(self, step: int) -> None:
        index = bisect_left(self._steps, step)
        if index == len(self._steps):
            return
        self._end = self._offsets[index]
        os.ftruncate(self._file, self._end)
        del self._steps[index:], self._offsets[index:]
        self._parts = [(offset, parts) for offset, parts in self._parts if offset < self._end]

    def _write(self, content: Mapping[str, Any]) -> int:
        """Appends a line, and returns its offset."""
        line = json.dumps(content, separators=(",", ":")).encode() + b"\n"
        written = os.pwrite(self._file, line, self._end)
        if written != len(line):
            os.ftruncate(self._file, self._end)
            raise OSError(f"{self._path}: only part of a line was written. Is the disk full?")
        self._end += len(line)
        return self._end - len(line)

    def close(self) -> None:
        """Closes the file."""
        if not self._is_closed:
            self._is_closed = True
            os.close(self._file)

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_is_closed"):
            self.close()


def read_ledger(path: str | os.PathLike[str]) -> Iterator[LedgerEntry]:
    """Yields the entries of a ledger in order. Ignores a partial line at its end.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If the file is not a ledger or is damaged. The message names the line.
    """
    path = os.fspath(path)
    parts: list[str] = []
    last = -1
    with open(path, "rb") as lines:
        for number, (_, content) in enumerate(_parsed(lines, path), 1):
            if "ledger" in content:
                parts = content["parts"]
                continue
            counts = content.get("parts", [])
            if content["step"] <= last or len(counts) != len(parts):
                raise _damaged(path, number)
            last = content["step"]
            numbers = {name: float(value) for name, value in content.items() if name not in _KEYS}
            yield LedgerEntry(
                content["step"],
                content["epoch"],
                content["examples"],
                content["digest"],
                dict(zip(parts, counts, strict=True)),
                numbers,
            )


def _parsed(lines: Any, path: str) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yields a ledger's complete lines, each with its parsed content."""
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            # The writing process was killed, or is still writing.
            if number == 1 and not _FIRST.startswith(line[: len(_FIRST)]):
                raise _not_a_ledger(path)
            return
        try:
            content = json.loads(line)
        except ValueError:
            content = None
        is_whole = isinstance(content, dict) and (
            _is_header(content) if "ledger" in content else number > 1 and _is_entry(content)
        )
        if not is_whole:
            if number == 1:
                raise _not_a_ledger(path)
            raise _damaged(path, number)
        if content.get("ledger", _VERSION) > _VERSION:
            raise ValueError(
                f"{path}: the ledger has version {content['ledger']}, but this headrace reads "
                f"ledgers up to version {_VERSION}. Update headrace."
            )
        yield line, content


def _is_header(content: Mapping[str, Any]) -> bool:
    parts = content.get("parts")
    return (
        type(content["ledger"]) is int
        and isinstance(parts, list)
        and all(isinstance(part, str) for part in parts)
    )


def _is_entry(content: Mapping[str, Any]) -> bool:
    try:
        for name, value in content.items():
            if name not in _KEYS:
                float(value)
    except (TypeError, ValueError):
        return False
    return (
        all(type(content.get(name)) is int for name in ("step", "epoch", "examples"))
        and isinstance(content.get("digest"), str)
        and all(type(count) is int for count in content.get("parts", []))
    )


def _not_a_ledger(path: str) -> ValueError:
    return ValueError(f"{path}: this file is not a ledger. Choose another name.")


def _damaged(path: str, number: int) -> ValueError:
    return ValueError(
        f"{path}, line {number}: the ledger is damaged here. Remove this line and those after it, "
        "and record the steps again."
    )


def _number(name: str, value: SupportsFloat) -> float | int | str:
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise TypeError(f"Ledger.record: {name} is {value!r}, expected a number.")
    if type(value) is int and abs(value) < _MOST:
        return value
    number = float(value)
    # JSON does not support these numbers.
    return number if math.isfinite(number) else str(number)
