"""`split(by=...)`: disjoint parts that keep examples with equal values together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from headrace.pipeline.functions.native_function import NativeFunction
from headrace.pipeline.stages.arguments import check_key
from headrace.pipeline.stages.components import source_of, steps
from headrace.pipeline.stages.stage import (
    Effect,
    KeepsComponents,
    Planning,
    Stage,
    Step,
    check_names,
    named,
)
from headrace.pipeline.values.types import Specs

__all__ = ["BUCKETS", "SplitBy", "num_kept_by"]

# The number of hash values.
BUCKETS: Final = 1 << 62
_NUM_ROUNDS: Final = 4
# The constants of SplitMix64 as int64, and the number that separates the halves of a number.
_FACTORS: Final = (-0x61C8864680B583EB, -0x40A7B892E31B1A47, -0x6B2FB644ECCEEE15)
_HALF: Final = 1 << 32
_VALUE: Final = "value"
_HASH: Final = "hash"


@dataclass(frozen=True)
class SplitBy(KeepsComponents):
    """One of several disjoint parts of the examples, chosen by the value of a component.

    Attributes:
        index: The index of this part.
        shares: The size of each part, as a fraction of 1.
        seed: The seed that determines the parts.
        by: The component. Examples with equal values belong to the same part.
        hashes: This part's first hash value, and the one after its last.
        position: The position of an example's own value in a window, or None if there is no window.
    """

    index: int
    shares: tuple[float, ...]
    seed: int
    by: str = named("")
    hashes: tuple[int, int] = field(default=(0, BUCKETS), compare=False, repr=False)
    position: int | None = field(default=None, compare=False, repr=False)

    effect: ClassVar = Effect.SPLITS
    needs_values: ClassVar = True
    added_axes: ClassVar = 0
    draws: ClassVar = False  # Parts do not depend on the epoch, so nothing is drawn.
    is_seed_given = True

    @property
    def name(self) -> str:
        """The stage's name in messages."""
        return "split"

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the same components, after checking the values to split by."""
        check_names(self, [self.by], specs)
        spec = specs[self.by]
        check_key("split: by", self.by, spec if self.position is None else spec.row())
        return specs

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the same names."""
        check_names(self, [self.by], names)
        return names

    def length_after(self, length: float) -> None:
        """Returns None, because the number depends on values; see `num_kept_by`."""

    def keeps(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Returns whether the examples with these values belong to this part."""
        if not len(values):
            return np.ones(0, bool)
        unique, inverse = np.unique(values, return_inverse=True)
        hashes = np.asarray(_hashing(self.seed)({_VALUE: unique})[_HASH])
        first, end = self.hashes
        return ((first <= hashes) & (hashes < end))[inverse.reshape(-1)]

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        function = _filtering(self.by, self.position, self.seed, *self.hashes)
        planning.later(function.traced("filter", planning.before, None).stage(False))
        planning.finish_rows()


def num_kept_by(chain: Sequence[Stage]) -> int | None:
    """Returns the number of examples after stages that end with a `SplitBy`.

    Returns None if examples must be read to determine it.
    """
    is_kept: npt.NDArray[np.bool_] | None = None
    for step in steps(chain):
        if not isinstance(step, SplitBy):
            if not _is_one_to_one(step, chain):
                return None
            continue
        values = source_of(chain).column(step.by)
        if values is None:
            return None
        is_part = step.keeps(values)
        is_kept = is_part if is_kept is None else is_kept & is_part
    return None if is_kept is None else int(is_kept.sum())


def _is_one_to_one(step: Step, chain: Sequence[Stage]) -> bool:
    """Returns whether a step keeps all examples, and the values that later steps split by."""
    names = {other.by for other in steps(chain) if isinstance(other, SplitBy)}
    is_whole = step.effect is Effect.EACH or (
        step.effect is Effect.WINDOWS and step.length_after(2) == 2
    )
    return is_whole and all(map(step.keeps_component, names))


@lru_cache(64)
def _filtering(by: str, position: int | None, seed: int, first: int, end: int) -> NativeFunction:
    # Most programs don't need the operations, which take long to import.
    from headrace.ops.math.compare import logical_and  # noqa: PLC0415
    from headrace.pipeline.native_functions.function import native  # noqa: PLC0415

    def split(example: dict[str, Any]) -> Any:
        value = example[by] if position is None else example[by][position]
        number = _hashed(value, seed)
        return logical_and(number >= first, number < end)

    return native(split)


@lru_cache(64)
def _hashing(seed: int) -> NativeFunction:
    from headrace.pipeline.native_functions.function import native  # noqa: PLC0415

    return native(lambda example: {_HASH: _hashed(example[_VALUE], seed)})


def _hashed(value: Any, seed: int) -> Any:
    """Hashes values inside a native function. The hashes are less than `BUCKETS`."""
    from headrace.ops.math.cast import cast  # noqa: PLC0415
    from headrace.ops.strings.hash_bucket import string_to_hash_bucket_strong  # noqa: PLC0415

    if not (value.dtype.is_bool or value.dtype.is_integer):
        return string_to_hash_bucket_strong(value, BUCKETS, [seed, 0])
    # Products of int64 keep the lowest 64 bits. The operations have no xor, so each round computes
    # n * (2 * n + 1), as the cipher RC6 does, and swaps the halves of the result.
    number = cast(value, np.int64) * _FACTORS[0] + _signed(seed * _FACTORS[1] + _FACTORS[2])
    for _ in range(_NUM_ROUNDS):
        number = number * (number * 2 + 1) + _FACTORS[1]
        number = number // _HALF + number * _HALF
    return number * _FACTORS[2] // 4 + BUCKETS // 2


def _signed(number: int) -> int:
    """Returns the lowest 64 bits of a number as an int64."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
