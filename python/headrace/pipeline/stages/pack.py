"""`pack`: concatenates lists into rows of a fixed length."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from headrace.core import engine
from headrace.pipeline.stages.arguments import check_bool, checked_int, checked_names
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import batch_depth
from headrace.pipeline.stages.padding import as_values, check_values, fillers
from headrace.pipeline.stages.schedule import (
    Schedule,
    checked_size,
    entries_of,
    fixed_size,
    turn_after,
)
from headrace.pipeline.stages.stage import Effect, Planning, Step, check_names, named
from headrace.pipeline.values.types import Spec, Specs, element_type

__all__ = ["Pack", "PackMethod"]


@dataclass(frozen=True)
class Pack(Step):
    """Concatenates lists into rows of a fixed length.

    Attributes:
        length: The number of elements in a row.
        names: The components to pack.
        split: Whether to cut longer lists; otherwise they raise an error.
        max_open: The maximum number of rows that are open at the same time.
        along: The components with one value per packed list. These values become lists.
        cu_seqlens: Whether to add the end of each list in a row.
        balance: The number of ranks that should get rows of equal cost; None to keep the order in
            which rows are completed.
        values: The padding values.
        turn: The position of this rank's first example in the order of all ranks, and the distance
            to its next one.
    """

    length: int | Schedule
    names: tuple[str, ...]
    split: bool
    max_open: int
    along: tuple[str, ...] = named(())
    cu_seqlens: bool = named(False)
    balance: int | None = named(None)
    values: tuple[tuple[str, Any], ...] | int | float | complex | bytes | str = named(0)
    turn: tuple[int, int] = field(default=(0, 1), compare=False, repr=False)

    effect: ClassVar = Effect.GROUPS
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the packed components, plus the components that identify the lists in a row."""
        check_names(self, (*self.names, *self.along), specs)
        added = ("segment_ids", "positions", *(("cu_seqlens",) if self.cu_seqlens else ()))
        for name, spec in specs.items():
            self._check(name, spec)
            if name in added:
                raise ValueError(f"pack: there is already a component {name!r}. Rename it.")
        packed = {name: specs[name] for name in self.names}
        check_values(self.name, self.values, packed, packed)
        numbers = element_type("pack", np.int32)
        length = fixed_size(self.length)
        types = {name: specs[name].dtype for name in self.names}
        types |= dict.fromkeys(("segment_ids", "positions"), numbers)
        after = {name: Spec(dtype, (length,), length is None) for name, dtype in types.items()}
        after |= {name: Spec(specs[name].dtype, (None,), True) for name in self.along}
        if self.cu_seqlens:
            after["cu_seqlens"] = Spec(numbers, (None,), True)
        return after

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...]:
        """Returns the names of the packed components and of the added ones."""
        check_names(self, (*self.names, *self.along), names)
        added = ("cu_seqlens",) if self.cu_seqlens else ()
        return (*self.names, "segment_ids", "positions", *self.along, *added)

    def length_after(self, length: float) -> None:
        """Returns None, because the number of rows depends on the lengths."""

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        names, num_along = list(self.names), len(self.along)
        there = list(planning.before)
        chosen = [there.index(name) for name in (*names, *self.along)]
        planning.later(engine.Stage.select(chosen))
        lengths = entries_of(self.length)
        if self.split:
            planning.later(engine.Stage.cut_lists(names, num_along, lengths[0][1]))
        # Lengths are needed here, so the rows must have been computed.
        planning.finish_rows()
        plan, limits = planning.plan, (self.max_open, self.balance or 1)
        rows = (
            plan.pack(names, self.length, *limits)
            if isinstance(self.length, int)
            else plan.pack_by_position(names, lengths, self.turn, *limits)
        )
        planning.group_in_order(rows, counts_rows=False)
        packed = {name: planning.before[name] for name in names}
        values = fillers(self.name, self.values, packed, packed)
        planning.later(
            engine.Stage.pack_rows(
                names, lengths[0][1], self.split, num_along, self.cu_seqlens, values
            )
        )
        planning.finish_rows()

    def _check(self, name: str, spec: Spec) -> None:
        if name in self.along:
            if spec.shape != ():
                raise ValueError(
                    f"pack: the component {name!r} is {spec}, but along accepts only single "
                    "values, which it collects into a list. Pack the component, or drop it with "
                    "select."
                )
        elif name not in self.names:
            raise ValueError(
                f"pack: the component {name!r} is neither packed nor in along. Drop it with "
                f"select({', '.join(map(repr, (*self.names, *self.along)))}), or add it to along."
            )
        elif not (spec.shape is None or len(spec.shape) == 1) or isinstance(spec.dtype, type):
            raise ValueError(f"pack: the component {name!r} is {spec}, expected lists of numbers.")


class PackMethod(Chain):
    """The method `pack`."""

    __slots__ = ()

    def pack(
        self,
        length: int | Mapping[int, int],
        names: str | Iterable[str],
        split: bool = False,
        max_open: int = 64,
        along: str | Iterable[str] = (),
        cu_seqlens: bool = False,
        balance: int | None = None,
        values: Any = None,
    ) -> Self:
        """Packs several lists into each row of a fixed length, with little padding.

        Each example goes into the first open row that has room (first fit). If none has room, a new
        row is opened. If `max_open` rows are open already, the fullest one is returned first. A row
        is also returned as soon as it is full. Empty lists are skipped.

        Each row becomes one example. Its packed components have shape (length,). For every element,
        the component `segment_ids` (int32) contains the number of the packed example, from 1, and 0
        for padding. The component `positions` (int32) contains the position within the list, from
        0. `Batches.statistics` reports the share of padding.

        Args:
            length: The number of elements in a row, at least 1. To change it during training, pass
                a dict from positions to lengths: `{0: 2048, 50_000: 8192}`. A row has the length
                that applies at the position of its first example. Positions count the examples of
                all ranks, and start again in each pass over the stages before `pack`. To batch rows
                of several lengths, use `padded_batch`.
            names: The components to pack. Within an example, their lists must have equal lengths.
            split: If True, lists longer than a row are cut into pieces. Positions continue from one
                piece to the next, and every piece has its own segment number. If False, such lists
                raise an error.
            max_open: The maximum number of open rows, at least 1. More open rows need less padding,
                but delay more examples.
            along: Other components to keep, which must have one value per example. They become
                lists with one value per packed example or piece.
            cu_seqlens: If True, adds the component `cu_seqlens` (int32) for variable-length
                attention kernels: 0, followed by the end of each packed example in the row. The
                padding comes after the last end.
            balance: The number of ranks that take part in each step. Any `balance` consecutive rows
                then take about the same time in attention, measured by the sum of squared lengths.
                This buffers eight rows per rank, and ranks take turns with the largest row. Use it
                with `shard(rank, balance)` after `pack`. If None, rows are returned as they are
                completed.
            values: The padding values; see `padded_batch`. For example, `{"labels": -100}` pads
                labels with the value that PyTorch's losses ignore. `segment_ids` and `positions`
                are always padded with 0.

        Raises:
            TypeError: If `split` or `cu_seqlens` is not a bool, a name is not a string, or a
                padding value is neither a number nor a string.
            ValueError: If a number is out of range, `split` is True and `length` a dict, or the
                stage follows `batch`. Also if a
                component in `names` does not exist or is not a list of numbers, a component in
                `along` has several values per example, a component is in neither list, or a padding
                value does not fit its component.

        Examples:
            >>> def tokenize(example):
            ...     return {"tokens": np.array([len(word) for word in example["text"].split()])}
            >>> pipe = hr.arrays({"text": ["to be", "or not to", "be"]}).map(tokenize)
            >>> for row in pipe.pack(4, "tokens"):
            ...     print(row["tokens"], row["segment_ids"])
            [2 2 2 0] [1 1 2 0]
            [2 3 2 0] [1 1 1 0]
        """
        stage = _pack_stage(length, names, split, max_open, along, cu_seqlens, balance, values)
        stage = replace(stage, turn=turn_after(self._stages))
        if batch_depth(self._stages):
            raise ValueError(
                "pack: cannot come after batch, because it needs single examples. Call unbatch() "
                "first."
            )
        return self._then(stage)


def _pack_stage(
    length: int | Mapping[int, int],
    names: str | Iterable[str],
    split: bool,
    max_open: int,
    along: str | Iterable[str],
    cu_seqlens: bool,
    balance: int | None,
    values: object,
) -> Pack:
    """Returns the stage after checking the arguments; see `Pipeline.pack`."""
    lengths = checked_size("pack", "length", length)
    checked_int("pack", "max_open", max_open, 1)
    check_bool("pack", "split", split)
    check_bool("pack", "cu_seqlens", cu_seqlens)
    if split and isinstance(lengths, Schedule):
        raise ValueError(
            "pack: split=True needs one length, but length is a dict. Cut long lists before pack, "
            "for example with flat_map, and remove split."
        )
    if balance is not None:
        checked_int("pack", "balance", balance, 1)
    chosen = checked_names("pack", _several(names))
    others = _several(along)
    others = checked_names("pack", others) if others else ()
    both = next((name for name in others if name in chosen), None)
    if both is not None:
        raise ValueError(
            f"pack: {both!r} is both in names and in along. Remove it from one of them."
        )
    fillers = as_values("pack", values)
    for name in dict(fillers) if isinstance(fillers, tuple) else ():
        if name not in chosen:
            raise ValueError(
                f"pack: values has an entry for {name!r}, expected only packed components: "
                f"{', '.join(map(repr, chosen))}."
            )
    return Pack(lengths, chosen, split, max_open, others, cu_seqlens, balance, fillers)


def _several(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
