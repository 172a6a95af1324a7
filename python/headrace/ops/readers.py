"""Readers as nodes of a graph: from a queue of file names to records.

Source: `tf.ReaderBase` and its subclasses of TensorFlow 1.15.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from headrace.compression import TFRecordOptions
from headrace.dtypes import DType, int64, resource, string
from headrace.graph import Operation, Tensor, get_default_graph, graph_of
from headrace.ops.conversion import convert_to_tensor
from headrace.ops.queues import QueueBase
from headrace.shapes import TensorShape

__all__ = ["ReadResult", "ReaderBase", "TFRecordReader"]

_SCALAR = TensorShape([])
_VECTOR = TensorShape([None])


class ReadResult(NamedTuple):
    """What a read returns.

    Attributes:
        key: Names the record: file and position in it. A string scalar (a vector for many).
        value: The record. A string scalar (a vector for many).
    """

    key: Tensor
    value: Tensor


class ReaderBase:
    """The operations that all readers have.

    A reader has one file open at a time. Reads of several threads take turns.

    Args:
        reader_ref: The tensor that stands for the reader.
        supports_serialize: Whether its state can be saved.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The tensor that stands for the reader."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether its state can be saved."""
        return self._supports_serialize

    def read(self, queue: Any, name: str | None = None) -> ReadResult:
        """Adds an operation that reads the next record.

        When a file has ended, the next name is taken from the queue; it waits for one.

        Args:
            queue: A queue of one string component, the file names.
            name: Name of the operation.

        Returns:
            The record's key and the record, string scalars.

        Raises:
            DataLossError: When run: the file is damaged. Reading goes on failing until `reset`.
            NotFoundError: When run: there is no such file. The next read takes the next file.
            OutOfRangeError: When run: there are no more records and the queue is closed.
        """
        op = self._add_op(
            "ReaderReadV2", [_queue_ref(queue)], [string, string], [_SCALAR, _SCALAR], name
        )
        return ReadResult(*op.outputs)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> ReadResult:
        """Adds an operation that reads several records of one file.

        Args:
            queue: A queue of one string component, the file names.
            num_records: How many; fewer come at the end of a file. A scalar int64.
            name: Name of the operation.

        Returns:
            The records' keys and the records, string vectors.

        Raises:
            OpError: As `read`.
        """
        count = convert_to_tensor(num_records, dtype=int64, name="num_records")
        op = self._add_op(
            "ReaderReadUpToV2", [_queue_ref(queue), count], [string, string], [_VECTOR] * 2, name
        )
        return ReadResult(*op.outputs)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Adds an operation that counts the records read: a scalar int64."""
        return self._add_op("ReaderNumRecordsProducedV2", [], [int64], [_SCALAR], name).outputs[0]

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Adds an operation that counts the files read to their end: a scalar int64."""
        return self._add_op("ReaderNumWorkUnitsCompletedV2", [], [int64], [_SCALAR], name).outputs[
            0
        ]

    def reset(self, name: str | None = None) -> Operation:
        """Adds an operation that forgets the current file and sets the counts to 0."""
        return self._add_op("ReaderResetV2", [], [], [], name)

    def _add_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Sequence[DType],
        shapes: Sequence[TensorShape],
        name: str | None,
    ) -> Operation:
        all_inputs = [self._reader_ref, *inputs]
        return graph_of(all_inputs).create_op(
            op_type, all_inputs, dtypes, output_shapes=shapes, name=name
        )


class TFRecordReader(ReaderBase):
    """Reads the records of TFRecord files, checking every checksum.

    A key is `FILE:OFFSET`, the offset in bytes of the record's start in the file.

    Args:
        name: Name of the operation.
        options: Compression of the files; see `TFRecordOptions`.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        compression = TFRecordOptions.get_compression_type_string(options)
        super().__init__(_create("TFRecordReaderV2", name, compression_type=compression))


def _create(op_type: str, name: str | None, **attrs: Any) -> Tensor:
    op = get_default_graph().create_op(
        op_type,
        [],
        [resource],
        output_shapes=[_SCALAR],
        name=name,
        attrs={"container": "", "shared_name": "", **attrs},
    )
    return op.outputs[0]


def _queue_ref(queue: Any) -> Tensor:
    ref = queue.queue_ref if isinstance(queue, QueueBase) else queue
    if not isinstance(ref, Tensor):
        raise TypeError(f"a queue or its queue_ref is expected, got {queue!r}")
    return ref
