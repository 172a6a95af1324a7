"""Columns: the components that all examples of an output have."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from headrace.pipeline.writing.values import Values

__all__ = ["Column", "shortest"]


class Column(NamedTuple):
    """A component of all examples.

    Attributes:
        name: The name of the component.
        kind: "text", "bytes", "base64", "float" for float32, or the name of a NumPy type.
        rank: The number of axes. 0 for a single value.
    """

    name: str
    kind: str
    rank: int

    def value(self, values: Values, is_short: bool = True) -> Any:
        """Converts an example's value to a Python object. Several axes become nested lists.

        Args:
            values: The values of the example.
            is_short: Whether to write numbers with as few digits as possible.
        """
        items = self._items(values, is_short)
        if self.rank > 1:
            nested = np.empty(len(items), object)
            nested[:] = items
            return nested.reshape(values.shape or ()).tolist()
        return items if self.rank else items[0]

    def _items(self, values: Values, is_short: bool) -> list[Any]:
        match self.kind:
            case "text":
                return [item.decode() if isinstance(item, bytes) else item for item in values.items]
            case "base64":
                return [base64.b64encode(item).decode() for item in values.items]
            case "float" | "float32" if is_short:
                return shortest(values.items)
        return list(values.items)


def shortest(items: Sequence[float]) -> list[float]:
    """Converts float32 numbers to the shortest floats that are read back as the same float32."""
    return [float(str(np.float32(item))) for item in items]
