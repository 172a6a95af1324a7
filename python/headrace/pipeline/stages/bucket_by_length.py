"""`bucket_by_length`: padded batches of examples with similar lengths."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from headrace.core import engine
from headrace.pipeline.stages.arguments import (
    check_bool,
    check_remainder,
    checked_int,
    checked_ints,
    checked_names,
)
from headrace.pipeline.stages.batch import Remainder, batch_specs, check_not_listed, names_of_batch
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import batch_depth
from headrace.pipeline.stages.padded_batch import open_names, padded_axes, padded_specs
from headrace.pipeline.stages.padding import as_values, check_values, fillers
from headrace.pipeline.stages.stage import Effect, Planning, Step, check_names
from headrace.pipeline.values.types import Spec, Specs

__all__ = ["BucketByLength", "BucketByLengthMethod"]


@dataclass(frozen=True)
class BucketByLength(Step):
    """Stacks examples with similar lengths into padded batches.

    Attributes:
        component: The component whose length determines the bucket.
        boundaries: The maximum length of each bucket except the last.
        size: The maximum number of examples in a batch, or None for no limit.
        max_elements: The maximum number of the component's elements in a batch, or None for no
            limit.
        pad_to_boundary: Whether to pad lists to the bucket's boundary instead of the longest list.
        remainder: How to handle an incomplete last batch.
        values: The padding values.
    """

    component: str
    boundaries: tuple[int, ...]
    size: int | None
    max_elements: int | None
    pad_to_boundary: bool
    remainder: Remainder
    values: tuple[tuple[str, Any], ...] | int | float | complex | bytes | str

    effect: ClassVar = Effect.GROUPS
    needs_values: ClassVar = True
    added_axes: ClassVar = 1

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components with a new first axis, and with lists padded to one length."""
        check_not_listed(self, specs)
        check_names(self, [self.component], specs)
        if specs[self.component].shape == ():
            raise ValueError(
                f"bucket_by_length: the component {self.component!r} is a scalar, expected a list "
                "or an array, whose first axis is its length."
            )
        check_values(self.name, self.values, specs, self._padded(specs))
        # Batches have a fixed size only with "drop" or "pad", and without max_elements.
        is_fixed = self.size is not None and self.max_elements is None
        padded = padded_specs(specs)
        if self.pad_to_boundary:
            padded[self.component] = _to_boundary(padded[self.component], self.boundaries)
        return batch_specs(padded, self.size or 0, self.remainder if is_fixed else "keep")

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the names, with `mask` if it is added."""
        check_names(self, [self.component], names)
        return names_of_batch(names, self.remainder)

    def length_after(self, length: float) -> None:
        """Returns None, because the number of batches depends on the lengths."""

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        before = planning.before
        names = list(before)
        number = names.index(self.component)
        # Lengths are needed here, so the rows must have been computed.
        planning.finish_rows()
        planning.group_in_order(
            planning.plan.bucket(
                number,
                self.boundaries,
                size=self.size,
                max_elements=self.max_elements,
                pads_to_boundary=self.pad_to_boundary,
                drops_remainder=self.remainder == "drop",
            )
        )
        values = fillers(self.name, self.values, before, self._padded(before))
        multiples = {name: padded_axes(spec, ()) for name, spec in before.items()}
        if self.pad_to_boundary:
            # The component is padded to its boundary even if its length is fixed.
            rest = multiples[self.component] or [0] * len(before[self.component].shape or ())
            multiples[self.component] = [1, *rest[1:]]
        boundaries = self.boundaries if self.pad_to_boundary else ()
        padding = engine.Padding(values, list(multiples.values()), boundaries)
        pad_to = self.size if self.remainder == "pad" else None
        planning.later(engine.Stage.collate(names, False, pad_to, padding, []))
        planning.finish_rows()

    def _padded(self, specs: Specs) -> set[str]:
        return {self.component} | open_names(specs)


class BucketByLengthMethod(Chain):
    """The method `bucket_by_length`."""

    __slots__ = ()

    def bucket_by_length(
        self,
        name: str,
        boundaries: Iterable[int],
        size: int | None = None,
        max_elements: int | None = None,
        pad_to_boundary: bool = False,
        remainder: Remainder = "keep",
        values: Any = None,
    ) -> Self:
        """Groups examples with similar lengths into batches, so that they need little padding.

        Each bucket collects examples in order, and yields a batch as soon as it has enough. Batches
        are padded as in `padded_batch`.

        Args:
            name: The component whose length determines the bucket. The length of an array is the
                size of its first axis.
            boundaries: The maximum length of each bucket, in ascending order. Longer examples go
                into one extra bucket.
            size: The number of examples in a batch.
            max_elements: The maximum number of elements of this component in a batch, including
                padding on all axes. An example with more elements becomes a batch of its own. Set
                `max_elements`, `size` or both.
            pad_to_boundary: If True, the component and all other lists are padded to the smallest
                boundary that fits them, instead of to the longest list in the batch. This results
                in fewer different shapes. Lists beyond the last boundary are padded to the longest
                one.
            remainder: How to handle incomplete batches at the end; see `batch`. "pad" requires
                `size` without `max_elements`.
            values: The padding values; see `padded_batch`.

        Raises:
            ValueError: If the component does not exist or is a scalar, if the stage follows
                `batch`, or if another argument is out of range.

        Examples:
            >>> def tokenize(example):
            ...     return {"tokens": np.array([len(word) for word in example["text"].split()])}
            >>> texts = ["to be", "or not to be that is", "the question"]
            >>> pipe = hr.arrays({"text": texts}).map(tokenize)
            >>> for batch in pipe.bucket_by_length("tokens", boundaries=[4, 8], size=2):
            ...     print(batch["tokens"])
            [[2 2]
             [3 8]]
            [[2 3 2 2 4 2]]
        """
        where = "bucket_by_length"
        checked_names(where, [name])
        check_bool(where, "pad_to_boundary", pad_to_boundary)
        limits = checked_ints(where, "boundaries", boundaries, 1)
        if not limits or list(limits) != sorted(set(limits)):
            raise ValueError(
                f"{where}: boundaries is {limits}, expected at least one number, in increasing "
                "order."
            )
        if size is None and max_elements is None:
            raise ValueError(
                f"{where}: the size of a batch is missing. Pass size, max_elements or both."
            )
        for label, value in (("size", size), ("max_elements", max_elements)):
            if value is not None:
                checked_int(where, label, value, 1)
        check_remainder(where, remainder)
        if remainder == "pad" and (size is None or max_elements is not None):
            raise ValueError(
                f"{where}: remainder 'pad' works only with size and without max_elements. Use "
                "'keep'."
            )
        if batch_depth(self._stages):
            raise ValueError(
                f"{where}: cannot come after batch, because it needs single examples. Call "
                "unbatch() first."
            )
        chosen = as_values(where, values)
        return self._then(
            BucketByLength(name, limits, size, max_elements, pad_to_boundary, remainder, chosen)
        )


def _to_boundary(spec: Spec, boundaries: Sequence[int]) -> Spec:
    """Returns the spec after padding to a boundary, for rows of a known length."""
    match spec.shape:
        case (int(length), *inner):
            width = next((boundary for boundary in boundaries if boundary >= length), length)
            return Spec(spec.dtype, (width, *inner))
    return spec
