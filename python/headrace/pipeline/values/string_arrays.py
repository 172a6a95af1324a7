"""Strings in batches, as NumPy object arrays or Arrow arrays."""

from importlib import import_module
from itertools import pairwise
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from headrace.core.optional_dependencies import missing_arrow
from headrace.pipeline.values.json_values import json_value
from headrace.pipeline.values.types import Json, Spec

__all__ = ["StringKind", "arrow_array", "checked_kind"]

StringKind = Literal["numpy", "arrow"]

_KINDS: Final = ("numpy", "arrow")


def checked_kind(kind: StringKind) -> StringKind:
    """Returns the string representation after checking it.

    Raises:
        ModuleNotFoundError: If pyarrow is not installed.
        ValueError: If the representation does not exist.
    """
    if kind not in _KINDS:
        raise ValueError(f"options: strings is {kind!r}, expected 'numpy' or 'arrow'.")
    if kind == "arrow" and (missing := missing_arrow()):
        raise ModuleNotFoundError(f"options: {missing}")
    return kind


def arrow_array(
    name: str, spec: Spec, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]
) -> Any:
    """Returns an Arrow array over the strings' memory, without a copy. For JSON, returns objects.

    Args:
        name: The name of the component.
        spec: The component's type, `bytes` or `str`.
        data: The bytes of all strings.
        offsets: String `i` is `data[offsets[i] : offsets[i + 1]]`.

    Raises:
        ValueError: If the component is `str` and a string is not valid UTF-8.
    """
    if spec.dtype is Json:
        memory, ends = data.tobytes(), offsets.tolist()
        return [json_value(memory[a:b]) for a, b in pairwise(ends)]
    pa = import_module("pyarrow")
    is_text = spec.dtype is str
    kind = pa.large_string() if is_text else pa.large_binary()
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    array = pa.Array.from_buffers(kind, len(offsets) - 1, buffers)
    if is_text:
        try:
            array.validate(full=True)
        except pa.ArrowInvalid as error:
            raise ValueError(
                f"component {name!r}: the batch contains a string that is not UTF-8 ({error}). "
                "Declare the component as bytes, or correct the file."
            ) from error
    return array
