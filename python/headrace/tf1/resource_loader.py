"""`tf.resource_loader`: files next to the program.

Source: `tf.resource_loader` in TensorFlow 1.15.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.tf1.namespace import namespace

__all__ = [
    "get_data_files_path",
    "get_path_to_datafile",
    "get_root_dir_with_all_resources",
    "load_resource",
    "readahead_file_path",
]


def get_data_files_path() -> str:
    """Returns the directory of the calling file."""
    return _directory_of_caller()


def get_path_to_datafile(path: str) -> str:
    """Returns a path relative to the directory of the calling file."""
    return os.path.join(_directory_of_caller(), path)


def get_root_dir_with_all_resources() -> str:
    """Returns the directory of the calling file."""
    return _directory_of_caller()


def load_resource(path: str) -> bytes:
    """Returns the contents of a file.

    Args:
        path: The path, relative to the directory of the calling file.

    Raises:
        FileNotFoundError: If the file does not exist.
    """
    return Path(_directory_of_caller(), path).read_bytes()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Returns the path unchanged, because files are always read ahead."""
    return path


def _directory_of_caller() -> str:
    return os.path.dirname(os.path.abspath(sys._getframe(2).f_code.co_filename))


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
