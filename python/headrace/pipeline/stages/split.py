"""`split`: disjoint parts of the data, for example for training and validation."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.pipeline.stages.arguments import checked_int, real_number
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import ChainSpecs, steps
from headrace.pipeline.stages.split_by import BUCKETS, SplitBy
from headrace.pipeline.stages.stage import Effect, KeepsComponents, Planning, Stage

__all__ = [
    "RecordPart",
    "Split",
    "SplitMethod",
    "are_kept",
    "num_kept",
    "shuffled_before",
]

_KEYS: Final = 1 << 64
# The maximum number of levels of combined pipelines that the engine can number.
_MOST_DEPTH: Final = 8
# The number of record keys to compute at a time.
_AT_ONCE: Final = 1 << 20


class RecordPart(KeepsComponents, is_base=True):
    """A step that keeps the examples of some records, which are known before they are read."""

    effect: ClassVar = Effect.SPLITS
    needs_values: ClassVar = False
    added_axes: ClassVar = 0

    def length_after(self, length: float) -> None:
        """Returns None, because the number depends on the file sizes; see `num_kept`."""

    @abstractmethod
    def keeps(
        self, records: npt.NDArray[np.int64], files: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Returns whether each of these records is kept.

        Args:
            records: The number of each record in its file.
            files: The number of each record's file in its source.
        """


@dataclass(frozen=True)
class Split(RecordPart):
    """One of several disjoint parts of the examples. It is the same in all epochs.

    Attributes:
        index: The index of this part.
        shares: The size of each part, as a fraction of 1.
        seed: The seed that determines the parts.
        keys: This part's first and last record key.
    """

    index: int
    shares: tuple[float, ...]
    seed: int
    keys: tuple[int, int] = field(compare=False, repr=False)

    draws: ClassVar = False  # Parts do not depend on the epoch, so nothing is drawn.
    is_seed_given = True

    def keeps(
        self, records: npt.NDArray[np.int64], files: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Returns whether the key of each record belongs to this part."""
        keys = _keys(self.seed, records.astype(np.uint64), files.astype(np.uint64))
        least, most = map(np.uint64, self.keys)
        return (least <= keys) & (keys <= most)

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        depth = planning.depth()
        _check_depth(planning.chain, depth)
        planning.later(engine.Stage.split(self.seed, *self.keys, depth))
        planning.finish_rows()


class SplitMethod(Chain):
    """The method `split`."""

    __slots__ = ()

    def split(self, *shares: float, seed: int = 0, by: str | None = None) -> tuple[Self, ...]:
        """Divides the examples into several pipelines, for example for training and validation.

        An example belongs to the same part in every epoch, process and rank, after every resume,
        and regardless of where you shuffle. Its part depends only on the seed, the file number and
        the record number within the file. The examples of a part keep their order. All examples
        that `flat_map` or `unbatch` makes from one record stay in the same part.

        Sizes are approximate: a share of 0.1 of 1,000 examples contains about 100 examples, give or
        take 20.

        `iterable` and `parquet` number their examples in the order in which they arrive, so this
        order must never change.

        With `by`, examples with equal values of a component belong to the same part, such as the
        frames of an episode. The part then depends only on the seed and the value, so you can add,
        remove and reorder examples. Shares are approximate shares of the values: with a share of
        0.1 and 20 episodes, a part has about 2 episodes, and may have none. A full shuffle of a
        part reads the examples of all parts and drops the others.

        Args:
            *shares: The share of each part, above 0. They must add up to 1.
            seed: Different seeds divide the examples differently. Must be between 0 and 2^63 - 1.
            by: A component with integers, bools or strings, such as "episode_index". If None, each
                record is assigned by itself.

        Returns:
            One pipeline per share.

        Raises:
            TypeError: If a share is not a number.
            ValueError: If there are fewer than two shares, or they do not add up to 1. Also if
                `seed` is out of range, if `by` isn't a single value per example, or if this stage
                follows one that groups examples, such as `batch` or `pack`.

        Examples:
            >>> train, validation = hr.arrays({"x": range(1000)}).split(0.9, 0.1)
            >>> train.count(), validation.count()
            (902, 98)
            >>> pipe = hr.arrays({"episode": [1, 1, 1, 2, 2, 3, 3]})
            >>> train, validation = pipe.split(0.7, 0.3, seed=1, by="episode")
            >>> [int(example["episode"]) for example in validation]
            [1, 1, 1]
        """
        return tuple(self._then(stage) for stage in _splits(self._stages, shares, seed, by))


def _splits(
    chain: Sequence[Stage], shares: Sequence[float], seed: int, by: str | None
) -> list[Split] | list[SplitBy]:
    """Returns the stages that divide a pipeline's examples.

    Args:
        chain: The pipeline's stages.
        shares: The share of each part, above 0. They must add up to 1.
        seed: The seed that determines the parts.
        by: The component that examples of one part have in common, if any.

    Raises:
        TypeError: If a share is not a number, or `by` is not a string.
        ValueError: If the shares do not add up to 1, or the pipeline's rows are not single records.
    """
    for share in shares:
        if real_number(share) is None:
            raise TypeError(
                f"split: one of the fractions is {share!r}, expected a number, such as 0.9."
            )
    numbers = tuple(number for share in shares if (number := real_number(share)) is not None)
    if len(numbers) < 2 or min(numbers) <= 0 or not math.isclose(sum(numbers), 1, abs_tol=1e-9):
        raise ValueError(
            f"split: the fractions are {numbers}, expected at least two positive numbers that add "
            "up to 1, such as split(0.9, 0.1)."
        )
    checked_int("split", "seed", seed, 0)
    if by is not None and not isinstance(by, str):
        raise TypeError(f"split: by is {by!r}, expected the name of a component, or None.")
    if by is None:
        _check_depth(chain, 0)
    if (grouping := _grouping(chain)) is not None:
        raise ValueError(
            f"split: cannot come after {grouping.name}, which combines examples, because it "
            f"divides the examples of the source. Write split(...) before {grouping.name}(...)."
        )
    num_keys = _KEYS if by is None else BUCKETS
    ends = [round(sum(numbers[: index + 1]) * num_keys) for index in range(len(numbers) - 1)]
    bounds = [0, *ends, num_keys]
    if any(first == end for first, end in pairwise(bounds)):
        raise ValueError(
            f"split: the fractions are {numbers}, but {min(numbers)} is too small for any example. "
            "Remove it."
        )
    if by is not None:
        return [
            SplitBy(index, numbers, seed, by, hashes)
            for index, hashes in enumerate(pairwise(bounds))
        ]
    return [
        Split(index, numbers, seed, (first, end - 1))
        for index, (first, end) in enumerate(pairwise(bounds))
    ]


def _check_depth(chain: Sequence[Stage], depth: int) -> None:
    """Raises ValueError if pipelines are nested more deeply than the engine can number.

    Args:
        chain: The stages before a split; more stages may follow.
        depth: How many levels of combined pipelines enclose them.
    """
    inner = _depth(chain)
    if inner and depth + inner > _MOST_DEPTH:
        raise ValueError(
            f"split: combinations are nested {depth + inner} levels deep, but the maximum is "
            f"{_MOST_DEPTH}. Call split() earlier."
        )


def _depth(chain: Sequence[Stage]) -> int:
    """Returns how many levels of combined pipelines there are."""
    return max((1 + _depth(part) for part in chain[0].parts), default=0)


def _grouping(chain: Sequence[Stage]) -> Stage | None:
    """Returns the first stage that groups examples, searching combined pipelines too, or None."""
    for part in chain[0].parts:
        if (grouping := _grouping(part)) is not None:
            return grouping
    return next((step for step in steps(chain) if step.effect is Effect.GROUPS), None)


def num_kept(parts: Sequence[RecordPart], counts: Sequence[int]) -> int:
    """Returns the number of records that belong to all of these parts.

    Args:
        parts: The parts.
        counts: The number of records in each file of the source.
    """
    return sum(int(is_kept.sum()) for is_kept in are_kept(parts, counts))


def are_kept(parts: Sequence[RecordPart], counts: Sequence[int]) -> Iterator[npt.NDArray[np.bool_]]:
    """Yields whether each record belongs to all of these parts, for many records at a time.

    Args:
        parts: The parts.
        counts: The number of records in each file of the source.
    """
    ends = np.cumsum(np.asarray(counts, np.int64))
    for first in range(0, int(ends[-1]) if len(ends) else 0, _AT_ONCE):
        numbers = np.arange(first, min(first + _AT_ONCE, int(ends[-1])))
        files = np.searchsorted(ends, numbers, side="right")
        records = numbers - np.concatenate([[0], ends])[files]
        is_kept = np.ones(len(numbers), bool)
        for part in parts:
            is_kept &= part.keeps(records, files)
        yield is_kept


def _keys(
    seed: int, records: npt.NDArray[np.uint64], files: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """Returns the record keys, computed as in the engine (`stages/split.rs`)."""
    keys: npt.NDArray[np.uint64] = _mixed(_mixed(np.uint64(seed), records), files)
    return keys


def _mixed(one: Any, other: Any) -> Any:
    # The finalizer of SplitMix64; see `row_id.rs`.
    with np.errstate(over="ignore"):
        mixed = (one ^ (other * np.uint64(0x9E3779B97F4A7C15))) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))


def shuffled_before(
    chain: Sequence[Stage], chain_specs: ChainSpecs
) -> tuple[Sequence[Stage], ChainSpecs]:
    """Returns equivalent stages, with a full shuffle moved before any `split`.

    All examples of a source can be accessed at random, but the examples of one part cannot.
    Shuffling everything and then keeping one part is the same as shuffling that part. A `sample`
    stays after the split, because it draws a fixed number of that part's examples.

    Args:
        chain: The stages.
        chain_specs: The components after each stage.
    """
    shuffle = next(
        (
            n
            for n, step in enumerate(steps(chain), 1)
            if step.full_shuffle and step.effect is Effect.REORDERS
        ),
        None,
    )
    split = next((n for n, s in enumerate(steps(chain), 1) if s.effect is Effect.SPLITS), None)
    if shuffle is None or split is None or shuffle < split:
        return chain, chain_specs
    moved = list(chain)
    moved.insert(split, moved.pop(shuffle))
    specs = list(chain_specs.specs)
    del specs[shuffle]
    specs.insert(split, specs[split - 1])
    return moved, replace(chain_specs, specs=specs)
