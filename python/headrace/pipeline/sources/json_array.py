"""JSON arrays: files with one array of objects."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.pipeline.paths.paths import Paths
from headrace.pipeline.sources.json_lines import JsonLines, as_json

__all__ = ["JsonArray", "json_array"]


@dataclass(frozen=True)
class JsonArray(JsonLines):
    """Objects of JSON arrays."""

    numbers_lines: ClassVar = False
    is_array: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """Its name in messages: that of the function that makes it."""
        return "json_array"


def json_array(
    paths: Paths,
    columns: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    compression: str | None = "auto",
    dtypes: Mapping[str, Any] | None = None,
) -> JsonArray:
    """Reads files that are one JSON array of objects each, such as `[{"a": 1}, {"a": 2}]`.

    An example is an element of the array, with a component for each key; keys, types and defaults
    are those of `json_lines`. Elements are found while the file is read, so a file may be larger
    than memory. Records are numbered from 0. An array that is cut off, a missing or an additional
    comma, and anything after the array are errors that name the file, the record and the byte. An
    empty file is not an array.

    Args:
        paths: As for `tfrecords`.
        columns: As for `json_lines`. None to infer the keys and their types from the first block of
            the first file with elements.
        defaults: As for `json_lines`.
        compression: As for `tfrecords`.
        dtypes: As for `json_lines`.

    Raises:
        TypeError: If a path is invalid, or a type cannot be a component's.
        ValueError: If an argument is out of range, or a key is both an object and a value.
    """
    return JsonArray(*as_json("json_array", paths, columns, defaults, compression, dtypes))
