"""Checks that pipelines and graphs leave no threads, open files or memory behind."""

import gc
import logging
import signal
import tempfile
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import headrace as hr
from headrace.protos import Example, Feature, Features, Int64List
from stress import ended_graphs, ended_pipelines
from stress.ended_pipelines import Held
from stress.footprint import Footprint, become, collect, footprint, slope
from stress.part import Options, Result

# The share of it that runs each night.
NIGHTLY = 0.05
NUM_ENDED = 10_000
"""Pipelines, and as many graphs."""

NUM_EXAMPLES = 100_000_000
"""Examples of the one long pipeline."""

NUM_LONG = 100_000
"""Examples of its file."""

EXAMPLES_BETWEEN = 1_000_000
"""So many examples are between two looks at its memory."""

# The permitted growth for each pipeline or graph, by the slope over the second half: less than the
# smallest Python object, and less than a page in ten.
ALLOWED_BLOCKS = 0.1
ALLOWED_BYTES = 400.0
# Permitted variation without a leak, such as pages that an allocator keeps, and Python's caches.
NOISE_BYTES = 4 << 20
NOISE_BLOCKS = 2_000
NUM_LOOKS = 40

End = Callable[[str, Path, int, Held], None]


def run(options: Options) -> Result:
    """Measures threads, open files and memory after pipelines and graphs end in various ways."""
    result = Result()
    # Background processes of a shell ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    logging.getLogger("headrace").setLevel(logging.CRITICAL)
    hook, threading.excepthook = threading.excepthook, lambda args: None
    try:
        with tempfile.TemporaryDirectory() as directory:
            path = write(Path(directory) / "examples.tfrecord", 64)
            count = max(20, options.times(NUM_ENDED))
            for what, ways, end in (
                ("pipelines", ended_pipelines.WAYS, ended_pipelines.end),
                ("graphs with sessions", ended_graphs.WAYS, ended_graphs.end),
            ):
                Ended(what, ways, end, path, count, options.seed).run(result)
            long = write(Path(directory) / "long.tfrecord", NUM_LONG)
            be_flat(long, max(EXAMPLES_BETWEEN // 10, options.times(NUM_EXAMPLES)), result)
    finally:
        signal.signal(signal.SIGINT, before)
        threading.excepthook = hook
    return result


def write(path: Path, count: int) -> Path:
    """Writes a file of examples with a feature "n", their number."""
    with hr.records.TFRecordWriter(path) as writer:
        for number in range(count):
            feature = {"n": Feature(int64_list=Int64List(value=[number]))}
            writer.write(Example(features=Features(feature=feature)).SerializeToString())
    return path


class Ended:
    """Many pipelines or graphs of one kind, which end in various ways."""

    def __init__(
        self, what: str, ways: tuple[str, ...], end: End, path: Path, count: int, seed: int
    ) -> None:
        self._what = what
        self._ways = ways
        self._end = end
        self._path = path
        self._count = count
        self._seed = seed
        self._failed: Counter[str] = Counter()

    def run(self, result: Result) -> None:
        """Runs all of them, and reports the resources that they leave behind."""
        # Modules and caches that the first run of each kind loads are not leaks.
        for position in range(2 * len(self._ways)):
            self._one(position, result)
        begin = time.monotonic()
        first = footprint()
        looks = [first]
        between = max(10, self._count // NUM_LOOKS)
        for position in range(self._count):
            self._one(position, result)
            if (position + 1) % between == 0:
                looks.append(footprint(first.threads))
        self._judge(looks, between, result)
        result.figures[f"{self._what} that ended"] = self._count
        result.figures[f"seconds for {self._what}"] = round(time.monotonic() - begin)

    def _one(self, position: int, result: Result) -> None:
        """Ends one, after which no reference to it may exist."""
        way = self._ways[position % len(self._ways)]
        refs: list[tuple[str, weakref.ref[object]]] = []

        def held(item: object) -> None:
            refs.append((type(item).__name__, weakref.ref(item)))

        where = f"{self._what}, number {position} ({way}), seed {self._seed}"
        try:
            self._end(way, self._path, self._seed + position, held)
        except Exception as error:
            self._fail(way, f"{where}: {error!r}", result)
        gc.collect()
        if not become(lambda: all(ref() is None for _, ref in refs)):
            left = [name for name, ref in refs if ref() is not None]
            self._fail(way, f"{where}: somebody still holds {', '.join(left)}", result)

    def _fail(self, way: str, text: str, result: Result) -> None:
        """Records a failure, up to a few of each kind."""
        self._failed[way] += 1
        if self._failed[way] <= 3:
            result.failures.append(text)

    def _judge(self, looks: list[Footprint], between: int, result: Result) -> None:
        first, last = looks[0], looks[-1]
        what, figures = self._what, result.figures
        figures[f"threads, before and after {what}"] = f"{first.threads}, {last.threads}"
        figures[f"open files, before and after {what}"] = f"{first.descriptors}, {last.descriptors}"
        if last.threads > first.threads:
            result.failures.append(f"{what}: {last.threads - first.threads} threads are left")
        if last.descriptors > first.descriptors:
            left = last.descriptors - first.descriptors
            result.failures.append(f"{what}: {left} open files are left")
        for unit, values, allowed, noise in (
            ("blocks of Python", [look.blocks for look in looks], ALLOWED_BLOCKS, NOISE_BLOCKS),
            ("bytes", [look.num_bytes for look in looks], ALLOWED_BYTES, NOISE_BYTES),
        ):
            each = slope(values) / between
            grown = each * self._count / 2
            figures[f"{unit} that one of the {what} leaves, by the slope"] = round(each, 3)
            figures[f"{unit}, before, in the middle and after {what}"] = (
                f"{values[0]:,}, {values[len(values) // 2]:,}, {values[-1]:,}"
            )
            if grown > noise + allowed * self._count / 2:
                result.failures.append(
                    f"{what}: each leaves {each:.1f} {unit}, expected at most {allowed}"
                )


def be_flat(path: Path, count: int, result: Result) -> None:
    """Iterates over very many examples of one pipeline, whose memory must not grow."""
    batch_size = 1_000
    pipe = hr.tfrecords(path).parse({"n": int}).shuffle(window=10_000, seed=1).epochs()
    pipe = pipe.batch(batch_size)
    looks: list[int] = []
    begin, seen, total = time.monotonic(), 0, 0
    between = min(EXAMPLES_BETWEEN, count // 10)
    with iter(pipe) as batches:
        for batch in batches:
            seen += batch_size
            total += int(np.sum(batch["n"]))
            if seen % between == 0:
                looks.append(_resident_bytes())
            if seen >= count:
                break
    seconds = time.monotonic() - begin
    each = slope(looks)
    figures = result.figures
    figures["examples of one pipeline"] = seen
    figures["examples of it in a second"] = round(seen / seconds)
    figures["its bytes soon, in the middle and at the end"] = (
        f"{looks[1]:,}, {looks[len(looks) // 2]:,}, {looks[-1]:,}"
    )
    figures["its bytes for a million examples, by the slope"] = round(
        each * EXAMPLES_BETWEEN / between
    )
    if each * len(looks) / 2 > NOISE_BYTES:
        result.failures.append(
            f"a long pipeline grows by {each * len(looks) / 2 / 2**20:.1f} MiB in its second half"
        )
    # Each epoch has each number once, so missing and repeated numbers change the sum.
    num_epochs, rest = divmod(seen, NUM_LONG)
    if rest == 0 and total != num_epochs * sum(range(NUM_LONG)):
        result.failures.append(f"a long pipeline: the sum of its numbers is {total}")


def _resident_bytes() -> int:
    collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))
