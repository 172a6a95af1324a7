"""The positions of the records in TFRecord files, in the format of NVIDIA DALI."""

from __future__ import annotations

import os
from typing import Final

import numpy as np

from headrace.cli.failures import Failure
from headrace.cli.file_kinds import Content, Kind, content_of
from headrace.cli.file_pipelines import record_sizes
from headrace.cli.index.write import IndexResult
from headrace.cli.interrupts import Interrupts
from headrace.io.atomic_file import replacing
from headrace.pipeline import Skipped

__all__ = ["write_dali"]

# The framing of a record: its length and two checksums.
_FRAME_BYTES: Final = 16
_KINDS: Final = (Kind.TFRECORD, Kind.EVENTS, Kind.SESSION, Kind.EMPTY)


def write_dali(path: str, directory: str | None, interrupts: Interrupts) -> IndexResult:
    """Writes the offset and the size of each record in a file, including its framing.

    Each line contains both numbers in decimal. Every record is read and its checksums are checked.

    Args:
        path: The path of the file.
        directory: The directory of the index. None for the directory of the file.
        interrupts: The signals, which are checked now and then.

    Raises:
        Failure: If the file is not a TFRecord file, or is compressed or damaged.
        Interrupted: If a signal arrived. No index is written.

    Source: `tfrecord2idx` of NVIDIA DALI.
    """
    content = content_of(path)
    _check(content)
    index = os.path.join(directory or os.path.dirname(path), f"{os.path.basename(path)}.idx")
    damage: list[Skipped] = []
    offset, number = 0, 0
    with replacing(index) as file:
        for batch in record_sizes(content, damage):
            interrupts.check()
            sizes = batch.astype(np.int64) + _FRAME_BYTES
            ends = offset + np.cumsum(sizes)
            pairs = zip((ends - sizes).tolist(), sizes.tolist(), strict=True)
            file.write("".join(f"{begin} {size}\n" for begin, size in pairs).encode())
            offset, number = int(ends[-1]), number + len(sizes)
        if damage:
            raise Failure(
                f"{damage[0].reason} No index was written. Run headrace verify to see all damage."
            )
    return IndexResult(path, index, number, True)


def _check(content: Content) -> None:
    if content.kind not in _KINDS:
        raise Failure(
            f"{content.path}: the file's kind is {content.kind}, but --dali needs TFRecords. "
            "Remove --dali to write a headrace index."
        )
    if content.compression:
        raise Failure(
            f"{content.path}: the file is compressed with {content.compression}, so its records "
            "cannot be read separately. Convert it first with headrace convert."
        )
