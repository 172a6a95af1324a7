"""Batches as arrays of JAX."""

from importlib import import_module
from typing import Any, Final

import numpy as np

from headrace.core.optional_dependencies import missing_jax
from headrace.pipeline.outputs.ahead import Converted
from headrace.pipeline.run.batches import Batches

__all__ = ["JaxBatches", "check_jax"]

# The number of batches copied to the devices while the program uses the batch before.
_AHEAD: Final = 2


class JaxBatches(Converted):
    """The batches of one iteration as arrays of JAX, two of them copied ahead of the loop.

    A batch is a dict. Numbers are arrays of JAX: on its default device, or global arrays if there
    is a sharding; strings stay arrays of NumPy. `Pipeline.to_jax`, and `Pipeline.resume`, continue
    from the result of `state`.
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
        return {name: self._array(value) for name, value in batch.items()}

    def _array(self, value: Any) -> Any:
        is_number = isinstance(value, (np.ndarray, np.generic)) and value.dtype != object
        if not is_number:
            return value
        if value.dtype.kind in "mM":
            raise TypeError(
                f"to_jax: a component is {value.dtype}, which JAX does not have. Convert it in "
                "map, for example to a number of days, or drop it with select."
            )
        if self._sharding is None:
            return self._jax.device_put(value)
        return self._jax.make_array_from_process_local_data(self._sharding, np.asarray(value))


def check_jax() -> None:
    """Raises ModuleNotFoundError if JAX is not installed."""
    missing = missing_jax()
    if missing is not None:
        raise ModuleNotFoundError(f"to_jax: {missing}")
