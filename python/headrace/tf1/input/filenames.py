"""File names that are looked up only once.

Source: `tf.train.match_filenames_once` in TensorFlow 1.15.
"""

from collections.abc import Sequence
from os import PathLike

from headrace.graph import GraphKeys, TensorLike, name_scope
from headrace.tf1.ops.readers.files import matching_files
from headrace.tf1.ops.variables.variable import Variable

__all__ = ["match_filenames_once"]


def match_filenames_once(
    pattern: TensorLike | PathLike[str] | Sequence[str | PathLike[str]], name: str | None = None
) -> Variable:
    """Creates a local variable with the names of the files that match the patterns.

    The names are looked up when the variable is initialized: run `local_variables_initializer`
    first.

    Args:
        pattern: See `matching_files`.
        name: Name of the variable.

    Returns:
        A string vector of unknown static shape, which is not trainable.
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            initial_value=matching_files(pattern),
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
            validate_shape=False,
            name=scope,
        )
