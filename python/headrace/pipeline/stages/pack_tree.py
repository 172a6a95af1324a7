"""`pack(tree=...)`: packs the rows of a group as a prefix tree."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from headrace.core import engine
from headrace.pipeline.stages.pack_components import (
    PlainCost,
    check_components,
    check_cost,
    columns_along,
    cost_terms,
    list_columns,
    packed_spec,
    specs_along,
)
from headrace.pipeline.stages.schedule import Schedule, entries_of
from headrace.pipeline.stages.stage import Effect, Planning, Step, check_names, named
from headrace.pipeline.values.types import Spec, Specs, element_type

__all__ = ["PackTree"]

_ADDED = ("node_lengths", "parents", "positions", "leaf_of")


@dataclass(frozen=True)
class PackTree(Step):
    """Packs the rows of a group as a prefix tree.

    Attributes:
        length: The maximum number of elements in a tree.
        names: The components to pack.
        tree: The component that identifies a row's group.
        max_open: The maximum number of trees that are open at the same time.
        along: The components to collect from the rows of a tree.
        balance: The number of ranks that should get trees of equal cost, or None to keep the order
            in which trees are completed.
        cost: See `Pack`.
        turn: See `Pack`.
    """

    length: int | Schedule
    names: tuple[str, ...]
    tree: str = named("")
    max_open: int = named(64)
    along: tuple[str, ...] = named(())
    balance: int | None = named(None)
    cost: tuple[tuple[str, PlainCost], ...] = named(())
    turn: tuple[int, int] = field(default=(0, 1), compare=False, repr=False)

    effect: ClassVar = Effect.GROUPS
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    @property
    def name(self) -> str:
        """The name of the method that adds this stage."""
        return "pack"

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the packed components, plus the components that describe the tree."""
        check_names(self, (*self.names, self.tree, *self.along), specs)
        rows = self._rows(specs)
        check_components(self.names, self.along, rows, _ADDED, (self.tree,))
        check_cost(self.cost, rows, self.along)
        after = {name: packed_spec(rows[name], None) for name in self.names}
        after |= dict.fromkeys(_ADDED, Spec(element_type("pack", np.int32), (None,), True))
        for name in self.along:
            after |= specs_along(name, rows[name])
        return after

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the names of packed and added components, or None if `along` may have lists."""
        check_names(self, (*self.names, self.tree, *self.along), names)
        return None if self.along else (*self.names, *_ADDED)

    def length_after(self, length: float) -> None:
        """Returns None, because the number of trees depends on the rows."""

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        specs = planning.before
        is_grouped = self._is_grouped(specs)
        rows = self._rows(specs)
        chosen = [*self.names, self.tree, *self.along]
        planning.later(engine.Stage.select([list(specs).index(name) for name in chosen]))
        group = len(self.names)
        marks = group + 1 if is_grouped else None
        if marks is not None:
            planning.later(engine.Stage.split_groups(chosen, marks))
            chosen.insert(marks, "")
        planning.finish_rows()
        lists = list_columns(self.names, rows)
        cost = cost_terms(self.cost or ((self.names[0], "square"),), chosen)
        limits = (self.max_open, self.balance or 1)
        trees = planning.plan.pack(
            lists, entries_of(self.length), self.turn, limits, cost, (group, marks)
        )
        planning.group_in_order(trees, counts_rows=False)
        first_along = len(chosen) - len(self.along)
        along = columns_along(self.along, rows)
        planning.later(engine.Stage.pack_trees(lists, first_along, along))
        planning.finish_rows()

    def _is_grouped(self, specs: Specs) -> bool:
        """Returns whether an example is a group of rows, as in `hr.journal(group=...)`."""
        spec = specs[self.tree]
        if spec.shape is None or len(spec.shape) > 1:
            raise ValueError(
                f"pack: tree is {self.tree!r}, but that component is {spec}, expected one value "
                "for each row, or a list of them for each group."
            )
        return len(spec.shape) == 1

    def _rows(self, specs: Specs) -> Specs:
        """Returns the components of a row."""
        if not self._is_grouped(specs):
            return dict(specs)
        if isinstance(self.length, Schedule):
            raise ValueError(
                "pack: tree with examples that are groups needs one length, but length is a dict, "
                "whose positions count examples."
            )
        return dict(self._row_specs(specs))

    def _row_specs(self, specs: Specs) -> Iterator[tuple[str, Spec]]:
        for name, spec in specs.items():
            if name in (*self.names, *self.along) and spec.shape == ():
                raise ValueError(
                    f"pack: the component {name!r} is {spec}, but {self.tree!r} has several values "
                    "per example, so this component needs one for each of its rows."
                )
            yield name, spec.row()
