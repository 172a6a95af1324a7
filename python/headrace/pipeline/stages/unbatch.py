"""`unbatch`: splits batches into examples."""

from dataclasses import dataclass
from typing import ClassVar, Self

from headrace.core import engine
from headrace.pipeline.stages.batch import joined_names
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.stage import Effect, Planning, Step
from headrace.pipeline.values.types import Spec, Specs

__all__ = ["Unbatch", "UnbatchMethod"]


@dataclass(frozen=True)
class Unbatch(Step):
    """Splits batches into examples, one for each row of the first axis."""

    effect: ClassVar = Effect.EXPANDS
    needs_values: ClassVar = True
    added_axes: ClassVar = -1

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components without their first axis."""
        for name in joined_names(specs):
            raise ValueError(
                f"unbatch: the components '{name}.values' and '{name}.offsets' are the values and "
                "offsets of lists, which have no row for each example. Use padded_batch instead of "
                "batch, or drop both with select."
            )
        return {name: self._row(name, spec) for name, spec in specs.items()}

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the same names."""
        return names

    def length_after(self, length: float) -> None:
        """Returns None, because batches can have any size."""

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        planning.later(engine.Stage.unbatch())
        planning.finish_rows()

    def _row(self, name: str, spec: Spec) -> Spec:
        if spec.shape == ():
            raise ValueError(
                f"unbatch: the component {name!r} is a scalar, expected a leading axis. Call "
                "unbatch after batch."
            )
        return spec.row()


class UnbatchMethod(Chain):
    """The method `unbatch`."""

    __slots__ = ()

    def unbatch(self) -> Self:
        """Splits batches into examples. Each row of the first axis becomes one example.

        Raises:
            ValueError: If a component is a scalar, or if `batch(ragged="offsets")` joined its
                lists.

        Examples:
            >>> pipe = hr.arrays({"x": [1, 2, 3]}).batch(3).unbatch()
            >>> [int(example["x"]) for example in pipe]
            [1, 2, 3]
        """
        return self._then(Unbatch())
