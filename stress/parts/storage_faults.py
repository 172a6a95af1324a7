"""Failing servers: broken or stalled connections, rejected requests, and truncated bodies."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random

from tests.io.storage.server import Server

import headrace.tf1 as tf
from stress.collecting import DATA_ERRORS, TakenExamples, take, words_of
from stress.files.formats import FORMATS, Format, number_in
from stress.part import Options, Result
from stress.reading import difference, number_of_record, read_lines
from stress.server_faults import LASTING, PASSING, stalls_at
from stress.watchdog import deadline

# The share of it that runs each night.
NIGHTLY = 0.1
PASSING_FAULTS = 800
LASTING_FAULTS = 300
STALLS = 60
_FEWEST = 3


def run(options: Options) -> Result:
    """Lets a server fail while pipelines and TensorFlow 1 readers read from it."""
    result = Result()
    counts: Counter[str] = Counter()
    with _server() as server:
        for number in range(max(_FEWEST, options.times(PASSING_FAULTS))):
            _remote(server, options.seed, number, counts, result.failures)
        for number in range(max(_FEWEST, options.times(LASTING_FAULTS))):
            _lasting(server, options.seed, number, counts, result.failures)
        for number in range(max(_FEWEST, options.times(STALLS))):
            _stalled(server, options.seed, number, counts, result.failures)
    result.figures["faults of a server"] = counts.total()
    result.figures.update({words: counts[words] for words in sorted(counts)})
    return result


@contextmanager
def _server() -> Iterator[Server]:
    with Server() as server:
        os.environ.update(
            AWS_ENDPOINT_URL=server.url,
            AWS_ACCESS_KEY_ID="test",
            AWS_SECRET_ACCESS_KEY="test",
            HEADRACE_STORAGE_RETRIES="3",
        )
        yield server


def _put(server: Server, draws: Random) -> tuple[Format, list[str], list[int]]:
    """Puts new files on the server, and returns their format, URLs and contents."""
    kind = draws.choice([kind for kind in FORMATS.values() if kind.name != "parquet"])
    count = draws.choice([1, 3])
    server.files.clear()
    server.faults.clear()
    root = draws.choice(["s3://bucket", f"{server.url}/bucket"])
    expected: list[int] = []
    urls = []
    for number in range(count):
        size = 1 if kind.is_whole else draws.choice([1, 40, 400])
        numbers = list(range(len(expected), len(expected) + size))
        server.files[f"bucket/{number}"] = kind.encode(numbers)
        urls.append(f"{root}/{number}")
        expected += numbers
    return kind, urls, expected


def _ways(kind: Format, urls: Sequence[str], draws: Random) -> Callable[[], TakenExamples]:
    """Returns a function that reads remote files with a pipeline or a TensorFlow 1 reader."""
    if kind.name == "text" and draws.random() < 0.5:
        return lambda: take(read_lines(urls), number_in)
    if kind.name == "tfrecord" and draws.random() < 0.5:
        return lambda: take(
            (record for url in urls for record in tf.python_io.tf_record_iterator(url)),
            number_of_record,
        )
    return lambda: take(kind.read(urls), kind.number_of)


def _remote(
    server: Server, seed: int, number: int, counts: Counter[str], failures: list[str]
) -> None:
    """After temporary faults, requests are retried, and the data are complete."""
    draws = Random(f"{seed} remote {number}")
    kind, urls, expected = _put(server, draws)
    faults = [draws.choice(list(PASSING)) for _ in range(draws.randint(1, 3))]
    good = [None] * draws.randint(0, 2)
    server.has_ranges = urls[0].startswith("s3:") or draws.random() < 0.6
    server.faults = [*good, *(PASSING[name](draws) for name in faults)]
    what = f"remote fault {number} of seed {seed} ({kind.name}, {', '.join(faults)})"
    with deadline(what):
        taken = _ways(kind, urls, draws)()
    counts["faults of servers that pass: whole data"] += len(faults) - len(server.faults)
    if taken.error is not None:
        failures.append(f"{what}: {words_of(taken.error)}")
    elif taken.numbers != expected:
        failures.append(f"{what}: {difference(taken.numbers, expected)}")


def _lasting(
    server: Server, seed: int, number: int, counts: Counter[str], failures: list[str]
) -> None:
    """A permanent fault raises an error that names the URL, after the data before it."""
    draws = Random(f"{seed} lasting {number}")
    kind, urls, expected = _put(server, draws)
    name = draws.choice(list(LASTING))
    good = [None] * draws.randint(0, 3)
    server.has_ranges = True
    server.faults = [*good, *[LASTING[name](draws) for _ in range(60)]]
    what = f"lasting fault {number} of seed {seed} ({kind.name}, {name})"
    with deadline(what):
        taken = _ways(kind, urls, draws)()
    is_whole = taken.error is None and taken.numbers == expected
    counts["faults of servers that last: " + ("whole data" if is_whole else "an error")] += 1
    if is_whole:
        return
    if taken.error is None:
        failures.append(f"{what}: {difference(taken.numbers, expected)}, and no error")
    elif not isinstance(taken.error, (*DATA_ERRORS, tf.errors.PermissionDeniedError)):
        failures.append(f"{what}: an error of another kind: {words_of(taken.error)}")
    elif not any(url in words_of(taken.error) for url in urls):
        failures.append(f"{what}: the error does not name the file: {words_of(taken.error)}")
    elif not taken.is_prefix_of(expected):
        failures.append(f"{what}: {difference(taken.numbers, expected)}")


def _stalled(
    server: Server, seed: int, number: int, counts: Counter[str], failures: list[str]
) -> None:
    """`close` does not wait for a stalled body."""
    draws = Random(f"{seed} stalled {number}")
    kind, urls, _ = _put(server, draws)
    goes_on, has_begun = threading.Event(), threading.Event()
    server.faults = [stalls_at(draws.random(), has_begun, goes_on)]
    what = f"stall {number} of seed {seed} ({kind.name})"
    with deadline(what):
        try:
            batches = iter(kind.read(urls))
            loop = threading.Thread(target=partial(next, batches, None))
            loop.start()
            has_begun.wait()
            with deadline(f"{what}: close", 10):
                batches.close()
                loop.join()
        finally:
            goes_on.set()
    counts["bodies that stall: closed at once"] += 1
