"""The interface to functions that the engine computes.

`headrace.pipeline.native_functions` traces them. It needs all operations and is loaded when a
program uses `headrace.native`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from headrace.core import engine
from headrace.pipeline.values.types import Spec

__all__ = ["NativeFunction", "TracedFunction", "Use"]

# The use of a function: in a stage, or in a call outside a pipeline.
Use: TypeAlias = Literal["call", "filter", "flat_map", "map"]


@dataclass(frozen=True)
class TracedFunction(ABC):
    """A native function traced for components of known types.

    Attributes:
        specs: The components that it returns; for a filter, its input components.
        contents: The files that its operations are made from: their names without directories, and
            digests of what they hold.
    """

    specs: dict[str, Spec]
    contents: tuple[tuple[str, str], ...]

    @abstractmethod
    def stage(self, is_batched: bool) -> engine.Stage:
        """Returns the stage that calls it for each row.

        Args:
            is_batched: Whether a row is a batch.
        """


class NativeFunction(ABC):
    """A function that is traced once and runs in the engine."""

    @abstractmethod
    def traced(self, use: Use, specs: dict[str, Spec], seed: int | None) -> TracedFunction:
        """Returns the function for the components of an example, or of a batch.

        Args:
            use: The stage that it is used in.
            specs: The components.
            seed: The seed of its random operations; None if it may have none.

        Raises:
            TypeError: If it does something that cannot be traced, or returns the wrong kind of
                value.
            ValueError: If it uses an operation that the engine cannot compute in a pipeline.
        """

    @abstractmethod
    def __call__(self, example: Mapping[str, Any]) -> Any:
        """Computes the function for one example of NumPy values."""
