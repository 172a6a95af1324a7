"""Measures an iteration over a pipeline."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from headrace.cli.bench.limit import Limit, measured_limit
from headrace.cli.bench.mixing import Mixing, measured_mixing
from headrace.cli.failures import Failure
from headrace.cli.file_kinds import start_of
from headrace.core.progress import Bar
from headrace.io import storage
from headrace.pipeline import Batches, Pipeline
from headrace.pipeline.run.statistics import Statistics
from headrace.pipeline.sources.concat import Concat
from headrace.pipeline.stages.components import all_sources, batch_depth, steps
from headrace.pipeline.stages.source import Origin
from headrace.pipeline.stages.stage import Effect, Stage

__all__ = ["Measurements", "measured"]

_LIMIT_SECONDS: Final = 3.0


class Measurements(NamedTuple):
    """The measurements of a pipeline.

    Attributes:
        num_batches: The number of batches taken. 0 for a pipeline without batches.
        num_examples: The number of examples in these batches.
        seconds: The time from the start to the last batch.
        first_seconds: The time to the first batch.
        examples_per_second: The rate after the first batch, if there was more than one.
        bytes_per_second: The rate in file bytes, or None if it is unknown.
        why_no_bytes: The reason why the rate in bytes is unknown.
        has_ended: Whether all data was read.
        limit: The speed of plain reads of the same files. None if there are no files.
        mixing: The files that the first examples after the last shuffle come from. None if the
            pipeline does not shuffle examples from files.
        bottleneck: A description of the bottleneck.
        statistics: The statistics of each stage.
    """

    num_batches: int
    num_examples: int
    seconds: float
    first_seconds: float
    examples_per_second: float
    bytes_per_second: float | None
    why_no_bytes: str
    has_ended: bool
    limit: Limit | None
    mixing: Mixing | None
    bottleneck: str
    statistics: Statistics

    @property
    def share(self) -> float | None:
        """The share of the limit that the pipeline reaches."""
        if self.limit is None or self.bytes_per_second is None:
            return None
        return self.bytes_per_second / self.limit.bytes_per_second

    def as_json(self) -> dict[str, Any]:
        """Returns the measurements as data for `--json`."""
        return {
            "batches": self.num_batches,
            "examples": self.num_examples,
            "seconds": self.seconds,
            "first_batch_seconds": self.first_seconds,
            "examples_per_second": self.examples_per_second,
            "bytes_per_second": self.bytes_per_second,
            "has_ended": self.has_ended,
            "limit": None if self.limit is None else self.limit._asdict(),
            "share_of_limit": self.share,
            "mixing": None if self.mixing is None else self.mixing._asdict(),
            "bottleneck": self.bottleneck,
            "stages": [asdict(stage) for stage in self.statistics.stages],
        }


def measured(pipe: Pipeline, most_seconds: float, most_batches: int | None) -> Measurements:
    """Measures plain reads of a pipeline's files, then an iteration over the pipeline.

    Args:
        pipe: The pipeline.
        most_seconds: The time limit of the iteration in seconds.
        most_batches: The maximum number of batches.

    Raises:
        Exception: Any exception that a function in the pipeline raises.
    """
    with iter(pipe) as batches:
        files, num_threads = batches.files, batches.num_threads
    is_measured = bool(files) and not any(map(storage.is_remote, files))
    most = min(most_seconds, _LIMIT_SECONDS)
    limit = measured_limit(files, num_threads, most) if is_measured else None
    is_batched = batch_depth(pipe._stages) > 0
    number, examples, first, last = 0, 0, 0, 0.0
    first_seconds, has_ended = 0.0, False
    begin = time.monotonic()
    with iter(pipe) as batches, Bar("bench", None, " examples") as bar:
        while number != most_batches and last < most_seconds:
            batch = next(batches, None)
            if batch is None:
                has_ended = True
                break
            last = time.monotonic() - begin
            size = len(next(iter(batch.values()))) if is_batched else 1
            if not number:
                first, first_seconds = size, last
            number, examples = number + 1, examples + size
            bar.advance(size)
        num_bytes, why = _bytes_read(pipe._stages, batches, files, has_ended)
    if not number:
        raise Failure("the pipeline yielded nothing: there are no examples, or all were skipped.")
    seconds = max(last, 1e-9)
    is_steady = last > first_seconds
    rate = (examples - first) / (last - first_seconds) if is_steady else examples / seconds
    bottleneck, statistics = batches.bottleneck(), batches.statistics()
    mixing = measured_mixing(pipe, files, most_seconds)
    return Measurements(
        number if is_batched else 0,
        examples,
        seconds,
        first_seconds,
        rate,
        None if num_bytes is None else num_bytes / seconds,
        why,
        has_ended,
        limit,
        mixing,
        bottleneck,
        statistics,
    )


def _bytes_read(
    chain: Sequence[Stage], batches: Batches, files: list[str], has_ended: bool
) -> tuple[int | None, str]:
    """Returns the number of bytes read from the files, or None and the reason why it is unknown."""
    if not files:
        return None, "the pipeline reads no files"
    if any(map(storage.is_remote, files)):
        return None, "the pipeline reads files that are not on this machine"
    if has_ended and _reads_all(chain):
        return sum(map(os.path.getsize, files)), ""
    if any(start_of(path).compression for path in files):
        return None, "the files are compressed, and some were not read exactly once"
    names = {source.name for source in all_sources(chain) if source.origin is Origin.FILES}
    return sum(s.bytes for s in batches.statistics().stages if s.name in names), ""


def _reads_all(chain: Sequence[Stage]) -> bool:
    """Returns whether the pipeline makes a single pass over the data and reads all files once."""
    others = (Effect.REPEATS, Effect.KEEPS, Effect.TAKES, Effect.DIVIDES, Effect.SHARES)
    is_concat = not chain[0].parts or isinstance(chain[0], Concat)
    is_one_pass = not any(step.effect in others for step in steps(chain))
    return is_concat and is_one_pass and all(map(_reads_all, chain[0].parts))
