"""Verifies all files passed to ``headrace verify``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import groupby
from typing import Any, Final, NamedTuple

from headrace import ops, pipeline
from headrace.cli.failures import Failure
from headrace.cli.file_kinds import Content, Kind, content_of, files_of
from headrace.cli.file_pipelines import ALL, counted
from headrace.cli.inspect.images import DECODED
from headrace.cli.inspect.parquet import opened
from headrace.cli.inspect.report import damage_of
from headrace.core.errors import OpError
from headrace.core.progress import Bar
from headrace.core.repr_prefix import printable, without_passwords
from headrace.pipeline import Pipeline, Skipped
from headrace.pipeline.native_functions import native

__all__ = ["TOGETHER", "Result", "VerifyResult", "verified", "verified_alone", "verified_together"]


@dataclass
class Result:
    """The result for one file.

    Attributes:
        content: The file.
        num_records: The number of undamaged records.
        damage: The damage, as data for `--json`.
    """

    content: Content
    num_records: int = 0
    damage: list[dict[str, Any]] = field(default_factory=list)

    def add(self, skipped: Iterable[Skipped]) -> None:
        """Adds unreadable records."""
        self.damage += damage_of(list(skipped))

    def fail(self, stage: str, reason: str) -> None:
        """Records that the whole file is unreadable."""
        self.damage.append({"record": None, "offset_bytes": None, "stage": stage, "reason": reason})

    def as_json(self) -> dict[str, Any]:
        """Returns the result as data for `--json`."""
        return {
            "file": without_passwords(self.content.path),
            "kind": self.content.kind,
            "compression": self.content.compression,
            "size_bytes": self.content.size_bytes,
            "records": self.num_records,
            "damage": self.damage,
        }


def verified_alone(content: Content) -> Result:
    """Reads a whole file."""
    result = Result(content)
    if content.mismatch is not None:
        result.fail("verify", content.mismatch)
        return result
    try:
        match content.kind:
            case Kind.PARQUET:
                result.num_records = _read_parquet(content.path)
            case Kind.BUNDLE:
                result.num_records = _read_bundle(content.path, result)
            case Kind.UNKNOWN:
                what = (
                    f"this file looks like {content.detail}"
                    if content.detail
                    else "this file is of an unknown kind"
                )
                result.fail("verify", f"{what}, so it cannot be checked. Leave it out.")
            case Kind.IMAGE:
                result.fail("verify", f"this is {content.detail}, which headrace cannot decode.")
            case _:
                count = counted(content)
                result.num_records = count.num_records
                result.add(count.damage)
    except (OpError, Failure) as error:
        first, *_ = error.message.splitlines()
        result.fail(content.kind, first.removeprefix(f"{printable(content.path)}: "))
    return result


def _read_parquet(path: str) -> int:
    """Reads all pages, and checks the checksums of pages that have one."""
    with opened(path) as file:
        arrow = import_module("pyarrow")
        try:
            return sum(batch.num_rows for batch in file.iter_batches())
        except (arrow.ArrowException, OSError) as error:
            raise Failure(f"{path}: {error} Copy the file again.") from error


def _read_bundle(path: str, result: Result) -> int:
    from headrace.cli.inspect.tensorflow1_files import read_bundle  # noqa: PLC0415  (few need it)

    number, failures = read_bundle(path)
    for failure in failures:
        result.fail("checkpoint", failure)
    return number


# File kinds that are read together.
TOGETHER: Final = (Kind.TFRECORD, Kind.EVENTS, Kind.SESSION, Kind.IMAGE)
_BATCH: Final = 1 << 12
_DECODING: Final = "DecodeImage"


def verified_together(contents: Sequence[Content], num_threads: int | None) -> list[Result]:
    """Reads all records of several files in parallel: either only TFRecords or only images.

    Raises:
        OpError: If a file cannot be read.
    """
    results = {content.path: Result(content) for content in contents}
    names: Counter[str] = Counter()
    source = _source(contents).skip_errors(ALL).batch(_BATCH).options(num_threads=num_threads)
    with iter(source) as batches, Bar("verify", _total(contents), "B") as bar:
        for batch in batches:
            names.update(batch["file"].tolist())
            bar.move_to(batches.statistics().stages[0].bytes)
    for name, number in names.items():
        results[name].num_records = number
    for one in batches.skipped:
        results[one.file or ""].add([one._replace(reason=_plain(one.reason))])
    return list(results.values())


def _plain(reason: str) -> str:
    """Returns the reason for a decoding error, without the position in headrace's code."""
    first, *_ = reason.splitlines()
    before, separator, why = first.partition(f"{_DECODING} at ")
    return why.partition(": ")[2].partition(" [while reading ")[0] if separator else before


def _total(contents: Sequence[Content]) -> int | None:
    """Returns the number of bytes to read, or None if it is unknown."""
    if any(content.compression for content in contents):
        return None
    return sum(content.size_bytes for content in contents)


@native
def _decoded(example: dict[str, Any]) -> dict[str, Any]:
    # An image's last value exists only once the whole image has been decoded.
    return {"file": example["file"], "size": ops.size(ops.decode_image(example["data"]))}


@native
def _first_decoded(example: dict[str, Any]) -> dict[str, Any]:
    # Floats can hold the values of every TIFF.
    image = ops.decode_image(example["data"], dtype="float32", expand_animations=False)
    return {"file": example["file"], "size": ops.size(image)}


def _source(contents: Sequence[Content]) -> Pipeline:
    paths = [os.fspath(content.path) for content in contents]
    if contents[0].kind == Kind.IMAGE:
        # Most readers accept a TIFF with several images if the first image is valid.
        decode = _first_decoded if contents[0].detail == "TIFF" else _decoded
        return pipeline.files(paths).with_origin().map(decode).select("file")
    return pipeline.tfrecords(paths).with_origin().select("file")


class VerifyResult(NamedTuple):
    """The result for all files.

    Attributes:
        results: The result of each file, in the order of the arguments.
        unreadable: The reasons why some files could not be opened.
    """

    results: list[Result]
    unreadable: list[str]

    @property
    def is_whole(self) -> bool:
        """Whether all files were read and none are damaged."""
        return not self.unreadable and not any(result.damage for result in self.results)


def verified(arguments: Iterable[str], num_threads: int | None) -> VerifyResult:
    """Reads and checks all records in files.

    Args:
        arguments: Files, directories and patterns.
        num_threads: The number of threads to read with. None for one per core.
    """
    contents: dict[str, Content] = {}
    unreadable = []
    for argument in arguments:
        try:
            for path in files_of("verify", argument):
                contents[path] = content_of(path)
        except (OpError, Failure) as error:
            unreadable.append(error.message.splitlines()[0])
    results = {one.content.path: one for one in _read(list(contents.values()), num_threads)}
    return VerifyResult([results[path] for path in contents], unreadable)


def _read(contents: list[Content], num_threads: int | None) -> Iterator[Result]:
    ordered = sorted(contents, key=_group)
    for group, members in groupby(ordered, key=_group):
        if group:
            yield from verified_together(list(members), num_threads)
        else:
            yield from map(verified_alone, members)


def _group(content: Content) -> str:
    """Returns a key shared by files that are read together, or "" for a file that is read alone."""
    if content.kind not in TOGETHER:
        return ""
    if content.kind == Kind.IMAGE:
        return f"images {content.detail == 'TIFF'}" if content.detail in DECODED else ""
    return "records"
