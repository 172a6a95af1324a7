"""`select`: keeps some of the components."""

from dataclasses import dataclass
from typing import ClassVar, Self

from headrace.core import engine
from headrace.pipeline.stages.arguments import checked_names
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.stage import Effect, Planning, Step, check_names
from headrace.pipeline.values.types import Specs

__all__ = ["Select", "SelectMethod"]


@dataclass(frozen=True)
class Select(Step):
    """Keeps the components with these names."""

    names: tuple[str, ...]

    effect: ClassVar = Effect.EACH
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the selected components."""
        check_names(self, self.names, specs)
        return {name: specs[name] for name in self.names}

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...]:
        """Returns the selected names."""
        check_names(self, self.names, names)
        return self.names

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        there = list(planning.before)
        planning.later(engine.Stage.select([there.index(name) for name in self.names]))


class SelectMethod(Chain):
    """The method `select`."""

    __slots__ = ()

    def select(self, *names: str) -> Self:
        """Keeps only the named components, in this order.

        Raises:
            TypeError: If a name is not a string.
            ValueError: If there are no names, a name appears twice, or a name is not a component.

        Examples:
            >>> hr.arrays({"a": [1], "b": [2], "c": [3]}).select("c", "a").spec
            {'c': Spec(int64, ()), 'a': Spec(int64, ())}
        """
        return self._then(Select(checked_names("select", names)))
