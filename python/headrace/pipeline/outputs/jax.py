"""Batches as JAX arrays."""

from importlib import import_module
from typing import Any, Final

import numpy as np

from headrace.core.optional_dependencies import missing_jax
from headrace.pipeline.outputs.converted_batches import ConvertedBatches
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.values.nested import NestedList

__all__ = ["JaxBatches", "check_jax"]

# How many batches to copy to the devices ahead of the user's loop.
_AHEAD: Final = 2


class JaxBatches(ConvertedBatches):
    """The batches of one iteration as JAX arrays, copied two batches ahead of your loop.

    A batch is a dict. Numbers become JAX arrays on the default device, or global arrays if you
    passed a sharding. Strings stay NumPy arrays. To resume, pass the result of `state` to
    `Pipeline.to_jax` or `Pipeline.resume`.

    If `jax_enable_x64` is off, 64-bit numbers become 32-bit numbers, as everywhere in JAX. Floats
    are rounded, and an integer that is out of range raises a ValueError.
    """

    def __init__(self, batches: Batches, sharding: Any) -> None:
        super().__init__(batches, _AHEAD)
        self._jax: Final = import_module("jax")
        self._sharding: Final = sharding

    def __iter__(self) -> "JaxBatches":
        return self

    def __enter__(self) -> "JaxBatches":
        return self

    def _convert(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {name: self._array(name, value) for name, value in batch.items()}

    def _array(self, name: str, value: Any) -> Any:
        if isinstance(value, NestedList) and value.spec.is_listed:
            if self._sharding is not None and not isinstance(value.spec.dtype, type):
                raise ValueError(
                    f"to_jax: the component {name!r} is a list of arrays, which cannot be split "
                    f"by {self._sharding}. Use padded_batch, or drop the component with select."
                )
            return [self._array(name, item) for item in value]
        is_number = isinstance(value, (np.ndarray, np.generic)) and value.dtype != object
        if not is_number:
            return value
        if value.dtype.kind in "mM":
            raise TypeError(
                f"to_jax: the component {name!r} is {value.dtype}, which JAX does not support. "
                "Convert it in map, for example to a number of days, or drop it with select."
            )
        array = _narrowed(name, np.asarray(value), self._jax.dtypes.canonicalize_dtype(value.dtype))
        if self._sharding is None:
            return self._jax.device_put(array)
        try:
            return self._jax.make_array_from_process_local_data(self._sharding, array)
        except (AssertionError, ValueError) as error:
            raise ValueError(
                f"to_jax: the component {name!r} of shape {array.shape} cannot be split by "
                f"{self._sharding}. Use a batch size that is a multiple of the number of devices, "
                'and drop a smaller last batch: batch(size, remainder="drop").'
            ) from error


def _narrowed(name: str, array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Converts an array to the type that JAX would use.

    Floats are rounded, as in JAX.

    Raises:
        ValueError: If a value is out of range for that type. JAX would wrap around.
    """
    if array.dtype == dtype:
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        narrowed = array.astype(dtype)
    if dtype.kind in "iu":
        is_lost = narrowed != array
    else:
        is_lost = np.isfinite(array) & ~np.isfinite(narrowed)
    if is_lost.any():
        raise ValueError(
            f"to_jax: the component {name!r} has the {array.dtype} value {array[is_lost][0]}, "
            f"which is out of range for {dtype}. JAX uses {dtype} because its 64-bit types are "
            'disabled. Call jax.config.update("jax_enable_x64", True), or convert the component '
            "in map to a smaller type that can hold its values."
        )
    return narrowed


def check_jax() -> None:
    """Raises ModuleNotFoundError if JAX is not installed."""
    missing = missing_jax()
    if missing is not None:
        raise ModuleNotFoundError(f"to_jax: {missing}")
