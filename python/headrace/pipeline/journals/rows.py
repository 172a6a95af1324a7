"""Rows as bytes: the components of a commit's rows, stored in columns.

The format is documented in `docs/reference/journal_files.md`.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace.pipeline.values.column_conversion import typed
from headrace.pipeline.values.python_values import learned
from headrace.pipeline.values.types import Spec, Specs, carried, is_carried

__all__ = ["RowColumn", "decode_rows", "encode_rows", "learned_specs"]

_ALIGNMENT: Final = 8
_INT64: Final = np.dtype("<i8")
_PLAIN_TYPES: Final = {
    np.dtype(np.bool_): bool,
    np.dtype(np.int64): int,
    np.dtype(np.float64): float,
}


class RowColumn(NamedTuple):
    """One component of the rows of a commit.

    Attributes:
        values: The elements of all rows in a flat array. For strings, the bytes as uint8.
        shapes: The shape of each row, as an int64 array (rows, axes), or None without axes.
        starts: The start of each row's elements, followed by the end of the last row's elements.
        ends: For strings, the start of each string, followed by the end of the last one, or None
            for numbers.
    """

    values: npt.NDArray[Any]
    shapes: npt.NDArray[np.int64] | None
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64] | None

    def strings(self, first: int, last: int) -> list[bytes]:
        """Returns the strings of the rows `first` to `last`."""
        assert self.ends is not None
        ends = self.ends[self.starts[first] : self.starts[last] + 1].tolist()
        data = self.values[ends[0] : ends[-1]].tobytes()
        begin = ends[0]
        return [data[a - begin : b - begin] for a, b in pairwise(ends)]

    def numbers(self, first: int, last: int) -> npt.NDArray[Any]:
        """Returns the elements of the rows `first` to `last`."""
        return self.values[self.starts[first] : self.starts[last]]


def learned_specs(rows: Sequence[Mapping[str, Any]]) -> Specs:
    """Returns the components of the first rows of a journal.

    Raises:
        TypeError: If a component cannot hold a value.
        ValueError: If a component is a list of lists of different lengths.
    """
    specs = learned("append", rows) or {}
    for name, spec in specs.items():
        if spec.shape is None or spec.is_ragged or spec.is_listed:
            raise ValueError(
                f"append: the component {name!r} holds nested lists, which journals don't support. "
                "Append their values and lengths as two components."
            )
    return specs


def encode_rows(rows: Sequence[Mapping[str, Any]], specs: Specs) -> bytes:
    """Returns the bytes that store rows.

    Raises:
        TypeError: If a row is not a dict, or a value's type differs from the first append's.
        ValueError: If a row's components or a value's number of axes differ from the first
            append's.
    """
    for number, row in enumerate(rows):
        if type(row) is not dict or row.keys() != specs.keys():
            _check_names(number, row, specs)
    columns = (_encoded(name, [row[name] for row in rows], spec) for name, spec in specs.items())
    return b"".join(
        part for section in chain.from_iterable(columns) for part in (section, _padding(section))
    )


def _check_names(number: int, row: object, specs: Specs) -> None:
    if not isinstance(row, Mapping):
        raise TypeError(f"append: row {number} is {type(row).__name__}, expected a dict.")
    missing = [name for name in specs if name not in row]
    extra = [name for name in row if name not in specs]
    if missing or extra:
        problem = (
            f"has no component {missing[0]!r}" if missing else f"has the component {extra[0]!r}"
        )
        raise ValueError(
            f"append: row {number} {problem}, but the first append to this journal had the "
            f"components {', '.join(map(repr, specs))}. Append rows with the same components."
        )


def _padding(section: Any) -> bytes:
    return bytes(-(len(section) if isinstance(section, bytes) else section.nbytes) % _ALIGNMENT)


def _encoded(name: str, values: list[Any], spec: Spec) -> Iterable[Any]:
    """Yields the sections of a component: shapes, ends of strings, elements."""
    ndim = len(spec.shape or ())
    if isinstance(spec.dtype, type):
        checked = _strings_of(name, values, spec)
        strings = checked if ndim == 0 else [item for array in checked for item in array.ravel()]
        if ndim:
            yield np.array([array.shape for array in checked], _INT64)
        ends = np.zeros(len(strings) + 1, _INT64)
        np.cumsum(list(map(len, strings)), out=ends[1:])
        yield from (ends, b"".join(strings))
        return
    arrays = _numbers_of(name, values, spec)
    if ndim:
        yield np.array([array.shape for array in arrays], _INT64)
        elements = np.concatenate([array.ravel() for array in arrays])
    else:
        elements = np.array(arrays, spec.dtype)
    yield carried(elements) if is_carried(spec.dtype) else elements


def _strings_of(name: str, values: list[Any], spec: Spec) -> list[Any]:
    """Returns strings as `bytes`, and arrays of strings as arrays of `bytes`."""
    kinds = set(map(type, values))
    if spec.shape == () and kinds == {spec.dtype}:
        if spec.dtype is bytes:
            return values
        if spec.dtype is str:
            return [value.encode() for value in values]
    return [_checked(number, name, value, spec) for number, value in enumerate(values)]


def _numbers_of(name: str, values: list[Any], spec: Spec) -> list[Any]:
    """Returns numbers or arrays that have the component's type."""
    dtype, ndim = np.dtype(spec.dtype), len(spec.shape or ())
    kinds = set(map(type, values))
    if ndim == 0 and kinds == {dtype.type} and not is_carried(dtype):
        return values
    is_plain = ndim == 0 and kinds == {_PLAIN_TYPES.get(dtype)}
    # An int may be too large.
    if is_plain and (dtype.kind != "i" or (min(values) >= -(2**63) and max(values) < 2**63)):
        return values
    if kinds == {np.ndarray} and all(v.dtype == dtype and v.ndim == ndim for v in values):
        return values
    return [_checked(number, name, value, spec) for number, value in enumerate(values)]


def _checked(number: int, name: str, value: Any, spec: Spec) -> Any:
    """Converts a value to `bytes` or an array, and compares it with the first append's."""
    where = f"append: row {number}"
    try:
        converted = typed(where, name, value, spec)
    except (TypeError, ValueError) as error:
        if str(error).startswith(where):
            raise
        raise type(error)(f"{where}: {error}") from None
    ndim = len(spec.shape or ())
    shape = () if isinstance(converted, bytes) else converted.shape
    if len(shape) != ndim:
        raise ValueError(
            f"{where}: the component {name!r} has the shape {shape}, expected {ndim} axes, as in "
            "the first append to this journal."
        )
    return converted


def decode_rows(payload: bytes, num_rows: int, specs: Specs) -> list[RowColumn]:
    """Returns the components of a commit's rows, as views of its bytes.

    Raises:
        ValueError: If the bytes don't match the components.
    """
    sections = _Sections(payload)
    columns = [_decoded(sections, num_rows, spec) for spec in specs.values()]
    if not sections.is_over:
        raise ValueError("extra bytes follow the last row")
    return columns


class _Sections:
    """The padded sections of a payload."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._offset = 0

    @property
    def is_over(self) -> bool:
        return self._offset == len(self._payload)

    def take(self, dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
        array = np.frombuffer(self._payload, dtype, count, self._offset)
        self._offset += array.nbytes + -array.nbytes % _ALIGNMENT
        return array


def _decoded(sections: _Sections, num_rows: int, spec: Spec) -> RowColumn:
    ndim = len(spec.shape or ())
    starts = np.arange(num_rows + 1, dtype=np.int64)
    shapes = None
    if ndim:
        shapes = sections.take(_INT64, num_rows * ndim).reshape(num_rows, ndim)
        np.cumsum(shapes.prod(axis=1), out=starts[1:])
    count = int(starts[-1])
    if isinstance(spec.dtype, type):
        ends = sections.take(_INT64, count + 1)
        return RowColumn(sections.take(np.dtype(np.uint8), int(ends[-1])), shapes, starts, ends)
    dtype = carried(np.empty(0, spec.dtype)).dtype if is_carried(spec.dtype) else spec.dtype
    return RowColumn(sections.take(dtype, count), shapes, starts, None)
