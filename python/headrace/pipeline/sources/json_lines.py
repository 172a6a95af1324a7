"""`json_lines`: text files with one JSON object per line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from headrace.core import engine
from headrace.pipeline.paths.paths import Paths, as_paths, check_compression, find_files
from headrace.pipeline.sources.column_options import (
    NULL,
    Component,
    Pairs,
    as_columns,
    as_defaults,
    as_dtypes,
    components_of,
    native,
    specs_of,
    with_dtypes,
)
from headrace.pipeline.sources.file_source import InferredSource, SourcePlan, first_found
from headrace.pipeline.values.types import Json, Spec, element_of

__all__ = ["JsonLines", "as_json", "json_lines"]


@dataclass(frozen=True)
class JsonLines(InferredSource):
    """The objects in JSON Lines files.

    Attributes:
        paths: The user's paths and patterns.
        columns: The types of the keys to read, or None to infer all keys.
        defaults: The values to use for some keys if they are missing or null.
        compression: The files' compression.
        dtypes: The types of some keys if the others are inferred.
    """

    is_scanned: ClassVar = True
    is_kept_for_shuffle: ClassVar = False
    numbers_lines: ClassVar = True
    classes: ClassVar = None
    piece: ClassVar = "file"
    is_array: ClassVar[bool] = False

    paths: tuple[str, ...]
    columns: Pairs | None = None
    defaults: Pairs = ()
    compression: str | None = "auto"
    dtypes: Pairs = ()

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "json_lines"

    @property
    def spec(self) -> dict[str, Spec] | None:
        """An example's components, one per key."""
        return None if self.columns is None else specs_of(self.name, self.columns)

    @property
    def _records(self) -> str:
        """The term for the records of a file, for messages."""
        return "elements" if self.is_array else "lines"

    def inferred(self) -> dict[str, Spec]:
        """Infers the keys from the first block of the first file that has records."""
        options = self.compression or "", self.is_array, [name for name, _ in self.dtypes]
        result = first_found(
            self.name, self.paths, self._records, lambda path: engine.infer_json(path, *options)
        )
        specs = {
            key.name: Spec(
                Json if key.is_json else element_of(key.code, True),
                (None,) * key.num_lists,
                key.num_lists > 0,
            )
            for key in result
        }
        # A key may be missing or null in the first block.
        specs |= {name: Spec(Json, ()) for name, _ in self.dtypes if name not in specs}
        return with_dtypes(self.name, specs, self.dtypes)

    def described(self) -> str:
        """Describes how the components are inferred."""
        return (
            f"the columns are inferred from the first block of the first file with {self._records}"
        )

    def records(self) -> engine.Plan:
        """Returns a plan that reads the raw records."""
        paths = find_files(self.name, self.paths)
        return engine.json_records(paths, self.compression or "", self.is_array)

    def planned(
        self, specs: dict[str, Spec], add_python_worker: Callable[[Any], int]
    ) -> SourcePlan:
        """Returns a plan that reads records and parses them later."""
        typed = self.dtypes if self.columns is None else self.columns
        components = components_of(self.name, specs, typed, self.defaults)
        components = list(map(_filled, components))
        seen_components = engine.SeenComponents(self.name)
        fields = engine.json_fields(list(map(native, components)), seen_components, self.is_array)
        paths = find_files(self.name, self.paths)
        records = engine.json_records(paths, self.compression or "", self.is_array)
        # Inferred keys occur in the file, so none can be misspelt.
        missing = None if self.columns is None else seen_components
        return SourcePlan(records, paths, [fields], len(paths), seen_components=missing)


def json_lines(
    paths: Paths,
    columns: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    compression: str | None = "auto",
    dtypes: Mapping[str, Any] | None = None,
) -> JsonLines:
    r"""Reads JSON Lines files, which have one JSON object per line.

    Each example has one component per key.

    A missing or null key raises an error that names the file and line, unless the key has a default
    or is `Nullable`. For `Json`, null is read as None. If no line has one of the keys, a warning
    names the key. Keys that you don't list and blank lines are skipped. `NaN`, `Infinity` and
    `-Infinity` are read as floats. For files that contain one array of objects, use `json_array`.

    Args:
        paths: The files to read; see `tfrecords`.
        columns: The types of the keys to read: `int` (int64), `float` (float32), `bool`, `str`,
            `bytes` or a NumPy type; `Ragged(int)` for a list of any length, and `Ragged(int,
            ndim=2)` for a list of lists; `Feature(int, (2, 3))` for lists of fixed lengths; `Json`
            for any value; "datetime64[us]" for a time in ISO 8601 format, converted to UTC if it
            has an offset; `Nullable(int)` for values that may be missing. "meta.id" is the key "id"
            of the object "meta". Integers are also accepted as floats. Fractions are rounded to the
            floating-point type, but whole numbers must be exact, so 1700000001 and 1e39 raise an
            error for `float`. Use `np.float64` for these. If None, keys and types are inferred from
            the first block of the first file that has lines. Inferred types represent the values
            exactly: int64, uint64, float32 or else float64. Lists become ragged, with up to three
            axes. Objects and lists of objects become `Json`, which is None if the key is missing. A
            later value that does not fit the inferred type, or an integer of more than 64 bits,
            raises an error.
        defaults: Values to use for missing keys, by key.
        compression: The compression of the files; see `tfrecords`.
        dtypes: The types of some keys, such as {"id": str}. The others are inferred.

    Raises:
        TypeError: If a path is invalid, or components don't support a type.
        ValueError: If an argument is out of range, or a key would have to be both an object and a
            value.

    Examples:
        >>> from pathlib import Path
        >>> length = Path("points.jsonl").write_text('{"x": 1, "tag": ["a"]}\n{"x": 2, "tag": []}')
        >>> hr.json_lines("points.jsonl").spec
        {'x': Spec(int64, ()), 'tag': Spec(str, (None,), ragged)}
        >>> next(iter(hr.json_lines("points.jsonl", columns={"x": float}).batch(2)))
        {'x': array([1., 2.], dtype=float32)}
    """
    return JsonLines(*as_json("json_lines", paths, columns, defaults, compression, dtypes))


def as_json(
    where: str,
    paths: Paths,
    columns: Mapping[str, Any] | None,
    defaults: Mapping[str, Any] | None,
    compression: str | None,
    dtypes: Mapping[str, Any] | None,
) -> tuple[tuple[str, ...], Pairs | None, Pairs, str | None, Pairs]:
    """Returns the arguments of a JSON source as plain data, in the order of `JsonLines`.

    Raises:
        TypeError: If a path is invalid, or components don't support a type.
        ValueError: If an argument is out of range, or a key would have to be both an object and a
            value.
    """
    chosen = as_columns(where, columns)
    for name, _ in chosen or ():
        inner = next((other for other, _ in chosen or () if other.startswith(f"{name}.")), None)
        if inner is not None:
            raise ValueError(
                f"{where}: the columns {name!r} and {inner!r} contradict each other, because "
                f"{name!r} cannot be both an object and a value. Remove one of them."
            )
    typed = as_dtypes(where, dtypes, columns)
    for name, spec in specs_of(where, typed if chosen is None else chosen).items():
        if getattr(spec.dtype, "kind", "") == "m":
            raise TypeError(
                f"{where}: the column {name!r} is {spec}, which JSON does not support. Read it as "
                "str or as a number, and convert it in map."
            )
    check_compression(where, compression)
    values = as_defaults(where, defaults, chosen)
    return as_paths(where, paths), chosen, values, compression, typed


def _filled(component: Component) -> Component:
    """Sets the default of inferred JSON to None."""
    is_json = component.is_inferred and component.spec.dtype is Json
    return replace(component, default=NULL) if is_json and component.default is None else component
