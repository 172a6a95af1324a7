"""Columns from Hive-style directory names, such as `year=2020/part-0.parquet`."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from headrace.core.errors import InvalidArgumentError
from headrace.pipeline.values.types import Spec, carried, exactly

__all__ = ["Partitions", "constant", "partitions_of", "spec_of_values"]

# The values of each column, one per file; None for null.
Partitions = dict[str, list[int | str | None]]

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_INT: Final = re.compile(r"-?[0-9]{1,18}")


def partitions_of(where: str, files: Sequence[tuple[bytes, str]]) -> Partitions:
    """Returns the columns in the directory names, with a value for each file.

    A column contains ints if all its values are integers, and otherwise `str`.

    Args:
        where: The source's name.
        files: Each file, and its path relative to the argument it came from.

    Raises:
        InvalidArgumentError: If two files have different columns.
    """
    pairs_of_files = [_pairs(below) for _, below in files]
    names = list(pairs_of_files[0]) if pairs_of_files else []
    for (path, _), pairs in zip(files, pairs_of_files, strict=True):
        if pairs.keys() != set(names):
            raise InvalidArgumentError(
                None,
                None,
                f"{where}: {os.fsdecode(path)}: the directories define the columns "
                f"{sorted(pairs)}, expected {sorted(names)}, as for {os.fsdecode(files[0][0])}. "
                "Read the files separately, and combine the pipelines with concat.",
            )
    return {name: _values([pairs[name] for pairs in pairs_of_files]) for name in names}


def constant(
    where: str, name: str, spec: Spec, values: Sequence[int | str | None]
) -> list[npt.NDArray[Any] | None]:
    """Converts the values of a column to the engine's form.

    Raises:
        ValueError: If a value does not fit the type of its component.
    """
    return [None if value is None else _exact(where, name, spec, value) for value in values]


def _exact(where: str, name: str, spec: Spec, value: int | str) -> npt.NDArray[Any]:
    is_fit = spec.shape == () and not spec.is_ragged
    text = str(value) if isinstance(spec.dtype, type) else value
    result = exactly(text, spec.dtype) if is_fit else None
    if result is None:
        raise ValueError(
            f"{where}: the column {name!r} is {value!r} in the name of a directory, which is not "
            f"a value of {spec}. Read the column as another type."
        )
    return np.array(carried(result), order="C")


def spec_of_values(values: Sequence[int | str | None]) -> Spec:
    """Returns the component for a column."""
    is_text = any(isinstance(value, str) for value in values)
    return Spec(str if is_text else np.dtype(np.int64), ())


def _pairs(path: str) -> Mapping[str, str]:
    segments = path.replace("\\", "/").split("/")[:-1] if os.sep == "\\" else path.split("/")[:-1]
    pairs = [segment.split("=", 1) for segment in segments if "=" in segment]
    return {unquote(name): unquote(value) for name, value in pairs if name}


def _values(texts: Sequence[str]) -> list[int | str | None]:
    present = [text for text in texts if text != _NULL]
    are_ints = all(_INT.fullmatch(text) for text in present)
    return [None if text == _NULL else int(text) if are_ints else text for text in texts]
