"""Batches whose numbers become arrays of another library, without ragged or string arrays."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from headrace.pipeline.outputs.converted_batches import ConvertedBatches
from headrace.pipeline.values.nested import NestedList

__all__ = ["ArrayBatches", "Narrowed", "narrowed"]


class ArrayBatches(ConvertedBatches):
    """One iteration's batches as a library's arrays. Strings are not converted.

    Attributes:
        method: The method of `Pipeline` that created the iteration, for messages.
        library: The name of the library.
    """

    method: ClassVar[str]
    library: ClassVar[str]

    @abstractmethod
    def _of_numbers(self, name: str, array: np.ndarray[Any, Any]) -> Any:
        """Returns the library's array for a component of numbers."""

    def _check_list(self, name: str, values: NestedList) -> None:
        """Raises an error if the library cannot use a component that is a list of arrays."""

    def _convert(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {name: self._array(name, value) for name, value in batch.items()}

    def _array(self, name: str, value: Any) -> Any:
        if isinstance(value, NestedList) and value.spec.is_listed:
            self._check_list(name, value)
            return [self._array(name, item) for item in value]
        is_number = isinstance(value, (np.ndarray, np.generic)) and value.dtype != object
        if not is_number:
            return value
        if value.dtype.kind in "mM":
            raise TypeError(
                f"{self.method}: the component {name!r} is {value.dtype}, which {self.library} "
                "does not support. Convert it in map, for example to a number of days, or drop it "
                "with select."
            )
        return self._of_numbers(name, np.asarray(value))


class Narrowed(NamedTuple):
    """An array in a narrower type.

    Attributes:
        array: The array. Floats are rounded.
        lost: A value that is out of range for the type, or None if there is none.
    """

    array: np.ndarray[Any, Any]
    lost: Any


def narrowed(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> Narrowed:
    """Converts an array to a type that may be narrower."""
    if array.dtype == dtype:
        return Narrowed(array, None)
    with np.errstate(over="ignore", invalid="ignore"):
        result = array.astype(dtype)
    is_lost = result != array
    if dtype.kind not in "iu":
        is_lost = np.isfinite(array) & ~np.isfinite(result)
    return Narrowed(result, array[is_lost][0] if is_lost.any() else None)
