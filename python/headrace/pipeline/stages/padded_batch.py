"""`padded_batch`: batches whose lists are padded to the longest one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar, Self

from headrace.core import engine
from headrace.pipeline.stages.arguments import check_remainder, checked_int
from headrace.pipeline.stages.batch import (
    Remainder,
    batch_specs,
    check_not_listed,
    names_of_batch,
    num_batches,
    plan_batch,
)
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.padding import Values, as_multiples, as_values, check_values, fillers
from headrace.pipeline.stages.stage import Effect, Planning, Step, check_names
from headrace.pipeline.values.types import Spec, Specs

__all__ = ["PaddedBatch", "PaddedBatchMethod", "open_names", "padded_axes", "padded_specs"]


@dataclass(frozen=True)
class PaddedBatch(Step):
    """Batches whose examples are padded to the largest one.

    Attributes:
        size: The number of examples in a batch.
        values: The padding values.
        multiple_of: The multiple of the first axis, or, by component, of each axis.
        remainder: The treatment of an incomplete last batch.
    """

    size: int
    values: Values
    multiple_of: int | tuple[tuple[str, tuple[int, ...]], ...]
    remainder: Remainder

    effect: ClassVar = Effect.GROUPS
    needs_values: ClassVar = True
    added_axes: ClassVar = 1

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components with a leading axis; padded axes have one size in a batch."""
        check_not_listed(self, specs)
        check_values(self.name, self.values, specs, open_names(specs))
        self._check_multiples(specs)
        return batch_specs(padded_specs(specs), self.size, self.remainder)

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the names, and `mask`."""
        if isinstance(self.values, tuple):
            check_names(self, dict(self.values), names)
        check_names(self, dict(self._multiples), names)
        return names_of_batch(names, self.remainder)

    def length_after(self, length: float) -> float:
        """Returns how many batches come out of it."""
        return num_batches(length, self.size, self.remainder)

    def plan_into(self, planning: Planning) -> None:
        """Adds its work to a plan."""
        before = planning.before
        values = fillers(self.name, self.values, before, open_names(before))
        multiples = [self._multiples_of(name, spec) for name, spec in before.items()]
        padding = engine.Padding(values, multiples, ())
        plan_batch(planning, self.size, self.remainder, padding, [])

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
                    f"padded_batch: multiple_of has a component {name!r}, expected one of {there}."
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
                        f"padded_batch: multiple_of[{name!r}] is {multiple} for axis {axis}, "
                        f"expected 1, as its size is known and it is not padded: {specs[name]}."
                    )


class PaddedBatchMethod(Chain):
    """The method `padded_batch`."""

    __slots__ = ()

    def padded_batch(
        self,
        size: int,
        values: Any = None,
        multiple_of: int | Mapping[str, int | Sequence[int]] = 1,
        remainder: Remainder = "keep",
    ) -> Self:
        """Stacks examples into batches and pads them to the largest example of the batch.

        Every axis of unknown size is padded; `spec` shows them as None. An array that a Python
        function returns has only unknown sizes, even if all arrays have the same shape. In a native
        function, `hr.ops.ensure_shape` sets known sizes. All examples need the same number of axes.

        Args:
            size: The number of examples in a batch, at least 1.
            values: The padding values. None for zeros and empty strings, one number for all numeric
                components, one string for all string components, or a dict of values by name. A
                value must be exact in the type of its component: 0.5 cannot pad int64.
            multiple_of: The first axis is padded to a multiple of this number, at least 1. In lists
                of lists, every axis is. Use a dict to set it by component, with one number for the
                first axis or a list of numbers for the first axes.
            remainder: The treatment of an incomplete last batch; see `batch`.

        Raises:
            TypeError: If a padding value is neither a number nor a string, or a multiple is not an
                int.
            ValueError: If `size`, `multiple_of` or `remainder` is out of range. Also if a value or
                a multiple names a missing component, a value does not fit its component, or a
                multiple is for an axis of known size.

        Examples:
            >>> def tokenize(example):
            ...     return {"tokens": np.array([len(word) for word in example["text"].split()])}
            >>> pipe = hr.arrays({"text": ["to be", "or not to be"]}).map(tokenize)
            >>> next(iter(pipe.padded_batch(2, values=-1)))
            {'tokens': array([[ 2,  2, -1, -1],
                   [ 2,  3,  2,  2]])}
        """
        checked_int("padded_batch", "size", size, 1)
        check_remainder("padded_batch", remainder)
        chosen = as_values("padded_batch", values)
        multiples = as_multiples("padded_batch", multiple_of)
        return self._then(PaddedBatch(size, chosen, multiples, remainder))


def padded_specs(specs: Specs) -> Specs:
    """Returns components whose lists have one length."""
    return {
        name: Spec(spec.dtype, spec.shape) if spec.is_ragged else spec
        for name, spec in specs.items()
    }


def open_names(specs: Specs) -> set[str]:
    """Returns the names of components with an axis of unknown size, which is padded."""
    return {name for name, spec in specs.items() if spec.is_open}


def padded_axes(spec: Spec, multiples: Sequence[int]) -> list[int] | None:
    """Returns the multiple of the padded size of each axis, 0 for an axis of known size.

    Args:
        spec: The component.
        multiples: The multiples of the first axes; 1 for the others.

    Returns:
        The multiples; None if no axis is padded.
    """
    if not spec.is_open:
        return None
    if spec.shape is None:
        return list(multiples)
    pairs = zip_longest(multiples, spec.shape, fillvalue=1)
    return [multiple if size is None else 0 for multiple, size in pairs]
