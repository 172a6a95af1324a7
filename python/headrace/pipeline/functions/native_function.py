"""The interface to functions that the engine runs.

`headrace.pipeline.native_functions` traces them. That package needs all operations, and is imported
when a program uses `headrace.native`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from headrace.core import engine
from headrace.pipeline.values.types import Spec

__all__ = ["NativeFunction", "TracedFunction", "Use"]

# The use of a function: the stage that calls it, or a call outside a pipeline.
Use: TypeAlias = Literal["call", "filter", "flat_map", "map"]


@dataclass(frozen=True)
class TracedFunction(ABC):
    """A native function traced for components of known types.

    Attributes:
        specs: The components that the function returns. For a filter, these are its input
            components.
        contents: The files that the operations depend on: file names without directories, and
            digests of the contents.
    """

    specs: dict[str, Spec]
    contents: tuple[tuple[str, str], ...]

    @abstractmethod
    def stage(self, is_batched: bool) -> engine.Stage:
        """Returns the stage that calls the function for each row.

        Args:
            is_batched: Whether a row is a batch.
        """


class NativeFunction(ABC):
    """A function that is traced once and runs in the engine."""

    @abstractmethod
    def traced(self, use: Use, specs: dict[str, Spec], seed: int | None) -> TracedFunction:
        """Returns the function traced for the components of an example or batch.

        Args:
            use: The stage that uses the function.
            specs: The components.
            seed: The seed for the function's random operations, or None if they are not allowed.

        Raises:
            TypeError: If the function does something that cannot be traced, or returns the wrong
                kind of value.
            ValueError: If it uses an operation that the engine cannot run in a pipeline.
        """

    @abstractmethod
    def __call__(self, example: Mapping[str, Any]) -> Any:
        """Runs the function for one example of NumPy values."""
