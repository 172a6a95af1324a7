"""Batches as JAX arrays."""

from importlib import import_module
from typing import Any, ClassVar, Final

import numpy as np

from headrace.core.optional_dependencies import missing_jax
from headrace.pipeline.outputs.array_batches import ArrayBatches, narrowed
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.values.nested import NestedList

__all__ = ["JaxBatches", "check_jax"]

# The number of batches that are copied to the devices before the user's loop needs them.
_AHEAD: Final = 2


class JaxBatches(ArrayBatches):
    """The batches of one iteration as JAX arrays, copied two batches ahead of your loop.

    A batch is a dict. Numbers become JAX arrays on the default device, or global arrays if you
    passed a sharding. Strings stay NumPy arrays. To resume, pass the result of `state` to
    `Pipeline.to_jax` or `Pipeline.resume`.

    If `jax_enable_x64` is off, 64-bit numbers become 32-bit numbers, as everywhere in JAX. Floats
    are rounded, and an integer that is out of range raises a ValueError.
    """

    method: ClassVar = "to_jax"
    library: ClassVar = "JAX"

    def __init__(self, batches: Batches, sharding: Any) -> None:
        super().__init__(batches, _AHEAD)
        self._jax: Final = import_module("jax")
        self._sharding: Final = sharding

    def __iter__(self) -> "JaxBatches":
        return self

    def __enter__(self) -> "JaxBatches":
        return self

    def _check_list(self, name: str, values: NestedList) -> None:
        if self._sharding is not None and not isinstance(values.spec.dtype, type):
            raise ValueError(
                f"to_jax: the component {name!r} is a list of arrays, which cannot be split "
                f"by {self._sharding}. Use padded_batch, or drop the component with select."
            )

    def _of_numbers(self, name: str, array: np.ndarray[Any, Any]) -> Any:
        dtype = self._jax.dtypes.canonicalize_dtype(array.dtype)
        result, lost = narrowed(array, dtype)
        if lost is not None:
            # JAX would wrap around.
            raise ValueError(
                f"to_jax: the component {name!r} has the {array.dtype} value {lost}, which is out "
                f"of range for {dtype}. JAX uses {dtype} because its 64-bit types are disabled. "
                'Call jax.config.update("jax_enable_x64", True), or convert the component in map '
                "to a smaller type that can hold its values."
            )
        if self._sharding is None:
            return self._jax.device_put(result)
        try:
            return self._jax.make_array_from_process_local_data(self._sharding, result)
        except (AssertionError, ValueError) as error:
            raise ValueError(
                f"to_jax: the component {name!r} of shape {array.shape} cannot be split by "
                f"{self._sharding}. Use a batch size that is a multiple of the number of devices, "
                'and drop a smaller last batch: batch(size, remainder="drop").'
            ) from error


def check_jax() -> None:
    """Raises ModuleNotFoundError if JAX is not installed."""
    missing = missing_jax()
    if missing is not None:
        raise ModuleNotFoundError(f"to_jax: {missing}")
