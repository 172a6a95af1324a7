"""A worker process's output rows, written once into memory that the program reads."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.pipeline.values.column_conversion import as_components, typed
from headrace.pipeline.values.types import Spec, Specs
from headrace.pipeline.workers.shared_arrays import Arena, Layout

__all__ = ["SharedRows"]

_ALIGNMENT: Final = 64
# The rows of a component are contiguous in the arena if they need at most this many bytes.
_MOST_BYTES: Final = 32 << 20
_PLAIN_TYPES: Final = {
    np.dtype(np.bool_): bool,
    np.dtype(np.int64): int,
    np.dtype(np.float64): float,
}


class _Component:
    """The rows of one component so far, in a region of the arena or as a list."""

    def __init__(self, name: str, spec: Spec, is_separate: bool) -> None:
        self.name: Final = name
        self.spec: Final = spec
        # The types of scalars that are stored without a conversion.
        self.plain: Final = _plain_types(spec)
        # These are strings, lists of lists, lists of arrays, and components whose rows had
        # different shapes before.
        is_list = spec.is_nested or spec.is_listed
        self.is_separate = is_separate or is_list or isinstance(spec.dtype, type)
        self.offset = 0
        self.rows: npt.NDArray[Any] | None = None
        self.values: list[Any] = []

    def value(self, where: str, raw: Any) -> Any:
        """Returns the value to store. An array may be returned unchanged."""
        if type(raw) in self.plain or (
            type(raw) is np.ndarray
            and raw.dtype == self.spec.dtype
            and raw.dtype.isnative
            and not self.spec.is_listed
        ):
            return raw
        return typed(where, self.name, raw, self.spec)

    def put(self, where: str, row: int, value: Any) -> None:
        """Sets the value of the next row."""
        if self.rows is not None:
            if type(value) in self.plain and not self.rows.shape[1:]:
                try:
                    self.rows[row] = value
                    return
                except OverflowError:
                    pass
            value = self.as_array(where, value)
            if value.shape == self.rows.shape[1:]:
                self.rows[row] = value
                return
            self.values = [each.copy() for each in self.rows[:row]]
            self.rows, self.is_separate = None, True
        value = self.as_array(where, value)
        self.values.append(np.array(value) if isinstance(value, np.ndarray) else value)

    def as_array(self, where: str, value: Any) -> Any:
        """Converts a result of `value` to an array. Strings are unchanged."""
        is_plain = type(value) in self.plain
        return typed(where, self.name, value, self.spec) if is_plain else value


def _plain_types(spec: Spec) -> tuple[type, ...]:
    if isinstance(spec.dtype, type) or spec.is_listed:
        return ()
    dtype = np.dtype(spec.dtype)
    plain = _PLAIN_TYPES.get(dtype)
    scalar = (dtype.type,) if dtype.kind in "biufc" else ()
    return scalar if plain is None else (plain, *scalar)


class SharedRows:
    """A function's output rows for a block, as growing arrays in an arena.

    Args:
        arena: The arena for the rows. It is filled from its start.
        specs: The components.
        num_rows: The approximate number of rows.
        uneven: The components whose rows have had different shapes. More are added as they are
            found.
    """

    def __init__(self, arena: Arena, specs: Specs, num_rows: int, uneven: set[str]) -> None:
        self._arena: Final = arena
        self._specs: Final = specs
        self._room = max(num_rows, 1)
        self._uneven: Final = uneven
        self._num_rows = 0
        # The number of bytes used in the arena.
        self._size = 0
        self._components: Final = [
            _Component(name, spec, name in uneven) for name, spec in specs.items()
        ]

    def __len__(self) -> int:
        return self._num_rows

    def add(self, where: str, row: object) -> None:
        """Adds a copy of a function's result for a row. If an error is raised, nothing is added.

        Raises:
            TypeError: In the same cases as `Results.add`.
            ValueError: In the same cases as `Results.add`.
            MemoryError: If there is not enough memory.
        """
        values = as_components(where, row, self._specs)
        self.add_values(where, [each.value(where, values[each.name]) for each in self._components])

    def add_values(self, where: str, values: Sequence[Any]) -> None:
        """Adds a copy of a row, given as results of `as_values`."""
        if self._num_rows == 0:
            self._begin(where, values)
        elif self._num_rows == self._room:
            self._grow()
        try:
            for each, value in zip(self._components, values, strict=True):
                each.put(where, self._num_rows, value)
        except BaseException:
            self.keep(self._num_rows)
            raise
        self._num_rows += 1

    def keep(self, num_rows: int) -> None:
        """Drops all rows except the first `num_rows`."""
        self._num_rows = min(num_rows, self._num_rows)
        for each in self._components:
            del each.values[self._num_rows :]

    def locations(self) -> tuple[tuple[Any, ...], ...]:
        """Returns the location of each component; see `Layout.add`.

        Raises:
            MemoryError: If there is not enough memory for components that are not in the arena yet.
            TypeError: If strings and numbers are mixed.
        """
        layout, locations = Layout(self._size), []
        for each in self._components:
            if each.is_separate:
                self._uneven.add(each.name)
            if each.rows is None:
                locations.append(layout.add(each.values))
            else:
                shape = (self._num_rows, *each.rows.shape[1:])
                locations.append(("array", each.rows.dtype, shape, each.offset))
        layout.write(self._arena)
        return tuple(locations)

    def _begin(self, where: str, values: Sequence[Any]) -> None:
        """Reserves memory for rows with the same shapes as the first one."""
        self._size = 0
        dense = []
        for each, row_value in zip(self._components, values, strict=True):
            each.values, each.rows = [], None
            if each.is_separate:
                continue
            value = each.as_array(where, row_value)
            if value.nbytes * self._room <= max(_MOST_BYTES, value.nbytes):
                each.offset = self._taken(value.nbytes * self._room)
                dense.append((each, value))
        self._arena.reserve(self._size)
        for each, value in dense:
            each.rows = self._at(each.offset, value.dtype, value.shape)

    def _grow(self) -> None:
        """Reserves memory for twice as many rows, after the memory in use."""
        had = self._room
        dense = [(each, each.rows) for each in self._components if each.rows is not None]
        offsets = [self._taken(2 * rows.nbytes) for _, rows in dense]
        self._arena.reserve(self._size)
        self._room = 2 * had
        for (each, rows), offset in zip(dense, offsets, strict=True):
            each.rows = self._at(offset, rows.dtype, rows.shape[1:])
            each.rows[:had] = rows
            each.offset = offset

    def _taken(self, num_bytes: int) -> int:
        offset = self._size + -self._size % _ALIGNMENT
        self._size = offset + num_bytes
        return offset

    def _at(self, offset: int, dtype: Any, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        shape = (self._room, *shape)
        num_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        rows: npt.NDArray[Any] = self._arena.at(offset, num_bytes).view(dtype)
        return rows.reshape(shape)
