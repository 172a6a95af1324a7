"""`with_origin`: adds each record's file and number as components."""

from dataclasses import dataclass
from typing import ClassVar, Self

from headrace.core import engine
from headrace.pipeline.stages.chain import Chain
from headrace.pipeline.stages.components import source_of
from headrace.pipeline.stages.stage import Effect, Planning, Step
from headrace.pipeline.values.types import Spec, Specs, element_type

__all__ = ["OriginFiles", "WithOrigin", "WithOriginMethod"]


@dataclass(frozen=True)
class WithOrigin(Step):
    """Adds each record's file and number as components."""

    effect: ClassVar = Effect.EACH
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    def specs_after(self, specs: Specs) -> Specs:
        """Returns the components, plus `file` and `record_number`."""
        for name in ("file", "record_number"):
            if name in specs:
                raise ValueError(
                    f"with_origin: there is already a component {name!r}. Rename the column in "
                    "the file."
                )
        added = {"file": Spec(str, ()), "record_number": Spec(element_type("with_origin", int), ())}
        return {**specs, **added}

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Returns the names, plus `file` and `record_number`."""
        return None if names is None else (*names, "file", "record_number")

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        planning.later(engine.Stage.with_origin(len(planning.before)))


@dataclass(frozen=True)
class OriginFiles(Step):
    """Replaces all components with `file`, the name of each record's file, to measure shuffles."""

    effect: ClassVar = Effect.EACH
    needs_values: ClassVar = True
    added_axes: ClassVar = 0

    @property
    def name(self) -> str:
        """The stage's name in messages."""
        return "with_origin"

    def specs_after(self, specs: Specs) -> Specs:
        """Returns only `file`."""
        return {"file": Spec(str, ())}

    def names_after(self, names: tuple[str, ...] | None) -> tuple[str, ...]:
        """Returns only `file`."""
        return ("file",)

    def length_after(self, length: float) -> float:
        """Returns the number of output examples."""
        return length

    def plan_into(self, planning: Planning) -> None:
        """Adds this step to a plan."""
        planning.later(engine.Stage.origin_files())


class WithOriginMethod(Chain):
    """The method `with_origin`."""

    __slots__ = ()

    def with_origin(self) -> Self:
        """Adds the components `file` and `record_number`, which identify each example's record.

        `file` is the path (str), and `record_number` counts from 0 within the file (int64).

        Raises:
            ValueError: If this stage does not directly follow a source of files, or a component
                already has one of these names.

        Examples:
            >>> paths = hr.arrays({"x": [1, 2]}).write("numbers.jsonl")
            >>> pipe = hr.json_lines(paths).with_origin()
            >>> [(example["file"], int(example["record_number"])) for example in pipe]
            [('numbers.jsonl', 0), ('numbers.jsonl', 1)]
        """
        if len(self._stages) > 1 or not source_of(self._stages).reads_files:
            raise ValueError(
                "with_origin: must come directly after a source of files, but it comes after "
                f"{self._stages[-1].name}. Move it there."
            )
        return self._then(WithOrigin())
