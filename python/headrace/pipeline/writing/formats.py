"""The formats in which a pipeline can be written, and the components that each can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import numpy as np

from headrace.core.optional_dependencies import missing_parquet, missing_protobuf
from headrace.core.repr_prefix import without_passwords
from headrace.pipeline.values.types import Spec
from headrace.pipeline.writing.column import Column
from headrace.pipeline.writing.json_lines import JsonShard
from headrace.pipeline.writing.parquet import ParquetShard
from headrace.pipeline.writing.shard import Shard
from headrace.pipeline.writing.tar import TarShard, check_extension, is_array_file
from headrace.pipeline.writing.tfrecord import RecordShard
from headrace.pipeline.writing.wording import PIPELINE, UnwritableError

__all__ = ["Format", "format_of"]

_PLAIN: Final = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
_FLOATS: Final = ("float16", "float32", "float64")
# The maximum number of axes that Parquet readers support.
_MOST_AXES: Final = 3


class Format(NamedTuple):
    """An output format.

    Attributes:
        name: The name of the format.
        check: Raises UnwritableError if the format cannot hold a component.
        begin: Starts a shard, given a path, a compression and columns.
        keeps_shapes: Whether arrays with several axes keep their shapes.
        missing: Names the package that must be installed, or None if nothing is missing.
    """

    name: str
    check: Callable[[str, Spec], None]
    begin: Callable[[str, str | None, list[Column]], Shard]
    keeps_shapes: bool = False
    missing: Callable[[], str | None] = lambda: None

    def columns(self, specs: Mapping[str, Spec]) -> list[Column]:
        """Returns the columns for these components.

        Raises:
            UnwritableError: If the format cannot hold a component. The message names it.
        """
        for name, spec in specs.items():
            self.check(name, spec)
        return [Column(name, _kind(spec), _rank(spec)) for name, spec in specs.items()]


def format_of(path: str) -> tuple[Format, str | None]:
    """Returns the format and compression for a file extension.

    Raises:
        ModuleNotFoundError: If a package must be installed for this format.
        ValueError: If the format is unknown.
    """
    lower = path.lower()
    compression = "gzip" if lower.endswith(".gz") else None
    ending = lower.removesuffix(".gz").rpartition(".")[2]
    file_format = _FORMATS.get(ending)
    if file_format is None or (compression and file_format.name == "Parquet"):
        raise ValueError(
            f"write: the path is {without_passwords(path)!r}, but its extension must name the "
            "format: .tfrecord, .tar, .jsonl (each optionally followed by .gz) or .parquet."
        )
    if missing := file_format.missing():
        raise ModuleNotFoundError(f"write: {missing}")
    return file_format, compression


def is_records(specs: Mapping[str, Spec]) -> bool:
    """Returns whether examples are raw records. These are written unchanged."""
    return list(specs) == ["record"] and specs["record"] == Spec(bytes, ())


def _kind(spec: Spec) -> str:
    if spec.dtype is str:
        return "text"
    return "bytes" if spec.dtype is bytes else _type_name(spec)


def _rank(spec: Spec) -> int:
    return len(spec.shape or ())


def _type_name(spec: Spec) -> str:
    return "" if isinstance(spec.dtype, type) else np.dtype(spec.dtype).name


def _refuse(name: str, spec: Spec, reason: str, remedy: str) -> None:
    raise UnwritableError(
        f"write: the component {name!r} is {spec}, {reason}. {remedy}, or {PIPELINE.drop}."
    )


def _check_axes(name: str, spec: Spec, most: int | None = None) -> None:
    if spec.shape is None:
        _refuse(name, spec, "which has an unknown number of axes", "Reshape it in a map")
    if most is not None and _rank(spec) > most:
        reason = f"but the format supports at most {most} axes"
        _refuse(name, spec, reason, "Reshape it in a map")


def _check_record(name: str, spec: Spec) -> None:
    _check_axes(name, spec)
    kind = _type_name(spec)
    if kind in ("uint64", "float64"):
        other = "int64" if kind == "uint64" else "float32"
        remedy = f"Convert it to np.{other} in a map, or write Parquet"
        _refuse(name, spec, "but an Example stores only int64, float32 and bytes", remedy)
    if kind and kind not in (*_PLAIN, *_FLOATS):
        reason = "but an Example stores only int64, float32 and bytes"
        _refuse(name, spec, reason, "Convert it to np.float32 in a map")


def _check_json(name: str, spec: Spec) -> None:
    _check_axes(name, spec)
    _check_numbers(name, spec, "JSON")


def _check_numbers(name: str, spec: Spec, what: str) -> None:
    kind = _type_name(spec)
    if kind and kind not in (*_PLAIN, *_FLOATS):
        _refuse(name, spec, f"which {what} does not support", "Convert it to np.float32 in a map")


def _check_parquet(name: str, spec: Spec) -> None:
    _check_axes(name, spec, _MOST_AXES)
    _check_numbers(name, spec, "Parquet")


def _check_member(name: str, spec: Spec) -> None:
    if name == "__key__":
        if spec.shape != ():
            _refuse(name, spec, "expected a single string or number", "Reshape it in a map")
        return
    try:
        check_extension(name, PIPELINE)
    except UnwritableError as error:
        raise UnwritableError(f"write: {error}") from error
    _check_axes(name, spec)
    if spec.dtype is bytes and _rank(spec):
        _refuse(
            name,
            spec,
            "expected a single string, because each becomes a file in the archive",
            "Join the strings in a map",
        )
    if is_array_file(name) and _rank(spec):
        if spec.dtype is str:
            _refuse(name, spec, "but .npy files can only store numbers", "Rename it")
        return
    if _rank(spec) > 1:
        remedy = f"Rename it to {f'{name}.npy'!r} with rename"
        _refuse(name, spec, "which only a .npy file can store", remedy)
    _check_numbers(name, spec, "a text file in an archive")


def _record_shard(path: str, compression: str | None, columns: list[Column]) -> Shard:
    return RecordShard(path, compression, PIPELINE)


def _json_shard(path: str, compression: str | None, columns: list[Column]) -> Shard:
    # JSON has no bytes, so bytes are written as text if they are valid UTF-8.
    texts = [c._replace(kind="text") if c.kind == "bytes" else c for c in columns]
    return JsonShard(path, compression, texts, PIPELINE)


_RECORDS: Final = Format("TFRecord", _check_record, _record_shard, missing=missing_protobuf)
_JSON: Final = Format("JSON lines", _check_json, _json_shard)
_FORMATS: Final[dict[str, Format]] = {
    "tfrecord": _RECORDS,
    "tfrecords": _RECORDS,
    "jsonl": _JSON,
    "ndjson": _JSON,
    "parquet": Format(
        "Parquet",
        _check_parquet,
        lambda path, _, columns: ParquetShard(path, "snappy", columns),
        keeps_shapes=True,
        missing=missing_parquet,
    ),
    "tar": Format(
        "tar",
        _check_member,
        lambda path, compression, _: TarShard(path, compression, None, PIPELINE),
        keeps_shapes=True,
    ),
}
