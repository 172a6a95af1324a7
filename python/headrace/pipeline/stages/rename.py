"""`rename`: changes the names of components."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from headrace.pipeline.stages.arguments import checked_names
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.stage import Effect, Planning, Step, check_names
from headrace.pipeline.values.types import Specs

__all__ = ["Rename", "RenameMethod"]


@dataclass(frozen=True)
class Rename(Step):
    """Renames components. `names` contains pairs of an old and a new name."""

    names: tuple[tuple[str, str], ...]

    effect: ClassVar = Effect.EACH
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components under their new names."""
        new_names = dict(self.names)
        self._check(tuple(specs))
        renamed = {new_names.get(name, name): spec for name, spec in specs.items()}
        if len(renamed) < len(specs):
            raise ValueError(
                f"rename: two components would have the same name: {list(renamed)}. Use different "
                "names."
            )
        return renamed

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the new names."""
        if names is None:
            return None
        new_names = dict(self.names)
        self._check(names)
        return tuple(new_names.get(name, name) for name in names)

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Adds nothing, because the engine does not use names."""

    def _check(self, names: Sequence[str]) -> None:
        for old, new in self.names:
            if old not in names and new in names:
                there = ", ".join(map(repr, names))
                raise ValueError(
                    f"rename: there is no component {old!r}, expected one of {there}. The old "
                    "name comes first, as in rename(old='new'), so you may want "
                    f"rename({new}={old!r})."
                )
        check_names(self, [old for old, _ in self.names], names)


class RenameMethod(Chain):
    """The method `rename`."""

    __slots__ = ()

    def rename(self, **names: str) -> Self:
        """Renames components, as in `rename(old="new")`.

        The old name comes first, as in pandas, Polars and xarray. If a name is not a valid Python
        identifier, write `rename(**{"old name": "new"})`.

        Raises:
            TypeError: If a new name is not a string.
            ValueError: If there are no names, an old name is not a component, or two components
                would get the same name.

        Examples:
            >>> hr.arrays({"img": [1, 2]}).rename(img="image").spec
            {'image': Spec(int64, ())}
        """
        checked_names("rename", names.values())
        return self._then(Rename(tuple(names.items())))
