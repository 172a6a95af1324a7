"""A loader of PyTorch tensors, for plain PyTorch and the training loops built on it."""

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
from headrace.pipeline.stages.schedule import entries_of

__all__ = ["TorchBatches", "TorchLoader", "torch_loader"]

# A function that starts an epoch, at its beginning or from a state.
Start = Callable[[int, Mapping[str, Any] | None], Batches]
# A function that starts the next epoch for an iteration; see `TorchLoader._begin`.
Begin = Callable[["TorchBatches"], tuple[int, Tensors | None, dict[str, Any] | None]]


class TorchLoader:
    """A loader of PyTorch tensors. Each `for` loop over it runs the next epoch.

    Use it like a `torch.utils.data.DataLoader`. Shuffles have a different order in each epoch. An
    epoch counts as started once your loop has received a batch. `len` returns the number of
    batches, if it is known or you passed `length`. You don't need to wrap it in a `DataLoader`, but
    if you do, use `batch_size=None` and `num_workers=0`.

    A batch is a dict. Numbers are tensors that share memory with the pipeline's batch. Strings are
    lists of `bytes` or `str` objects.

    Attributes:
        pipeline: The pipeline.
        batches: The iteration that your loop's last batch came from, or None before the first
            batch.
        sampler: An object with `set_epoch`, for training loops that look for it there, such as
            Lightning's.
        batch_sampler: The same object, for training loops that read its batch size.
        is_attached: True if a Trainer saves and restores its position; see `headrace.hf.attach`.
        batch_size: None, because the loader's items are already batches. This attribute and those
            below are for training loops that read them from a `DataLoader`.
        num_workers: 0, because the pipeline runs its own threads.
        drop_last: False.
    """

    batch_size: Final = None
    num_workers: Final = 0
    drop_last: Final = False

    def __init__(
        self, pipeline: Any, start: Start, device: Any, pins: bool, length: int | None = None
    ) -> None:
        self.pipeline: Final = pipeline
        self.sampler: Final = Sampler(self)
        self.batch_sampler: Final = self.sampler
        self.batches: TorchBatches | None = None
        self.is_attached = False
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
                f"to_torch: num_workers is {worker.num_workers}, expected 0. The pipeline runs "
                "its own threads, and each worker would yield all batches. Remove num_workers."
            )
        chain = self.pipeline._stages
        is_sharded = any(step.num_shares > 1 for step in all_steps(chain))
        check_use(batch_depth(chain) > 0, is_sharded, self.is_attached)
        return TorchBatches(self, self._position, self._begin, self._length)

    @property
    def dataset(self) -> "TorchLoader":
        """The loader itself. It is an `IterableDataset` of batches."""
        return self

    @property
    def pin_memory(self) -> bool:
        """Whether tensors pass through pinned memory."""
        return self._pins

    @staticmethod
    def collate_fn(batch: Any) -> Any:
        """Returns a batch unchanged."""
        return batch

    def __len__(self) -> int:
        if self._length_or_error is None:
            try:
                # Loops may stop after this number, so batches that an epoch omits also count.
                whole = self.pipeline._epoch_length
                self._length_or_error = whole() if self._length is None else self._length
            except TypeError as error:
                self._length_or_error = error
        # Loops expect a constant answer, even though an index file may provide the length later.
        if isinstance(self._length_or_error, TypeError):
            raise self._length_or_error
        return self._length_or_error

    def __bool__(self) -> bool:
        """Returns True, because the number of batches may not be known yet."""
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
        # A copy continues from the same position.
        rest = (self._start, self._device, self._pins, self._length, self.state_dict())
        return _copied, (self.pipeline, *rest)

    def set_epoch(self, epoch: int) -> None:
        """Sets the number of the next epoch.

        Training loops call it before each epoch. After `load_state_dict`, a number below the epoch
        of the state does not change the position. The loader resumes from the state, and later
        numbers are counted from its epoch. A later epoch number starts the requested epoch from its
        beginning.

        Args:
            epoch: The epoch number, from 0.

        Raises:
            ValueError: If `epoch` is negative.
        """
        self._position.set_epoch(checked_int("set_epoch", "epoch", epoch, 0))

    def state_dict(self) -> dict[str, Any]:
        """Returns the position after the last batch that your loop received.

        At the end of an epoch, it is the beginning of the next one. The method is named as in
        torchdata's `StatefulDataLoader`. The keys are always the same, and the values are ints, a
        str or None, as `torch.distributed.checkpoint` requires.
        """
        if self.batches is None or self.batches.is_over:
            return self._position.state()
        return self.batches.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iteration resume from a result of `state_dict`.

        If the state was saved at the end of an epoch, the next epoch starts.

        Args:
            state_dict: The result of `state_dict`, from this run or an earlier one.

        Raises:
            ValueError: If `state_dict` is not such a result. If it belongs to another pipeline or
                other files, the error is raised at the first batch.
        """
        if not isinstance(state_dict, Mapping) or not {"epoch", "batches"} <= set(state_dict):
            raise ValueError(
                f"load_state_dict: got {keys_of(state_dict)}, expected the result of the loader's "
                "state_dict(), with the keys 'epoch' and 'batches'. If you have a whole "
                "checkpoint, pass the loader's entry in it."
            )
        self._position.load(state_dict)
        self.batches = None

    def bottleneck(self) -> str:
        """Names the bottleneck of the last epoch and suggests a fix, in a few sentences."""
        if self.batches is None:
            return "nothing has been read yet. Call it again after a few batches."
        return self.batches.bottleneck()

    @property
    def epoch(self) -> int | None:
        """The epoch of the last batch, or None before the first batch."""
        return self._last_batches().epoch

    @property
    def position(self) -> int:
        """The position after the last batch that your loop received; see `Batches.position`."""
        return self._last_batches().position

    @property
    def counts(self) -> dict[str, int]:
        """The examples of each part of `mix` that your loop received; see `Batches.counts`."""
        return self._last_batches().counts

    def set_version(self, version: int) -> None:
        """Sets the version of your model; see `Batches.set_version`."""
        self._last_batches().set_version(version)

    def digest(self) -> str:
        """Returns the digest up to the last batch your loop received; see `Batches.digest`."""
        return self._last_batches().digest()

    def _last_batches(self) -> "TorchBatches":
        if self.batches is None:
            raise FailedPreconditionError(
                None, None, "to_torch: the loop has not received a batch yet. Call this afterwards."
            )
        return self.batches

    def _begin(self, batches: "TorchBatches") -> tuple[int, Tensors | None, dict[str, Any] | None]:
        """Starts the next epoch, and returns its number, its batches and the first batch.

        The batches are None if the epoch has already ended.
        """
        position = self._position
        epoch, resumed = position.epoch, position.resumed
        mode = combination(position.is_waiting)
        # Lightning's epoch count for combined loaders follows the longest one.
        if mode == "max_size" and position.is_in_previous():
            return epoch - 1, None, None
        tensors = Tensors(self._start(epoch, resumed), self._device, self._pins)
        first = next(tensors, None)
        if first is None and resumed is not None and mode != "max_size":
            epoch += 1
            tensors = Tensors(self._start(epoch, None), self._device, self._pins)
            first = next(tensors, None)
        if first is None and self.is_attached:
            raise ValueError(
                f"to_torch: epoch {epoch} of the pipeline has no batches, so Trainer cannot train. "
                "Check its files and its filters."
            )
        self.batches = batches
        position.advance(epoch, is_alone=mode is None)
        return epoch, tensors, first

    def set_epoch_from_sampler(self, epoch: int) -> None:
        """Sets the epoch, for loops that may already have taken its first batch."""
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
    """Forwards the epoch number to a loader.

    Attributes:
        batch_size: The number of examples in a batch, or in the first batch if the size changes. 1
            if the pipeline does not set it.
    """

    def __init__(self, loader: TorchLoader) -> None:
        self._loader = loader
        sizes = [
            size for stage in loader.pipeline._stages if (size := getattr(stage, "size", None))
        ]
        self.batch_size: Final[int] = entries_of(sizes[-1])[0][1] if sizes else 1

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the loader."""
        self._loader.set_epoch_from_sampler(epoch)


class TorchBatches:
    """The batches of one epoch as tensors. On a device, one batch is copied ahead of the loop.

    The epoch starts at the first `next`.

    Attributes:
        is_over: Whether the loop has reached the end.
        epoch: The epoch number, or None before the first `next`.
    """

    def __init__(
        self, loader: TorchLoader, position: LoaderPosition, begin: Begin, length: int | None
    ) -> None:
        """Stores the loader and the state that both share.

        Args:
            loader: The loader.
            position: The loader's next epoch.
            begin: Starts the next epoch for this iteration.
            length: The number of batches in a whole epoch, if the user passed it.
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
        # The state to report if the loop holds one batch that it has not used yet.
        self._before: dict[str, Any] | None = None
        self._may_be_held = False
        self._told_epoch: int | None = None

    def __iter__(self) -> "TorchBatches":
        return self

    def __repr__(self) -> str:
        return f"TorchBatches({'not started' if self.batches is None else self.batches})"

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
                # The loop continues this iteration, so it had taken a batch before it started the
                # epoch.
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
        """Loads a checkpoint's state that Lightning has read but not passed on."""
        loop = unloaded_states(self._loader)
        if loop is None:
            return
        if self._num_taken == 0:
            loop._load_combined_loader_states()
            return
        raise FailedPreconditionError(
            None,
            None,
            "to_torch: Lightning read the first batch before it loaded the checkpoint, because "
            "configure_optimizers uses trainer.estimated_stepping_batches and the number of "
            "batches is unknown. Pass the number of batches per epoch: to_torch(length=...).",
        )

    def is_begun_early(self, epoch: int) -> bool:
        """Returns whether a loop that calls `set_epoch` seems to mean this epoch.

        Loops that don't know the number of batches take the first batch before they call
        `set_epoch`.
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
            f"to_torch: the training loop started epoch {self._told_epoch} with a batch of epoch "
            f"{self.epoch} that it had read ahead. Lightning reads one batch ahead if the number "
            "of batches is unknown. Pass the number of batches per epoch: to_torch(length=...).",
        )

    def _check_length(self) -> None:
        length = self._length
        num_left_out = 0 if self.batches is None else self.batches.num_left_out
        if length is None or not self._is_whole or self._num_taken + num_left_out == length:
            return
        raise ValueError(
            f"to_torch: length is {length}, but epoch {self.epoch} had {self._num_taken} batches. "
            "Pass the number of batches per epoch, or remove length."
        )

    @property
    def batches(self) -> Batches | None:
        """The underlying iteration over the pipeline, or None before the first `next`."""
        return None if self._tensors is None else self._tensors.batches

    @property
    def position(self) -> int:
        """The position after the last batch that your loop received; see `Batches.position`."""
        return self._begun().position

    @property
    def counts(self) -> dict[str, int]:
        """The examples of each part of `mix` that your loop received; see `Batches.counts`."""
        return self._begun().counts

    def set_version(self, version: int) -> None:
        """Sets the version of your model; see `Batches.set_version`."""
        self._begun().set_version(version)

    def digest(self) -> str:
        """Returns the digest up to the last batch your loop received; see `Batches.digest`."""
        return self._begun().digest()

    def _begun(self) -> Tensors:
        if self._tensors is None:
            raise FailedPreconditionError(
                None, None, "to_torch: the loop has not received a batch yet. Call this afterwards."
            )
        return self._tensors

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
        """Names the bottleneck and its share of the time, and suggests a fix."""
        return (
            self._loader.bottleneck()
            if self._tensors is None
            else self._tensors.batches.bottleneck()
        )

    def close(self) -> None:
        """Stops the threads of the pipeline."""
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
    """Returns a loader that is also a PyTorch `IterableDataset`.

    Args:
        pipeline: The pipeline that yields the batches.
        start: A function that starts an epoch.
        device: Where to put the tensors, in any form that `torch.device` accepts, or None for the
            CPU.
        pin_memory: Whether to copy tensors through pinned memory. None does this only for CUDA
            devices.
        length: The number of batches in an epoch, or None to use the pipeline's length.

    Raises:
        ModuleNotFoundError: If PyTorch is not installed.
        AssertionError: If `device` is a CUDA device, and PyTorch was built without CUDA.
        RuntimeError: If the device does not exist.
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
        # PyTorch raises its own error here if the device does not exist.
        torch.empty(0, device=target)
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
