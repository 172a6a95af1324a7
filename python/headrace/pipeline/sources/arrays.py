"""`arrays`: rows of arrays in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from headrace.core import engine
from headrace.pipeline.sources.array_columns import array_columns
from headrace.pipeline.stages.source import Origin, Source, SourcePlanning
from headrace.pipeline.values.types import ElementType, Spec, array_type, carried, engine_code

__all__ = ["Arrays", "arrays"]


@dataclass(frozen=True, eq=False)
class Arrays(Source):
    """Rows of arrays in memory.

    Attributes:
        arrays: The arrays by name. Strings are arrays of `bytes` objects.
        texts: The names of the arrays that contained `str`.
    """

    arrays: Mapping[str, npt.NDArray[Any]]
    texts: frozenset[str]

    origin: ClassVar = Origin.ARRAYS

    @property
    def name(self) -> str:
        """The source's name in messages."""
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
        """The description in saved states: the types and shapes of the arrays."""
        return str(self)

    @property
    def obstacle(self) -> None:
        """None, because rows can be accessed at random."""
        return None

    @property
    def is_reordered(self) -> bool:
        """False, because there are no files."""
        return False

    def window_pieces(self, block_bytes: int | None) -> list[str]:
        """Returns an empty list, because there are no files."""
        return []

    def counts(self) -> list[int]:
        """Returns the number of rows."""
        return [len(next(iter(self.arrays.values())))]

    def column(self, name: str) -> npt.NDArray[Any]:
        """Returns one of the arrays."""
        return self.arrays[name]

    def source_plan(self, planning: SourcePlanning) -> engine.Plan:
        """Returns the plan that produces the rows."""
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
    """Yields the rows of arrays in memory. Each example contains one row of every array.

    Numeric arrays are not copied, even if they are memory-mapped files, slices or overlapping
    windows. The only exception is an in-memory array whose rows are not contiguous, such as a
    transposed array. It is copied once.

    Args:
        components: A dict of arrays or lists by name, all of the same length and with at least one
            dimension. A single array or list without a name becomes the component "x". The columns
            of a pandas or Polars DataFrame or of an Arrow table become components. In lists, `int`
            becomes int64 and `float` becomes float64, as in `map`.

    Raises:
        TypeError: If an array has a dtype that components don't support.
        ValueError: If no arrays are given, an array has no dimensions, or their lengths differ, or
            if a list contains lists of different lengths, or a table column has missing values and
            is not floating-point.

    Examples:
        >>> pipe = hr.arrays({"image": np.zeros((3, 28, 28), np.uint8), "label": [3, 1, 4]})
        >>> pipe.spec
        {'image': Spec(uint8, (28, 28)), 'label': Spec(int64, ())}
        >>> next(iter(pipe.select("label").batch(3)))
        {'label': array([3, 1, 4])}
    """
    columns = array_columns(components)
    return Arrays(columns.arrays, columns.texts)
