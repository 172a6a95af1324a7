"""Reads a checkpoint."""

import os
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.core import dtypes
from headrace.core.allocation_guard import check_bytes
from headrace.core.errors import DataLossError, NotFoundError, UnimplementedError
from headrace.io.os_errors import os_errors
from headrace.io.storage import open_file, size_of
from headrace.protos.library import DecodeError
from headrace.tf1.protos import BundleEntryProto, BundleHeaderProto
from headrace.tf1.tensor_bundle.elements import decode
from headrace.tf1.tensor_bundle.sorted_table import read_table

__all__ = ["BundleReader"]

_VERSION: Final = 1
_BIG_ENDIAN: Final = 1


class BundleReader:
    """Reads tensors by name from a checkpoint written by headrace or TensorFlow.

    The index is read and checked immediately, and tensors on request. No file stays open.

    Args:
        prefix: The path of the checkpoint without `.index`.

    Raises:
        NotFoundError: If the index does not exist.
        DataLossError: If the index is damaged.
        FailedPreconditionError: If the index is a directory.
        PermissionDeniedError: If the index cannot be read.
        UnimplementedError: If the format of the checkpoint is not supported: a compressed index,
            big-endian numbers or a newer version.

    Source: `BundleReader` in TensorFlow 1.15.
    """

    def __init__(self, prefix: str | os.PathLike[str]) -> None:
        self._prefix = os.fspath(prefix)
        self._index_path = f"{self._prefix}.index"
        self._entries: dict[str, BundleEntryProto] = {}
        try:
            items = dict(read_table(self._index_path))
            self._num_shards = self._check_header(items.pop(b"", None))
            for key, value in items.items():
                # A name that starts with a null byte is a slice of another tensor.
                if not key.startswith(b"\0"):
                    self._entries[key.decode()] = BundleEntryProto.FromString(value)
        except NotFoundError as error:
            raise _not_found(self._index_path) from error
        except (DecodeError, UnicodeDecodeError) as error:
            raise self._damage(f"{self._index_path}: cannot read an entry ({error})") from error

    @property
    def num_shards(self) -> int:
        """The number of data files."""
        return self._num_shards

    def keys(self) -> list[str]:
        """Returns the names of all tensors, sorted by their UTF-8 bytes."""
        return list(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def shape(self, name: str) -> tuple[int, ...]:
        """Returns the shape of a tensor.

        Raises:
            NotFoundError: If there is no tensor with this name.
        """
        return tuple(dim.size for dim in self._find_entry(name).shape.dim)

    def dtype(self, name: str) -> np.dtype[Any]:
        """Returns the dtype of a tensor. Object means strings.

        Raises:
            NotFoundError: If there is no tensor with this name.
            UnimplementedError: If NumPy does not have the dtype.
        """
        return np.dtype(self._find_dtype(name).as_numpy_dtype)

    def read(self, name: str) -> npt.NDArray[Any]:
        """Reads a tensor and checks it.

        Args:
            name: The name of the tensor.

        Returns:
            A new, writable array. Strings are an object array of bytes.

        Raises:
            NotFoundError: If the checkpoint has no tensor with this name, or its data file is
                missing.
            DataLossError: If the data file is truncated or does not match its checksums.
            ResourceExhaustedError: If the tensor can never fit into memory.
            UnimplementedError: If NumPy does not have the dtype, or the tensor is stored in slices.
        """
        entry = self._find_entry(name)
        dtype = self._find_dtype(name)
        if entry.slices:
            raise UnimplementedError(
                None,
                None,
                f"{self._index_path}: tensor {name!r} is stored in {len(entry.slices)} "
                "slices, expected one piece. Save the variable without a partitioner.",
            )
        path = f"{self._prefix}.data-{entry.shard_id:05d}-of-{self._num_shards:05d}"
        data = self._read_bytes(path, name, entry)
        try:
            return decode(data, dtype, self.shape(name), entry.crc32c)
        except ValueError as error:
            raise self._damage(f"{path}: tensor {name!r}: {error}") from error

    def _read_bytes(self, path: str, name: str, entry: BundleEntryProto) -> bytes:
        try:
            with os_errors(path), open_file(path) as file:
                num_file_bytes = size_of(file)
                if min(entry.offset, entry.size) < 0 or (
                    entry.offset + entry.size > num_file_bytes
                ):
                    raise self._damage(
                        f"{path}: tensor {name!r} at byte {entry.offset} claims {entry.size} "
                        f"bytes, past the end of the file ({num_file_bytes} bytes)"
                    )
                check_bytes(entry.size, f"{path}: tensor {name!r} at byte {entry.offset}")
                file.seek(entry.offset)
                return file.read(entry.size)
        except NotFoundError as error:
            raise _not_found(path) from error

    def _check_header(self, serialized: bytes | None) -> int:
        """Checks the header and returns the number of data files."""
        if serialized is None:
            raise self._damage(f"{self._index_path}: the file has no header")
        header = BundleHeaderProto.FromString(serialized)
        problem = None
        if header.endianness == _BIG_ENDIAN:
            problem = "big-endian numbers, expected little-endian ones"
        elif header.version.min_consumer > _VERSION:
            problem = f"version {header.version.min_consumer}, expected at most {_VERSION}"
        if problem:
            raise UnimplementedError(
                None,
                None,
                f"{self._index_path}: the checkpoint has {problem}. Restore it where it was "
                "written, and save it again in another form.",
            )
        return header.num_shards

    def _find_entry(self, name: str) -> BundleEntryProto:
        entry = self._entries.get(name)
        if entry is None:
            raise NotFoundError(
                None,
                None,
                f"Key {name} not found in checkpoint {self._prefix}, which has "
                f"{len(self._entries)} tensors. See `keys()` for their names.",
            )
        return entry

    def _find_dtype(self, name: str) -> dtypes.DType:
        number = self._find_entry(name).dtype
        try:
            dtype = dtypes.as_dtype(number)
        except TypeError:
            dtype = dtypes.resource
        if dtype == dtypes.resource:
            raise UnimplementedError(
                None,
                None,
                f"{self._index_path}: tensor {name!r} has TensorFlow's type number {number}, "
                "which NumPy does not support. Save the variable as a number, bool or string "
                "type.",
            )
        return dtype

    @staticmethod
    def _damage(what: str) -> DataLossError:
        return DataLossError(None, None, f"{what}. The checkpoint is damaged; copy it again.")


def _not_found(path: str) -> NotFoundError:
    return NotFoundError(
        None,
        None,
        f"{path}: no such file, expected a part of a checkpoint. Check the path.",
    )
