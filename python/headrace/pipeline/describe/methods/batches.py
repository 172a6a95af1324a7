"""Methods of a pipeline that group examples, and ungroup them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.arguments import (
    check_bool,
    check_remainder,
    checked_int,
    checked_ints,
    checked_names,
)
from headrace.pipeline.describe.methods.chain import Chain
from headrace.pipeline.describe.methods.packing import pack_stage
from headrace.pipeline.describe.padding import as_multiples, as_values
from headrace.pipeline.describe.specs import batch_depth
from headrace.pipeline.describe.stages import Remainder

__all__ = ["BatchMethods"]


class BatchMethods(Chain):
    """Stages that group examples."""

    __slots__ = ()

    def batch(
        self,
        size: int,
        remainder: Remainder = "keep",
        ragged: Literal["offsets"] | None = None,
        lists: str | Iterable[str] = (),
    ) -> Self:
        """Stacks examples into batches: each component becomes an array with a new leading axis.

        Args:
            size: The number of examples in a batch, at least 1.
            remainder: The treatment of an incomplete last batch: "keep" returns a smaller batch,
                "drop" drops it, "pad" adds zeros and empty strings up to `size`, and to all batches
                a bool component `mask`, which is false for the added examples.
            ragged: "offsets" to join lists end to end instead of padding them. A component NAME
                whose first axis has no fixed length becomes `NAME.values`, its rows of all
                examples, and `NAME.offsets`, int64, one more than examples: example `i` has the
                values from `offsets[i]` up to `offsets[i + 1]`. With `remainder="pad"` the added
                examples have no values. None rejects lists.
            lists: Components that stay apart, as with a `collate_fn` of PyTorch: a batch has a list
                of one array for each example, each of its own shape. `unbatch` makes them
                components of examples again. With `remainder="pad"` an added array is empty if the
                first axis has no fixed length; else it has zeros and the shape of the batch's first
                array.

        Raises:
            TypeError: If one of `lists` is not a string.
            ValueError: If an argument is invalid; if there is no component of a name in `lists`, or
                it is `hr.Json` or a list of lists; if another component is a list of any length and
                `ragged` is None; or with "offsets", if another axis than the first is unknown, or
                a component has one of the new names. After a Python function no axis is known:
                then a batch whose examples differ in another axis is an error.
        """
        checked_int("batch", "size", size, 1)
        check_remainder("batch", remainder)
        if ragged not in (None, "offsets"):
            raise ValueError(
                f"batch: ragged is {ragged!r}, expected 'offsets' for values and offsets of lists, "
                "or None."
            )
        names = (lists,) if isinstance(lists, str) else tuple(lists)
        names = checked_names("batch", names) if names else ()
        return self._then(stages.Batch(size, remainder, ragged, names))

    def padded_batch(
        self,
        size: int,
        values: Any = None,
        multiple_of: int | Mapping[str, int | Sequence[int]] = 1,
        remainder: Remainder = "keep",
    ) -> Self:
        """Stacks examples as `batch` does, padded to the largest one of the batch.

        Each axis whose size is unknown is padded: see `spec`. In an array that a Python function
        returns these are all axes, even if all arrays have the same shape. In a native function
        `hr.ops.ensure_shape` sets known sizes. Examples must have equally many axes.

        Args:
            size: The number of examples in a batch, at least 1.
            values: The padding values: None for zeros and empty strings, one number for all numbers
                or one string for all strings, or a dict with a value for some names. Each has to
                fit its component: an int64 cannot be padded with 0.5.
            multiple_of: The first axis is padded to a multiple of this, at least 1; in lists of
                lists, each axis. A dict has multiples by component: a number for the first axis, or
                one number for each axis from the first.
            remainder: As for `batch`.

        Raises:
            TypeError: If a value is neither a number nor a string, or a multiple is not an int.
            ValueError: If `size`, `multiple_of` or `remainder` is out of range; if a value or a
                multiple has no component; if a value does not fit its component; or if a multiple
                is for an axis of known size.
        """
        checked_int("padded_batch", "size", size, 1)
        check_remainder("padded_batch", remainder)
        chosen = as_values("padded_batch", values)
        multiples = as_multiples("padded_batch", multiple_of)
        return self._then(stages.PaddedBatch(size, chosen, multiples, remainder))

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
        """Batches examples of similar lengths, padded as by `padded_batch`.

        Each bucket collects examples in order; a batch is returned as soon as its bucket has
        enough.

        Args:
            name: The component whose length decides: a list, or an array, by its first axis.
            boundaries: The longest length of each bucket, ascending. Longer examples go into a last
                bucket.
            size: Number of examples in a batch.
            max_elements: The largest number of elements of the component in a batch, padding
                included; a longer example is a batch on its own. Give this, or `size`, or both.
            pad_to_boundary: Whether lists, and the component, are padded to the boundary of the
                bucket rather than to the longest of the batch.
            remainder: As for `batch`; "pad" needs `size` alone.
            values: As for `padded_batch`.

        Raises:
            ValueError: If there is no such component or it has no length, after `batch`, or if
                another argument is out of range.
        """
        where = "bucket_by_length"
        checked_names(where, [name])
        check_bool(where, "pad_to_boundary", pad_to_boundary)
        limits = checked_ints(where, "boundaries", boundaries, 1)
        if not limits or list(limits) != sorted(set(limits)):
            raise ValueError(f"{where}: boundaries are {limits}, expected at least one, rising.")
        if size is None and max_elements is None:
            raise ValueError(f"{where}: no size given, expected size or max_elements or both.")
        for label, value in (("size", size), ("max_elements", max_elements)):
            if value is not None:
                checked_int(where, label, value, 1)
        check_remainder(where, remainder)
        if remainder == "pad" and (size is None or max_elements is not None):
            raise ValueError(
                f"{where}: remainder is 'pad', expected size without max_elements then. Use 'keep'."
            )
        if batch_depth(self.stages):
            raise ValueError(f"{where}: it follows a batch, expected examples. Use unbatch before.")
        chosen = as_values(where, values)
        return self._then(
            stages.BucketByLength(
                name, limits, size, max_elements, pad_to_boundary, remainder, chosen
            )
        )

    def pack(
        self,
        length: int,
        names: str | Iterable[str],
        split: bool = False,
        max_open: int = 64,
        along: str | Iterable[str] = (),
        cu_seqlens: bool = False,
        balance: int | None = None,
        values: Any = None,
    ) -> Self:
        """Packs lists one after the other into rows of one length, with little padding.

        Each example goes, whole, into the first open row that has room for it (first fit). If none
        has, a new row is opened; if too many are open, the fullest is returned. Rows are returned
        as soon as they are full. The rest of a row is padded. Empty lists are skipped.

        The result is one example for each row: each component of shape (length,); `segment_ids`,
        int32, the number of the packed example in the row, from 1, for each element, and 0 for
        padding; and `positions`, int32, the position in the list, from 0. `statistics()` has the
        share of padding.

        Args:
            length: Number of elements in a row, at least 1.
            names: The components to pack, whose lists have equal lengths in an example; by default
                all.
            split: Whether lists longer than a row are cut into pieces. Their positions continue;
                each piece has its own number. Otherwise they are an error.
            max_open: The largest number of rows open at the same time, at least 1. More rows need
                less padding and hold back more examples.
            along: Other components to keep, with one value an example: they become ragged, with one
                value for each packed example, or piece.
            cu_seqlens: Whether to add `cu_seqlens`, ragged int32: 0, and where each packed example
                ends in the row, as kernels for attention with variable lengths take it. It has one
                number more than the row has examples; padding is after the last.
            balance: The number of ranks that share each step. Eight rows for each rank wait, and
                are returned in an order in which every `balance` neighbours have similar sums of
                squared lengths, which attention takes time for, and ranks take turns with the
                largest. For `shard(rank, balance)` after it. None for the order of completion.
            values: The padding values, as for `padded_batch`: `{"labels": -100}` pads labels with
                the number that PyTorch's losses ignore. `segment_ids` and `positions` are always
                padded with 0.

        Raises:
            TypeError: If `split` or `cu_seqlens` is not a bool, a name not a string, or a padding
                value neither a number nor a string.
            ValueError: If a number is out of range, a component is missing or not a list of
                numbers, one that comes along has more than one value, a padding value does not fit
                its component, or there are other components; or after `batch`.
        """
        stage = pack_stage(length, names, split, max_open, along, cu_seqlens, balance, values)
        if batch_depth(self.stages):
            raise ValueError("pack: it follows a batch, expected examples. Use unbatch before.")
        return self._then(stage)

    def unbatch(self) -> Self:
        """Splits batches into examples: each row of the leading axis becomes one.

        Raises:
            ValueError: If a component is a scalar, or has lists that `batch(ragged="offsets")`
                joined.
        """
        return self._then(stages.Unbatch())
