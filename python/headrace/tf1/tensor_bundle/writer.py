"""Writes a checkpoint."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.io.atomic_file import AtomicFile
from headrace.protos import TensorShapeProto, VersionDef
from headrace.tf1.protos import BundleEntryProto, BundleHeaderProto
from headrace.tf1.tensor_bundle.elements import encode, find_dtype
from headrace.tf1.tensor_bundle.replacement import Replacement
from headrace.tf1.tensor_bundle.sorted_table import write_table

__all__ = ["write_bundle"]


def write_bundle(
    prefix: str | os.PathLike[str],
    tensors: Mapping[str, npt.ArrayLike],
    survives_power_loss: bool = False,
) -> None:
    """Writes `PREFIX.index` and `PREFIX.data-00000-of-00001`, which TensorFlow can read.

    Both files are written under temporary names and renamed when they are complete, the index last,
    so a reader never finds an incomplete checkpoint. A checkpoint with the same name is replaced as
    a whole: at any time its index refers to data that belongs to it. Between two renames, the data
    file is called `PREFIX.data-00000-of-00002`.

    Args:
        prefix: The path of the checkpoint. Its directory must exist.
        tensors: The arrays by name. Strings are object arrays of bytes, or of str, which is stored
            as UTF-8.
        survives_power_loss: Whether to wait until both files are on the disk before they are
            renamed. On a busy disk that takes seconds. A checkpoint that replaces another one
            always waits, since otherwise a power loss could destroy both.

    Raises:
        ValueError: If a name is empty or starts with a null character.
        TypeError: If the dtype of an array is not supported in checkpoints.
        NotFoundError: If the directory does not exist.
        ResourceExhaustedError: If there is not enough space. An older checkpoint is kept.

    Source: `BundleWriter` in TensorFlow 1.15.
    """
    prefix = os.fspath(prefix)
    arrays = {name: _check_tensor(prefix, name, value) for name, value in tensors.items()}
    with Replacement(prefix) as files:
        items = []
        for name in sorted(arrays, key=str.encode):
            entry = _write_tensor(files.data, prefix, name, arrays[name])
            items.append((name.encode(), entry.SerializeToString()))
        for num_shards, index in files.indexes:
            header = BundleHeaderProto(num_shards=num_shards, version=VersionDef(producer=1))
            write_table(index, [(b"", header.SerializeToString()), *items])
        files.publish(survives_power_loss)


def _check_tensor(prefix: str, name: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    if not name or name.startswith("\0"):
        raise ValueError(
            f"{prefix}: a tensor has the name {name!r}, but a name cannot be empty or begin "
            "with a null character. Choose another name."
        )
    array = np.asarray(value)
    if array.dtype.kind in "SU" and not isinstance(value, np.ndarray):
        # NumPy's string types drop null characters at the end.
        array = np.asarray(value, np.object_)
    try:
        find_dtype(array)
    except TypeError as error:
        raise TypeError(
            f"{prefix}: tensor {name!r} has type {array.dtype}, expected a number, bool or "
            "string type of TensorFlow. Convert it first."
        ) from error
    return array


def _write_tensor(
    data: AtomicFile, prefix: str, name: str, array: npt.NDArray[Any]
) -> BundleEntryProto:
    """Appends a tensor to the data file and returns its index entry."""
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
