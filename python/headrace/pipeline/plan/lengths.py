"""Computes how many examples or batches a pipeline has, if that is known before the run."""

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from headrace.core import engine
from headrace.core.errors import OpError
from headrace.io import storage
from headrace.pipeline.paths.paths import find_files
from headrace.pipeline.plan.revisions import pinned, revisions_of
from headrace.pipeline.stages.components import num_cached, source_of, steps
from headrace.pipeline.stages.source import Source
from headrace.pipeline.stages.split import RecordPart, num_kept
from headrace.pipeline.stages.split_by import SplitBy, num_kept_by
from headrace.pipeline.stages.stage import Effect, Stage, Step

__all__ = ["counts_of", "length_after", "length_of"]


def length_of(chain: Sequence[Stage], files: engine.IndexFiles) -> int:
    """Returns the number of examples or batches.

    This reads only file names and sizes, the first bytes of files that may be compressed, Parquet
    footers, and index files. For data sets on the hub, it requests their commits, as an iteration
    does.

    Args:
        chain: The stages.
        files: The index files that may be read.

    Raises:
        TypeError: If the number is unknown before the pipeline runs.
        NotFoundError: If the files do not exist.
    """
    chain = pinned(chain, revisions_of(chain))
    length = _Lengths(files).of(chain, _index_of(chain), 0)
    if length == math.inf:
        raise TypeError(
            "len: the pipeline is endless, because epochs() has no count. Pass a count, such as "
            "epochs(3)."
        )
    return int(length)


def counts_of(source: Source, files: engine.IndexFiles) -> Sequence[int] | None:
    """Returns the number of records in each file, from the same information as `length_of`.

    Args:
        source: The source.
        files: The index files that may be read.

    Returns:
        The numbers, or None if they cannot be determined.
    """
    return _Lengths(files).counts(source, None, 0)


def length_after(step: Step, length: float) -> float:
    """Returns the number of examples that a step outputs.

    Args:
        step: The step.
        length: The number of input examples; `math.inf` for an endless pipeline.

    Raises:
        TypeError: If the number is unknown before the step runs.
    """
    after = step.length_after(length)
    if after is None:
        raise TypeError(
            f"len: the number of examples after {step.name} is unknown until they are read. Use "
            "count(), which reads and counts them all."
        )
    return after


class _Lengths:
    """Determines the number of examples, using index files."""

    def __init__(self, files: engine.IndexFiles) -> None:
        self._files = files

    def of(self, chain: Sequence[Stage], index: engine.Index | None, part: int) -> float:
        """Returns the number of examples; see `length_of`.

        Args:
            chain: The stages.
            index: The record positions that a full shuffle has found, if any.
            part: The number of this source in `index`.
        """
        source = source_of(chain)
        counts: Sequence[int] | None = None
        drawn = max((n for n, s in enumerate(steps(chain)) if s.num_drawn is not None), default=-1)
        if drawn >= 0:
            # The number of draws is known, even if the number of examples before them is not.
            length: float = cast("int", steps(chain)[drawn].num_drawn)
        else:
            counts = self.counts(source, index, part)
            length = self._combined(source, index, part) if counts is None else sum(counts)
        num_epochs: float = 1
        splits: list[RecordPart] = []
        for number, step in enumerate(steps(chain)[drawn + 1 :], drawn + 2):
            if isinstance(step, SplitBy):
                kept_by = num_kept_by(chain[: number + 1])
                length = length_after(step, length) if kept_by is None else kept_by
                counts = None
                continue
            if step.effect is Effect.SPLITS and source.numbers_lines:
                counts = None
            if step.effect is Effect.SPLITS and counts is not None:
                splits.append(cast("RecordPart", step))
                kept = num_kept(splits, counts)
                length = kept * num_epochs if kept and num_epochs else 0
                continue
            if step.effect not in _OF_RECORDS:
                counts = None
            if step.effect is Effect.REPEATS:
                num_epochs = length_after(step, num_epochs)
            length = length_after(step, length)
        return length

    def _combined(self, source: Source, index: engine.Index | None, part: int) -> float:
        combined = source.combined_length(lambda parts: self._each(parts, index, part))
        if combined is not None:
            return combined
        text = (
            f"len: the number of examples in {source.name} is unknown until they are read. Use "
            "count(), which reads and counts them all"
        )
        if source.may_have_index:
            text += ", or create index files for uncompressed files with `headrace index PATHS`"
        if source.name == "fixed_length_records" and _is_of_unknown_compression(source):
            text += ", or pass compression=None if the files are not compressed"
        raise TypeError(f"{text}.")

    def _each(
        self, parts: Sequence[Sequence[Stage]], index: engine.Index | None, first: int
    ) -> Iterator[float]:
        """Yields the number of examples of each part; `first` is the number of the first source."""
        for part in parts:
            own = _index_of(part)
            yield self.of(part, own or index, first if own is None else 0)
            first += _num_scanned(part)

    def counts(self, source: Source, index: engine.Index | None, part: int) -> Sequence[int] | None:
        """Returns the number of records in each file of a source, or None if it is unknown."""
        counts = source.counts()
        if counts is not None or not source.reads_files:
            return counts
        scanned = None if index is None else _scanned(source, index, part)
        return self._indexed(source) if scanned is None else scanned

    def _indexed(self, source: Source) -> Sequence[int] | None:
        """Returns the number of records in each file, or None if a file has no index."""
        try:
            records = source.records() if source.may_have_index else None
            if records is None:
                return None
            with engine.op_errors():
                counts = engine.index_counts(self._files, records)
        except OpError:
            # The next iteration will raise this error.
            return None
        lengths = [count for count in counts if count is not None]
        return lengths if len(lengths) == len(counts) else None


# Steps after which each example is still one record of the source.
_OF_RECORDS: Final = (Effect.EACH, Effect.KEEPS, Effect.REORDERS, Effect.REPEATS)


def _index_of(chain: Sequence[Stage]) -> engine.Index | None:
    full = (step for step in steps(chain) if step.full_shuffle)
    return next((cast("Any", shuffle).index for shuffle in full), None)


def _num_scanned(chain: Sequence[Stage]) -> int:
    """Returns the number of sources that a full shuffle scans for records."""
    parts = () if num_cached(chain) else chain[0].parts
    return sum(map(_num_scanned, parts)) or 1


def _is_of_unknown_compression(source: Any) -> bool:
    """Returns whether files may be compressed, but cannot be opened to find out."""
    return source.compression == "auto" and any(map(storage.is_remote, source.paths))


def _scanned(source: Any, index: engine.Index, part: int) -> Sequence[int] | None:
    """Returns the numbers of records from a full shuffle's scan, or None if files have changed."""
    paths = getattr(source, "paths", None)
    num_records = {
        (file.path, file.num_bytes): file.num_records
        for file in index.counts()
        if file.part == part
    }
    if paths is None or not num_records:
        return None
    files = find_files(source.name, paths)
    sizes = storage.sizes(map(os.fsdecode, files))
    counts = [num_records.get(file) for file in zip(files, sizes, strict=True)]
    known_counts = [count for count in counts if count is not None]
    return known_counts if len(known_counts) == len(files) else None
