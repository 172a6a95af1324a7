"""Parquet files, read by pyarrow, which an extra installs; the first file loads it."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from threading import get_ident
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import DataLossError, InvalidArgumentError
from headrace.core.optional_dependencies import missing_parquet
from headrace.core.repr_prefix import printable
from headrace.io import storage
from headrace.io.os_errors import os_errors
from headrace.pipeline.describe.pipeline import Pipeline
from headrace.pipeline.describe.source import InferredSource, SourcePlan
from headrace.pipeline.describe.types import ElementType, Spec, engine_code
from headrace.pipeline.plan.paths import Paths, as_paths, find_files
from headrace.pipeline.plan.python_functions import Running

__all__ = ["Parquet", "parquet"]

# Number of rows taken from a row group at a time, unless they have many bytes.
_BLOCK_ROWS: Final = 4096
# Bytes of a column read at a time. Without it, pyarrow reads whole row groups, or the whole file.
_BUFFER_BYTES: Final = 64 * 1024
# The number of ended files that are remembered: more than jobs wait, of which a file has four, and
# of files no more are open than `num_open` of `shuffle` may be.
_MOST_ENDED: Final = 100_000
# The number of files that stay open.
_MOST_OPEN: Final = 64
# The number of first bytes that tell the type of another file.
_START_BYTES: Final = 1024

# The names of types in Arrow and in NumPy.
_FLOATS: Final = {"halffloat": "float16", "float": "float32", "double": "float64"}


@dataclass(frozen=True)
class Parquet(InferredSource):
    """Rows of Parquet files.

    Attributes:
        paths: Paths and patterns, as given.
        columns: The names of the wanted columns; None for all.
    """

    paths: tuple[str, ...]
    columns: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "parquet"

    @property
    def spec(self) -> None:
        """The components are always those of the first file."""
        return None

    @property
    def names(self) -> tuple[str, ...] | None:
        """The columns that are wanted; None for all of the first file."""
        return self.columns

    def inferred(self) -> dict[str, Spec]:
        """Returns the columns that the first file has."""
        first, *_ = map(os.fsdecode, find_files("parquet", self.paths))
        with _opened(first) as file:
            return _specs(first, file.schema_arrow, self.columns)

    def counts(self) -> list[int]:
        """Returns how many rows each file has, as its footer says."""
        counts = []
        for path in map(os.fsdecode, find_files("parquet", self.paths)):
            with _opened(path) as file:
                counts.append(file.metadata.num_rows)
        return counts

    def described(self) -> str:
        """Returns from where the components are inferred, in words."""
        return "the components are the columns of the first file"

    def planned(self, specs: dict[str, Spec], add_lane: Callable[[Any], int]) -> SourcePlan:
        """Returns the plan: a thread that asks pyarrow for one part after the other."""
        paths = list(map(os.fsdecode, find_files("parquet", self.paths)))
        lane = add_lane(_Reading(paths, specs))
        files = list(map(os.fsencode, paths))
        plan = engine.Plan.python_files(lane, files)
        return SourcePlan(plan, files, num_parallel=1, is_python=True)


def parquet(paths: Paths, columns: Sequence[str] | None = None) -> Pipeline:
    """Reads Parquet files, by pyarrow. An example has a component for each column.

    Numbers keep their types, strings are `str`, binary columns `bytes`, and lists ragged; lists of
    one length are arrays. A null is NaN for floats, and an error for others.

    Args:
        paths: As for `tfrecords`.
        columns: The names of the wanted columns; only these are read. None for all of the first
            file.

    Raises:
        ModuleNotFoundError: If pyarrow is not installed; the extra `headrace[parquet]` installs it.
        TypeError: If a path is invalid, or a column is not a name.
        ValueError: If there are no paths or no columns.
    """
    if missing := missing_parquet():
        raise ModuleNotFoundError(f"parquet: {missing}")
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns or ()):
        raise TypeError(f"parquet: columns is {columns!r}, expected a list of names.")
    if columns is not None and not columns:
        raise ValueError("parquet: columns is empty, expected at least one.")
    chosen = None if columns is None else tuple(columns)
    return Pipeline((Parquet(as_paths("parquet", paths), chosen),))


# Columns, and how many rows they have; none at the end of a file.
_Block: TypeAlias = tuple[list[engine.Column], int]
_END: Final[_Block] = ([], 0)


@dataclass
class _Open:
    """A file being read.

    Attributes:
        num_rows: How many of its rows are read, or were skipped.
        blocks: The rows behind them; None if the file is closed.
    """

    num_rows: int
    blocks: Iterator[_Block] | None = None


class _Reading:
    """The reader of this source's thread: reads the next rows of a pass."""

    num_callers = 1
    initial = None
    function = None
    where = "parquet"

    def __init__(self, paths: list[str], specs: dict[str, Spec]) -> None:
        self.running: dict[int, Running] = {}
        self.is_over = False
        self.number = 0
        self.since = time.monotonic()
        self._paths = paths
        self._specs = specs
        self._path = ""
        # The files being read, by the numbers that jobs have for them; the one that was read last
        # is the last.
        self._open: dict[int, _Open] = {}
        # The numbers of those that have ended, the last one at the end: jobs may have been begun
        # before that was known.
        self._ended: dict[int, None] = {}

    def process(self, job: engine.Job) -> None:
        """Reads the next rows of a file; none at the end."""
        self.number += 1
        self.since = time.monotonic()
        self.running[get_ident()] = self
        try:
            with _damage_named(lambda: self._path):
                columns, num_rows = ([], 0) if self.is_over else self._next(job)
        except BaseException as error:
            if not isinstance(error, (DataLossError, InvalidArgumentError)):
                error.add_note(f"in parquet, at {self._path}")
            job.keep([], error)
            return
        finally:
            del self.running[get_ident()]
        if num_rows == 0:
            job.keep([], None)
        else:
            job.finish(columns, num_rows, None, None)

    def origin(self, number: int) -> str:
        """Returns what is read, in words."""
        return f"block {number} of rows, in {self._path}"

    def _next(self, job: engine.Job) -> _Block:
        """Returns the next rows of the file of a job."""
        number, self._path = job.pass_number, self._paths[job.file_number]
        if number in self._ended:
            return _END
        found = self._open.pop(number, None) or _Open(job.first_row)
        if found.blocks is None:
            found.blocks = self._blocks(self._path, job.wanted_bytes, found.num_rows)
        block = next(found.blocks, _END)
        if block is _END:
            self._ended[number] = None
            if len(self._ended) > _MOST_ENDED:
                del self._ended[next(iter(self._ended))]
            return _END
        found.num_rows += block[1]
        self._open[number] = found
        # A pass may have been left before the end of its files. One that is still read is opened
        # again.
        for other in [*self._open.values()][:-_MOST_OPEN]:
            other.blocks = None
        return block

    def _blocks(self, path: str, wanted_bytes: int, num_skipped: int) -> Iterator[_Block]:
        """Yields the rows of a file behind so many."""
        with _opened(path) as file:
            names = list(self._specs)
            if _specs(path, file.schema_arrow, names) != self._specs:
                raise _different(path, file.schema_arrow, self._specs)
            first, groups = _row_groups(file, num_skipped)
            num_skipped -= first
            for rows in file.iter_batches(
                _block_rows(file, wanted_bytes), row_groups=groups, columns=names
            ):
                left_out = min(num_skipped, rows.num_rows)
                num_skipped -= left_out
                if kept := rows.num_rows - left_out:
                    yield self._columns(path, first + left_out, rows.slice(left_out)), kept
                first += rows.num_rows

    def _columns(self, path: str, first: int, rows: Any) -> list[engine.Column]:
        return [
            _column(f"{path}: from row {first} on: the column {name!r}", spec, rows.column(name))
            for name, spec in self._specs.items()
        ]


def _row_groups(file: Any, num_skipped: int) -> tuple[int, list[int]]:
    """Returns the row groups after this many rows, and the number of rows before the first."""
    first, metadata = 0, file.metadata
    for index in range(metadata.num_row_groups):
        num_rows = metadata.row_group(index).num_rows
        if first + num_rows > num_skipped:
            return first, list(range(index, metadata.num_row_groups))
        first += num_rows
    return first, []


def _block_rows(file: Any, wanted_bytes: int) -> int:
    """Returns the number of rows that have about this many bytes."""
    groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
    row_bytes = sum(group.total_byte_size for group in groups) / max(file.metadata.num_rows, 1)
    return max(1, min(_BLOCK_ROWS, int(wanted_bytes / max(row_bytes, 1))))


def _arrow() -> Any:
    return import_module("pyarrow")


def _opened(path: str) -> Any:
    """Returns a file of pyarrow's, to be used as a context."""
    arrow = _arrow()
    try:
        with os_errors(path, ". Check the file names."):
            source = storage.open_file(path) if storage.is_remote(path) else path
            with _damage_named(lambda: path):
                return import_module("pyarrow.parquet").ParquetFile(
                    source, buffer_size=_BUFFER_BYTES, page_checksum_verification=True
                )
    except arrow.ArrowInvalid as error:
        raise InvalidArgumentError(
            None, None, f"{printable(path)}: {error}. {_instead(path)}"
        ) from error


def _instead(path: str) -> str:
    """Returns what a file is that is not Parquet, and what to do."""
    with os_errors(path), storage.open_file(path) as file:
        start = file.read(_START_BYTES)
    found = engine.content_of(start)
    if found is None or start.startswith(b"PAR1"):
        return "Is it a Parquet file? If it is, copy it again."
    remedy = "Decompress it first." if engine.codec_of(start) else found[1]
    return f"It is {found[0]}. {remedy}"


@contextmanager
def _damage_named(path: Callable[[], str]) -> Iterator[None]:
    """Lets what pyarrow says of a damaged file name it: an OSError that is not the system's."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            raise
        raise DataLossError(
            None, None, f"{path()}: {error}. The file is damaged; copy it again."
        ) from error


def _specs(path: str, schema: Any, columns: Sequence[str] | None) -> dict[str, Spec]:
    names = list(schema.names) if columns is None else columns
    for name in names:
        if name not in schema.names:
            there = ", ".join(map(repr, schema.names))
            raise InvalidArgumentError(
                None, None, f"{path}: there is no column {name!r}, expected one of {there}."
            )
        if schema.names.count(name) > 1:
            others = [other for other in dict.fromkeys(names) if schema.names.count(other) == 1]
            raise InvalidArgumentError(
                None,
                None,
                f"{path}: there are {schema.names.count(name)} columns {name!r}, expected one. "
                f"Rename one of them, or leave them out, with columns={others}.",
            )
    return {name: _spec(path, name, schema.field(name).type) for name in names}


def _spec(path: str, name: str, kind: Any) -> Spec:
    types = _arrow().types
    if types.is_fixed_size_list(kind) and (dtype := _element(kind.value_type)) is not None:
        return Spec(dtype, (kind.list_size,))
    is_list = types.is_list(kind) or types.is_large_list(kind)
    dtype = _element(kind.value_type if is_list else kind)
    if dtype is None:
        raise InvalidArgumentError(
            None,
            None,
            f"{path}: the column {name!r} is {kind}, expected numbers, bool, strings or lists of "
            "them. Leave it out: name the others, with columns=[...].",
        )
    return Spec(dtype, (None,) if is_list else (), is_list)


def _element(kind: Any) -> "ElementType | None":
    types = _arrow().types
    if types.is_dictionary(kind):
        return _element(kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind):
        return str
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return bytes
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        # Not `to_pandas_dtype`, for which some versions need pandas.
        dtype: np.dtype[Any] = np.dtype(_FLOATS.get(str(kind), str(kind)))
        return dtype
    return None


def _different(path: str, schema: Any, specs: dict[str, Spec]) -> InvalidArgumentError:
    found = _specs(path, schema, list(specs))
    text = "; ".join(
        f"the column {name!r} is {found[name]!r}, expected {spec!r}"
        for name, spec in specs.items()
        if found[name] != spec
    )
    return InvalidArgumentError(
        None, None, f"{path}: {text}, as in the first file. Write the files with the same types."
    )


def _column(where: str, spec: Spec, array: Any) -> engine.Column:
    """Returns an array of pyarrow's as a column, without an object for each value."""
    types = _arrow().types
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if spec.is_ragged:
        _check_no_nulls(where, array)
        lengths = array.value_lengths().to_numpy(zero_copy_only=False)
        ends = np.cumsum(lengths, dtype=np.int64)
        values = _values(where, spec.dtype, array.flatten())
        return engine.Column.ragged(values, engine_code(spec.dtype), ends)
    if spec.shape:
        _check_no_nulls(where, array)
        values = _values(where, spec.dtype, array.flatten())
        return engine.Column.dense(values.reshape(-1, *spec.shape), engine_code(spec.dtype))
    if isinstance(spec.dtype, type):
        _check_no_nulls(where, array)
        _check_text(where, array)
        return engine.Column.text(*_strings(array))
    return engine.Column.dense(_values(where, spec.dtype, array), engine_code(spec.dtype))


def _values(where: str, dtype: ElementType, array: Any) -> npt.NDArray[Any]:
    """Returns values as an array of NumPy's; nulls are NaN if they can be."""
    if _arrow().types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(dtype, type):
        _check_no_nulls(where, array)
        _check_text(where, array)
        strings = np.empty(len(array), object)
        strings[:] = array.cast(_arrow().large_binary()).to_pylist()
        return strings
    if dtype.kind != "f":
        _check_no_nulls(where, array)
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False), dtype)


def _strings(array: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Returns the bytes of all strings, and where each begins; one more is the end."""
    large = array.cast(_arrow().large_binary())
    _, offsets, data = large.buffers()
    places = np.frombuffer(offsets, np.int64)[large.offset : large.offset + len(large) + 1]
    data = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
    return data[places[0] : places[-1]], places - places[0]


def _check_text(where: str, array: Any) -> None:
    """Raises DataLossError unless all strings are text. pyarrow reads bytes of any kind as such."""
    try:
        array.validate(full=True)
    except _arrow().ArrowInvalid as error:
        raise DataLossError(
            None, None, f"{where}: {error}. The file is damaged, or its writer is at fault."
        ) from error


def _check_no_nulls(where: str, array: Any) -> None:
    if array.null_count:
        row = array.is_null().index(True).as_py()
        raise InvalidArgumentError(
            None,
            None,
            f"{where} has a null, number {row} there, expected a value. Fill it, or leave the "
            "column out, with columns=[...].",
        )
