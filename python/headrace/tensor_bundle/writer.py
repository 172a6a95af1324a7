"""Writes a checkpoint."""

import os
import threading
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.atomic_file import AtomicFile
from headrace.errors import NotFoundError
from headrace.protos import BundleEntryProto, BundleHeaderProto, TensorShapeProto, VersionDef
from headrace.tensor_bundle.elements import encode, find_dtype
from headrace.tensor_bundle.sorted_table import write_table

__all__ = ["write_bundle"]

# Held while both files of a checkpoint get their names: of two of the same prefix, that two threads
# write, the index of one must not come to the data of the other.
_publishing: Final = threading.Lock()


def write_bundle(
    prefix: str | os.PathLike[str],
    tensors: Mapping[str, npt.ArrayLike],
    survives_power_loss: bool = False,
) -> None:
    """Writes `PREFIX.index` and `PREFIX.data-00000-of-00001`, which TensorFlow can read.

    Both files are written to temporary names and renamed when they are complete, the index last, so
    that a reader never finds half a checkpoint.

    Args:
        prefix: Path of the checkpoint; its directory must exist.
        tensors: Arrays by name. Strings are object arrays of bytes, or of str, stored as UTF-8.
        survives_power_loss: Whether to wait until both files are on the disk before they get their
            names. On a busy disk that takes seconds.

    Raises:
        ValueError: If a name is empty or begins with a null character.
        TypeError: If an array has a type that checkpoints do not have.
        NotFoundError: If the directory does not exist.
        ResourceExhaustedError: If there is no room for it. An older checkpoint stays.

    Source: `BundleWriter` of TensorFlow 1.15.
    """
    prefix = os.fspath(prefix)
    arrays = {name: _check_tensor(prefix, name, value) for name, value in tensors.items()}
    header = BundleHeaderProto(num_shards=1, version=VersionDef(producer=1))
    with _create(_data_path(prefix)) as data, _create(f"{prefix}.index") as index:
        items = [(b"", header.SerializeToString())]
        for name in sorted(arrays, key=str.encode):
            entry = _write_tensor(data, prefix, name, arrays[name])
            items.append((name.encode(), entry.SerializeToString()))
        write_table(index, items)
        if survives_power_loss:
            data.sync()
            index.sync()
        with _publishing:
            data.publish()
            index.publish()


def _data_path(prefix: str) -> str:
    return f"{prefix}.data-00000-of-00001"


def _check_tensor(prefix: str, name: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    if not name or name.startswith("\0"):
        raise ValueError(
            f"{prefix}: got the name {name!r} of a tensor, expected one that is not empty and "
            "does not begin with a null character. Name it otherwise."
        )
    array = np.asarray(value)
    if array.dtype.kind in "SU" and not isinstance(value, np.ndarray):
        # NumPy's string types lose null characters at the end.
        array = np.asarray(value, np.object_)
    try:
        find_dtype(array)
    except TypeError as error:
        raise TypeError(
            f"{prefix}: tensor {name!r} has type {array.dtype}, expected a number, bool or string "
            "type of TensorFlow. Convert it first."
        ) from error
    return array


def _write_tensor(
    data: AtomicFile, prefix: str, name: str, array: npt.NDArray[Any]
) -> BundleEntryProto:
    """Appends a tensor to the data file and returns its entry for the index."""
    try:
        contents, checksum = encode(array)
    except TypeError as error:
        raise TypeError(
            f"{prefix}: tensor {name!r}: {error}. Convert its elements first."
        ) from error
    entry = BundleEntryProto(
        dtype=find_dtype(array).as_datatype_enum,
        shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in array.shape]),
        offset=data.tell(),
        size=len(contents),
        crc32c=checksum,
    )
    data.write(contents)
    return entry


def _create(path: str) -> AtomicFile:
    try:
        return AtomicFile(path)
    except NotFoundError as error:
        raise NotFoundError(
            None,
            None,
            f"{path}: there is no directory {os.path.dirname(path)!r} to write to, expected one. "
            "Make it first.",
        ) from error
