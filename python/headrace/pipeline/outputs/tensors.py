"""One iteration's batches as PyTorch tensors."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.pipeline.outputs.converted_batches import ConvertedBatches
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.values.nested import NestedList

__all__ = ["Tensors"]


class CopiedBatch(NamedTuple):
    """A batch that is being copied to a device.

    Attributes:
        batch: The components of the batch.
        copied: A CUDA event that marks the end of the copy, or None if the copy is complete.
    """

    batch: dict[str, Any]
    copied: Any


class Tensors(ConvertedBatches):
    """Batches as PyTorch tensors. On a device, one batch is copied before the loop needs it."""

    def __init__(self, batches: Batches, device: Any, pins: bool) -> None:
        super().__init__(batches, 0 if device is None else 1)
        self._torch: Final = import_module("torch")
        self._device: Final = device
        self._pins: Final = pins
        is_cuda = device is not None and device.type == "cuda"
        self._stream: Final = self._torch.cuda.Stream(device) if is_cuda else None

    def _convert(self, batch: dict[str, Any]) -> CopiedBatch:
        tensors = {name: self._tensor(value) for name, value in batch.items()}
        if self._device is None:
            return CopiedBatch(tensors, None)
        if self._stream is None:
            return CopiedBatch(self._moved(tensors), None)
        with self._torch.cuda.stream(self._stream):
            return CopiedBatch(self._moved(tensors), self._stream.record_event())

    def _give(self, converted: CopiedBatch) -> dict[str, Any]:
        if converted.copied is not None:
            stream = self._torch.cuda.current_stream(self._device)
            stream.wait_event(converted.copied)
            for value in converted.batch.values():
                self._each(value, lambda tensor: tensor.record_stream(stream))
        return converted.batch

    def _tensor(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            if value.dtype == object:
                return value.tolist()
            tensor = self._of_array(value)
        elif isinstance(value, np.generic):
            tensor = self._of_array(np.asarray(value))
        elif isinstance(value, NestedList):
            return self._lists(value)
        else:
            return value
        return tensor.pin_memory() if self._pins else tensor

    def _lists(self, values: list[Any]) -> list[Any]:
        return [
            self._lists(item) if isinstance(item, list) else self._tensor(item) for item in values
        ]

    def _each(self, value: Any, function: Callable[[Any], Any]) -> Any:
        """Applies a function to each tensor of a component, even inside lists."""
        if isinstance(value, self._torch.Tensor):
            return function(value)
        kinds = (self._torch.Tensor, list)
        if isinstance(value, list) and all(isinstance(item, kinds) for item in value):
            return [self._each(item, function) for item in value]
        return value

    def _of_array(self, array: np.ndarray[Any, Any]) -> Any:
        if array.dtype.kind in "mM":
            array = array.view(np.int64)  # PyTorch has no time types.
        if array.dtype.name == "bfloat16":
            return self._torch.from_numpy(array.view(np.int16)).view(self._torch.bfloat16)
        return self._torch.from_numpy(array)

    def _moved(self, tensors: Mapping[str, Any]) -> dict[str, Any]:
        def moved(tensor: Any) -> Any:
            return tensor.to(self._device, non_blocking=True)

        return {name: self._each(value, moved) for name, value in tensors.items()}
