"""Publishes a checkpoint's files, so that a complete checkpoint exists at all times.

Two files cannot be renamed atomically. The index stores the number of data files, and this number
is part of their names. To replace a checkpoint, the new data file is therefore first named as if it
were the first of two files, and a new index refers to it. Then the data file also gets its final
name, and the final index refers to that. TensorFlow can read each of these indexes.
"""

import os
import threading
from contextlib import ExitStack
from types import TracebackType
from typing import Final

from headrace.core.errors import NotFoundError, OpError, PermissionDeniedError
from headrace.io.atomic_file import AtomicFile
from headrace.io.storage import exists, link, remove
from headrace.tf1.tensor_bundle.reader import BundleReader

__all__ = ["Replacement", "data_path"]

# Held while a checkpoint's files are renamed. If two threads write the same prefix, one thread's
# index must not be published with the other's data.
_publishing: Final = threading.Lock()


def data_path(prefix: str, num_shards: int, shard: int = 0) -> str:
    """Returns the path of a data file of a checkpoint."""
    return f"{prefix}.data-{shard:05d}-of-{num_shards:05d}"


class Replacement:
    """The files of a checkpoint that is being written, which are removed unless published.

    Args:
        prefix: The path of the checkpoint.

    Attributes:
        data: The data file.
        indexes: The indexes, each with the number of data files for its header.

    Raises:
        NotFoundError: If the directory does not exist.
        OpError: If the files cannot be written to the directory.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._replaced = _num_shards(prefix)
        with ExitStack() as files:
            self.data, num_shards = self._new_data(files)
            self.indexes = [
                (number, files.enter_context(_create(f"{prefix}.index")))
                for number in dict.fromkeys((num_shards, 1))
            ]
            self._files = files.pop_all()

    def _new_data(self, files: ExitStack) -> tuple[AtomicFile, int]:
        if self._replaced == 1:
            try:
                data = files.enter_context(_create(data_path(self._prefix, 2)))
                data.keep_mode_of(data_path(self._prefix, 1))
                return data, 2
            except (NotFoundError, PermissionDeniedError):
                pass  # The data is missing, or the directory is not writable.
        return files.enter_context(_create(data_path(self._prefix, 1))), 1

    def publish(self, survives_power_loss: bool) -> None:
        """Renames the files to their final names.

        Args:
            survives_power_loss: Whether to wait first until the files are on the disk. The call
                always waits if the files replace others.
        """
        if survives_power_loss or self._replaced is not None:
            self.data.sync()
            for _, index in self.indexes:
                index.sync()
        (num_shards, first), *last = self.indexes
        with _publishing:
            self.data.publish()
            first.publish()
            for _, index in last:
                link(data_path(self._prefix, num_shards), data_path(self._prefix, 1))
                index.publish()
            if self._replaced is not None:
                self._remove_other()

    def _remove_other(self) -> None:
        """Removes the data file with the intermediate name, unless there is a second part."""
        other = data_path(self._prefix, 2)
        if exists(other) and not exists(data_path(self._prefix, 2, 1)):
            remove(other)

    def __enter__(self) -> "Replacement":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._files.close()


def _num_shards(prefix: str) -> int | None:
    """Returns the number of data files in a checkpoint, or None if its index cannot be read."""
    try:
        return BundleReader(prefix).num_shards
    except OpError:
        return None


def _create(path: str) -> AtomicFile:
    try:
        return AtomicFile(path)
    except NotFoundError as error:
        raise NotFoundError(
            None,
            None,
            f"{path}: the directory {os.path.dirname(path)!r} does not exist. Create it first.",
        ) from error
