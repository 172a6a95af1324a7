"""Batches as MLX arrays."""

from importlib import import_module
from typing import Any, ClassVar, Final

import numpy as np

from headrace.core.optional_dependencies import missing_mlx
from headrace.pipeline.outputs.array_batches import ArrayBatches, narrowed
from headrace.pipeline.run.batches import Batches

__all__ = ["MlxBatches", "check_mlx"]

# How many batches to convert ahead of the user's loop.
_AHEAD: Final = 1
# The types that MLX rounds, and the types that it rounds them to.
_NARROWER: Final = {
    np.dtype(np.float64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.complex64),
}


class MlxBatches(ArrayBatches):
    """The batches of one iteration as MLX arrays, converted one batch ahead of your loop.

    A batch is a dict. Numbers become MLX arrays, and strings stay NumPy arrays. To resume, pass the
    result of `state` to `Pipeline.to_mlx` or `Pipeline.resume`.

    `float64` is rounded to `float32`, as MLX does. A value that is out of range raises a
    ValueError.
    """

    method: ClassVar = "to_mlx"
    library: ClassVar = "MLX"

    def __init__(self, batches: Batches) -> None:
        super().__init__(batches, _AHEAD)
        self._mlx: Final[Any] = import_module("mlx.core")

    def __iter__(self) -> "MlxBatches":
        return self

    def __enter__(self) -> "MlxBatches":
        return self

    def _of_numbers(self, name: str, array: np.ndarray[Any, Any]) -> Any:
        dtype = _NARROWER.get(array.dtype, array.dtype)
        result, lost = narrowed(array, dtype)
        if lost is not None:
            raise ValueError(
                f"to_mlx: the component {name!r} has the {array.dtype} value {lost}, which is out "
                f"of range for {dtype}, the type that MLX uses. Scale the component in map."
            )
        return self._mlx.array(result)


def check_mlx() -> None:
    """Raises ModuleNotFoundError if MLX is not installed."""
    missing = missing_mlx()
    if missing is not None:
        raise ModuleNotFoundError(f"to_mlx: {missing}")
