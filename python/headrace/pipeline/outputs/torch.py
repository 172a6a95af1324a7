"""Batches as tensors of PyTorch."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np

from headrace.extras import missing_torch
from headrace.pipeline.batches import Batches
from headrace.pipeline.outputs.ahead import Converted

__all__ = ["TorchBatches", "TorchLoader", "torch_loader"]

# Starts an epoch, at its beginning or where a state says.
Start = Callable[[int, Mapping[str, Any] | None], Batches]


class Moved(NamedTuple):
    """A batch on its way to a device.

    Attributes:
        batch: Its components.
        copied: An event of a CUDA stream, after which the tensors are there; None if they are.
    """

    batch: dict[str, Any]
    copied: Any


class TorchLoader:
    """Gives the batches of a pipeline as tensors, one epoch for each `iter`.

    To be used as a `torch.utils.data.DataLoader` is: each `iter` is the next epoch, whose shuffles
    have another order, and `len` is the number of batches where it is known. A `DataLoader` around
    it is not needed; with `batch_size=None` and `num_workers=0` there may be one.

    A batch is a dict. Numbers are tensors that share their memory with the batch of the pipeline;
    strings stay what they are, lists of `bytes` or `str` objects.

    Attributes:
        pipeline: What gives the batches.
        batches: The iteration that was begun last; None before the first.
    """

    def __init__(self, pipeline: Any, start: Start, device: Any, pins: bool) -> None:
        self.pipeline: Final = pipeline
        self.batches: TorchBatches | None = None
        self._start: Final = start
        self._device: Final = device
        self._pins: Final = pins
        self._epoch = 0
        self._resumed: Mapping[str, Any] | None = None

    def __iter__(self) -> "TorchBatches":
        worker = import_module("torch.utils.data").get_worker_info()
        if worker is not None:
            raise ValueError(
                f"to_torch: num_workers is {worker.num_workers}, expected 0: the pipeline has "
                "threads of its own, and each worker would give all batches. Leave it out."
            )
        started = self._start(self._epoch, self._resumed)
        self.batches = TorchBatches(started, self._epoch, self._device, self._pins)
        self._epoch, self._resumed = self._epoch + 1, None
        return self.batches

    def __len__(self) -> int:
        return len(self.pipeline)

    def state_dict(self) -> dict[str, Any]:
        """Returns where the loop stands: behind the batches that it has taken.

        After the last batch of an epoch was followed by its end, that is before the next epoch. The
        names are those of torchdata's `StatefulDataLoader`. `json` takes the dict.
        """
        if self.batches is None:
            return {"epoch": self._epoch, "batches": self._resumed}
        return self.batches.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Lets the next `iter` go on where `state_dict` was called.

        Raises:
            ValueError: By that `iter`, if the state is of another pipeline or of other files.
        """
        self._epoch, self._resumed = int(state_dict["epoch"]), state_dict["batches"]
        self.batches = None


class TorchBatches(Converted):
    """The batches of one epoch as tensors; on a device, one of them ahead of the loop."""

    def __init__(self, batches: Batches, epoch: int, device: Any, pins: bool) -> None:
        super().__init__(batches, 0 if device is None else 1)
        self._torch: Final = import_module("torch")
        self._epoch: Final = epoch
        self._device: Final = device
        self._pins: Final = pins
        is_cuda = device is not None and device.type == "cuda"
        self._stream: Final = self._torch.cuda.Stream(device) if is_cuda else None

    def __iter__(self) -> "TorchBatches":
        return self

    def __enter__(self) -> "TorchBatches":
        return self

    def _convert(self, batch: dict[str, Any]) -> Moved:
        tensors = {name: self._tensor(value) for name, value in batch.items()}
        if self._device is None:
            return Moved(tensors, None)
        if self._stream is None:
            return Moved(self._moved(tensors), None)
        with self._torch.cuda.stream(self._stream):
            return Moved(self._moved(tensors), self._stream.record_event())

    def _give(self, converted: Moved) -> dict[str, Any]:
        if converted.copied is not None:
            stream = self._torch.cuda.current_stream(self._device)
            stream.wait_event(converted.copied)
            for value in converted.batch.values():
                if isinstance(value, self._torch.Tensor):
                    value.record_stream(stream)
        return converted.batch

    def _tensor(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            if value.dtype == object:
                return value.tolist()
            tensor = self._of_array(value)
        elif isinstance(value, np.generic):
            tensor = self._of_array(np.asarray(value))
        else:
            return value
        return tensor.pin_memory() if self._pins else tensor

    def _of_array(self, array: np.ndarray[Any, Any]) -> Any:
        if array.dtype.name == "bfloat16":
            return self._torch.from_numpy(array.view(np.int16)).view(self._torch.bfloat16)
        return self._torch.from_numpy(array)

    def _moved(self, tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: value.to(self._device, non_blocking=True)
            if isinstance(value, self._torch.Tensor)
            else value
            for name, value in tensors.items()
        }

    def state_dict(self) -> dict[str, Any]:
        """As that of `TorchLoader`, for this epoch."""
        if self.is_over:
            return {"epoch": self._epoch + 1, "batches": None}
        return {"epoch": self._epoch, "batches": self.state()}


def torch_loader(pipeline: Any, start: Start, device: Any, pin_memory: bool | None) -> TorchLoader:
    """Returns a loader that PyTorch takes for an iterable dataset.

    Args:
        pipeline: What gives the batches.
        start: Starts an epoch of it.
        device: Where tensors go, as `torch.device` takes it; None for where they are made.
        pin_memory: Whether they are in pinned memory before; None if the device is CUDA.

    Raises:
        ModuleNotFoundError: If PyTorch is not installed.
        RuntimeError: If there is no such device.
        TypeError: If `pin_memory` is no bool.
    """
    missing = missing_torch()
    if missing is not None:
        raise ModuleNotFoundError(f"to_torch: {missing}")
    if not (pin_memory is None or isinstance(pin_memory, bool)):
        raise TypeError(f"to_torch: pin_memory is {pin_memory!r}, expected True, False or None.")
    torch = import_module("torch")
    place = None if device is None else torch.device(device)
    is_cuda = place is not None and place.type == "cuda"
    dataset = import_module("torch.utils.data").IterableDataset
    loader = type("TorchLoader", (TorchLoader, dataset), {"__doc__": TorchLoader.__doc__})
    made: TorchLoader = loader(
        pipeline, start, place, is_cuda if pin_memory is None else pin_memory
    )
    return made
