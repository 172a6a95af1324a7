"""The base of a pipeline: its stages and options, without the methods that users call."""

from collections.abc import Mapping
from inspect import isfunction
from typing import Any, Final, Self

from headrace.pipeline.describe.other_libraries import with_explained_calls
from headrace.pipeline.describe.sharding.even_ranks import check_even
from headrace.pipeline.describe.specs import Known, known_names, static_specs
from headrace.pipeline.describe.stages import Stage
from headrace.pipeline.run.order_advice import History

__all__ = ["Chain"]


class Chain:
    """An immutable chain of stages, which methods make longer."""

    __slots__ = ("_base", "_history", "_known", "_options", "_specs", "stages")

    def __init_subclass__(cls) -> None:
        """Lets calls with wrong arguments show what to write instead."""
        for name, value in vars(cls).copy().items():
            if isfunction(value) and not name.startswith("_"):
                setattr(cls, name, with_explained_calls(value))

    def __init__(
        self,
        chain: tuple[Stage, ...],
        options: Mapping[str, Any] | None = None,
        base: Self | None = None,
    ) -> None:
        self.stages: Final = chain
        # The pipeline without the last stage, which may know its components already.
        self._base: Final = base
        self._options: Final = dict(options or {})
        self._specs: Final = static_specs(chain)
        self._known: Known | None = None
        self._history: Final = History(chain)

    def _then(self, stage: Stage) -> Self:
        # A stage that names a missing component is refused here, when it is added.
        check_even(self.stages, stage)
        known_names((*self.stages, stage))
        return type(self)((*self.stages, stage), self._options, self)
