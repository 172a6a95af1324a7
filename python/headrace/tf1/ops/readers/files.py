"""Reads and writes whole files, and finds files by pattern.

Source: `tf.read_file`, `tf.write_file` and `tf.matching_files` in TensorFlow 1.15.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import string
from headrace.core.shapes import TensorShape, bracketed
from headrace.graph import Operation, Tensor, TensorLike, define
from headrace.io.glob import matching_paths
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import ShapeConflict, check_rank
from headrace.ops.framework.kernel import Array, fail
from headrace.tf1.ops.paths import FileNames, with_paths_as_strings

__all__ = ["matching_files", "read_file", "write_file"]


def read_file(filename: FileNames, name: str | None = None) -> Tensor:
    """Reads a file.

    Args:
        filename: The name of the file, a scalar string or a `pathlib.Path`.
        name: Name of the operation.

    Returns:
        The contents of the file, a scalar string.

    Raises:
        FailedPreconditionError: At run time, if the name is a directory.
        NotFoundError: At run time, if the file does not exist.
        PermissionDeniedError: At run time, if the file cannot be read.
        ValueError: If the name is not a scalar.
    """

    def infer(filename: Tensor) -> Outputs:
        check_rank(filename.shape, 0)
        return [(string, TensorShape([]))]

    inputs = [Input("filename", with_paths_as_strings(filename), dtype=string)]
    return apply_op("ReadFile", inputs, infer, name=name).outputs[0]


def write_file(filename: FileNames, contents: TensorLike, name: str | None = None) -> Operation:
    """Writes a file, and creates missing directories.

    The contents are written to a temporary file, which is then renamed. Other programs never see a
    partly written file.

    Args:
        filename: The name of the file, a scalar string or a `pathlib.Path`.
        contents: The text to write, a scalar string.
        name: Name of the operation.

    Returns:
        The operation.

    Raises:
        FailedPreconditionError: At run time, if the name is a directory, or its parent is not one.
        PermissionDeniedError: At run time, if the file cannot be written.
        ValueError: If an argument is not a scalar.
    """

    def infer(filename: Tensor, contents: Tensor) -> Outputs:
        check_rank(filename.shape, 0)
        check_rank(contents.shape, 0)
        return []

    inputs = [
        Input("filename", with_paths_as_strings(filename), dtype=string),
        Input("contents", contents, dtype=string),
    ]
    return apply_op("WriteFile", inputs, infer, name=name)


def matching_files(pattern: FileNames, name: str | None = None) -> Tensor:
    """Finds the files and directories whose names match patterns.

    Args:
        pattern: Patterns with `*`, `?`, `[a-z]` and `[!a-z]`, which match parts of a name without
            `/`. A backslash escapes the next character. The argument can be a scalar string, a
            vector, a `pathlib.Path` or a list of paths.
        name: Name of the operation.

    Returns:
        The names, a sorted string vector. A name occurs once for each pattern that matches it. A
        name without a directory starts with `./` if it comes from a pattern.

    Raises:
        ResourceExhaustedError: When run, if too many files are open to list a directory.
        UnknownError: When run, if a directory cannot be read. If it does not exist or access is
            denied, there is no error, and nothing in the directory matches.
        ValueError: If `pattern` has more than one dimension.
    """

    def infer(pattern: Tensor) -> Outputs:
        if (pattern.shape.rank or 0) > 1:
            raise ShapeConflict(f"Shape must be at most rank 1 but is rank {pattern.shape.rank}")
        return [(string, TensorShape([None]))]

    inputs = [Input("pattern", with_paths_as_strings(pattern), dtype=string)]
    return apply_op("MatchingFiles", inputs, infer, name=name, kernel=_match).outputs[0]


def _match(patterns: Array) -> Array:
    if patterns.ndim > 1:
        fail(
            "Input patterns tensor must be scalar or vector, but had shape: "
            f"{bracketed(patterns.shape)}"
        )
    paths = sorted(path for pattern in patterns.ravel() for path in matching_paths(pattern))
    matches = np.empty(len(paths), dtype=object)
    matches[:] = paths
    return matches


# The results and side effects of these operations depend on the file system.
define("MatchingFiles", is_stateful=True)
define("ReadFile", is_stateful=True)
define("WriteFile", is_stateful=True)
