"""Reads the rows of an indexed source by number, such as a PyTorch data set."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

__all__ = ["IndexedRows", "source_length"]

_MISSING: Final = object()


class IndexedRows:
    """Reads the rows of a source by number, one at a time or a whole block at once.

    Args:
        source: The user's object, with `__len__` and `__getitem__` or `__getitems__`, or a dict of
            such objects, one for each component.
        names: The component names, or None if the rows contain them.

    Attributes:
        length: The number of rows when the pipeline was described.

    Raises:
        TypeError: If the source is not such an object, or has no length.
        ValueError: If the length is out of range, or several objects have different lengths.
    """

    def __init__(self, source: Any, names: tuple[str, ...] | None) -> None:
        _check_source(source)
        self.__qualname__ = type(source).__name__
        self._user_source: Final = source
        self._source: Final = _Columns(source) if isinstance(source, Mapping) else source
        self._names: Final = names
        self.length: Final = source_length(self._source)
        self._coming = _NextRows()

    def check_length(self) -> None:
        """Raises ValueError if the number of rows in the source has changed."""
        length = source_length(self._source)
        if length != self.length:
            raise ValueError(
                f"indexed: {self.__qualname__} has {length} rows, but it had {self.length} when "
                "the pipeline was created. Its length must not change. Create the pipeline again."
            )

    def expect(self, numbers: Sequence[int]) -> None:
        """Sets the rows that this thread reads next, so that one call can read all of them."""
        self._coming.numbers = list(numbers) if len(numbers) > 1 else []
        self._coming.rows = {}

    def __call__(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the components of the row whose number is in `index`."""
        number = int(example["index"])
        return self._components(self._row(number))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, IndexedRows)
            and self._user_source is other._user_source
            and self._names == other._names
        )

    def __hash__(self) -> int:
        return hash((id(self._user_source), self._names))

    def _row(self, number: int) -> Any:
        coming = self._coming
        if coming.numbers:
            numbers, coming.numbers = coming.numbers, []
            try:
                rows = _block_of(self._source, numbers)
            except Exception:  # This reads the rows one by one to find the row that fails.
                rows = None
            if rows is not None:
                coming.rows = dict(zip(numbers, rows, strict=True))
        row = coming.rows.pop(number, _MISSING)
        return self._single(number) if row is _MISSING else row

    def _single(self, number: int) -> Any:
        try:
            return _row_of(self._source, number)
        except IndexError as error:
            raise IndexError(
                f"indexed: {self.__qualname__} has no row at index {number} ({error}), although "
                f"its length is {self.length}. Correct its __len__ or its __getitem__."
            ) from error

    def _components(self, row: Any) -> dict[str, Any]:
        if isinstance(row, Mapping):
            return self._of_mapping(row)
        if isinstance(row, tuple) or (isinstance(row, list) and len(self._names or ()) > 1):
            names = self._names or tuple(map(str, range(len(row))))
            if len(names) != len(row):
                raise ValueError(
                    f"indexed: a row is a {type(row).__name__} of {len(row)} items, expected "
                    f"{len(names)}, one for each name: {', '.join(map(repr, names))}. Pass one "
                    "name per item."
                )
            return {name: _value(item) for name, item in zip(names, row, strict=True)}
        if len(self._names or ("",)) > 1:
            raise ValueError(
                f"indexed: a row is a {type(row).__name__}, expected a tuple with one item for "
                f"each of the names {self._names}. Pass a single name, or no names."
            )
        name = self._names[0] if self._names else "record" if isinstance(row, bytes) else "x"
        return {name: _value(row)}

    def _of_mapping(self, row: Mapping[Any, Any]) -> dict[str, Any]:
        if self._names is not None:
            raise ValueError(
                f"indexed: names is {self._names}, but the rows are not tuples: a row is a "
                f"{type(row).__name__}, whose keys already name the components. Remove names, and "
                "use rename(...) for other names."
            )
        for key in row:
            if not isinstance(key, str):
                raise TypeError(
                    f"indexed: a row has the key {key!r}, expected a string, because keys are the "
                    "names of the components. Return string keys."
                )
        return {key: _value(item) for key, item in row.items()}


class _NextRows(threading.local):
    """The rows that a thread reads next, both pending and already read.

    Empty in another process.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.rows: dict[int, Any] = {}

    def __reduce__(self) -> tuple[type["_NextRows"], tuple[()]]:
        return _NextRows, ()


class _Columns:
    """Several sources of equal length, one for each component."""

    def __init__(self, sources: Mapping[str, Any]) -> None:
        self._sources: Final = dict(sources)
        lengths = {name: source_length(source) for name, source in self._sources.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(
                f"indexed: the sources have different lengths: {lengths}. Shorten the longer ones."
            )

    def __len__(self) -> int:
        return source_length(next(iter(self._sources.values())))

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {name: _row_of(source, number) for name, source in self._sources.items()}

    def __getitems__(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        columns = []
        for source in self._sources.values():
            rows = _block_of(source, numbers)
            columns.append(rows or [_row_of(source, number) for number in numbers])
        return [dict(zip(self._sources, row, strict=True)) for row in zip(*columns, strict=True)]


def source_length(source: Any) -> int:
    """Returns the number of rows in a source.

    Raises:
        TypeError: If the number is not an int.
        ValueError: If the number is negative, or too large for an index.
    """
    name = type(source).__name__
    try:
        # zarr arrays have no __len__.
        is_counted = hasattr(type(source), "__len__") or not _is_array(source)
        return len(source) if is_counted else int(source.shape[0])
    except TypeError as error:
        raise TypeError(
            f"indexed: the length of {name} is unknown ({error}). Give it a __len__ that returns "
            "an int, or use iterable(...) for examples without a length."
        ) from error
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"indexed: the length of {name} is out of range ({error}), expected an int of at least "
            "0. "
            "Correct its __len__."
        ) from error


def _check_source(source: Any) -> None:
    """Raises TypeError unless the rows of a source can be read by number."""
    if isinstance(source, Mapping):
        if not source or not all(isinstance(name, str) for name in source):
            raise TypeError(
                f"indexed: the keys of the dict are {list(source)!r}, expected at least one "
                "string. Each key names a component, and its value is the source of that "
                "component."
            )
        for one in source.values():
            _check_rows(one)
        return
    _check_rows(source)


def _check_rows(source: Any) -> None:
    kind = type(source)
    is_table = kind.__module__.partition(".")[0] in ("pandas", "polars", "pyarrow")
    if is_table or isinstance(source, Mapping):
        raise TypeError(
            f"indexed: got {kind.__name__}, whose [] returns columns, expected an object whose [] "
            "returns rows. Use headrace.arrays for columns."
        )
    has_rows = hasattr(kind, "__getitem__") or hasattr(kind, "__getitems__")
    is_text = isinstance(source, (str, bytes, type))
    has_length = hasattr(kind, "__len__") or _is_array(source)
    if is_text or not has_rows or not has_length:
        raise TypeError(
            f"indexed: got {kind.__name__}, expected an object with __len__, and __getitem__ or "
            "__getitems__. Use headrace.iterable for an iterator, or a source such as "
            "headrace.files for paths."
        )


def _row_of(source: Any, number: int) -> Any:
    if hasattr(type(source), "__getitem__"):
        return source[number]
    (row,) = _of_items(source, [number])
    return row


def _block_of(source: Any, numbers: Sequence[int]) -> Sequence[Any] | None:
    """Reads the rows of a block in one call, or returns None if the source doesn't support that."""
    if getattr(source, "__getitems__", None):
        return _of_items(source, numbers)
    first, end = min(numbers), max(numbers) + 1
    if not _is_array(source) or end - first != len(numbers):
        return None
    # Arrays in files are stored in chunks, and a slice decodes every chunk only once.
    part = source[first:end]
    if not isinstance(part, np.ndarray) or len(part) != end - first:
        return None
    return [part[number - first] for number in numbers]


def _of_items(source: Any, numbers: Sequence[int]) -> Sequence[Any]:
    items = source.__getitems__(list(numbers))
    if isinstance(items, Mapping) or len(items) != len(numbers):
        what = type(items).__name__ if isinstance(items, Mapping) else f"{len(items)} rows"
        raise ValueError(
            f"indexed: __getitems__ of {type(source).__name__} returned {what} for {len(numbers)} "
            "indexes, expected a list with one row per index. Correct it."
        )
    rows: Sequence[Any] = items
    return rows


def _is_array(source: Any) -> bool:
    return hasattr(source, "dtype") and len(getattr(source, "shape", ())) > 0


def _value(item: Any) -> Any:
    """Returns a value for a component. Pillow images become arrays."""
    is_array = isinstance(item, (np.ndarray, np.generic))
    is_picture = hasattr(item, "__array_interface__") and not is_array
    return np.asarray(item) if is_picture else item
