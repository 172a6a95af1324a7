"""Reading and writing TFRecord files without a graph.

Source: `tf.python_io` in TensorFlow 1.15.
"""

from collections.abc import Iterator
from os import PathLike, fsdecode, fsencode
from types import TracebackType

from headrace.core import engine
from headrace.core.errors import FailedPreconditionError, InvalidArgumentError
from headrace.io.compression import CompressionLike, TFRecordOptions

__all__ = ["TFRecordWriter", "tf_record_iterator"]


class TFRecordWriter:
    """Writes records to a TFRecord file.

    The file gets its final name at the first `flush` or at `close`, and replaces an existing file.
    Until then, records go to a temporary file in the same directory, so a killed program leaves no
    incomplete file. You can use a writer from several threads.

    If a write fails, for example because the disk is full, all later calls raise the same error,
    including `close`. Otherwise, the file could have a gap. If the file does not have its final
    name yet, it never gets it.

    Args:
        path: The file to write.
        options: The compression; see `TFRecordOptions`.

    Raises:
        FailedPreconditionError: If `path` is a directory.
        InvalidArgumentError: If a compression option is out of range.
        NotFoundError: If the directory does not exist.
        PermissionDeniedError: If you don't have permission to write to the directory.
        ValueError: If the compression is unknown.

    Examples:
        >>> with hr.records.TFRecordWriter("data.tfrecord") as writer:
        ...     writer.write(b"first")
        ...     writer.write(b"second")
        >>> list(hr.records.tf_record_iterator("data.tfrecord"))
        [b'first', b'second']
    """

    def __init__(self, path: str | bytes | PathLike[str], options: CompressionLike = None) -> None:
        compression = TFRecordOptions.get_compression_type_string(options)
        record_options = options if isinstance(options, TFRecordOptions) else TFRecordOptions()
        self._path = fsencode(path)
        if (
            compression
            and record_options.output_buffer_size is not None
            and record_options.output_buffer_size < 2
        ):
            size = record_options.output_buffer_size
            raise InvalidArgumentError(
                None, None, f"{fsdecode(path)}: output_buffer_size is {size}, expected at least 2"
            )
        try:
            self._writer = engine.RecordWriter(
                self._path,
                compression,
                level=record_options.compression_level,
                method=record_options.compression_method,
                window_bits=record_options.window_bits,
                mem_level=record_options.mem_level,
                strategy=record_options.compression_strategy,
                flush_mode=record_options.flush_mode,
                flush_bytes=record_options.input_buffer_size,
            )
        except engine.EngineError as error:
            engine.raise_op_error(error)
        except OverflowError:
            raise InvalidArgumentError(
                None,
                None,
                f"{fsdecode(path)}: an option does not fit into 64 bits: {vars(record_options)}",
            ) from None

    def write(self, record: bytes | str) -> None:
        """Appends a record.

        Args:
            record: The bytes of the record. A `str` is encoded as UTF-8.

        Raises:
            FailedPreconditionError: If the writer is closed.
            ResourceExhaustedError: If there is no space left, or an earlier write failed for this
                reason.
            TypeError: If `record` is neither bytes nor str.
        """
        data = record.encode() if isinstance(record, str) else record
        if not isinstance(data, (bytes, bytearray, memoryview)):
            where = fsdecode(self._path)
            raise TypeError(
                f"{where}: got a record of type {type(record).__name__}, expected bytes or str"
            )
        try:
            is_open = self._writer.write(bytes(data))
        except engine.EngineError as error:
            engine.raise_op_error(error)
        self._check_open(is_open)

    def flush(self) -> None:
        """Writes all records so far to the file, under its final name.

        Raises:
            FailedPreconditionError: If the writer is closed.
            ResourceExhaustedError: If there is no space left, or an earlier write failed for this
                reason.
        """
        try:
            is_open = self._writer.flush()
        except engine.EngineError as error:
            engine.raise_op_error(error)
        self._check_open(is_open)

    def close(self) -> None:
        """Completes the file. Further calls do nothing.

        Raises:
            ResourceExhaustedError: If there is no space left, or an earlier write failed for this
                reason.
        """
        try:
            self._writer.close()
        except engine.EngineError as error:
            engine.raise_op_error(error)

    def discard(self) -> None:
        """Closes the writer without completing the file. After `close`, it does nothing.

        The file does not appear, and an existing file is kept. If you called `flush` before, the
        file stays, but may lack the records written after that.
        """
        self._writer.discard()

    def _check_open(self, is_open: bool) -> None:
        if not is_open:
            raise FailedPreconditionError(None, None, "Writer is closed.")

    def __enter__(self) -> "TFRecordWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def tf_record_iterator(
    path: str | bytes | PathLike[str], options: CompressionLike = None
) -> Iterator[bytes]:
    """Yields the records of a TFRecord file, and verifies every checksum.

    Args:
        path: The file to read. It is opened when the first record is read.
        options: The compression: a `TFRecordOptions`, or any value that its first argument accepts.

    Raises:
        DataLossError: If the file is damaged. The message names the record.
        FailedPreconditionError: If `path` is a directory.
        NotFoundError: If the file does not exist.
        ValueError: If the compression is unknown.
    """
    compression = TFRecordOptions.get_compression_type_string(options)
    try:
        yield from engine.RecordIterator(fsencode(path), compression)
    except engine.EngineError as error:
        engine.raise_op_error(error)
