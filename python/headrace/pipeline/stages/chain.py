"""The base class of pipelines: stages and options, without the public methods."""

from collections.abc import Mapping
from inspect import isfunction
from typing import Any, Final, Self

from headrace.pipeline.stages.components import ChainSpecs, known_names, static_specs
from headrace.pipeline.stages.order_warnings import (
    RepeatedOrderWarning,
    check_counts_steps,
    check_even,
)
from headrace.pipeline.stages.other_libraries import with_explained_calls
from headrace.pipeline.stages.stage import Stages, Step

__all__ = ["Chain"]


class Chain:
    """An immutable chain of stages. Methods return a longer chain."""

    __slots__ = ("_base", "_chain_specs", "_history", "_options", "_specs", "_stages")

    def __init_subclass__(cls) -> None:
        """Makes calls with wrong arguments raise errors that suggest a correct call."""
        for name, value in vars(cls).copy().items():
            if isfunction(value) and not name.startswith("_"):
                setattr(cls, name, with_explained_calls(value))

    def __init__(
        self,
        chain: Stages,
        options: Mapping[str, Any] | None = None,
        base: Self | None = None,
    ) -> None:
        self._stages: Final = chain
        # The pipeline without its last stage. Its components may already be known.
        self._base: Final = base
        self._options: Final = dict(options or {})
        self._specs: Final = static_specs(chain)
        self._chain_specs: ChainSpecs | None = None
        self._history: Final = RepeatedOrderWarning(chain)

    def _then(self, stage: Step) -> Self:
        # This raises an error at once if the stage refers to a missing component.
        check_even(self._stages, stage)
        check_counts_steps(self._stages, stage)
        known_names((*self._stages, stage))
        return type(self)((*self._stages, stage), self._options, self)
