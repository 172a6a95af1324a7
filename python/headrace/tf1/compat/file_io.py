"""File functions, with the names of TensorFlow's internal module.

Source: `tensorflow.python.lib.io.file_io` in TensorFlow 1.15.
"""

from typing import Final

from headrace.tf1 import gfile

__all__ = [
    "FileIO",
    "copy",
    "create_dir",
    "delete_file",
    "delete_recursively",
    "file_exists",
    "get_matching_files",
    "is_directory",
    "list_directory",
    "read_file_to_string",
    "recursive_create_dir",
    "rename",
    "stat",
    "walk",
    "write_string_to_file",
]

FileIO: Final = gfile.GFile
copy: Final = gfile.Copy
create_dir: Final = gfile.MkDir
delete_file: Final = gfile.Remove
delete_recursively: Final = gfile.DeleteRecursively
file_exists: Final = gfile.Exists
get_matching_files: Final = gfile.Glob
is_directory: Final = gfile.IsDirectory
list_directory: Final = gfile.ListDirectory
recursive_create_dir: Final = gfile.MakeDirs
rename: Final = gfile.Rename
stat: Final = gfile.Stat
walk: Final = gfile.Walk


def read_file_to_string(filename: str, binary_mode: bool = False) -> str | bytes:
    """Returns the content of a file.

    Args:
        filename: The path of the file.
        binary_mode: Whether to return bytes instead of text.

    Raises:
        NotFoundError: If the file does not exist.
    """
    with gfile.GFile(filename, "rb" if binary_mode else "r") as file:
        content: str | bytes = file.read()
        return content


def write_string_to_file(filename: str, file_content: str) -> None:
    """Writes a file.

    Args:
        filename: The path of the file.
        file_content: The new content.
    """
    with gfile.GFile(filename, "w") as file:
        file.write(file_content)
