"""The number of examples or batches that a pipeline gives, if it is known before a run."""

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

from headrace.core import engine
from headrace.core.errors import OpError
from headrace.io import storage
from headrace.pipeline.describe import stages
from headrace.pipeline.describe.random_access import may_have_index
from headrace.pipeline.describe.source import Source
from headrace.pipeline.describe.stages import Stage
from headrace.pipeline.plan.paths import find_files
from headrace.pipeline.plan.splits import num_kept
from headrace.pipeline.run.state_entries.revisions import pinned, revisions_of

__all__ = ["counts_of", "has_known_length", "length_after", "length_of", "records_of"]

# Stages after which the number of examples is unknown.
_UNKNOWN: Final = (
    stages.Filter,
    stages.FlatMap,
    stages.Unbatch,
    stages.BucketByLength,
    stages.Pack,
    stages.SkipErrors,
)
# Stages that keep each example as one record of the source.
_OF_RECORDS: Final = (
    stages.Parse,
    stages.Map,
    stages.Select,
    stages.Rename,
    stages.WithOrigin,
    stages.Cache,
    stages.Shuffle,
    stages.Split,
    stages.Epochs,
    stages.Prefetch,
)


def length_of(chain: Sequence[Stage], files: engine.IndexFiles) -> int:
    """Returns how many examples, or batches, the stages give.

    Reads only the names and sizes of files, their first bytes if they may be compressed, the
    footers of Parquet files, and indexes of records. The hub is asked for the commits of data sets,
    as an iteration does when it begins.

    Args:
        chain: The stages.
        files: The index files that may be read.

    Raises:
        TypeError: If the number is unknown before they run.
        NotFoundError: If there are no such files.
    """
    chain = pinned(chain, revisions_of(chain))
    length = _Lengths(files).of(chain, _index_of(chain), 0)
    if length == math.inf:
        raise TypeError("len: the pipeline has no end, since epochs() has no count.")
    return int(length)


def counts_of(source: Stage, files: engine.IndexFiles) -> Sequence[int] | None:
    """Returns the number of records in each file of a source, found as `length_of` finds it.

    Args:
        source: The source.
        files: The index files that may be read.

    Returns:
        The numbers; None if sizes and indexes do not tell.
    """
    return _Lengths(files).counts(source, None, 0)


def has_known_length(stage: Stage) -> bool:
    """Returns whether the number of examples before a stage tells the number after it."""
    is_of_pieces = isinstance(stage, stages.Shard) and stage.by == "piece"
    return not is_of_pieces and not isinstance(stage, (*_UNKNOWN, stages.Split))


def length_after(stage: Stage, length: float) -> float:
    """Returns how many examples come out of a stage.

    Args:
        stage: The stage; not a source.
        length: The number of its input examples; `math.inf` for an endless pipeline.

    Raises:
        TypeError: If the number is unknown before it runs.
    """
    match stage:
        case stages.Take(count=count):
            return min(length, count)
        case stages.Epochs(count=None):
            return math.inf if length else 0
        case stages.Epochs(count=int(count)):
            return length * count if count else 0
    if not has_known_length(stage):
        raise TypeError(
            f"len: how many examples {stage.name} leaves is not known before it runs. count() "
            "reads them all and counts."
        )
    return length if length == math.inf else _finite_length_after(stage, int(length))


def _finite_length_after(stage: Stage, length: int) -> int:
    match stage:
        case stages.Skip(count=count):
            return max(length - count, 0)
        case stages.Shard(count=count, even="drop"):
            return length // count
        case stages.Shard(count=count, even="pad"):
            return -(-length // count)
        case stages.Shard(index=index, count=count):
            return max(0, -((index - length) // count))
        case (
            stages.Batch(size=size, remainder=remainder)
            | stages.PaddedBatch(size=size, remainder=remainder)
        ):
            return length // size if remainder == "drop" else -(-length // size)
    return length


class _Lengths:
    """The numbers of examples of pipelines whose records may have index files."""

    def __init__(self, files: engine.IndexFiles) -> None:
        self._files = files

    def of(self, chain: Sequence[Stage], index: engine.Index | None, part: int) -> float:
        """Returns the number of examples, as `length_of` does.

        Args:
            chain: The stages.
            index: The record offsets that a shuffle of all examples has found, if there are some.
            part: The number of this source within them.
        """
        counts = self.counts(chain[0], index, part)
        length = self._combined(chain[0], index, part) if counts is None else sum(counts)
        num_epochs: float = 1
        splits: list[stages.Split] = []
        for stage in chain[1:]:
            is_split = isinstance(stage, stages.Split)
            if not isinstance(stage, _OF_RECORDS) or (is_split and _numbers_lines(chain[0])):
                counts = None
            if isinstance(stage, stages.Split) and counts is not None:
                splits.append(stage)
                kept = num_kept(splits, counts)
                length = kept * num_epochs if kept and num_epochs else 0
                continue
            if isinstance(stage, stages.Epochs):
                num_epochs = length_after(stage, num_epochs)
            length = length_after(stage, length)
        return length

    def _combined(self, source: Stage, index: engine.Index | None, part: int) -> float:
        match source:
            case stages.Concat(parts=parts):
                return sum(self._each(parts, index, part))
            case stages.Mix(stop="all", exhausted=list() as parts):
                return sum(self.of(part, _index_of(part), 0) for part in parts)
            case stages.Zip(parts=parts):
                return min(self._each(parts, index, part))
        text = (
            f"len: how many examples {source.name} has is not known before it is read. count() "
            "reads them all and counts"
        )
        if may_have_index(source):
            text += "; `headrace index PATHS` writes indexes of uncompressed files, which tell"
        if source.name == "fixed_length_records" and _is_of_unknown_compression(source):
            text += "; compression=None says that files are not compressed, so that sizes tell"
        raise TypeError(f"{text}.")

    def _each(
        self, parts: Sequence[Sequence[Stage]], index: engine.Index | None, first: int
    ) -> Iterator[float]:
        """Yields the number of examples of each part; `first` is the number of the first source."""
        for part in parts:
            own = _index_of(part)
            yield self.of(part, own or index, first if own is None else 0)
            first += _num_scanned(part)

    def counts(self, source: Stage, index: engine.Index | None, part: int) -> Sequence[int] | None:
        """Returns the number of records in each file of a source; None if it is unknown."""
        match source:
            case stages.Arrays(length=length) | stages.Indexed(length=length):
                return [length]
            case stages.Files(kind="files", paths=paths):
                return [1] * len(find_files("files", paths))
            case stages.Files(kind="fixed_length_records", compression=None | "auto") as files:
                return _of_fixed_length(files)
            case Source() if (counts := source.counts()) is not None:
                return counts
            case stages.Files() | Source():
                scanned = None if index is None else _scanned(source, index, part)
                return self._indexed(source) if scanned is None else scanned
        return None

    def _indexed(self, source: stages.Files | Source) -> Sequence[int] | None:
        """Returns the number of records in each file by its index; None if a file has no index."""
        try:
            records = records_of(source) if may_have_index(source) else None
            if records is None:
                return None
            with engine.op_errors():
                counts = engine.index_counts(self._files, records)
        except OpError:
            # The next iteration raises this error.
            return None
        found = [count for count in counts if count is not None]
        return found if len(found) == len(counts) else None


def _numbers_lines(source: Stage) -> bool:
    """Returns whether records are numbered by lines, so that their numbers have gaps."""
    return isinstance(source, Source) and source.numbers_lines


def records_of(source: Stage) -> engine.Plan | None:
    """Returns a plan that reads a source's records, to find their indexes; None without them."""
    if isinstance(source, Source):
        return source.records()
    if not isinstance(source, stages.Files):
        return None
    paths = find_files(source.kind, source.paths)
    return engine.Plan.files(source.kind, paths, source.compression or "", source.lengths)


def _index_of(chain: Sequence[Stage]) -> engine.Index | None:
    full = (s for s in chain if isinstance(s, stages.Shuffle) and s.window is None)
    return next((shuffle.index for shuffle in full), None)


def _num_scanned(chain: Sequence[Stage]) -> int:
    """Returns the number of sources that a shuffle of all examples looks for records in."""
    is_cached = any(isinstance(stage, stages.Cache) for stage in chain)
    parts = () if is_cached else stages.parts_of(chain[0])
    return sum(map(_num_scanned, parts)) or 1


def _of_fixed_length(source: stages.Files) -> Sequence[int] | None:
    header, record, footer = source.lengths
    paths = find_files(source.kind, source.paths)
    names = list(map(os.fsdecode, paths))
    if source.compression is not None and not all(map(_is_plain, paths, names)):
        return None
    return [max(size - header - footer, 0) // record for size in storage.sizes(names)]


def _is_of_unknown_compression(source: Any) -> bool:
    """Returns whether files of a source may be compressed, and are not opened to find out."""
    return source.compression == "auto" and any(map(storage.is_remote, source.paths))


def _is_plain(path: bytes, name: str) -> bool:
    """Returns whether a file is known to be uncompressed; False for a remote file."""
    if storage.is_remote(name):
        return False
    with engine.op_errors():
        return not engine.is_compressed(path, "auto")


def _scanned(source: Any, index: engine.Index, part: int) -> Sequence[int] | None:
    """Returns the numbers of records by a full shuffle's scan; None if files have changed."""
    paths = getattr(source, "paths", None)
    known = {(name, size): count for of, name, size, count in index.counts() if of == part}
    if paths is None or not known:
        return None
    files = find_files(source.name, paths)
    sizes = storage.sizes(map(os.fsdecode, files))
    counts = [known.get(found) for found in zip(files, sizes, strict=True)]
    whole = [count for count in counts if count is not None]
    return whole if len(whole) == len(files) else None
