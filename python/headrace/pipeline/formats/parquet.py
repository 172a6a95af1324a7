"""Parquet files."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from headrace.core import engine
from headrace.core.errors import InvalidArgumentError
from headrace.pipeline.describe.pipeline import Pipeline
from headrace.pipeline.describe.source import InferredSource, SourcePlan
from headrace.pipeline.describe.types import Spec, element_of, engine_code
from headrace.pipeline.plan.paths import Paths, as_paths, find_files

__all__ = ["Parquet", "parquet"]

# A column for the engine: its name, the number of its type, whether it is text, whether it is a
# list, and the length of its lists if it is the same for all.
_Column: TypeAlias = tuple[str, int, bool, bool, int | None]


@dataclass(frozen=True)
class Parquet(InferredSource):
    """Rows of Parquet files.

    Attributes:
        paths: Paths and patterns, as given.
        columns: The names of the wanted columns; None for all.
    """

    paths: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    is_reachable = True
    is_kept_for_shuffle = True

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

    @property
    def piece(self) -> str:
        """The word for what one thread reads from its beginning to its end."""
        return "row group"

    def inferred(self) -> dict[str, Spec]:
        """Returns the columns that the first file has."""
        first, *_ = self._files()
        with engine.op_errors():
            found = engine.parquet_columns(first)
        return _specs(os.fsdecode(first), found, self.columns)

    def counts(self) -> list[int]:
        """Returns how many rows each file has, as its footer says."""
        files = self._files()
        with engine.op_errors():
            return engine.parquet_counts(files)

    def described(self) -> str:
        """Returns from where the components are inferred, in words."""
        return "the components are the columns of the first file"

    def planned(self, specs: dict[str, Spec], add_lane: Callable[[Any], int]) -> SourcePlan:
        """Returns the plan: row groups, whose places the footers of all files say."""
        files = self._files()
        columns = [_column(name, spec) for name, spec in specs.items()]
        with engine.op_errors():
            plan, num_row_groups = engine.parquet_rows(files, columns)
        return SourcePlan(plan, files, num_parallel=num_row_groups)

    def _files(self) -> list[bytes]:
        return list(find_files("parquet", self.paths))


def parquet(paths: Paths, columns: Sequence[str] | None = None) -> Pipeline:
    """Reads Parquet files. An example has a component for each column.

    Numbers keep their types, strings are `str`, binary columns `bytes`, and lists ragged; lists of
    one length are arrays. A null is NaN for floats, and an error for others. Checksums of pages
    are checked where there are some.

    The footers of all files are read before the first batch. All threads read row groups, several
    at the same time.

    Args:
        paths: As for `tfrecords`. Of remote files the wanted columns alone are requested.
        columns: The names of the wanted columns; only these are read. None for all of the first
            file.

    Raises:
        TypeError: If a path is invalid, or a column is not a name.
        ValueError: If there are no paths or no columns.
    """
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns or ()):
        raise TypeError(f"parquet: columns is {columns!r}, expected a list of names.")
    if columns is not None and not columns:
        raise ValueError("parquet: columns is empty, expected at least one.")
    chosen = None if columns is None else tuple(columns)
    return Pipeline((Parquet(as_paths("parquet", paths), chosen),))


def _column(name: str, spec: Spec) -> _Column:
    is_text, length = spec.dtype is str, None
    if spec.shape and not spec.is_ragged:
        length = spec.shape[0]
    return name, engine_code(spec.dtype), is_text, spec.is_ragged, length


def _specs(
    path: str, found: Sequence[tuple[str, str, _Column | None]], columns: Sequence[str] | None
) -> dict[str, Spec]:
    there = [name for name, _, _ in found]
    kinds = {name: (words, column) for name, words, column in found}
    specs = {}
    for name in there if columns is None else columns:
        if name not in kinds:
            raise InvalidArgumentError(
                None,
                None,
                f"{path}: there is no column {name!r}, expected one of "
                f"{', '.join(map(repr, there))}.",
            )
        if (count := there.count(name)) > 1:
            wanted = there if columns is None else columns
            others = [other for other in dict.fromkeys(wanted) if there.count(other) == 1]
            raise InvalidArgumentError(
                None,
                None,
                f"{path}: there are {count} columns {name!r}, expected one. Rename one of them, or "
                f"leave them out, with columns={others}.",
            )
        specs[name] = _spec(path, name, *kinds[name])
    return specs


def _spec(path: str, name: str, words: str, column: _Column | None) -> Spec:
    if column is None:
        raise InvalidArgumentError(
            None,
            None,
            f"{path}: the column {name!r} is {words}, expected numbers, bool, strings or lists of "
            "them. Leave it out: name the others, with columns=[...].",
        )
    _, code, is_text, is_list, length = column
    if length is not None:
        return Spec(element_of(code, is_text), (length,))
    return Spec(element_of(code, is_text), (None,) if is_list else (), is_list)
