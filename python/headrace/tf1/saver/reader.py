"""Reads checkpoints without a graph.

Source: `tf.train.NewCheckpointReader`, `tf.train.load_checkpoint` and similar functions of
TensorFlow 1.15.
"""

import os
from typing import Any

from headrace.core import errors
from headrace.core.dtypes import DType, as_dtype, kernel_name
from headrace.io.storage import is_directory
from headrace.tf1.saver.state import checkpoint_exists, latest_checkpoint
from headrace.tf1.tensor_bundle import BundleReader

__all__ = [
    "CheckpointReader",
    "NewCheckpointReader",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]


class CheckpointReader:
    """Reads the tensors of a checkpoint by name.

    Args:
        filepattern: The prefix of the checkpoint, as returned by `Saver.save`.

    Raises:
        DataLossError: If the checkpoint is damaged.
        NotFoundError: If the checkpoint does not exist.
    """

    def __init__(self, filepattern: str | os.PathLike[str]) -> None:
        if not checkpoint_exists(filepattern):
            raise errors.NotFoundError(
                None,
                None,
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
                f"{os.fspath(filepattern)}",
            )
        self._bundle = BundleReader(filepattern)

    def has_tensor(self, tensor_str: str) -> bool:
        """Returns whether the checkpoint contains a tensor with this name."""
        return tensor_str in self._bundle

    def get_tensor(self, tensor_str: str) -> Any:
        """Reads a tensor.

        Returns:
            An array, or a NumPy scalar or `bytes` for a scalar.

        Raises:
            NotFoundError: If the tensor does not exist.
        """
        return self._bundle.read(tensor_str)[()]

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Returns the shape of each tensor."""
        names = self._bundle.keys()
        return {name: list(self._bundle.shape(name)) for name in names}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Returns the type of each tensor."""
        names = self._bundle.keys()
        return {name: as_dtype(self._bundle.dtype(name)) for name in names}

    def debug_string(self) -> bytes:
        """Returns one line per tensor with its name, type and shape."""
        dtypes = self.get_variable_to_dtype_map()
        lines = (
            f"{name} (DT_{kernel_name(dtypes[name]).upper()}) [{','.join(map(str, shape))}]\n"
            for name, shape in self.get_variable_to_shape_map().items()
        )
        return "".join(lines).encode()


NewCheckpointReader = CheckpointReader
"""TensorFlow 1 has this name."""


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike[str]) -> CheckpointReader:
    """Returns a reader for a checkpoint.

    Args:
        ckpt_dir_or_file: The prefix of a checkpoint, or a directory, which means the newest
            checkpoint in it.

    Raises:
        NotFoundError: If the checkpoint does not exist.
        ValueError: If the directory contains no checkpoint.
    """
    path = os.fspath(ckpt_dir_or_file)
    if is_directory(path):
        latest = latest_checkpoint(path)
        if latest is None:
            raise ValueError(
                f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
            )
        path = latest
    return CheckpointReader(path)


def load_variable(ckpt_dir_or_file: str | os.PathLike[str], name: str) -> Any:
    """Reads one variable from a checkpoint; see `load_checkpoint`.

    A name can end with ":0", like the names of variables.
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: str | os.PathLike[str]) -> list[tuple[str, list[int]]]:
    """Returns the name and shape of each variable in a checkpoint, sorted by name.

    See `load_checkpoint` for the arguments and errors.
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
