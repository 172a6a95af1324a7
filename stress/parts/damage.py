"""Damages real files of every format, and expects an error with the position, or the same data."""

import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from tests.io.storage.server import Server

from stress.collecting import words_of
from stress.files.mutations import first_change, mutated
from stress.files.subjects import Subject, subjects
from stress.part import Options, Result
from stress.watchdog import deadline

# The share of it that runs each night.
NIGHTLY = 0.25
MUTATIONS = 20_000
_FEWEST = 4
_ERRORS = "errors that name the place"


def run(options: Options) -> Result:
    """Damages files of every format, and reads each in all ways."""
    result = Result()
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory, Server() as server:
        output = subjects(Path(directory), server)
        each = max(_FEWEST, options.times(MUTATIONS) // len(output))
        for subject in output:
            _damage(subject, each, options.seed, outcomes, result)
    result.figures["kinds of files, and ways to read them"] = len(output)
    result.figures["mutations"] = outcomes.total()
    for words, count in sorted(outcomes.items()):
        result.figures[words] = count
    return result


def _damage(
    subject: Subject, count: int, seed: int, outcomes: Counter[str], result: Result
) -> None:
    full = subject.file.read_bytes()
    with deadline(f"{subject.name}, undamaged"):
        expected = list(subject.read())
    for number in range(count):
        what = f"{subject.name}, mutation {number} of seed {seed}"
        data = mutated(full, Random(f"{seed} {subject.name} {number}"))
        subject.file.write_bytes(data)
        with deadline(what):
            values, error = _read(subject)
        outcome, wrong = _judge(subject, full, data, expected, values, error)
        outcomes[outcome] += 1
        if wrong is not None:
            result.failures.append(f"{what}: {wrong}")
    subject.file.write_bytes(full)
    if list(subject.read()) != expected:
        result.failures.append(f"{subject.name}: reads otherwise after {count} damaged files")


def _read(subject: Subject) -> tuple[list[object], BaseException | None]:
    values: list[object] = []
    try:
        for value in subject.read():
            values.append(value)
    except BaseException as error:
        return values, error
    return values, None


def _judge(
    subject: Subject,
    full: bytes,
    data: bytes,
    expected: list[object],
    values: list[object],
    error: BaseException | None,
) -> tuple[str, str | None]:
    """Returns the outcome and its defect, if any."""
    if error is not None:
        is_late = values != expected[: len(values)] and subject.is_covered
        words = "errors at the end, by a checksum of the whole file" if is_late else _ERRORS
        return words, _wrong_with_error(subject, full, data, expected, values, error)
    if values == expected:
        return "the same data", None
    if not subject.is_covered:
        return "other data, where no checksum covers them", _wrong_before(
            subject, full, data, expected, values
        )
    if values == expected[: len(values)]:
        if subject.may_end_at(len(data)):
            return "cut between two records", None
        if subject.may_be_cut and full.startswith(data):
            return "compressed files of TensorFlow 1 that end where they were cut", None
    return "wrong data", f"other data without an error: {_first_other(expected, values)}"


def _wrong_with_error(
    subject: Subject,
    full: bytes,
    data: bytes,
    expected: list[object],
    values: list[object],
    error: BaseException,
) -> str | None:
    words = words_of(error)
    if not isinstance(error, subject.errors):
        return f"an error of another kind: {words}"
    if subject.is_named and str(subject.file) not in words:
        return f"the error does not name the file: {words}"
    if subject.is_covered and not subject.is_at_end and values != expected[: len(values)]:
        return f"other data before the error: {_first_other(expected, values)}; {words}"
    return _wrong_before(subject, full, data, expected, values)


def _wrong_before(
    subject: Subject, full: bytes, data: bytes, expected: list[object], values: list[object]
) -> str | None:
    """Returns an error if records before the damage are missing."""
    intact = subject.num_intact(first_change(full, data))
    if values[:intact] != expected[:intact]:
        return f"of {intact} values before the damage: {_first_other(expected, values)}"
    return None


def _first_other(expected: list[object], values: list[object]) -> str:
    pairs = zip(expected, values, strict=False)
    at = next((at for at, (one, two) in enumerate(pairs) if one != two), len(values))
    requested, results = repr(expected[at : at + 1])[:100], repr(values[at : at + 1])[:100]
    return (
        f"{len(values)} of {len(expected)} values, number {at} is {results}, expected {requested}"
    )
