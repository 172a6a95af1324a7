"""Batches as arrays of JAX."""

from collections import deque
from importlib import import_module
from types import TracebackType
from typing import Any, Final

import numpy as np

from headrace.extras import missing_jax
from headrace.pipeline.batches import Batches
from headrace.pipeline.outputs.ahead import state_of

__all__ = ["JaxBatches", "check_jax"]

# So many batches are on their way to the devices while the program has the one before.
_AHEAD: Final = 2


class JaxBatches:
    """The batches of one iteration as arrays of JAX, two of them on their way to the devices.

    A batch is a dict. Numbers are arrays of JAX: on its default device, or global arrays if there
    is a sharding; strings stay arrays of NumPy.

    Attributes:
        batches: The same without JAX. Its `state` is ahead of the loop.
    """

    def __init__(self, batches: Batches, sharding: Any) -> None:
        self.batches: Final = batches
        self._jax: Final = import_module("jax")
        self._sharding: Final = sharding
        self._ahead: deque[tuple[dict[str, Any], dict[str, Any] | None]] = deque()
        self._state = state_of(batches)
        self._is_over = False

    def __iter__(self) -> "JaxBatches":
        return self

    def __next__(self) -> dict[str, Any]:
        while not self._is_over and len(self._ahead) <= _AHEAD:
            self._fetch()
        if not self._ahead:
            raise StopIteration
        batch, self._state = self._ahead.popleft()
        return batch

    def _fetch(self) -> None:
        """Takes the next batch, and begins to copy it."""
        try:
            batch = next(self.batches)
        except StopIteration:
            self._is_over = True
            return
        arrays = {name: self._array(value) for name, value in batch.items()}
        self._ahead.append((arrays, state_of(self.batches)))

    def _array(self, value: Any) -> Any:
        is_number = isinstance(value, (np.ndarray, np.generic)) and value.dtype != object
        if not is_number:
            return value
        if self._sharding is None:
            return self._jax.device_put(value)
        return self._jax.make_array_from_process_local_data(self._sharding, np.asarray(value))

    def state(self) -> dict[str, Any]:
        """Returns where the loop stands: behind the batches that it has taken.

        `Pipeline.to_jax`, and `Pipeline.resume`, go on there.

        Raises:
            FailedPreconditionError: If the pipeline has `options(deterministic=False)`.
        """
        return self.batches.state() if self._state is None else self._state

    def close(self) -> None:
        """Ends the threads of the pipeline."""
        self._ahead.clear()
        self._is_over = True
        self.batches.close()

    def __enter__(self) -> "JaxBatches":
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def check_jax() -> None:
    """Raises ModuleNotFoundError if JAX is not installed."""
    missing = missing_jax()
    if missing is not None:
        raise ModuleNotFoundError(f"to_jax: {missing}")
