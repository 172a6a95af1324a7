"""Collects Python functions' results for the engine. Each value is copied once."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np

from headrace.core import engine
from headrace.pipeline.values.column_conversion import (
    as_components,
    batches_of,
    column_of,
    lists_of,
    typed,
)
from headrace.pipeline.values.nested import nested_column
from headrace.pipeline.values.python_values import is_masked
from headrace.pipeline.values.types import Spec, Specs, carried, engine_code, is_carried

__all__ = ["Results"]

_PLAIN_TYPES: Final = {
    np.dtype(np.bool_): bool,
    np.dtype(np.int64): int,
    np.dtype(np.float64): float,
}
_ARRAYS: Final = (np.ndarray, np.generic)


class _Rows(Protocol):
    """One component of the rows so far."""

    def add(self, where: str, value: Any) -> None:
        """Adds one row's value."""

    def keep(self, num_rows: int) -> None:
        """Drops all rows except the first ones."""

    def column(self) -> engine.Column:
        """Returns all rows."""


class Results:
    """The rows that a function returns for a block, as growing columns.

    Args:
        where: The stage and its function, for messages.
        specs: The components.
        num_rows: The approximate number of rows.
        is_batched: Whether each row is a batch.
    """

    def __init__(self, where: str, specs: Specs, num_rows: int, is_batched: bool = False) -> None:
        self._where = where
        self._specs = specs
        self._num_rows = 0
        self._rows: list[_Rows] = [
            _Objects(name, spec, is_batched)
            if isinstance(spec.dtype, type) or spec.is_nested or spec.is_listed
            else _Numbers(name, spec, num_rows, is_batched)
            for name, spec in specs.items()
        ]

    def __len__(self) -> int:
        return self._num_rows

    def add(self, row: object) -> None:
        """Adds a copy of the function's result for a row. Adds nothing if it raises an error.

        Raises:
            TypeError: If the result is not a dict, a component cannot hold the value, or its type
                differs from the first example's.
            ValueError: If the names differ from the names in the first example.
            ResourceExhaustedError: If there is not enough memory.
        """
        components: Mapping[str, Any] = as_components(self._where, row, self._specs)
        try:
            for name, rows in zip(self._specs, self._rows, strict=True):
                rows.add(self._where, components[name])
        except BaseException:
            self.keep(self._num_rows)
            raise
        self._num_rows += 1

    def keep(self, num_rows: int) -> None:
        """Drops all rows except the first `num_rows`."""
        self._num_rows = min(num_rows, self._num_rows)
        for rows in self._rows:
            rows.keep(self._num_rows)

    def columns(self) -> Sequence[engine.Column]:
        """Returns the columns, and drops all rows."""
        self._num_rows = 0
        return [rows.column() for rows in self._rows]


class _Numbers:
    """Arrays and numbers of one type."""

    def __init__(self, name: str, spec: Spec, num_rows: int, is_batched: bool) -> None:
        self._name = name
        self._spec = spec
        self._dtype = np.dtype(spec.dtype)
        self._plain = _PLAIN_TYPES.get(self._dtype)
        self._is_carried = is_carried(spec.dtype)
        self._builder = engine.ColumnBuilder(engine_code(spec.dtype), num_rows, is_batched)

    def add(self, where: str, number: Any) -> None:
        if type(number) is self._plain:
            number = self._number(number)
        is_array = isinstance(number, _ARRAYS) and not is_masked(number)
        if is_array and not self._is_carried and self._builder.push(number):
            return
        value = carried(typed(where, self._name, number, self._spec))
        if not self._builder.push(np.asarray(value, order="C")):
            raise AssertionError(
                f"{where}: got an array of {value.dtype}, expected {self._spec.dtype}"
            )

    def keep(self, num_rows: int) -> None:
        self._builder.keep(num_rows)

    def column(self) -> engine.Column:
        return self._builder.column()

    def _number(self, value: Any) -> Any:
        try:
            return self._dtype.type(value)
        except OverflowError:
            return value


class _Objects:
    """Strings, arrays of strings, lists of lists, and batches' lists of arrays."""

    def __init__(self, name: str, spec: Spec, is_batched: bool) -> None:
        self._name = name
        self._spec = spec
        self._is_batched = is_batched
        self._values: list[Any] = []

    def add(self, where: str, value: Any) -> None:
        self._values.append(typed(where, self._name, value, self._spec))

    def keep(self, num_rows: int) -> None:
        del self._values[num_rows:]

    def column(self) -> engine.Column:
        values, self._values = self._values, []
        if self._spec.is_nested:
            return nested_column(values, self._spec)
        if self._spec.is_listed:
            return lists_of(values, self._spec)
        return batches_of(values) if self._is_batched else column_of(self._name, values)
