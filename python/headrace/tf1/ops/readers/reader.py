"""Readers in a graph, which read records from a queue of file names.

Source: `tf.ReaderBase` and its subclasses in TensorFlow 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headrace.core.dtypes import DType, int64, resource, string
from headrace.core.errors import UnimplementedError
from headrace.core.shapes import TensorShape
from headrace.graph import Operation, Role, Tensor, TensorLike, define, get_default_graph
from headrace.io.compression import TFRecordOptions
from headrace.ops.framework.arguments import Input, apply_op
from headrace.ops.framework.inference import check_rank
from headrace.tf1.ops.queues.queue import QueueBase

__all__ = [
    "FixedLengthRecordReader",
    "IdentityReader",
    "LMDBReader",
    "ReaderBase",
    "TFRecordReader",
    "TextLineReader",
    "WholeFileReader",
]

_SCALAR = TensorShape([])
_VECTOR = TensorShape([None])


class ReadResult(NamedTuple):
    """The result of a read.

    Attributes:
        key: The record's file and the position in that file, a string scalar.
        value: The record, a string scalar.
    """

    key: Tensor
    value: Tensor


class ReadUpToResult(NamedTuple):
    """The result of a read of several records.

    Attributes:
        keys: Each record's file and the position in that file, a string vector.
        values: The records, a string vector of the same length.
    """

    keys: Tensor
    values: Tensor


class ReaderBase:
    """The operations that all readers have.

    A reader has one file open at a time. Operations on a reader run one at a time, even while a
    read waits for a file name.

    Args:
        reader_ref: The tensor that represents the reader.
        supports_serialize: Whether the state can be saved.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The tensor that represents the reader."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether the state can be saved."""
        return self._supports_serialize

    def read(self, queue: QueueBase | Tensor, name: str | None = None) -> ReadResult:
        """Adds an operation that reads the next record.

        At the end of a file, the reader takes the next name from the queue. The operation waits
        while the queue is empty.

        Args:
            queue: A queue of file names, with one string component.
            name: Name of the operation.

        Returns:
            The record's key and the record, string scalars.

        Raises:
            DataLossError: At run time, if the file is damaged. Reading fails until `reset`.
            FailedPreconditionError: At run time, if the name is a directory. The next read
                continues with the next file.
            NotFoundError: At run time, if the file does not exist. The next read continues with the
                next file.
            OutOfRangeError: At run time, if there are no more records and the queue is closed.
        """
        op = self._add_op("ReaderReadV2", [_queue_input(queue)], [(string, _SCALAR)] * 2, name)
        return ReadResult(*op.outputs)

    def read_up_to(
        self, queue: QueueBase | Tensor, num_records: TensorLike, name: str | None = None
    ) -> ReadUpToResult:
        """Adds an operation that reads several records from one file.

        Args:
            queue: A queue of file names, with one string component.
            num_records: The maximum number of records, a non-negative int64 scalar. Fewer are
                returned at the end of a file and before damaged data.
            name: Name of the operation.

        Returns:
            The records' keys and the records, string vectors.

        Raises:
            OpError: See `read`.
        """
        inputs = [_queue_input(queue), Input("num_records", num_records, dtype=int64)]
        op = self._add_op("ReaderReadUpToV2", inputs, [(string, _VECTOR)] * 2, name)
        return ReadUpToResult(*op.outputs)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Adds an operation that returns the number of records read so far as an int64 scalar."""
        outputs = [(int64, _SCALAR)]
        return self._add_op("ReaderNumRecordsProducedV2", [], outputs, name).outputs[0]

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Adds an operation that returns the number of completely read files as an int64 scalar.

        A file counts once a read finds no more records in it, that is, at the read after the last
        record.
        """
        outputs = [(int64, _SCALAR)]
        return self._add_op("ReaderNumWorkUnitsCompletedV2", [], outputs, name).outputs[0]

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Adds an operation that returns the state of the reader as a string scalar.

        The state contains the counts, the current file and the position in that file, but not the
        queue of file names. `WholeFileReader` and `IdentityReader` use TensorFlow's format.
        TensorFlow's other readers have no state.
        """
        outputs = [(string, _SCALAR)]
        return self._add_op("ReaderSerializeStateV2", [], outputs, name).outputs[0]

    def restore_state(self, state: TensorLike, name: str | None = None) -> Operation:
        """Adds an operation that restores the state of a reader of the same kind.

        The saved reader can belong to another session or process. The file is opened again at the
        next record.

        Args:
            state: The result of `serialize_state`. A scalar string.
            name: Name of the operation.

        Returns:
            The operation. If it fails, the reader is reset.

        Raises:
            InvalidArgumentError: At run time, if `state` is invalid, or the file has become
                shorter.
            NotFoundError: At run time, if the file no longer exists.
            ValueError: If `state` is not a scalar.
        """
        return self._add_op("ReaderRestoreStateV2", [Input("state", state, dtype=string)], [], name)

    def reset(self, name: str | None = None) -> Operation:
        """Adds an operation that closes the current file and sets the counts to 0."""
        return self._add_op("ReaderResetV2", [], [], name)

    def _add_op(
        self,
        op_type: str,
        inputs: Sequence[Input],
        outputs: Sequence[tuple[DType, TensorShape]],
        name: str | None,
    ) -> Operation:
        def infer(*tensors: Tensor) -> Sequence[tuple[DType, TensorShape]]:
            for tensor in tensors:
                check_rank(tensor.shape, 0)
            return outputs

        reader = Input("reader_handle", self._reader_ref, dtype=resource)
        return apply_op(op_type, [reader, *inputs], infer, name=name)


class TextLineReader(ReaderBase):
    r"""Reads the lines of text files, of any encoding and length.

    A line ends at a line feed or at the end of the file. A carriage return before the line feed is
    removed. Keys have the form `FILE:LINE`. The first line is 1, even if it is skipped.

    Args:
        skip_header_lines: The number of lines to skip at the start of each file.
        name: Name of the operation.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        lines = _as_int("skip_header_lines", skip_header_lines or 0)
        super().__init__(_create("TextLineReaderV2", name, skip_header_lines=lines), True)


class WholeFileReader(ReaderBase):
    """Reads each file as one record, even if the file is empty. The key is the file name.

    Args:
        name: Name of the operation.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(_create("WholeFileReaderV2", name), True)


class FixedLengthRecordReader(ReaderBase):
    """Reads records of a fixed length.

    Record `k` starts at byte `header_bytes + k * hop_bytes`. Remaining bytes at the end of a file
    are ignored if they are too short for a record and the footer. Keys have the form `FILE:K`.

    Args:
        record_bytes: The length of a record.
        header_bytes: The number of bytes before the records. Reading a shorter file fails with
            OutOfRangeError, which a queue runner treats as the end of the input.
        footer_bytes: The number of bytes after the records.
        hop_bytes: The number of bytes from the start of a record to the start of the next. None or
            0 means `record_bytes`.
        name: Name of the operation.
        encoding: "GZIP" or "ZLIB" for compressed files. Any other string means no compression.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        attrs: dict[str, int | str] = {
            "header_bytes": _as_int("header_bytes", header_bytes or 0),
            "record_bytes": _as_int("record_bytes", record_bytes),
            "footer_bytes": _as_int("footer_bytes", footer_bytes or 0),
            "hop_bytes": _as_int("hop_bytes", hop_bytes or 0),
            "encoding": _as_text("encoding", encoding or ""),
        }
        super().__init__(_create("FixedLengthRecordReaderV2", name, **attrs), True)


class TFRecordReader(ReaderBase):
    """Reads the records of TFRecord files and checks every checksum.

    Keys have the form `FILE:OFFSET`, where the offset is the start of the record in the
    uncompressed file, in bytes.

    Args:
        name: Name of the operation.
        options: The compression of the files: a `TFRecordOptions`, or a value that its first
            argument accepts.

    Raises:
        ValueError: If the compression does not exist.
    """

    def __init__(
        self, name: str | None = None, options: TFRecordOptions | str | int | None = None
    ) -> None:
        compression = TFRecordOptions.get_compression_type_string(options)
        super().__init__(_create("TFRecordReaderV2", name, compression_type=compression), True)


class IdentityReader(ReaderBase):
    """Returns the strings in the queue as records, as both key and value, without opening files.

    Args:
        name: Name of the operation.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(_create("IdentityReaderV2", name), True)


class LMDBReader(ReaderBase):
    """TensorFlow's reader for LMDB files, which headrace does not support.

    Raises:
        UnimplementedError: Always.
    """

    def __init__(
        self, name: str | None = None, options: TFRecordOptions | str | int | None = None
    ) -> None:
        raise UnimplementedError(
            None,
            None,
            "LMDBReader: LMDB files are not supported. Write the records to TFRecord files, "
            "and read those with TFRecordReader.",
        )


def _create(op_type: str, name: str | None, **attrs: int | str) -> Tensor:
    op = get_default_graph().create_op(
        op_type,
        [],
        [resource],
        output_shapes=[_SCALAR],
        name=name,
        attrs={"container": "", "shared_name": "", **attrs},
    )
    return op.outputs[0]


def _queue_input(queue: QueueBase | Tensor) -> Input:
    ref = queue if isinstance(queue, Tensor) else getattr(queue, "queue_ref", None)
    if ref is None:
        raise TypeError(f"expected a queue or its queue_ref, got {queue!r}")
    return Input("queue_handle", ref, dtype=resource)


def _as_int(name: str, value: float) -> int:
    try:
        if int(value) == value:
            return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise TypeError(f"Expected int for argument '{name}' not {value!r}.")


def _as_text(name: str, value: str | bytes) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return value
    raise TypeError(f"Expected string for argument '{name}' not {value!r}.")


define("FixedLengthRecordReaderV2", role=Role.READER)
define("IdentityReaderV2", role=Role.READER)
define("TFRecordReaderV2", role=Role.READER)
define("TextLineReaderV2", role=Role.READER)
define("WholeFileReaderV2", role=Role.READER)
define("ReaderNumRecordsProducedV2", is_stateful=True)
define("ReaderNumWorkUnitsCompletedV2", is_stateful=True)
define("ReaderReadUpToV2", is_stateful=True, queue_input=1)
define("ReaderReadV2", is_stateful=True, queue_input=1)
define("ReaderResetV2", is_stateful=True)
define("ReaderRestoreStateV2", is_stateful=True)
define("ReaderSerializeStateV2", is_stateful=True)
