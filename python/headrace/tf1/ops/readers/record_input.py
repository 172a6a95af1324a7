"""Batches of shuffled records from files, without queues and queue runners.

Source: `tensorflow.python.ops.data_flow_ops.RecordInput` in TensorFlow 1.15. In TensorFlow, the
operation's threads read ahead, so the order differs each time.
"""

from __future__ import annotations

import os
from typing import Any

from headrace.core.dtypes import string
from headrace.core.shapes import unknown_shape
from headrace.graph import SessionResource, Tensor, define, name_scope
from headrace.io.compression import TFRecordOptions
from headrace.ops.array.join import split
from headrace.ops.array.reshape import reshape
from headrace.ops.framework.arguments import apply_op

__all__ = ["RecordInput"]


class RecordInput:
    """Reads TFRecord files for an unlimited number of epochs and returns records in batches.

    Each epoch has a new random order of files, and records are drawn from a buffer. Both orders
    depend only on the seed, so they are reproducible. Each epoch ends before the next one starts. A
    run reads its batch in its own thread, without the GIL. Files are looked up in the first run.

    Args:
        file_pattern: A path, a pattern, or several patterns separated by commas.
        batch_size: The number of records in a batch.
        buffer_size: The size of the buffer that records are drawn from.
        parallelism: The number of files to read in turn.
        shift_ratio: The fraction of the files by which each order is rotated, from 0 to less than
            1.
        seed: The seed of the random orders.
        name: Name of the operation.
        batches: The number of batches that a run returns. By default, a single batch.
        compression_type: None, a `TFRecordCompressionType`, or its name.
    """

    def __init__(
        self,
        file_pattern: str | os.PathLike[str],
        batch_size: int = 1,
        buffer_size: int = 1,
        parallelism: int = 1,
        shift_ratio: float = 0,
        seed: int = 0,
        name: str | None = None,
        batches: int | None = None,
        compression_type: int | str | None = None,
    ) -> None:
        self._batches, self._name = batches, name
        self._batch_size = batch_size if batches is None else batch_size * batches
        self._attrs = {
            "file_pattern": os.fspath(file_pattern),
            "file_buffer_size": buffer_size,
            "file_parallelism": parallelism,
            "file_shuffle_shift_ratio": float(shift_ratio),
            "batch_size": self._batch_size,
            "file_random_seed": seed,
            "compression_type": TFRecordOptions.get_compression_type_string(
                TFRecordOptions(compression_type)
            ),
        }

    def get_yield_op(self) -> Any:
        """Adds the operation that returns records.

        Returns:
            A vector of `batch_size` strings, with unknown static shape, as in TensorFlow. If
            `batches` is given, a list of that many lists of scalars.

        Raises:
            DataLossError: At run time, if a file is damaged. Records before the damage are returned
                first.
            InvalidArgumentError: At run time, if a number is out of range.
            NotFoundError: At run time, if no file matches.
            OutOfRangeError: At run time, if the files have no records.
        """
        outputs = [(string, unknown_shape())]
        op = apply_op("RecordInput", [], lambda: outputs, name=self._name, attrs=self._attrs)
        records = op.outputs[0]
        if self._batches is None:
            return records
        with name_scope(self._name):
            return self._dealt(records)

    def _dealt(self, records: Tensor) -> list[list[Tensor]]:
        """Returns the records one by one, distributed to batches in turn."""
        assert self._batches is not None
        singles = [reshape(record, []) for record in split(records, self._batch_size, 0)]
        return [singles[batch :: self._batches] for batch in range(self._batches)]


define("RecordInput", is_stateful=True, kept=SessionResource.RECORD_INPUT)
