"""Rows of arrays in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from headrace.core import engine
from headrace.pipeline.sources.array_columns import array_columns
from headrace.pipeline.stages.source import Source, SourcePlanning
from headrace.pipeline.values.types import ElementType, Spec, array_type, carried, engine_code

__all__ = ["Arrays", "arrays"]


@dataclass(frozen=True, eq=False)
class Arrays(Source):
    """Rows of arrays in memory.

    Attributes:
        arrays: Strings are arrays of `bytes` objects.
        texts: The names of the arrays given as `str`.
    """

    arrays: Mapping[str, npt.NDArray[Any]]
    texts: frozenset[str]

    reads_files: ClassVar = False
    is_scanned: ClassVar = False
    is_kept_for_shuffle: ClassVar = False
    numbers_lines: ClassVar = False

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "arrays"

    @property
    def spec(self) -> dict[str, Spec]:
        """The components of an example."""
        return {
            name: Spec(self._element_type(name, array), array.shape[1:])
            for name, array in self.arrays.items()
        }

    @property
    def described_by(self) -> str:
        """Its description in states: the types and shapes of the arrays."""
        return str(self)

    @property
    def obstacle(self) -> None:
        """None: there is random access to rows."""
        return None

    @property
    def is_reordered(self) -> bool:
        """False: there are no files."""
        return False

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Returns nothing: rows reach a window in their order."""
        return []

    def counts(self) -> list[int]:
        """Returns the number of rows."""
        return [len(next(iter(self.arrays.values())))]

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan of the rows."""
        specs = self.spec
        return engine.Plan.arrays(
            [
                (carried(array), engine_code(specs[name].dtype))
                for name, array in self.arrays.items()
            ]
        )

    def _element_type(self, name: str, array: npt.NDArray[Any]) -> ElementType:
        if array.dtype == object:
            return str if name in self.texts else bytes
        return array_type("arrays", array.dtype)

    def __str__(self) -> str:
        parts = (f"{name}: {array.dtype}{array.shape}" for name, array in self.arrays.items())
        return f"arrays({', '.join(parts)})"


def arrays(components: Any) -> Arrays:
    """Yields the rows of arrays: an example has a row of each.

    Arrays of numbers are not copied: views of files, slices and overlapping windows are read in
    place. Only an array in memory whose rows are not whole there, such as a transposed one, is
    copied once.

    Args:
        components: For each name an array of at least one dimension, or a list, all of the same
            length; or one array or list without a name, whose component is "x"; or a DataFrame of
            pandas or polars or a table of Arrow, whose components are its columns. In lists, `int`
            is int64 and `float` float64, as in `map`.

    Raises:
        TypeError: If an array has a type that a component cannot have.
        ValueError: If there are no arrays, one is a scalar, their lengths differ, a list has lists
            of different lengths, or a column of a table that is not floats has missing values.
    """
    found = array_columns(components)
    return Arrays(found.arrays, found.texts)
