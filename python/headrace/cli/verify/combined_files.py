"""Verification of many files of one kind in one pipeline, so that all threads have work."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from headrace import ops, pipeline
from headrace.cli.content.kind import Content, Kind
from headrace.cli.file_pipelines import ALL
from headrace.cli.verify.result import Result
from headrace.core.progress import Bar
from headrace.pipeline import Pipeline
from headrace.pipeline.tracing import native

__all__ = ["TOGETHER", "verified_together"]

# The kinds whose files are read together.
TOGETHER: Final = (Kind.TFRECORD, Kind.EVENTS, Kind.SESSION, Kind.IMAGE)
_BATCH: Final = 1 << 12
_DECODING: Final = "DecodeImage"


def verified_together(contents: Sequence[Content], num_threads: int | None) -> list[Result]:
    """Reads all records of some files in parallel; all are TFRecords, or all are images.

    Raises:
        OpError: If the system cannot read one of them.
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
    """Returns the reason why an image cannot be decoded, without the place in headrace's code."""
    first, *_ = reason.splitlines()
    before, found, why = first.partition(f"{_DECODING} at ")
    return why.partition(": ")[2].partition(" [while reading ")[0] if found else before


def _total(contents: Sequence[Content]) -> int | None:
    """Returns the number of bytes to read; None if unknown."""
    if any(content.compression for content in contents):
        return None
    return sum(content.size_bytes for content in contents)


@native
def _decoded(example: dict[str, Any]) -> dict[str, Any]:
    # The last value of an image exists once all of it was decoded.
    return {"file": example["file"], "size": ops.size(ops.decode_image(example["data"]))}


@native
def _first_decoded(example: dict[str, Any]) -> dict[str, Any]:
    image = ops.decode_image(example["data"], expand_animations=False)
    return {"file": example["file"], "size": ops.size(image)}


def _source(contents: Sequence[Content]) -> Pipeline:
    paths = [os.fspath(content.path) for content in contents]
    if contents[0].kind == Kind.IMAGE:
        # A TIFF of several images is whole for what reads it if the first is.
        decode = _first_decoded if contents[0].detail == "TIFF" else _decoded
        return pipeline.files(paths).with_origin().map(decode).select("file")
    return pipeline.tfrecords(paths).with_origin().select("file")
