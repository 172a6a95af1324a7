"""The base class of Parquet and Arrow: files with typed columns."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from headrace.core import engine
from headrace.core.errors import InvalidArgumentError
from headrace.pipeline.paths.paths import find_partitioned
from headrace.pipeline.sources.column_options import (
    Pairs,
    as_columns,
    as_defaults,
    as_dtypes,
    components_of,
    native,
    specs_of,
    with_dtypes,
)
from headrace.pipeline.sources.conditions import Condition, as_where, is_met, native_condition
from headrace.pipeline.sources.file_source import InferredSource, SourcePlan
from headrace.pipeline.sources.partitions import (
    Partitions,
    constant,
    partitions_of,
    spec_of_values,
)
from headrace.pipeline.values.types import ElementType, Json, Spec, element_of

__all__ = ["Columns", "TableFiles", "TableFormat", "as_table_columns"]

# The user's `columns` argument: names, or types by name.
Columns: TypeAlias = Sequence[str] | Mapping[str, Any]


@dataclass(frozen=True)
class TableFormat:
    """A table format, with the engine's functions for its files.

    Attributes:
        name: The source's name in messages.
        piece: The term for a unit that one thread reads from start to end, such as "row group".
        columns: Returns a file's columns with these names, or all columns.
        counts: Returns the number of rows in each file.
        rows: Returns the plan for components, constants and conditions, with the number of pieces.
        tables: Returns the files that are tables, with their relative paths.
    """

    name: str
    piece: str
    columns: Callable[[bytes, Sequence[str] | None], list[engine.TableColumn]]
    counts: Callable[[Sequence[bytes]], list[int]]
    rows: Callable[..., engine.TableRows]
    tables: Callable[[Sequence[tuple[bytes, str]]], list[tuple[bytes, str]]] = list


@dataclass(frozen=True)
class TableFiles(InferredSource, is_base=True):
    """Rows of files with typed columns.

    Attributes:
        format: The format of the files.
        paths: The user's paths and patterns.
        columns: The names of the columns to read. None for all columns, or if types are passed.
        types: The types of the columns to read. None to use the first file's types.
        defaults: The values to use for some columns if they are null or missing from a file.
        where: Conditions that the rows must meet.
        dtypes: The types of some columns, if `types` is None.
    """

    is_scanned: ClassVar = True
    is_kept_for_shuffle: ClassVar = True
    numbers_lines: ClassVar = False
    classes: ClassVar = None
    format: ClassVar[TableFormat]

    paths: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    types: Pairs | None = None
    defaults: Pairs = ()
    where: tuple[Condition, ...] = ()
    dtypes: Pairs = ()

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return self.format.name

    @property
    def piece(self) -> str:
        """The term for a unit that one thread reads from start to end."""
        return self.format.piece

    @property
    def spec(self) -> dict[str, Spec] | None:
        """The components, if the user passed their types."""
        return None if self.types is None else specs_of(self.name, self.types)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The columns to read, or None for all columns of the first file."""
        return self.columns if self.types is None else tuple(self.spec or ())

    def inferred(self) -> dict[str, Spec]:
        """Returns the columns of the first file, and the columns in directory names."""
        files, partitions = self._partitioned()
        names = None if self.columns is None else [n for n in self.columns if n not in partitions]
        first = next(iter(self._kept(partitions, files)), 0)
        own = self._own_specs(files[first], names)
        named = {name: spec_of_values(values) for name, values in partitions.items()}
        specs = {name: spec for name, spec in own.items() if name not in named} | named
        if self.columns is not None:
            specs = {name: specs[name] for name in self.columns}
        return with_dtypes(self.name, specs, self.dtypes)

    def counts(self) -> Sequence[int] | None:
        """Returns the number of rows in each file, or None if there are conditions."""
        if self.where:
            return None
        with engine.op_errors():
            return self.format.counts(self.files())

    def records(self) -> None:
        """Returns None, because each file stores the positions of its rows."""

    def num_pieces(self) -> list[int]:
        """Returns the number of pieces in each file that can contain matching rows."""
        tables, partitions = self._partitioned()
        kept = self._kept(partitions, tables)
        numbers = [0] * len(tables)
        if kept:
            conditions = self._conditions(tables[kept[0]], partitions)
            with engine.op_errors():
                for index in kept:
                    rows = self.format.rows([tables[index]], [], conditions, [])
                    numbers[index] = rows.num_pieces
        return numbers

    def with_columns(self, names: Sequence[str]) -> "TableFiles | None":
        """Returns the source with only these components, or None if that would not read less."""
        pairs = self.dtypes if self.types is None else self.types
        masks = specs_of(self.name, pairs).keys() - {name for name, _ in pairs}
        if any(name in masks or f"{name}_mask" in masks for name in names):
            # A nullable column and its mask are read together.
            return None

        def kept(pairs: Pairs) -> Pairs:
            return tuple(pair for pair in pairs if pair[0] in names)

        typed = None if self.types is None else kept(self.types)
        columns = tuple(names) if self.types is None else None
        return replace(
            self,
            columns=columns,
            types=typed,
            defaults=kept(self.defaults),
            dtypes=kept(self.dtypes),
        )

    def described(self) -> str:
        """Describes how the components are inferred."""
        return "the components are the columns of the first file"

    def planned(
        self, specs: dict[str, Spec], add_python_worker: Callable[[Any], int]
    ) -> SourcePlan:
        """Returns a plan that reads pieces whose positions are stored in the files."""
        tables, partitions = self._partitioned()
        kept = self._kept(partitions, tables)
        files = [tables[index] for index in kept]
        if not files:
            return SourcePlan(engine.Plan.concat([]), tables)
        typed = self.dtypes if self.types is None else self.types
        components = components_of(self.name, specs, typed, self.defaults)
        names = [component.name for component in components]
        constants = [
            engine.Constant(
                names.index(name),
                constant(self.name, name, specs[name], [values[index] for index in kept]),
            )
            for name, values in partitions.items()
            if name in names
        ]
        conditions = self._conditions(files[0], partitions)
        with engine.op_errors():
            rows = self.format.rows(files, list(map(native, components)), conditions, constants)
        return SourcePlan(rows.plan, files, num_parallel=rows.num_pieces)

    def _own_specs(self, path: bytes, names: Sequence[str] | None) -> dict[str, Spec]:
        typed = specs_of(self.name, self.dtypes)
        return {
            column.name: typed[column.name]
            if column.name in typed
            else _spec(os.fsdecode(path), column)
            for column in self._own_columns(path, names)
        }

    def _own_columns(self, path: bytes, names: Sequence[str] | None) -> list[engine.TableColumn]:
        with engine.op_errors():
            return self.format.columns(path, names)

    def _kept(self, partitions: Partitions, files: Sequence[bytes]) -> list[int]:
        """Returns the indexes of the files whose directory names meet the conditions."""
        named = [condition for condition in self.where if condition[0] in partitions]
        return [
            number
            for number in range(len(files))
            if all(is_met(partitions[one[0]][number], one) for one in named)
        ]

    def _conditions(self, path: bytes, partitions: Partitions) -> list[engine.Condition]:
        """Returns the conditions on columns that are stored in the files."""
        conditions = [one for one in self.where if one[0] not in partitions]
        if not conditions:
            return []
        names = list(dict.fromkeys(name for name, _, _ in conditions))
        specs = {
            column.name: None if _is_decimal(column) else _spec(os.fsdecode(path), column)
            for column in self._own_columns(path, names)
        }
        return [native_condition(self.name, specs[one[0]], one) for one in conditions]

    def _partitioned(self) -> tuple[list[bytes], Partitions]:
        """Returns the paths of the files, in order, and the columns in their directory names."""
        tables = self.format.tables(find_partitioned(self.name, self.paths))
        return [path for path, _ in tables], partitions_of(self.name, tables)

    def files(self) -> list[bytes]:
        """Returns the paths of the files, in order."""
        return self._partitioned()[0]


def as_table_columns(
    where: str, columns: object, defaults: object, conditions: object, dtypes: object
) -> tuple[tuple[str, ...] | None, Pairs | None, Pairs, tuple[Condition, ...], Pairs]:
    """Returns the arguments of a table source as plain data.

    These are the names of the columns or their types, the defaults, the conditions, and the types
    of some columns.

    Raises:
        TypeError: If the columns are neither names nor types.
        ValueError: If no columns are given, or a default does not fit its column.
    """
    typed = as_dtypes(where, dtypes, columns)
    if isinstance(columns, Mapping):
        types = as_columns(where, columns)
        return None, types, as_defaults(where, defaults, types), as_where(where, conditions), typed
    if isinstance(columns, (str, bytes)) or not (columns is None or isinstance(columns, Sequence)):
        raise TypeError(f"{where}: columns is {columns!r}, expected a list of names or a dict.")
    if not all(isinstance(name, str) for name in columns or ()):
        raise TypeError(f"{where}: columns is {columns!r}, expected a list of names.")
    if columns is not None and not columns:
        raise ValueError(f"{where}: columns is empty, expected at least one column.")
    names = None if columns is None else tuple(columns)
    if names is not None and len(set(names)) < len(names):
        raise ValueError(
            f"{where}: columns contains a name twice: {list(names)}. Remove the duplicate."
        )
    return names, None, as_defaults(where, defaults, None), as_where(where, conditions), typed


def _spec(path: str, column: engine.TableColumn) -> Spec:
    component = column.component
    if component is None:
        text = f"{path}: the column {column.name!r} is {column.words}, {column.remedy}"
        raise InvalidArgumentError(None, None, text)
    num_lists = component.num_lists
    axes = (None,) * num_lists if num_lists else tuple(component.shape)
    return Spec(_element(component.code, component.form), axes, num_lists > 0)


def _is_decimal(column: engine.TableColumn) -> bool:
    return column.words.startswith("decimal")


def _element(code: int, form: str) -> ElementType:
    if form == "json":
        return Json
    return np.dtype(form) if form not in ("", "str") else element_of(code, form == "str")
