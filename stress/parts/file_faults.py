"""Files that shrink, grow, vanish or are replaced while they are read."""

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import headrace.tf1 as tf
from headrace.pipeline import Pipeline
from stress.collecting import DATA_ERRORS, TakenExamples, take, words_of
from stress.files.formats import FORMATS, Format, number_in
from stress.part import Options, Result
from stress.reading import difference, number_of_record, read_lines
from stress.watchdog import deadline

# The share of it that runs each night.
NIGHTLY = 0.1
FAULTS = 6_000
_FEWEST = 20
_FILES = 12
_PER_FILE = 25
# The number of lines of a file that exceeds the bytes read ahead.
_MANY = 20_000
_LARGE = ("tfrecord", "text", "text.gz", "csv", "jsonl", "fixed")


def run(options: Options) -> Result:
    """Changes files at random moments, while pipelines and TensorFlow 1 readers read them."""
    result = Result()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        for number in range(max(_FEWEST, options.times(FAULTS))):
            _fault(Path(directory), options.seed, number, counts, result.failures)
    result.figures["files that were changed while they were read"] = counts.total()
    result.figures.update({words: counts[words] for words in sorted(counts)})
    return result


def _truncate(path: Path, kind: Format, draws: Random) -> None:
    os.truncate(path, draws.randrange(path.stat().st_size + 1))


def _vanish(path: Path, kind: Format, draws: Random) -> None:
    path.unlink()


def _replace(path: Path, kind: Format, draws: Random) -> None:
    new = path.with_name("new")
    new.write_bytes(_other(kind, draws))
    os.replace(new, path)


def _grow(path: Path, kind: Format, draws: Random) -> None:
    with path.open("ab") as file:
        file.write(kind.encode([900_000 + draws.randrange(9)]))


def _rewrite(path: Path, kind: Format, draws: Random) -> None:
    path.write_bytes(_other(kind, draws))


def _other(kind: Format, draws: Random) -> bytes:
    return kind.encode([500_000 + draws.randrange(99)] * (1 if kind.is_whole else 7))


_CHANGES = {
    "cut": _truncate,
    "removed": _vanish,
    "replaced": _replace,
    "appended to": _grow,
    "rewritten": _rewrite,
}


def _fault(
    directory: Path, seed: int, number: int, counts: Counter[str], failures: list[str]
) -> None:
    draws = Random(f"{seed} local {number}")
    kind = draws.choice(list(FORMATS.values()))
    words, change = draws.choice(list(_CHANGES.items()))
    how = draws.choice([_in_pipeline, _in_function, _in_reader, _shuffled])
    if (kind.name, words, how) == ("text", "rewritten", _in_reader):
        # TensorFlow 1's reader continues at its offset, regardless of the content.
        how = _in_pipeline
    what = f"local fault {number} of seed {seed} ({kind.name}, {words}, {how.__name__})"
    paths, expected = _write(directory, kind, draws)
    at = draws.randrange(len(paths))
    moment = draws.randrange(sum(map(len, expected)))

    def fail() -> None:
        change(paths[at], kind, draws)

    with deadline(what):
        taken = how(kind, paths, moment, fail, draws)
        new = (
            take(kind.read([str(paths[at])]), kind.number_of)
            if paths[at].exists()
            else TakenExamples([])
        )
    # While a file is rewritten, it is empty for a moment.
    parts = [new.numbers, []] if words == "rewritten" else [new.numbers]
    wrong = _judge(taken, expected, at, parts, str(paths[at]), how is _shuffled)
    outcome = "an error" if taken.error else "whole data"
    counts[f"files that are {words} while they are read: {outcome}"] += 1
    if wrong is not None:
        failures.append(f"{what}, file {at}, after {moment} examples: {wrong}")
    for path in directory.iterdir():
        path.unlink()


def _write(directory: Path, kind: Format, draws: Random) -> tuple[list[Path], list[list[int]]]:
    count = draws.choice([1, 3, _FILES])
    sizes = [1 if kind.is_whole else draws.randint(1, 2 * _PER_FILE) for _ in range(count)]
    if not kind.is_whole and kind.name in _LARGE and draws.random() < 0.3:
        sizes[draws.randrange(count)] = _MANY
    paths, expected, first = [], [], 0
    for number, size in enumerate(sizes):
        expected.append(list(range(first, first + size)))
        paths.append(directory / f"{number:02}")
        paths[-1].write_bytes(kind.encode(expected[-1]))
        first += size
    return paths, expected


def _in_pipeline(
    kind: Format, paths: Sequence[Path], moment: int, fail: Callable[[], None], draws: Random
) -> TakenExamples:
    """The fault happens after the loop has received some examples."""
    pipe = _limited(kind.read([str(path) for path in paths]), draws)
    return take(_failing_at(pipe, moment, fail), kind.number_of)


def _in_function(
    kind: Format, paths: Sequence[Path], moment: int, fail: Callable[[], None], draws: Random
) -> TakenExamples:
    """The fault happens while a Python function of the pipeline runs."""
    # It is called once to determine its components, before an iteration opens its files.
    calls = -1

    def function(example: dict[str, Any]) -> dict[str, Any]:
        nonlocal calls
        if calls == moment:
            fail()
        calls += 1
        return example

    pipe = _limited(kind.read([str(path) for path in paths]).map(function), draws)
    return take(pipe, kind.number_of)


def _limited(pipe: Pipeline, draws: Random) -> Pipeline:
    """Limits read-ahead half of the time, so that open files are changed."""
    memory_bytes = draws.choice([None, 1])
    return pipe.options(num_threads=draws.randint(1, 4), memory_bytes=memory_bytes)


def _shuffled(
    kind: Format, paths: Sequence[Path], moment: int, fail: Callable[[], None], draws: Random
) -> TakenExamples:
    """The fault happens after the scan of a full shuffle, or in a windowed shuffle (no scan)."""
    can = kind.name in ("tfrecord", "text", "csv", "jsonl", "tar", "fixed", "files")
    pipe = kind.read([str(path) for path in paths]).shuffle(window=None if can else 9, seed=1)
    return take(_failing_at(pipe, moment, fail), kind.number_of)


def _in_reader(
    kind: Format, paths: Sequence[Path], moment: int, fail: Callable[[], None], draws: Random
) -> TakenExamples:
    """The same files, read by a TensorFlow 1 reader, if there is one for the format."""
    compression = {"tfrecord": "", "tfrecord.gz": "GZIP", "tfrecord.zlib": "ZLIB"}.get(kind.name)
    if compression is not None:
        records = (
            record
            for path in paths
            for record in tf.python_io.tf_record_iterator(str(path), compression)
        )
        return take(_failing_at(records, moment, fail), number_of_record)
    if kind.name == "text":
        return take(_failing_at(read_lines(paths), moment, fail), number_in)
    return _in_pipeline(kind, paths, moment, fail, draws)


def _failing_at(examples: Iterable[Any], moment: int, fail: Callable[[], None]) -> Iterator[Any]:
    for number, example in enumerate(examples):
        if number == moment:
            fail()
        yield example


def _judge(
    taken: TakenExamples,
    expected: Sequence[Sequence[int]],
    at: int,
    parts: Sequence[Sequence[int | None]],
    path: str,
    is_shuffled: bool,
) -> str | None:
    """Returns the defect of examples that were read while file `at` changed to one of `parts`."""
    error, numbers = taken.error, taken.numbers
    if error is not None and not isinstance(error, (*DATA_ERRORS, OSError)):
        return f"an error of another kind: {words_of(error)}"
    if error is not None and path not in words_of(error):
        return f"the error does not name the file: {words_of(error)}"
    before = [number for part in expected[:at] for number in part]
    behind = [number for part in expected[at + 1 :] for number in part]
    allowed = [[*before, *part, *behind] for part in (expected[at], *parts)]
    if is_shuffled:
        return _judge_shuffled(numbers, error, allowed)
    if error is None and numbers in allowed:
        return None
    most = max(map(len, (expected[at], *parts)))
    is_in_file = len(before) <= len(numbers) <= len(before) + most
    is_prefix = any(numbers == full[: len(numbers)] for full in allowed)
    if error is not None and is_prefix and is_in_file:
        return None
    return f"{difference(numbers, allowed[0])}; {words_of(error)}"


def _judge_shuffled(
    numbers: list[int | None], error: BaseException | None, allowed: list[list[int | None]]
) -> str | None:
    results = Counter(numbers)
    wholes = list(map(Counter, allowed))
    if error is None:
        return None if results in wholes else f"{difference(numbers, allowed[0])}, and no error"
    is_part = any(all(full[number] >= many for number, many in results.items()) for full in wholes)
    return None if is_part else f"others than those of the files; {words_of(error)}"
