"""`json_array`: files that contain one JSON array of objects."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.pipeline.paths.paths import Paths
from headrace.pipeline.sources.json_lines import JsonLines, as_json

__all__ = ["JsonArray", "json_array"]


@dataclass(frozen=True)
class JsonArray(JsonLines):
    """The objects in JSON arrays."""

    numbers_lines: ClassVar = False
    is_array: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return "json_array"


def json_array(
    paths: Paths,
    columns: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    compression: str | None = "auto",
    dtypes: Mapping[str, Any] | None = None,
) -> JsonArray:
    """Reads files that contain one JSON array of objects, such as `[{"a": 1}, {"a": 2}]`.

    Each object becomes an example, with one component per key. Keys, types and defaults work as in
    `json_lines`. The file is parsed while it is being read, so it may be larger than memory.
    Records are numbered from 0.

    A truncated array, a missing or extra comma, or data after the array raises an error that names
    the file, the record and the byte. An empty file is also an error.

    Args:
        paths: The files to read; see `tfrecords`.
        columns: The types of the keys; see `json_lines`. If None, they are inferred from the first
            block of the first file that has objects.
        defaults: Values to use for missing keys; see `json_lines`.
        compression: The compression of the files; see `tfrecords`.
        dtypes: The types of some keys; see `json_lines`.

    Raises:
        TypeError: If a path is invalid, or components don't support a type.
        ValueError: If an argument is out of range, or a key would have to be both an object and a
            value.

    Examples:
        >>> from pathlib import Path
        >>> length = Path("points.json").write_text('[{"x": 1, "y": 2}, {"x": 3, "y": 4}]')
        >>> next(iter(hr.json_array("points.json").batch(2)))
        {'x': array([1, 3]), 'y': array([2, 4])}
    """
    return JsonArray(*as_json("json_array", paths, columns, defaults, compression, dtypes))
