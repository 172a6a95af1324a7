"""The splits of a TFDS data set, and the examples that `split="train[:10%]"` selects.

Source: `splits.py` and `naming.py` of TensorFlow Datasets 4.9.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, NamedTuple

from headrace.core.errors import InvalidArgumentError

__all__ = ["SelectedShard", "SplitShards", "select", "splits_of"]

_TERM: Final = re.compile(r"(?P<name>[\w-]+)(?:\[(?P<slice>[^\]]*)\])?")
_BOUND: Final = re.compile(r"(?:(?P<number>-?[\d_.]+)(?P<unit>%|shard)?)?")
_TEMPLATE: Final = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
_FEWEST_DIGITS: Final = 5


class SplitShards(NamedTuple):
    """The files of one split.

    Attributes:
        name: The split's name.
        files: The file names, in order.
        lengths: The number of examples in each file.
    """

    name: str
    files: tuple[str, ...]
    lengths: tuple[int, ...]


@dataclass(frozen=True)
class SelectedShard:
    """A file, and the records in it that belong to the selection.

    Attributes:
        file: The file name.
        length: The total number of records in the file.
        first: The number of the first record that is selected.
        end: The number after the last selected record.
        position: The position of the file's first record in the selection. It is negative if the
            selection begins later in the file.
    """

    file: str
    length: int
    first: int
    end: int
    position: int

    @property
    def is_whole(self) -> bool:
        """Whether all records are selected."""
        return (self.first, self.end) == (0, self.length)


def splits_of(where: str, info: Mapping[str, Any]) -> list[SplitShards]:
    """Returns the splits that `dataset_info.json` lists.

    Args:
        where: The path of that file, for messages.
        info: The contents of the file.

    Raises:
        InvalidArgumentError: If the contents are invalid.
    """
    try:
        return [_split(where, str(info["name"]), split) for split in info.get("splits", ())]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidArgumentError(
            None,
            None,
            f"{where}: the splits are not as TFDS writes them ({error!r}). Prepare the data set "
            "again.",
        ) from error


def _split(where: str, dataset: str, split: Mapping[str, Any]) -> SplitShards:
    name = str(split["name"])
    lengths = tuple(map(int, split.get("shardLengths", ())))
    if not lengths or min(lengths) < 0:
        raise InvalidArgumentError(
            None,
            None,
            f"{where}: the split {name!r} has no shardLengths, expected the number of examples in "
            "each file. Prepare the data set again with a newer version of TFDS.",
        )
    template = split.get("filepathTemplate") or _TEMPLATE
    digits = max(len(str(len(lengths))), _FEWEST_DIGITS)
    total = f"{len(lengths):0{digits}}"

    def file(index: int) -> str:
        number = f"{index:0{digits}}"
        return str(template).format(
            DATASET=dataset,
            SPLIT=name,
            FILEFORMAT="tfrecord",
            SHARD_INDEX=number,
            NUM_SHARDS=total,
            SHARD_X_OF_Y=f"{number}-of-{total}",
        )

    return SplitShards(name, tuple(map(file, range(len(lengths)))), lengths)


def select(splits: Sequence[SplitShards], split: str) -> list[SelectedShard]:
    """Returns the files with selected records, in order.

    Args:
        splits: The data set's splits.
        split: Names of splits, such as "train" or "train+test", with optional slices such as
            "train[:10%]", "train[100:200]" and "train[:2shard]"; or "all".

    Raises:
        ValueError: If a split does not exist, a slice is invalid, or nothing is selected.
    """
    selected: list[SelectedShard] = []
    num_examples = 0
    for term in re.split(
        r"\s*\+\s*", "+".join(s.name for s in splits) if split == "all" else split
    ):
        shards, first, end = _bounds(splits, split, term)
        for file, length, start in _with_starts(shards):
            inside = max(first - start, 0), min(end - start, length)
            # Empty files are kept, so that the files have the same numbers as in the directory.
            if inside[0] < inside[1] or (length == 0 and first <= start < end):
                position = num_examples + start - first
                selected.append(SelectedShard(file, length, *inside, position))
        num_examples += max(end - first, 0)
    if not any(shard.length for shard in selected):
        raise ValueError(f"tfds: split is {split!r}, which has no examples. Check the slice.")
    return selected


def _with_starts(shards: SplitShards) -> Iterator[tuple[str, int, int]]:
    starts = accumulate(shards.lengths, initial=0)
    yield from zip(shards.files, shards.lengths, starts, strict=False)


def _bounds(splits: Sequence[SplitShards], split: str, term: str) -> tuple[SplitShards, int, int]:
    """Returns a split, and the numbers of the first selected example and of the one after the last.

    Args:
        splits: The data set's splits.
        split: The user's argument, for messages.
        term: One of its terms.
    """
    match = _TERM.fullmatch(term)
    if match is None:
        raise _invalid(split)
    shards = next((shards for shards in splits if shards.name == match["name"]), None)
    if shards is None:
        names = ", ".join(repr(shards.name) for shards in splits)
        raise ValueError(f"tfds: there is no split {match['name']!r}, expected one of {names}.")
    count = sum(shards.lengths)
    if match["slice"] is None:
        return shards, 0, count
    bounds = [_BOUND.fullmatch(bound) for bound in match["slice"].split(":")]
    if len(bounds) > 2 or not match["slice"].strip(":"):
        raise _invalid(split)
    try:
        first, end = _numbers(split, shards, bounds)
    except (ValueError, TypeError, IndexError) as error:
        raise _invalid(split) from error
    if abs(first) > count or abs(end) > count:
        raise ValueError(
            f"tfds: split is {split!r}, but {shards.name!r} has {count:,} examples. Choose a slice "
            "within them."
        )
    return shards, first + count * (first < 0), end + count * (end < 0)


def _numbers(
    split: str, shards: SplitShards, bounds: Sequence["re.Match[str] | None"]
) -> tuple[int, int]:
    count, lengths = sum(shards.lengths), shards.lengths
    texts = [None if bound is None else bound["number"] for bound in bounds]
    unit = next((bound["unit"] for bound in bounds if bound is not None and bound["unit"]), "")
    if None in bounds:
        raise _invalid(split)
    if len(texts) == 1:
        if unit != "shard":
            raise _invalid(split)
        texts.append(str(int(texts[0] or "") + 1))
    first, end = texts
    match unit:
        case "%":
            # Like TFDS, `round` rounds half to even.
            percents = [None if text is None else float(text) for text in (first, end)]
            if any(percent is not None and abs(percent) > 100 for percent in percents):
                raise _invalid(split)
            low, high = (None if p is None else round(p * count / 100.0) for p in percents)
            return 0 if low is None else low, count if high is None else high
        case "shard":
            last = None if end is None else int(end)
            if last is not None and last <= 0:
                last += len(lengths)
            return (
                0 if first is None else sum(lengths[: int(first)]),
                count if last is None else sum(lengths[:last]),
            )
    return 0 if first is None else int(first), count if end is None else int(end)


def _invalid(split: str) -> ValueError:
    return ValueError(
        f"tfds: split is {split!r}, expected a name with an optional slice, such as 'train', "
        "'train[:10%]', 'train[100:200]' or 'train[:2shard]', or several joined by '+'."
    )
