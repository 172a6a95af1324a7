"""`batch`: stacks examples into arrays with a new first axis."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self, TypeAlias

from headrace.core import engine
from headrace.pipeline.stages.arguments import check_remainder, checked_names
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import batch_depth
from headrace.pipeline.stages.schedule import (
    Schedule,
    checked_size,
    entries_of,
    fixed_size,
    num_groups,
    turn_after,
)
from headrace.pipeline.stages.stage import Effect, Planning, Stage, Step, check_names, named
from headrace.pipeline.values.types import Json, Spec, Specs, element_type

__all__ = [
    "Batch",
    "BatchMethod",
    "Remainder",
    "batch_specs",
    "check_not_listed",
    "joined_names",
    "names_of_batch",
    "plan_batch",
]

# How a batch stores a component; see `engine.Stage.collate`.
Layout: TypeAlias = Literal["stacked", "joined", "arrays", "lists"]
# How to handle an incomplete last batch.
Remainder: TypeAlias = Literal["keep", "drop", "pad"]


@dataclass(frozen=True)
class Batch(Step):
    """Stacks examples into arrays with a new first axis.

    Attributes:
        size: The number of examples in a batch.
        remainder: How to handle an incomplete last batch.
        ragged: "offsets" to join lists end to end, or None to reject them.
        lists: The components that a batch stores as a list of arrays.
        num_ranks: The number of ranks whose examples count towards the positions in `size`.
    """

    size: int | Schedule
    remainder: Remainder
    ragged: Literal["offsets"] | None = named(None)
    lists: tuple[str, ...] = named(())
    num_ranks: int = field(default=1, compare=False, repr=False)

    effect: ClassVar = Effect.GROUPS
    needs_values: ClassVar = True
    added_axes: ClassVar = 1

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components with a new first axis, or with lists joined end to end."""
        check_not_listed(self, specs)
        check_names(self, self.lists, specs)
        for name in self.lists:
            remedy = "Use padded_batch" if specs[name].is_nested else ""
            if specs[name].dtype is Json:
                remedy = (
                    "Remove it from lists, because a batch contains a list of its objects anyway"
                )
            if remedy:
                raise ValueError(
                    f"batch: lists contains {name!r}, but that component is {specs[name]}, not "
                    f"one array per example. {remedy}."
                )
        batch = self._stacked(specs) if self.ragged is None else self._joined(specs)
        return batch | {name: batch[name]._replace(is_listed=True) for name in self.lists}

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the names, with `mask` if added, or None if lists of unknown names are joined."""
        check_names(self, self.lists, names)
        return None if self.ragged is not None else names_of_batch(names, self.remainder)

    def length_after(self, length: float) -> float:
        """Returns the number of batches."""
        return num_groups(length, self.size, self.num_ranks, self.remainder == "drop")

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        layouts = [self._layout(name, spec) for name, spec in planning.before.items()]
        plan_batch(planning, self.size, self.num_ranks, self.remainder, None, layouts)

    def _layout(self, name: str, spec: Spec) -> Layout:
        if name in self.lists:
            return "lists" if spec.is_list else "arrays"
        return "joined" if self.ragged is not None and spec.is_list else "stacked"

    def _stacked(self, specs: Specs) -> Specs:
        for name, spec in specs.items():
            if spec.is_ragged and name not in self.lists:
                raise ValueError(
                    f"batch: the component {name!r} is a list whose length varies, so it cannot "
                    f"be stacked. Use padded_batch or batch(lists={name!r}), or drop it with "
                    "select."
                )
        return batch_specs(specs, fixed_size(self.size), self.remainder)

    def _joined(self, specs: Specs) -> Specs:
        """Returns the components of a batch whose lists are joined end to end."""
        lists = [n for n, spec in specs.items() if spec.is_list and n not in self.lists]
        others = {name: spec for name, spec in specs.items() if name not in lists}
        size = fixed_size(self.size)
        stacked = batch_specs(others, size, self.remainder)
        num_offsets = None if self.remainder == "keep" or size is None else size + 1
        joined: Specs = {}
        for name, spec in specs.items():
            shape = spec.shape
            # After a Python function, no size is known, so the engine compares the examples.
            is_known = shape is not None and any(size is not None for size in shape[1:])
            has_open_axes = shape is not None and is_known and None in shape[1:]
            if name not in self.lists and (spec.is_nested or has_open_axes):
                raise ValueError(
                    f"batch: the component {name!r} is {spec}, but only its first axis may vary "
                    "in size. Use padded_batch, or drop it with select."
                )
            if name not in lists:
                joined[name] = stacked.pop(name)
                continue
            for added in (f"{name}.values", f"{name}.offsets"):
                if added in specs:
                    raise ValueError(
                        f"batch: there is already a component {added!r}. Rename it, or rename "
                        f"{name!r}."
                    )
            inner = None if shape is None else (None, *shape[1:])
            joined[f"{name}.values"] = Spec(spec.dtype, inner)
            joined[f"{name}.offsets"] = Spec(element_type("batch", int), (num_offsets,))
        return joined | stacked


class BatchMethod(Chain):
    """The method `batch`."""

    __slots__ = ()

    def batch(
        self,
        size: int | Mapping[int, int],
        remainder: Remainder = "keep",
        ragged: Literal["offsets"] | None = None,
        lists: str | Iterable[str] = (),
    ) -> Self:
        """Stacks examples into batches.

        Every component becomes an array with a new first axis.

        Args:
            size: The number of examples in a batch, at least 1. To change it during training, pass
                a dict from positions to sizes: `{0: 256, 100_000: 512}`. A batch has the size that
                applies at the position of its first example. Positions count the examples of all
                ranks, and the size is for each rank. They start again in each pass over the stages
                before `batch`, so call `epochs` before `batch` to count over all epochs.
            remainder: How to handle an incomplete last batch. "keep" returns a smaller batch, and
                "drop" drops it. "pad" fills it up to `size` with zeros and empty strings, and adds
                a bool component `mask` to every batch, which is False for padding.
            ragged: "offsets" joins lists end to end instead of padding them. A component NAME whose
                first axis varies is replaced by two: `NAME.values` contains the rows of all
                examples, and `NAME.offsets` (int64) has one more entry than the batch has examples.
                The rows of example `i` are `values[offsets[i] : offsets[i + 1]]`. With
                `remainder="pad"`, padding has no rows. If None, lists of different lengths raise an
                error.
            lists: The components to keep as separate arrays, as you would with a `collate_fn` in
                PyTorch. The batch then has a list with one array per example, and the shapes may
                differ. `unbatch` reverses this. `remainder="pad"` adds empty arrays if the first
                axis varies, and otherwise zeros with the shape of the batch's first array.

        Raises:
            TypeError: If a name in `lists` is not a string.
            ValueError: If an argument is invalid, or a name in `lists` is not a component, is
                `hr.Json` or is a list of lists. Also if a component is a list of varying length and
                neither `ragged` nor `lists` covers it. With `ragged="offsets"`, also if another
                axis varies, or if a component already has one of the new names. After a Python
                function, shapes are unknown until a batch is made, so this error is raised at that
                point.

        Examples:
            >>> pipe = hr.arrays({"x": [1, 2, 3]}).batch(2, remainder="pad")
            >>> for batch in pipe:
            ...     print(batch)
            {'x': array([1, 2]), 'mask': array([ True,  True])}
            {'x': array([3, 0]), 'mask': array([ True, False])}
            >>> [batch["x"].tolist() for batch in hr.arrays({"x": range(8)}).batch({0: 1, 2: 3})]
            [[0], [1], [2, 3, 4], [5, 6, 7]]
        """
        chosen = checked_size("batch", "size", size)
        check_remainder("batch", remainder)
        if ragged not in (None, "offsets"):
            raise ValueError(
                f"batch: ragged is {ragged!r}, expected 'offsets' (a list becomes its values and "
                "offsets), or None."
            )
        names = (lists,) if isinstance(lists, str) else tuple(lists)
        names = checked_names("batch", names) if names else ()
        num_ranks = turn_after(self._stages)[1]
        return self._then(Batch(chosen, remainder, ragged, names, num_ranks))


def check_not_listed(stage: Stage, specs: Specs) -> None:
    """Raises ValueError if a component is a list of arrays. These cannot be batched again."""
    for name, spec in specs.items():
        if spec.is_listed:
            raise ValueError(
                f"{stage.name}: the component {name!r} of a batch is a list of arrays, which "
                "cannot be batched again. Call unbatch() first, or drop it with select."
            )


def joined_names(specs: Specs) -> list[str]:
    """Returns each NAME whose lists are joined in a batch, as `NAME.values` and `NAME.offsets`."""
    # A batch of packed rows has an axis for the rows.
    offsets = [name for name, spec in specs.items() if len(spec.shape or ()) == 1]
    names = [name.removesuffix(".offsets") for name in offsets if name.endswith(".offsets")]
    return [name for name in names if f"{name}.values" in specs]


def batch_specs(specs: Specs, size: int | None, remainder: Remainder) -> Specs:
    """Returns the components of a batch. The size is None if batches differ in size."""
    batched = {
        name: spec.batched(None if remainder == "keep" else size) for name, spec in specs.items()
    }
    if remainder == "pad":
        if "mask" in batched:
            raise ValueError(
                "batch: there is already a component 'mask'. Rename it with rename(...)."
            )
        batched["mask"] = Spec(element_type("batch", bool), (size,))
    return batched


def names_of_batch(names: tuple[str, ...] | None, remainder: Remainder) -> tuple[str, ...] | None:
    """Returns the component names of a batch."""
    return (*names, "mask") if names is not None and remainder == "pad" else names


def plan_batch(
    planning: Planning,
    size: int | Schedule,
    num_ranks: int,
    remainder: Remainder,
    padding: engine.Padding | None,
    layouts: Sequence[Layout],
) -> None:
    """Adds batches to a plan. Their sizes must not depend on the examples.

    Args:
        planning: The plan.
        size: The number of examples in a batch.
        num_ranks: The number of ranks whose examples count towards the positions in `size`.
        remainder: How to handle an incomplete last batch.
        padding: How to pad lists, or None to not pad them.
        layouts: How a batch stores each component. Empty to stack all components.
    """
    plan, turn, drops_rest = planning.plan, planning.turn, remainder == "drop"
    planning.group(
        plan.batch(size, drops_rest, turn)
        if isinstance(size, int)
        else plan.batch_by_position(size.entries, num_ranks, drops_rest, turn)
    )
    is_of_batches = batch_depth(planning.chain[: planning.index]) > 0
    # The engine pads to the size of each batch. This size is only for batches that have none.
    pad_to = entries_of(size)[0][1] if remainder == "pad" else None
    names = list(planning.before)
    planning.later(engine.Stage.collate(names, is_of_batches, pad_to, padding, layouts))
    planning.finish_rows()
