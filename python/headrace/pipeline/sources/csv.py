"""`csv`: records of CSV files."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from headrace.core import engine
from headrace.pipeline.paths.paths import Paths, as_paths, check_compression, find_files
from headrace.pipeline.sources.column_options import (
    Pairs,
    as_columns,
    as_defaults,
    as_dtypes,
    components_of,
    form_of,
    native,
    specs_of,
    with_dtypes,
)
from headrace.pipeline.sources.file_source import InferredSource, SourcePlan, first_found
from headrace.pipeline.values.types import Spec, element_of

__all__ = ["Csv", "csv"]

_log: Final = logging.getLogger("headrace.pipeline")


@dataclass(frozen=True)
class Csv(InferredSource):
    """Records of CSV files.

    Attributes:
        paths: The user's paths and patterns.
        columns: The types of the columns to read, or None to infer all columns.
        header: Whether the first record of each file contains the column names.
        delimiter: The field separator.
        defaults: The values to use for empty fields in some columns.
        compression: The files' compression.
        na_values: Field contents that count as empty.
        dtypes: The types of some columns if the others are inferred.
    """

    is_scanned: ClassVar = True
    is_kept_for_shuffle: ClassVar = False
    numbers_lines: ClassVar = True
    classes: ClassVar = None
    piece: ClassVar = "file"

    paths: tuple[str, ...]
    columns: Pairs | None = None
    header: bool = True
    delimiter: str = ","
    defaults: Pairs = ()
    compression: str | None = "auto"
    na_values: tuple[str, ...] = ()
    dtypes: Pairs = ()

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "csv"

    @property
    def spec(self) -> dict[str, Spec] | None:
        """An example's components, one per column."""
        return None if self.columns is None else specs_of("csv", self.columns)

    def inferred(self) -> dict[str, Spec]:
        """Infers the columns from the first block of the first file that has records."""
        options = self.compression or "", ord(self.delimiter), self._missing()
        spec = first_found(
            "csv", self.paths, "records", lambda path: engine.infer_csv(path, *options)
        )
        typed = dict(self.dtypes)
        for column in spec:
            if column.decided is not None and column.name not in typed:
                _log.warning(
                    "csv: %s. Correct the line, or set the type with dtypes={%r: ...}.",
                    column.decided,
                    column.name,
                )
        specs = {column.name: Spec(element_of(column.code, column.is_text), ()) for column in spec}
        return with_dtypes("csv", specs, self.dtypes)

    def described(self) -> str:
        """Describes how the components are inferred."""
        return "the columns are inferred from the first block of the first file with records"

    def _missing(self) -> list[bytes]:
        return [text.encode() for text in self.na_values]

    def records(self) -> engine.Plan:
        """Returns a plan that reads the raw records."""
        names: list[str] | None = [] if self.header else None
        options = self.compression or "", ord(self.delimiter), names, len(self.columns or ())
        return engine.csv_records(find_files("csv", self.paths), *options)

    def planned(
        self, specs: dict[str, Spec], add_python_worker: Callable[[Any], int]
    ) -> SourcePlan:
        """Returns a plan that reads records and parses their fields later."""
        typed = self.dtypes if self.columns is None else self.columns
        components = components_of("csv", specs, typed, self.defaults)
        fields = engine.csv_fields(
            ord(self.delimiter), list(map(native, components)), self._missing()
        )
        names = [component.name for component in components] if self.header else None
        paths = find_files("csv", self.paths)
        records = engine.csv_records(
            paths, self.compression or "", ord(self.delimiter), names, len(components)
        )
        return SourcePlan(records, paths, [fields], len(paths))


def csv(
    paths: Paths,
    columns: Mapping[str, Any] | None = None,
    header: bool = True,
    delimiter: str = ",",
    defaults: Mapping[str, Any] | None = None,
    compression: str | None = "auto",
    na_values: str | Iterable[str] = (),
    dtypes: Mapping[str, Any] | None = None,
) -> Csv:
    r"""Reads CSV files. Each example has one component per column.

    Fields may be quoted. A quoted field can contain delimiters and line breaks, and quotes inside
    it are doubled. Lines end in a line feed, with or without a carriage return before it. Blank
    lines are skipped.

    In string columns, an empty field is read as "". In other columns, it raises an error that names
    the file and line, unless the column has a default or is `Nullable`.

    If a quote is never closed, only that line is lost. Reading continues at the next line that has
    the right number of fields. A field with line breaks must end within 16 MiB.

    Args:
        paths: The files to read; see `tfrecords`.
        columns: The types of the columns to read: `int` (int64), `float` (float32), `bool` (true,
            false, 1 or 0), `bytes`, `str`, a NumPy type, or `Nullable(int)` for values that may be
            missing. If there is a header, columns are found by name in each file. If there is none,
            list all columns in order. Fractions are rounded to the floating-point type, but whole
            numbers must be exact, so 1700000001 and 1e39 raise an error for `float`. Use
            `np.float64` for these. If None, types are inferred from the first block of the first
            file that has records. Inferred types represent the values exactly: int64, float32 or
            else float64, bool for `true` and `false`, and `str` for everything else, including
            numbers such as 01234. If a single line turns a numeric column into `str`, a warning
            names the line. A later value that does not fit the inferred type raises an error.
        header: If True, the first record of each file contains the column names.
        delimiter: The field separator, which must be one ASCII character.
        defaults: Values to use for empty fields, by column.
        compression: The compression of the files; see `tfrecords`.
        na_values: Field contents that count as empty, such as "NA".
        dtypes: The types of some columns, such as {"price": str}. The others are inferred.

    Raises:
        TypeError: If a path is invalid, or a column doesn't support a type.
        ValueError: If an argument is out of range, or `header` is False without `columns`.

    Source: RFC 4180.

    Examples:
        >>> from pathlib import Path
        >>> length = Path("prices.csv").write_text("item,price\napple,1.5\npear,2\n")
        >>> next(iter(hr.csv("prices.csv").batch(2)))
        {'item': array(['apple', 'pear'], dtype=object), 'price': array([1.5, 2. ], dtype=float32)}
        >>> hr.csv("prices.csv", columns={"price": np.float64}).spec
        {'price': Spec(float64, ())}
    """
    chosen = as_columns("csv", columns)
    typed = as_dtypes("csv", dtypes, columns)
    column_types = typed if chosen is None else chosen
    for name, spec in specs_of("csv", column_types).items():
        if form_of(spec.dtype) not in ("", "str"):
            raise TypeError(
                f"csv: the column {name!r} is {dict(column_types)[name]!r}, expected numbers, "
                "bool, bytes or str. Read it as str and convert it in map."
            )
        if spec.shape != ():
            raise ValueError(
                f"csv: the column {name!r} is {spec!r}, but a CSV field holds a single value. "
                "Read it as str, and split it in map."
            )
    if chosen is None and not header:
        raise ValueError(
            "csv: header is False, so the columns need names and types. List them in order, such "
            'as columns={"a": int, "b": float}.'
        )
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not _is_delimiter(delimiter):
        raise ValueError(f"csv: delimiter is {delimiter!r}, expected one ASCII character.")
    check_compression("csv", compression)
    values = as_defaults("csv", defaults, chosen)
    missing = _texts(na_values)
    source = Csv(
        as_paths("csv", paths), chosen, bool(header), delimiter, values, compression, missing, typed
    )
    return source


def _texts(na_values: object) -> tuple[str, ...]:
    texts = (na_values,) if isinstance(na_values, str) else na_values
    if isinstance(texts, (bytes, Mapping)) or not isinstance(texts, Iterable):
        texts = (texts,)
    result = tuple(texts)
    if not all(isinstance(text, str) for text in result):
        raise TypeError(
            f'csv: na_values is {na_values!r}, expected strings, such as ["NA", "null"].'
        )
    return result


def _is_delimiter(char: str) -> bool:
    return char.isascii() and char not in '"\r\n'
