"""`pack`: concatenates lists into rows of a fixed length."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from headrace.core import engine
from headrace.pipeline.stages.arguments import check_bool, checked_int, checked_names
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import batch_depth
from headrace.pipeline.stages.pack_components import (
    Cost,
    PlainCost,
    check_components,
    check_cost,
    checked_costs,
    columns_along,
    cost_terms,
    list_columns,
    packed_spec,
    specs_along,
)
from headrace.pipeline.stages.pack_tree import PackTree
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
        split: Whether to cut longer lists. If not, they raise an error.
        max_open: The maximum number of rows that are open at the same time.
        along: The components to collect from the examples of a row.
        cu_seqlens: Whether to add the end of each list in a row.
        balance: The number of ranks that should get rows of equal cost, or None to keep the order
            in which rows are completed.
        cost: The components that determine the cost of a row, with their costs. If empty, it is the
            sum of the squared lengths of the packed lists.
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
    cost: tuple[tuple[str, PlainCost], ...] = named(())
    values: tuple[tuple[str, Any], ...] | int | float | complex | bytes | str = named(0)
    turn: tuple[int, int] = field(default=(0, 1), compare=False, repr=False)

    effect: ClassVar = Effect.GROUPS
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the packed components, plus the components that identify the lists in a row."""
        check_names(self, (*self.names, *self.along), specs)
        added = ("segment_ids", "positions", *(("cu_seqlens",) if self.cu_seqlens else ()))
        check_components(self.names, self.along, specs, added)
        check_cost(self.cost, specs, self.along)
        packed = {name: specs[name] for name in self.names}
        check_values(self.name, self.values, packed, packed)
        numbers = element_type("pack", np.int32)
        length = fixed_size(self.length)
        after = {name: packed_spec(spec, length) for name, spec in packed.items()}
        for name in ("segment_ids", "positions"):
            after[name] = packed_spec(Spec(numbers, (None,)), length)
        for name in self.along:
            after |= specs_along(name, specs[name])
        if self.cu_seqlens:
            after["cu_seqlens"] = Spec(numbers, (None,), True)
        return after

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the names of packed and added components, or None if `along` may have lists."""
        check_names(self, (*self.names, *self.along), names)
        added = ("cu_seqlens",) if self.cu_seqlens else ()
        return None if self.along else (*self.names, "segment_ids", "positions", *added)

    def length_after(self, length: float) -> None:
        """Returns None, because the number of rows depends on the lengths."""

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        specs = planning.before
        chosen = [*self.names, *self.along]
        lists = list_columns(self.names, specs)
        planning.later(engine.Stage.select([list(specs).index(name) for name in chosen]))
        lengths = entries_of(self.length)
        if self.split:
            planning.later(engine.Stage.cut_lists(lists, len(self.along), lengths[0][1]))
            # The start of each piece follows the lists.
            chosen.insert(len(self.names), "")
        # Lengths are needed here, so the rows must have been computed.
        planning.finish_rows()
        rows = planning.plan.pack(
            lists,
            lengths,
            self.turn,
            (self.max_open, self.balance or 1),
            cost_terms(self.cost or ((self.names[0], "square"),), chosen),
        )
        planning.group_in_order(rows, counts_rows=False)
        packed = {name: specs[name] for name in self.names}
        values = fillers(self.name, self.values, packed, packed)
        along = columns_along(self.along, specs)
        planning.later(
            engine.Stage.pack_rows(lists, lengths[0][1], self.split, along, self.cu_seqlens, values)
        )
        planning.finish_rows()


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
        cost: Mapping[str, Cost] | None = None,
        tree: str | None = None,
    ) -> Self:
        """Packs several lists into each row of a fixed length, with little padding.

        Each example goes into the first open row that has room (first fit). If none has room, a new
        row is opened. If `max_open` rows are open already, the fullest one is returned first. A row
        is also returned as soon as it is full. Empty lists are skipped.

        Each row becomes one example. Its packed components have shape (length,). For every element,
        the component `segment_ids` (int32) contains the number of the packed example, from 1, and 0
        for padding. The component `positions` (int32) contains the position within the list, from
        0. `Batches.statistics` reports the share of padding.

        If `tree` is set, each row is the prefix tree of a group of examples, such as the answers to
        one prompt: values that several examples begin with are stored once. See `tree`.

        Args:
            length: The number of elements in a row, at least 1. To change it during training, pass
                a dict from positions to lengths: `{0: 2048, 50_000: 8192}`. A row has the length
                that applies at the position of its first example. Positions count the examples of
                all ranks, and start again in each pass over the stages before `pack`. To batch rows
                of several lengths, use `padded_batch`.
            names: The components to pack: lists of numbers, or arrays whose first axis varies, such
                as (length, 8). Within an example, their first axes must have equal lengths. Lists
                of lists are packed as arrays, so their inner lists must have equal lengths.
            split: If True, lists longer than a row are cut into pieces. Positions continue from one
                piece to the next, and every piece has its own segment number. If False, such lists
                raise an error.
            max_open: The maximum number of open rows, at least 1. More open rows need less padding,
                but delay more examples.
            along: Other components to keep. They have an entry for each packed example or piece. A
                component NAME whose first axis varies, such as a list of images, is replaced by
                two: `NAME.values` contains the rows of all examples, and `NAME.offsets` (int64) has
                one more entry than the row has examples. The rows of example `i` are
                `values[offsets[i] : offsets[i + 1]]`. Other components get a new first axis. After
                a Python function, no size is known, so every array has values and offsets.
            cu_seqlens: If True, adds the component `cu_seqlens` (int32) for variable-length
                attention kernels: 0, followed by the end of each packed example in the row. The
                padding comes after the last end.
            balance: The number of ranks that take part in each step. Any `balance` consecutive rows
                then take about the same time, as determined by `cost`. This buffers eight rows per
                rank, and ranks take turns with the largest row. Use it with `shard(rank, balance)`
                after `pack`. If None, rows are returned as they are completed.
            values: The padding values; see `padded_batch`. For example, `{"labels": -100}` pads
                labels with the value that PyTorch's losses ignore. `segment_ids` and `positions`
                are always padded with 0.
            cost: The components that determine the cost of a row, if `balance` is set. A number is
                the cost of each element, and "square" is the squared length of each example. For
                example, `{"patches": 1.0, "tokens": "square"}` adds the number of patches to the
                squared numbers of tokens. "sum" is the sum of the values of a component in `along`,
                such as the numbers of patches that `hr.ops.patch_grid` computes from the headers of
                images. To weight "square" or "sum", or to add several costs of a component, pass a
                dict: `{"tokens": {"length": 1000.0, "square": 0.5}}`. If None, the cost is the
                squared length of each packed list.
            tree: The component that identifies the group of an example. Either each example has one
                value, or each example is a group, as in `hr.journal(group=...)`, and has a value
                for each of its rows. The result has no padding and no `segment_ids`. It has the
                packed components, node by node, and four int32 components: `node_lengths`,
                `parents` (the node before each node, or -1 for a root), `positions` (of each
                element, in its example) and `leaf_of` (for each example, in order of arrival, the
                node with its last element). A parent comes before its children. Examples share an
                element if all packed components are equal up to that point, bit for bit. An example
                that doesn't fit into `length` elements starts another tree. If `max_open` groups
                are open, the oldest one is returned. `split`, `cu_seqlens` and `values` can't be
                set.

        Raises:
            TypeError: If `split` or `cu_seqlens` is not a bool, a name is not a string, a cost is
                neither a number nor "square" nor "sum" nor a dict, or a padding value is neither a
                number nor a string.
            ValueError: If a number is out of range, arguments can't be combined, or the stage
                follows `batch`. Also if a component in `names` does not exist or is not a list of
                numbers, the number of axes of a component in `along` is unknown, a component is in
                neither list, a component in `cost` has no length, or no numbers for "sum", a
                component already has one of the new names, or a padding value does not fit its
                component.

        Examples:
            >>> def tokenize(example):
            ...     return {"tokens": np.array([len(word) for word in example["text"].split()])}
            >>> pipe = hr.arrays({"text": ["to be", "or not to", "be"]}).map(tokenize)
            >>> for row in pipe.pack(4, "tokens"):
            ...     print(row["tokens"], row["segment_ids"])
            [2 2 2 0] [1 1 2 0]
            [2 3 2 0] [1 1 1 0]
        """
        packed = _pack_stage(
            length, names, split, max_open, along, cu_seqlens, balance, values, cost
        )
        packed = replace(packed, turn=turn_after(self._stages))
        stage = packed if tree is None else _tree_stage(packed, tree, values)
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
    cost: Mapping[str, Cost] | None,
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
    chosen, others = _checked_components(names, along)
    costs = checked_costs(cost, balance, (*chosen, *others))
    fillers = as_values("pack", values)
    for name in dict(fillers) if isinstance(fillers, tuple) else ():
        if name not in chosen:
            raise ValueError(
                f"pack: values has an entry for {name!r}, expected only packed components: "
                f"{', '.join(map(repr, chosen))}."
            )
    return Pack(lengths, chosen, split, max_open, others, cu_seqlens, balance, costs, fillers)


def _checked_components(
    names: str | Iterable[str], along: str | Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    chosen, others = checked_names("pack", _several(names)), _several(along)
    others = checked_names("pack", others) if others else ()
    both = next((name for name in others if name in chosen), None)
    if both is not None:
        raise ValueError(
            f"pack: {both!r} is both in names and in along. Remove it from one of them."
        )
    return chosen, others


def _tree_stage(stage: Pack, tree: str, values: object) -> PackTree:
    """Returns the stage that packs trees; see `Pipeline.pack`."""
    (tree,) = checked_names("pack", [tree])
    unused = {"split": stage.split, "cu_seqlens": stage.cu_seqlens, "values": values is not None}
    for name, is_set in unused.items():
        if is_set:
            raise ValueError(
                f"pack: {name} can't be combined with tree, because the rows of a tree are neither "
                f"cut nor padded. Remove {name}."
            )
    if tree in stage.names:
        raise ValueError(
            f"pack: {tree!r} is both in names and in tree. Use a component that identifies groups."
        )
    return PackTree(
        stage.length,
        stage.names,
        tree,
        stage.max_open,
        stage.along,
        stage.balance,
        stage.cost,
        stage.turn,
    )


def _several(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
