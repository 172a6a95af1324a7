"""TFRecord files without a graph: a writer and an iterator.

Source: `tf.python_io` of TensorFlow 1.15.
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

    The file gets its name, and replaces an older one, at the first `flush` or at `close`. Until
    then the records are in a temporary file in the same directory, so a program that is killed
    leaves no half-written file under that name. May be used from many threads.

    Once a write has failed (the disk is full, say), everything else fails in the same way, `close`
    too: later records would follow a gap. If the file does not have its name by then, it never gets
    it.

    Args:
        path: The file to write.
        options: Compression; see `TFRecordOptions`.

    Raises:
        FailedPreconditionError: If `path` is a directory.
        InvalidArgumentError: If there is no such level of compression or mode to flush.
        NotFoundError: If there is no directory to write it in.
        PermissionDeniedError: If it may not be written there.
        ValueError: If there is no such compression.
    """

    def __init__(self, path: str | bytes | PathLike[str], options: CompressionLike = None) -> None:
        compression = TFRecordOptions.get_compression_type_string(options)
        given = options if isinstance(options, TFRecordOptions) else TFRecordOptions()
        level = given.compression_level
        self._path = fsencode(path)
        try:
            self._writer = engine.RecordWriter(
                self._path, compression, level, given.flush_mode, given.input_buffer_size
            )
        except engine.EngineError as error:
            engine.raise_op_error(error)
        except OverflowError:
            raise InvalidArgumentError(
                None,
                None,
                f"compression_level is {level}, expected 0 to 9, or None; flush_mode is "
                f"{given.flush_mode}, expected 0 to 3, or None; input_buffer_size is "
                f"{given.input_buffer_size}, expected a number of 64 bits.",
            ) from None

    def write(self, record: bytes | str) -> None:
        """Appends a record.

        Args:
            record: Its bytes; a str is written in UTF-8.

        Raises:
            FailedPreconditionError: If the writer is closed.
            ResourceExhaustedError: If there is no room for it, now or at an earlier write.
            TypeError: If it is neither bytes nor str.
        """
        data = record.encode() if isinstance(record, str) else record
        if not isinstance(data, (bytes, bytearray, memoryview)):
            where = fsdecode(self._path)
            raise TypeError(f"{where}: a record is bytes, got {type(record).__name__}")
        try:
            is_open = self._writer.write(bytes(data))
        except engine.EngineError as error:
            engine.raise_op_error(error)
        self._check_open(is_open)

    def flush(self) -> None:
        """Writes all records so far to the file, under its name.

        Raises:
            FailedPreconditionError: If the writer is closed.
            ResourceExhaustedError: If there is no room for them, now or at an earlier write.
        """
        try:
            is_open = self._writer.flush()
        except engine.EngineError as error:
            engine.raise_op_error(error)
        self._check_open(is_open)

    def close(self) -> None:
        """Completes the file. May be called twice; the second call does nothing.

        Raises:
            ResourceExhaustedError: If there is no room for it, or was none at an earlier write.
        """
        try:
            self._writer.close()
        except engine.EngineError as error:
            engine.raise_op_error(error)

    def discard(self) -> None:
        """Closes the writer without completing the file. Does nothing after `close`.

        The file does not appear, and an older one stays. After a `flush` the file has its name
        already: it stays, and may lack records written since.
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
    """Yields the records of a TFRecord file, checking every checksum.

    Args:
        path: The file to read; opened at the first record.
        options: Compression: a `TFRecordOptions`, or what its first argument may be.

    Raises:
        DataLossError: If the file is damaged; names the record.
        FailedPreconditionError: If `path` is a directory.
        NotFoundError: If there is no such file.
        ValueError: If the compression is unknown.
    """
    compression = TFRecordOptions.get_compression_type_string(options)
    try:
        yield from engine.RecordIterator(fsencode(path), compression)
    except engine.EngineError as error:
        engine.raise_op_error(error)
