"""`padded_batch`: batches with lists padded to the longest one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, ClassVar, Self

from headrace.core import engine
from headrace.pipeline.stages.arguments import check_remainder
from headrace.pipeline.stages.batch import (
    Remainder,
    batch_specs,
    check_not_listed,
    names_of_batch,
    plan_batch,
)
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.padding import Values, as_multiples, as_values, check_values, fillers
from headrace.pipeline.stages.schedule import (
    Schedule,
    checked_size,
    fixed_size,
    num_groups,
    turn_after,
)
from headrace.pipeline.stages.stage import Effect, Planning, Step, check_names
from headrace.pipeline.values.types import Spec, Specs

__all__ = ["PaddedBatch", "PaddedBatchMethod", "open_names", "padded_axes", "padded_specs"]


@dataclass(frozen=True)
class PaddedBatch(Step):
    """Stacks examples into batches, padded to the largest example.

    Attributes:
        size: The number of examples in a batch.
        values: The padding values.
        multiple_of: Sizes are padded to a multiple of this: one number for the first axis, or the
            numbers for the axes of each component.
        remainder: How to handle an incomplete last batch.
        num_ranks: The number of ranks whose examples count towards the positions in `size`.
    """

    size: int | Schedule
    values: Values
    multiple_of: int | tuple[tuple[str, tuple[int, ...]], ...]
    remainder: Remainder
    num_ranks: int = field(default=1, compare=False, repr=False)

    effect: ClassVar = Effect.GROUPS
    needs_values: ClassVar = True
    added_axes: ClassVar = 1

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components with a new first axis. A padded axis has one size per batch."""
        check_not_listed(self, specs)
        check_values(self.name, self.values, specs, open_names(specs))
        self._check_multiples(specs)
        return batch_specs(padded_specs(specs), fixed_size(self.size), self.remainder)

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the names, with `mask` if it is added."""
        if isinstance(self.values, tuple):
            check_names(self, dict(self.values), names)
        check_names(self, dict(self._multiples), names)
        return names_of_batch(names, self.remainder)

    def length_after(self, length: float) -> float:
        """Returns the number of batches."""
        return num_groups(length, self.size, self.num_ranks, self.remainder == "drop")

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        before = planning.before
        values = fillers(self.name, self.values, before, open_names(before))
        multiples = [self._multiples_of(name, spec) for name, spec in before.items()]
        padding = engine.Padding(values, multiples, ())
        plan_batch(planning, self.size, self.num_ranks, self.remainder, padding, [])

    @property
    def _multiples(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return self.multiple_of if isinstance(self.multiple_of, tuple) else ()

    def _multiples_of(self, name: str, spec: Spec) -> list[int] | None:
        if not isinstance(self.multiple_of, int):
            return padded_axes(spec, dict(self.multiple_of).get(name, ()))
        return padded_axes(
            spec, (self.multiple_of,) * (len(spec.shape or ()) if spec.is_nested else 1)
        )

    def _check_multiples(self, specs: Specs) -> None:
        for name, multiples in self._multiples:
            if name not in specs:
                there = ", ".join(map(repr, specs))
                raise ValueError(
                    f"padded_batch: multiple_of has an entry for {name!r}, expected one of the "
                    f"components {there}."
                )
            shape = specs[name].shape
            if shape is None:
                continue
            if len(multiples) > len(shape):
                raise ValueError(
                    f"padded_batch: multiple_of[{name!r}] has {len(multiples)} numbers, expected "
                    f"at most one for each axis of {specs[name]}."
                )
            for axis, (multiple, size) in enumerate(zip(multiples, shape, strict=False)):
                if multiple > 1 and size is not None:
                    raise ValueError(
                        f"padded_batch: multiple_of[{name!r}] is {multiple} for axis {axis}, but "
                        f"that axis of {specs[name]} is never padded, because its size is fixed. "
                        "Use 1 for it."
                    )


class PaddedBatchMethod(Chain):
    """The method `padded_batch`."""

    __slots__ = ()

    def padded_batch(
        self,
        size: int | Mapping[int, int],
        values: Any = None,
        multiple_of: int | Mapping[str, int | Sequence[int]] = 1,
        remainder: Remainder = "keep",
    ) -> Self:
        """Stacks examples into batches, and pads them to the largest example in the batch.

        Every axis of unknown size is padded. `spec` shows its size as None. Arrays that a Python
        function returns have only unknown sizes, even if they all have the same shape. In a native
        function, you can fix the sizes with `hr.ops.ensure_shape`. All examples must have the same
        number of axes.

        Args:
            size: The number of examples in a batch, or a dict of sizes by position; see `batch`.
            values: The padding values: one number for all numeric components, one string for all
                string components, or a dict of values by component name. Defaults to zeros and
                empty strings. A component's type must be able to store the value exactly, so 0.5
                cannot pad int64.
            multiple_of: Pads the first axis to a multiple of this number (at least 1). In lists of
                lists, it applies to every axis. Pass a dict to set it by component name. Each value
                is a number for the first axis, or a list of numbers for the leading axes.
            remainder: How to handle an incomplete last batch; see `batch`. With "pad", the added
                examples have the padding values in every padded component.

        Raises:
            TypeError: If a padding value is neither a number nor a string, or a multiple is not an
                int.
            ValueError: If `size`, `multiple_of` or `remainder` is out of range. Also if a value or
                multiple is for a component that doesn't exist, a value doesn't fit its component,
                or a multiple is for an axis of known size.

        Examples:
            >>> def tokenize(example):
            ...     return {"tokens": np.array([len(word) for word in example["text"].split()])}
            >>> pipe = hr.arrays({"text": ["to be", "or not to be"]}).map(tokenize)
            >>> next(iter(pipe.padded_batch(2, values=-1)))
            {'tokens': array([[ 2,  2, -1, -1],
                   [ 2,  3,  2,  2]])}
        """
        chosen_size = checked_size("padded_batch", "size", size)
        check_remainder("padded_batch", remainder)
        chosen = as_values("padded_batch", values)
        multiples = as_multiples("padded_batch", multiple_of)
        num_ranks = turn_after(self._stages)[1]
        return self._then(PaddedBatch(chosen_size, chosen, multiples, remainder, num_ranks))


def padded_specs(specs: Specs) -> Specs:
    """Returns the components with lists padded to one length."""
    return {
        name: Spec(spec.dtype, spec.shape) if spec.is_ragged else spec
        for name, spec in specs.items()
    }


def open_names(specs: Specs) -> set[str]:
    """Returns the names of components with an axis of unknown size. These are padded."""
    return {name for name, spec in specs.items() if spec.is_open}


def padded_axes(spec: Spec, multiples: Sequence[int]) -> list[int] | None:
    """Returns the multiple for the padded size of each axis, or 0 if its size is known.

    Args:
        spec: The component.
        multiples: The multiples for the first axes. The remaining axes use 1.

    Returns:
        The multiples, or None if no axis is padded.
    """
    if not spec.is_open:
        return None
    if spec.shape is None:
        return list(multiples)
    pairs = zip_longest(multiples, spec.shape, fillvalue=1)
    return [multiple if size is None else 0 for multiple, size in pairs]
