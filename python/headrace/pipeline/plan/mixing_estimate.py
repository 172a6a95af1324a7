"""Estimates how well a shuffle mixes, based on how many files its first examples come from."""

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from headrace.core.errors import OpError
from headrace.io import storage
from headrace.pipeline.paths.index_files import describe_lookup, index_files
from headrace.pipeline.plan.lengths import counts_of
from headrace.pipeline.sources.concat import Concat
from headrace.pipeline.sources.file_source import FileSource
from headrace.pipeline.sources.mix import Mix
from headrace.pipeline.stages.components import source_of
from headrace.pipeline.stages.random_access import (
    is_reordered,
    keeps_all,
    needs_scan,
)
from headrace.pipeline.stages.shuffle import Shuffle, files_of_window
from headrace.pipeline.stages.source import Source
from headrace.pipeline.stages.stage import Stage

__all__ = ["FIRST", "mixing_in_words", "shuffle_in_words"]

# The number of examples to consider.
FIRST: Final = 1000

# The maximum number of pieces to permute exactly. If there are more, a sample is drawn.
_MOST_PIECES: Final = 100_000
# The number of steps in which examples arrive once the window is full.
_STEPS: Final = 20
# Fractions of an example below this are rounding errors.
_NOTHING: Final = 1e-6
_FORMATS_OF_LINES: Final = ("text_lines", "json_lines")
_FORMATS_OF_WHOLE_FILES: Final = (
    *("files", "image_folder", "audio_folder"),
    *("coco", "yolo", "pascal_voc"),
)


class _File(NamedTuple):
    """A file whose examples are shuffled.

    Attributes:
        num_pieces: The number of pieces that it is divided into.
        num_examples: The number of examples in it; None if it is unknown.
    """

    num_pieces: int
    num_examples: int | None


class _Unknown(NamedTuple):
    """Marks files with an unknown number of examples.

    Attributes:
        may_have_index: Whether index files would provide the numbers.
    """

    may_have_index: bool


def shuffle_in_words(chain: Sequence[Stage], index: int, options: Mapping[str, Any]) -> str:
    """Describes which files a shuffle reads and how well it mixes.

    Args:
        chain: All stages.
        index: The index of the shuffle stage.
        options: The pipeline's options.
    """
    shuffle, before = chain[index], chain[:index]
    assert isinstance(shuffle, Shuffle)
    if shuffle.window is not None:
        words = f": {files_of_window(before, shuffle)}{_borders(before, shuffle, options)}"
    elif keeps_all(before):
        words = ": all examples; a first pass over the files keeps them in memory"
    elif needs_scan(before):
        words = f": all examples; {describe_lookup(options)}"
    else:
        return ""
    return words + mixing_in_words(chain, index, options)


def _borders(chain: Sequence[Stage], shuffle: Shuffle, options: Mapping[str, Any]) -> str:
    """Returns a remark if block boundaries cannot be scanned, otherwise an empty string."""
    is_off = options.get("index") == "off" and shuffle.block_bytes is not None
    if not is_off or not any(map(_has_marks, _sources(chain))):
        return ""
    return (
        ", which is not possible, because options(index='off') forbids scanning the files for "
        "the borders of blocks"
    )


def _sources(chain: Sequence[Stage]) -> Iterator[Source]:
    source = source_of(chain)
    parts = source.parts
    yield from (inner for part in parts for inner in _sources(part)) if parts else [source]


def _has_marks(source: Source) -> bool:
    """Returns whether a source's block boundaries are found with an index."""
    return source.may_have_index and source.name not in _FORMATS_OF_LINES


def mixing_in_words(chain: Sequence[Stage], index: int, options: Mapping[str, Any]) -> str:
    """Describes how many files a shuffle's first examples come from, or returns "" if unknown.

    This reads only file names and sizes, index files and footers. Remote files are not read.

    Args:
        chain: All stages.
        index: The index of the shuffle stage.
        options: The pipeline's options.
    """
    shuffle, before = chain[index], chain[:index]
    assert isinstance(shuffle, Shuffle)
    if not is_reordered(before):
        return ""
    try:
        parts = list(_parts(before, 1.0, shuffle, options))
    except (OpError, OSError, ValueError):
        # The next iteration will raise this error.
        return ""
    num_files = sum(len(files) for _, files, _ in parts)
    if num_files < 2 or any(not files for _, files, _ in parts):
        return ""
    of_files = f"of {num_files:,} files"
    unknown = [estimate for _, _, estimate in parts if estimate is not None]
    if not unknown:
        count = sum(file.num_examples or 0 for _, files, _ in parts for file in files)
        chances = [one for share, files, _ in parts for one in _chances(files, share, shuffle)]
        return f"; {_first(count)} come from about {_num_drawn(chances):,} {of_files}"
    until = (
        ""
        if not all(estimate.may_have_index for estimate in unknown)
        else " until there are index files"
    )
    if shuffle.window is None:
        return f"; it is unknown how many {of_files} {_first(FIRST)} come from{until}"
    least = round(sum(_num_first(files, shuffle) for _, files, _ in parts))
    more = f" (the exact number is unknown{until})" if least < num_files else ""
    return f"; {_first(FIRST)} come from at least {least:,} {of_files}{more}"


def _first(num_examples: float) -> str:
    return f"its first {FIRST:,} examples" if num_examples >= FIRST else "its examples"


def _parts(
    chain: Sequence[Stage], share: float, shuffle: Shuffle, options: Mapping[str, Any]
) -> Iterator[tuple[float, list[_File], _Unknown | None]]:
    """Yields the share of the examples, the files, and a marker for each part.

    The marker is None if the numbers of examples are known.
    """
    source = source_of(chain)
    match source:
        case Mix(parts=parts, weights=weights):
            drawn = (pair for pair in zip(parts, weights, strict=True) if pair[1] > 0)
            for part, weight in drawn:
                yield from _parts(part, share * weight / sum(weights), shuffle, options)
        case Concat(parts=parts):
            parts_of_all = [one for part in parts for one in _parts(part, share, shuffle, options)]
            unknown = next((unknown for _, _, unknown in parts_of_all if unknown is not None), None)
            yield share, [file for _, files, _ in parts_of_all for file in files], unknown
        case _:
            files = _files(source, shuffle, options)
            is_unknown = any(file.num_examples is None for file in files)
            yield share, files, _Unknown(source.may_have_index) if is_unknown else None


def _files(source: Source, shuffle: Shuffle, options: Mapping[str, Any]) -> list[_File]:
    """Returns the files of a source, or nothing if they are not local."""
    paths = getattr(source, "paths", ())
    if any(map(storage.is_remote, paths)):
        return []
    names = source.file_names() if isinstance(source, FileSource) else []
    counts = counts_of(source, index_files(options))
    lengths: Sequence[int | None] = counts or [None] * len(names)
    own = source.num_pieces()
    if own is not None:
        return [file for file in map(_File, own, lengths) if file.num_pieces]
    pieces = [1] * len(names)
    is_whole = source.name in _FORMATS_OF_WHOLE_FILES or not _is_uncompressed(source, names)
    if shuffle.block_bytes is not None and not is_whole:
        pieces = [max(1, -(-size // shuffle.block_bytes)) for size in storage.sizes(names)]
    return list(map(_File, pieces, lengths))


def _is_uncompressed(source: Source, files: Sequence[str]) -> bool:
    """Returns whether the names of files indicate that they are uncompressed."""
    compression = getattr(source, "compression", None)
    packed = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zz", ".zlib", ".snappy")
    return compression is None or (
        compression == "auto" and not any(file.endswith(packed) for file in files)
    )


def _num_drawn(chances: Sequence[float]) -> int:
    """Returns the expected number of files that the first examples come from.

    Args:
        chances: The expected number of each file's examples among the first.
    """
    return max(1, round(sum(1 - math.exp(-chance) for chance in chances)))


def _num_first(files: Sequence[_File], shuffle: Shuffle) -> float:
    """Returns the expected number of files that the first open pieces belong to."""
    total = sum(file.num_pieces for file in files)
    others = 1 - min(shuffle.num_open / total, 1)
    return min(sum(1 - others**file.num_pieces for file in files), shuffle.num_open)


def _chances(files: Sequence[_File], share: float, shuffle: Shuffle) -> list[float]:
    """Returns the expected number of each file's examples among the first.

    If an example arrives while `n` of the first examples are still to be drawn from a window of
    size `w`, it is one of them with a probability of `1 - exp(-n / w)`.

    Args:
        files: The files.
        share: These files' share of all examples.
        shuffle: The shuffle.
    """
    counts = [file.num_examples or 0 for file in files]
    total = sum(counts) / share
    if total <= FIRST:
        return [math.inf for count in counts if count]
    if shuffle.window is None:
        return [-count * math.log(1 - FIRST / total) for count in counts]
    chances = [0.0] * len(files)
    coming = _pieces(files, shuffle, share * (shuffle.window + FIRST))
    opened: list[list[Any]] = []
    num_come, window = 0.0, min(shuffle.window, total)
    while num_come < window + FIRST:
        opened = [piece for piece in opened if piece[1] > _NOTHING]
        while len(opened) < shuffle.num_open and (begun := next(coming, None)):
            opened.append(list(begun))
        if not opened:
            break
        is_full = num_come >= window
        most = (FIRST / _STEPS if is_full else window - num_come) * share
        each = max(min(*(rest for _, rest in opened), most / len(opened)), _NOTHING)
        to_draw = FIRST - (num_come - window if is_full else 0)
        for piece in opened:
            chances[piece[0]] += each * to_draw / window
            piece[1] -= each
        num_come += each * len(opened) / share
    return chances


def _pieces(files: Sequence[_File], shuffle: Shuffle, room: float) -> Iterator[tuple[int, float]]:
    """Yields the file and the number of examples of each piece, in a possible order."""
    rows = [(file.num_examples or 0) / file.num_pieces for file in files]
    total = sum(file.num_pieces for file in files)
    in_order = (n for n, file in enumerate(files) for _ in range(file.num_pieces))
    numbers: Iterable[int] = in_order
    if shuffle.file_order != "shuffled":
        pass
    elif total <= _MOST_PIECES:
        permuted = list(in_order)
        random.Random(0).shuffle(permuted)
        numbers = permuted
    else:
        mean = max(sum(file.num_examples or 0 for file in files) / total, 1)
        count = min(math.ceil(room / mean) + shuffle.num_open, _MOST_PIECES)
        weights = [file.num_pieces for file in files]
        numbers = random.Random(0).choices(range(len(files)), weights, k=count)
    return ((number, rows[number]) for number in numbers if rows[number])
