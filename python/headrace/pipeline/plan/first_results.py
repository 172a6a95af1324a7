"""The results of the first example, computed while the components were learned.

The next iteration takes it, so that the function is called once for that example.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Remembered"]


@dataclass(frozen=True)
class Remembered:
    """The result of one example.

    Attributes:
        place: Epoch, record, file, and number within the record: the key of random draws.
        example: The values that the function was called with.
        made: The function's result.
    """

    place: tuple[int, ...]
    example: Mapping[str, Any]
    made: Any

    @classmethod
    def of(
        cls, place: tuple[int, ...], example: Mapping[str, Any], made: Any
    ) -> "Remembered | None":
        """Remembers copies, which a later call cannot change; None if they cannot be copied."""
        try:
            return cls(place, deepcopy(dict(example)), deepcopy(made))
        except Exception:  # An object of the user's that is not copied is made again.
            return None

    def is_of(self, place: tuple[int, ...], example: Mapping[str, Any]) -> bool:
        """Returns whether the function would be called with the same again."""
        return (
            self.place == place
            and self.example.keys() == example.keys()
            and all(_are_same(value, example[name]) for name, value in self.example.items())
        )


def _are_same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and bool(np.array_equal(one, other))
    return bool(one == other)
