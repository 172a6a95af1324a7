"""Loaders of tensors for PyTorch, and for the training loops that are built on it."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import TracebackType
from typing import Any, Final, NoReturn

from headrace.core.errors import FailedPreconditionError
from headrace.core.optional_dependencies import missing_torch
from headrace.core.tracebacks import with_short_tracebacks
from headrace.pipeline.outputs.callers import (
    check_use,
    combination,
    unloaded_states,
)
from headrace.pipeline.outputs.loader_position import LoaderPosition
from headrace.pipeline.outputs.tensors import Tensors
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.run.state import keys_of
from headrace.pipeline.stages.arguments import checked_int
from headrace.pipeline.stages.components import all_steps, batch_depth

__all__ = ["TorchBatches", "TorchLoader", "torch_loader"]

# A function that starts an epoch, at its beginning or at a state.
Start = Callable[[int, Mapping[str, Any] | None], Batches]
# A function that starts the next epoch for an iteration; see `TorchLoader._begin`.
Begin = Callable[["TorchBatches"], tuple[int, Tensors | None, dict[str, Any] | None]]


class TorchLoader:
    """A loader of PyTorch tensors. Each `for` loop over it runs the next epoch.

    Use it like a `torch.utils.data.DataLoader`. Shuffles have a different order in each epoch. An
    epoch counts once your loop has received a batch. `len` is the number of batches, if it is known
    or you passed `length`. You do not need a `DataLoader` around it, but it works with
    `batch_size=None` and `num_workers=0`.

    A batch is a dict. Numbers are tensors that share their memory with the pipeline's batch.
    Strings stay lists of `bytes` or `str` objects.

    Attributes:
        pipeline: The pipeline.
        batches: The iteration that your loop received a batch from most recently. None before the
            first batch.
        sampler: An object with `set_epoch`, for training loops that look for it there, as Lightning
            does.
        batch_sampler: The same object, for training loops that read its batch size.
    """

    def __init__(
        self, pipeline: Any, start: Start, device: Any, pins: bool, length: int | None = None
    ) -> None:
        self.pipeline: Final = pipeline
        self.sampler: Final = Sampler(self)
        self.batch_sampler: Final = self.sampler
        self.batches: TorchBatches | None = None
        self._start: Final = start
        self._device: Final = device
        self._pins: Final = pins
        self._length: Final = length
        self._length_or_error: int | TypeError | None = None
        self._position: Final = LoaderPosition()

    def __iter__(self) -> "TorchBatches":
        worker = import_module("torch.utils.data").get_worker_info()
        if worker is not None:
            raise ValueError(
                f"to_torch: num_workers is {worker.num_workers}, expected 0: the pipeline has its "
                "own threads, and each worker would yield all batches. Omit num_workers."
            )
        chain = self.pipeline._stages
        check_use(batch_depth(chain) > 0, any(step.num_shares > 1 for step in all_steps(chain)))
        return TorchBatches(self, self._position, self._begin, self._length)

    def __len__(self) -> int:
        if self._length_or_error is None:
            try:
                self._length_or_error = len(self.pipeline) if self._length is None else self._length
            except TypeError as error:
                self._length_or_error = error
        # Loops rely on a constant answer, though an index of files may tell more later.
        if isinstance(self._length_or_error, TypeError):
            raise self._length_or_error
        return self._length_or_error

    def __bool__(self) -> bool:
        """Returns True: the number of batches is not known before they are read."""
        return True

    def __contains__(self, value: object) -> NoReturn:
        raise TypeError("to_torch: a loader does not support `in`. Iterate over it.")

    def __getitem__(self, index: object) -> NoReturn:
        raise TypeError("to_torch: a loader yields its batches only in order. Iterate over it.")

    def __reversed__(self) -> NoReturn:
        raise TypeError("to_torch: a loader yields its batches only in order. Iterate over it.")

    def __repr__(self) -> str:
        if self.batches is None or self.batches.is_over:
            return f"TorchLoader({self.pipeline!r}, before epoch {self._position.epoch})"
        return f"TorchLoader({self.pipeline!r}, within epoch {self.batches.epoch})"

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy continues where this one is.
        rest = (self._start, self._device, self._pins, self._length, self.state_dict())
        return _copied, (self.pipeline, *rest)

    def set_epoch(self, epoch: int) -> None:
        """Sets the number of the next epoch.

        Training loops call it before each epoch. After `load_state_dict`, a number below the epoch
        of the state is ignored: the state is used, and later numbers count from its epoch. A number
        above the epoch of the state starts at the beginning of that epoch.

        Args:
            epoch: The number of the epoch, from 0.

        Raises:
            ValueError: If `epoch` is negative.
        """
        self._position.set_epoch(checked_int("set_epoch", "epoch", epoch, 0))

    def state_dict(self) -> dict[str, Any]:
        """Returns the position after the last batch that your loop received.

        After the end of an epoch, it is the beginning of the next one. The method has the same name
        as in torchdata's `StatefulDataLoader`. As `torch.distributed.checkpoint` requires, the keys
        are always the same, and the values are ints, a str or None.
        """
        if self.batches is None or self.batches.is_over:
            return self._position.state()
        return self.batches.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iteration continue from the result of `state_dict`.

        If the state is from the end of an epoch, the next epoch starts.

        Args:
            state_dict: The result of `state_dict`, from this run or an earlier one.

        Raises:
            ValueError: If `state_dict` is not such a result. If it belongs to another pipeline or
                other files, the error is raised at the first batch.
        """
        if not isinstance(state_dict, Mapping) or not {"epoch", "batches"} <= set(state_dict):
            raise ValueError(
                f"load_state_dict: got {keys_of(state_dict)}, expected a result of the loader's "
                "state_dict(), with the keys 'epoch' and 'batches'. If it is a whole checkpoint, "
                "pass its entry for the loader."
            )
        self._position.load(state_dict)
        self.batches = None

    def bottleneck(self) -> str:
        """Returns a sentence that names the bottleneck of the last epoch and a remedy."""
        if self.batches is None:
            return "nothing has been read yet: try again after some batches"
        return self.batches.bottleneck()

    def _begin(self, batches: "TorchBatches") -> tuple[int, Tensors | None, dict[str, Any] | None]:
        """Starts the next epoch; returns its number, its batches and the first of them.

        The batches are None if the epoch is over already.
        """
        position = self._position
        epoch, resumed = position.epoch, position.resumed
        mode = combination(position.is_waiting)
        # Lightning counts a combination's epochs by its longest loader.
        if mode == "max_size" and position.is_in_previous():
            return epoch - 1, None, None
        tensors = Tensors(self._start(epoch, resumed), self._device, self._pins)
        first = next(tensors, None)
        if first is None and resumed is not None and mode != "max_size":
            epoch += 1
            tensors = Tensors(self._start(epoch, None), self._device, self._pins)
            first = next(tensors, None)
        self.batches = batches
        position.advance(epoch, is_alone=mode is None)
        return epoch, tensors, first

    def set_epoch_from_sampler(self, epoch: int) -> None:
        """Sets the epoch, for loops that may have taken its first batch already."""
        batches = None if self._knows_length() else self.batches
        if batches is None or not batches.is_begun_early(epoch + self._position.offset):
            self.set_epoch(epoch)

    def _knows_length(self) -> bool:
        try:
            len(self)
        except TypeError:
            return False
        return True


class Sampler:
    """Forwards the number of an epoch to a loader.

    Attributes:
        batch_size: Number of examples in a batch; 1 if the pipeline does not set it.
    """

    def __init__(self, loader: TorchLoader) -> None:
        self._loader = loader
        sizes = [
            size for stage in loader.pipeline._stages if (size := getattr(stage, "size", None))
        ]
        self.batch_size: Final[int] = sizes[-1] if sizes else 1

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the loader."""
        self._loader.set_epoch_from_sampler(epoch)


class TorchBatches:
    """The batches of one epoch as tensors; on a device, one of them ahead of the loop.

    The first `next` begins the epoch.

    Attributes:
        is_over: Whether the loop has reached the end.
        epoch: The number of the epoch; None before the first `next`.
    """

    def __init__(
        self, loader: TorchLoader, position: LoaderPosition, begin: Begin, length: int | None
    ) -> None:
        """Sets the loader and what they share.

        Args:
            loader: The loader.
            position: Its next epoch.
            begin: Starts the next epoch for this iteration.
            length: The number of batches of a whole epoch, if the program gave it.
        """
        self._loader: Final = loader
        self._position: Final = position
        self._begin: Final = begin
        self._length: Final = length
        self.is_over = False
        self.epoch: int | None = None
        self._tensors: Tensors | None = None
        self._num_taken = 0
        self._is_whole = True
        self._is_closed = False
        # The loop's state if it holds one more batch than it has used.
        self._before: dict[str, Any] | None = None
        self._may_be_held = False
        self._told_epoch: int | None = None

    def __iter__(self) -> "TorchBatches":
        return self

    def __repr__(self) -> str:
        return f"TorchBatches({'not begun' if self.batches is None else self.batches})"

    def __contains__(self, value: object) -> NoReturn:
        raise TypeError("to_torch: an iteration does not support `in`. Iterate over it.")

    @with_short_tracebacks
    def __next__(self) -> dict[str, Any]:
        if self.is_over or self._is_closed:
            raise StopIteration
        if self._num_taken < 2:
            self._load_late()
        if self._tensors is None:
            self._is_whole = self._position.resumed is None
            self._before = self._position.state()
            self.epoch, self._tensors, batch = self._begin(self)
        else:
            if self._may_be_held:
                # The loop continues this iteration, so it took a batch before it began the epoch.
                self._may_be_held, self._position.is_held_ahead = False, True
            if self._position.is_held_ahead and self._tensors.batches.is_deterministic:
                self._before = self._state()
            batch = next(self._tensors, None)
        if batch is None:
            self.is_over = True
            if self._tensors is not None:
                self._check_length()
            raise StopIteration
        self._num_taken += 1
        self._check_epoch()
        return batch

    def _load_late(self) -> None:
        """Loads the state of a checkpoint that Lightning has read but not loaded."""
        loop = unloaded_states(self._loader)
        if loop is None:
            return
        if self._num_taken == 0:
            loop._load_combined_loader_states()
            return
        raise FailedPreconditionError(
            None,
            None,
            "to_torch: Lightning took the first batch before it read the checkpoint, because "
            "configure_optimizers uses trainer.estimated_stepping_batches and the number of "
            "batches is not known. Pass the number of batches in an epoch: to_torch(length=...).",
        )

    def is_begun_early(self, epoch: int) -> bool:
        """Returns whether a loop that calls `set_epoch` seems to mean this epoch.

        Loops that do not know the number of batches take the first batch before they call it.
        """
        if self._num_taken != 1 or self.is_over or self._may_be_held:
            return False
        self._may_be_held = True
        self._told_epoch = epoch
        return epoch == self.epoch

    def _check_epoch(self) -> None:
        if self._told_epoch in (None, self.epoch):
            return
        raise FailedPreconditionError(
            None,
            None,
            f"to_torch: the loop began epoch {self._told_epoch} with a batch of epoch "
            f"{self.epoch}, which it had read before. Lightning reads one ahead if it does not "
            "know their number. Pass the number of batches in an epoch: to_torch(length=...).",
        )

    def _check_length(self) -> None:
        length = self._length
        if length is None or not self._is_whole or self._num_taken == length:
            return
        raise ValueError(
            f"to_torch: length is {length}, but epoch {self.epoch} had {self._num_taken} batches. "
            "Give the number of batches of an epoch, or omit length."
        )

    @property
    def batches(self) -> Batches | None:
        """The iteration over the pipeline; None before the first `next`."""
        return None if self._tensors is None else self._tensors.batches

    def state_dict(self) -> dict[str, Any]:
        """Returns the loop's position in this epoch; see `TorchLoader.state_dict`."""
        if self._tensors is None or self.epoch is None:
            return self._loader.state_dict()
        if self.is_over:
            return self._position.state_at(self.epoch + 1, None)
        is_held = self._position.is_held_ahead or self._may_be_held
        return self._before if is_held and self._before is not None else self._state()

    def _state(self) -> dict[str, Any]:
        assert self._tensors is not None
        return self._position.state_at(self.epoch, self._tensors.state())

    def bottleneck(self) -> str:
        """Returns a sentence that names the bottleneck, its share of the time, and a remedy."""
        return (
            self._loader.bottleneck()
            if self._tensors is None
            else self._tensors.batches.bottleneck()
        )

    def close(self) -> None:
        """Ends the threads of the pipeline."""
        self._is_closed = True
        if self._tensors is not None:
            self._tensors.close()

    def __enter__(self) -> "TorchBatches":
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def torch_loader(
    pipeline: Any,
    start: Start,
    device: Any,
    pin_memory: bool | None,
    length: int | None = None,
) -> TorchLoader:
    """Returns a loader that is an iterable dataset of PyTorch.

    Args:
        pipeline: The pipeline of the batches.
        start: A function that starts an epoch of it.
        device: The device of the tensors, as `torch.device` takes it; None for the CPU.
        pin_memory: Whether tensors pass through pinned memory; None means only if the device is
            CUDA.
        length: The number of batches in an epoch; None for the pipeline's own.

    Raises:
        ModuleNotFoundError: If PyTorch is not installed.
        AssertionError: If PyTorch was built without CUDA, and `device` is one of CUDA.
        RuntimeError: If there is no such device.
        TypeError: If `pin_memory` is not a bool.
        ValueError: If `length` is out of range.
    """
    missing = missing_torch()
    if missing is not None:
        raise ModuleNotFoundError(f"to_torch: {missing}")
    if not (pin_memory is None or isinstance(pin_memory, bool)):
        raise TypeError(f"to_torch: pin_memory is {pin_memory!r}, expected True, False or None.")
    if length is not None:
        checked_int("to_torch", "length", length, 0)
    torch = import_module("torch")
    target = None if device is None else torch.device(device)
    if target is not None:
        torch.empty(0, device=target)  # Raises PyTorch's own error here if there is no such device.
    is_cuda = target is not None and target.type == "cuda"
    dataset = import_module("torch.utils.data").IterableDataset
    loader = type("TorchLoader", (TorchLoader, dataset), {"__doc__": TorchLoader.__doc__})
    new_loader: TorchLoader = loader(
        pipeline, start, target, is_cuda if pin_memory is None else pin_memory, length
    )
    return new_loader


def _copied(
    pipeline: Any,
    start: Start,
    device: Any,
    pins: bool,
    length: int | None,
    state_dict: Mapping[str, Any],
) -> TorchLoader:
    loader = torch_loader(pipeline, start, device, pins, length)
    loader.load_state_dict(state_dict)
    return loader
