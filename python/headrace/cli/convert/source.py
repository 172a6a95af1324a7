"""The pipeline that reads the examples to convert."""

from __future__ import annotations

import os
from typing import Any, Final, NamedTuple

from headrace import pipeline
from headrace.cli.convert.request import FORMAT_OF_KIND, Format, Request
from headrace.cli.failures import Failure
from headrace.cli.file_kinds import Content, Kind, content_of, is_number
from headrace.core.errors import OpError
from headrace.io.os_errors import os_errors
from headrace.pipeline import Feature, Json, Pipeline, Ragged, Spec
from headrace.pipeline.paths.paths import find_files
from headrace.pipeline.sources.image_folder import IMAGES

__all__ = ["Source", "source_of"]

_TYPES: Final[dict[str, Any]] = {
    "int": int,
    "float": float,
    "float64": "float64",
    "bool": bool,
    "str": str,
    "bytes": bytes,
}


class Source(NamedTuple):
    """The examples to convert.

    Attributes:
        format: One of `Format`.
        pipeline: The examples in output order. For TFRecords, the records.
        plain: The same examples in their stored order.
        root: The directory of an image folder. None for other sources.
    """

    format: str
    pipeline: Pipeline
    plain: Pipeline
    root: str | None


def source_of(request: Request) -> Source:
    """Returns the source for a request.

    Raises:
        Failure: If the sources have different formats or an unsupported format, or the options do
            not apply to them.
        OpError: If the sources cannot be read.
    """
    root = _image_folder(request)
    if root is not None:
        file_format, examples = Format.IMAGE_FOLDER, pipeline.image_folder(root, IMAGES)
    else:
        contents = _contents(request)
        file_format = _format(contents, request)
        examples = _files(file_format, contents, request)
    _check_options(file_format, request)
    ordered = _shuffled(examples, request)
    return Source(file_format, _skipping(ordered, request), _skipping(examples, request), root)


def _image_folder(request: Request) -> str | None:
    """Returns the directory if the source is an image folder."""
    if request.source_format not in (None, Format.IMAGE_FOLDER):
        return None
    is_said = request.source_format is not None
    folders = [path for path in request.sources if is_said or _has_folders(path)]
    if not folders:
        return None
    if len(request.sources) > 1:
        raise Failure(
            f"{folders[0]}: an image folder cannot be combined with other sources. Convert them "
            "one after the other."
        )
    return folders[0]


def _has_folders(path: str) -> bool:
    if not os.path.isdir(path):
        return False
    with os_errors(path), os.scandir(path) as entries:
        return any(entry.is_dir() and not entry.name.startswith(".") for entry in entries)


def _contents(request: Request) -> list[Content]:
    paths = [os.fsdecode(path) for path in find_files("convert", request.sources)]
    contents = [content_of(path) for path in paths]
    # Empty files may be mixed with files of any format.
    return [content for content in contents if content.kind != Kind.EMPTY] or contents


def _format(contents: list[Content], request: Request) -> str:
    if request.source_format is not None:
        return request.source_format
    first = contents[0]
    for content in contents:
        if content.kind not in FORMAT_OF_KIND:
            raise Failure(
                f"{content.path}: files of the kind '{content.kind}' cannot be converted. If the "
                "kind is wrong, set the format with --from."
            )
        if content.kind != first.kind:
            raise Failure(
                f"{first.path} is {first.kind}, but {content.path} is {content.kind}. Convert "
                "them one after the other, or set the format with --from."
            )
    return FORMAT_OF_KIND[first.kind]


def _files(  # noqa: PLR0911 (one for each format)
    file_format: str, contents: list[Content], request: Request
) -> Pipeline:
    paths = [content.path for content in contents]
    match file_format:
        case Format.CSV:
            return _csv(paths, _delimiter(contents), request)
        case Format.JSON_LINES:
            return _json_lines(paths, request)
        case Format.TAR:
            return pipeline.webdataset(paths, dict(request.defaults))
        case Format.PARQUET:
            return pipeline.parquet(paths, request.select or None)
        case Format.IMAGES:
            return pipeline.files(paths)
        case Format.TEXT:
            return pipeline.text_lines(paths)
    return pipeline.tfrecords(paths)


def _delimiter(contents: list[Content]) -> str:
    delimiters = {content.detail or "," for content in contents if content.kind == Kind.CSV}
    if len(delimiters) > 1:
        raise Failure(
            f"{contents[0].path}: the files use different delimiters. Convert them separately."
        )
    return delimiters.pop() if delimiters else ","


def _csv(paths: list[str], delimiter: str, request: Request) -> Pipeline:
    header = request.header is not False
    if header:
        plain = pipeline.csv(paths, delimiter=delimiter)
        columns = _columns(plain, request)
        _check_header(paths[0], list(columns), request)
    elif not request.columns:
        raise Failure(
            f"{paths[0]}: without a header, the columns have no names. Pass --column NAME=TYPE "
            "for each column, in order."
        )
    else:
        columns = {name: _type(name, text) for name, text in request.columns}
    defaults = _defaults(columns, request)
    examples = pipeline.csv(paths, columns, header, delimiter, defaults)
    return examples if header or not request.select else examples.select(*request.select)


def _check_header(path: str, names: list[str], request: Request) -> None:
    """Rejects a first line that looks like data, because it would be lost."""
    number = next((name for name in names if is_number(name)), None)
    if number is not None and request.header is None:
        raise Failure(
            f"{path}: the first line has the number {number!r} as the name of a column. If the "
            "line is a header, pass --header. Otherwise, pass --no-header, and --column "
            "NAME=TYPE for each column, in order."
        )


def _json_lines(paths: list[str], request: Request) -> Pipeline:
    columns = _columns(pipeline.json_lines(paths), request)
    return pipeline.json_lines(paths, columns, _defaults(columns, request))


def _columns(plain: Pipeline, request: Request) -> dict[str, Any]:
    """Returns the types of all columns, whether specified or inferred."""
    types = {name: _type(name, text) for name, text in request.columns}
    if set(request.select) and set(request.select) <= set(types):
        return {name: types[name] for name in request.select}
    try:
        columns = {name: _column(spec) for name, spec in plain.spec.items()} | types
    except OpError as error:
        if not types:
            raise Failure(
                f"{error.message} With this command, use --column NAME=TYPE for each column."
            ) from error
        columns = types
    for name in request.select:
        if name not in columns:
            raise Failure(f"--select {name}: no such column, expected one of {', '.join(columns)}.")
    return {name: columns[name] for name in request.select or columns}


def _column(spec: Spec) -> Any:
    if spec.dtype is Json or spec.is_nested:
        return Json
    if spec.is_ragged:
        return Ragged(spec.dtype)
    return Feature(spec.dtype, tuple(size or 0 for size in spec.shape or ()))


def _type(name: str, text: str) -> Any:
    kind = _TYPES.get(text.removesuffix("[]"))
    if kind is None:
        raise Failure(
            f"--column {name}={text}: no such type, expected one of {', '.join(_TYPES)}, "
            "or one of them followed by [] for a list."
        )
    return Ragged(kind) if text.endswith("[]") else kind


def _defaults(columns: dict[str, Any], request: Request) -> dict[str, Any]:
    return {name: _default(name, columns.get(name), text) for name, text in request.defaults}


def _default(name: str, column: Any, text: str) -> Any:
    if column is None:
        raise Failure(f"--default {name}={text}: no such column.")
    kind = getattr(column, "dtype", column)
    if kind in (str, bytes):
        return text
    try:
        return float(text) if "float" in str(kind) else int(text)
    except ValueError:
        raise Failure(
            f"--default {name}={text}: the column contains numbers, so its default must be a "
            "number."
        ) from None


def _check_options(file_format: str, request: Request) -> None:
    """Rejects options that do not apply to this source."""
    typed = (Format.CSV, Format.JSON_LINES)
    if request.columns and file_format not in typed:
        raise Failure(
            f"--column does not work with {file_format}, because such files define the types of "
            "their features."
        )
    if request.defaults and file_format not in (*typed, Format.TAR):
        raise Failure(
            f"--default works only with csv, json-lines and tar, but the source is {file_format}."
        )


def _shuffled(source: Pipeline, request: Request) -> Pipeline:
    if request.seed is None:
        return source
    try:
        # A conversion reads each source only once, so it writes no index next to it.
        return source.shuffle(request.window, seed=request.seed).options(index="memory")
    except ValueError as error:
        raise Failure(f"{error} With this command, use --window 10000.") from error


def _skipping(source: Pipeline, request: Request) -> Pipeline:
    return source if request.skip_errors is None else source.skip_errors(request.skip_errors)
