"""The class `DataLoader`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import torch
import torch.utils.data

from headrace.torch.loader_state import LoaderState
from headrace.torch.local_iteration import LocalIteration
from headrace.torch.process_iteration import ProcessIteration
from headrace.torch.progress import Progress
from headrace.torch.thread_iteration import ThreadIteration

__all__ = ["DataLoader"]

_WORKERS: Final = ("processes", "threads")


_T_co = TypeVar("_T_co", covariant=True)


class DataLoader(torch.utils.data.DataLoader[_T_co]):  # type: ignore[misc]
    """PyTorch's `DataLoader`, extended so that you can resume at any batch.

    All arguments, attributes, warnings and errors are the same as in `torch.utils.data.DataLoader`,
    and batches have the same order for the same random generators. In addition, it has:

    - `state_dict()` and `load_state_dict()`, as in torchdata's `StatefulDataLoader`.
    - The index of the sample in the text of an exception, even if a worker was killed.
    - Batches that worker processes send in shared memory without pickling. They need neither file
      descriptors nor `/dev/shm`.
    - `workers="threads"` and `bottleneck()`.

    Example:
        ```python
        from headrace.torch import DataLoader

        loader = DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4)
        for batch in loader:
            ...
            checkpoint["loader"] = loader.state_dict()
        ```

    Args:
        dataset: A map-style or an iterable-style dataset.
        batch_size: The number of samples in a batch, or None for single samples.
        shuffle: Whether each epoch has a new random order.
        sampler: Yields the index of each sample.
        batch_sampler: Yields the indices of each batch.
        num_workers: The number of worker processes or threads, or 0 for none.
        collate_fn: Creates a batch from a list of samples.
        pin_memory: Whether tensors are copied to pinned memory.
        drop_last: Whether an incomplete last batch is omitted.
        timeout: The maximum time in seconds to wait for a worker's batch, or 0 for no limit.
        worker_init_fn: Called in each worker process with its number, after seeding.
        multiprocessing_context: The way in which worker processes are started.
        generator: Draws the order and the seeds of workers.
        prefetch_factor: The number of batches that each worker prepares in advance. Defaults to 2
            if there are workers.
        persistent_workers: Whether worker processes are kept for the next epoch.
        pin_memory_device: Deprecated in PyTorch.
        in_order: Whether batches are returned in the order of the sampler.
        workers: "processes", or "threads" of this process. In threads, `get_worker_info()` returns
            None and `worker_init_fn` is not called, as with `num_workers=0`.
        snapshot_every_n_steps: The number of batches of a worker between two states of an
            iterable-style dataset. Resuming fetches the batches in between again.

    Raises:
        ValueError: As in PyTorch, or if `workers` is neither "processes" nor "threads".
        TypeError: As in PyTorch.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        workers: str = "processes",
        snapshot_every_n_steps: int | None = 1,
    ) -> None:
        if workers not in _WORKERS:
            raise ValueError(
                f'DataLoader: workers is {workers!r}, expected "processes" or "threads".'
            )
        if workers == "threads" and multiprocessing_context is not None:
            raise ValueError(
                "DataLoader: got multiprocessing_context, which is for processes, with "
                'workers="threads". Omit one of them.'
            )
        if snapshot_every_n_steps is not None and snapshot_every_n_steps < 1:
            raise ValueError(
                f"DataLoader: snapshot_every_n_steps is {snapshot_every_n_steps}, expected at "
                "least 1."
            )
        if shuffle:
            _check_length(dataset)
        self.workers = workers
        self.snapshot_every_n_steps = snapshot_every_n_steps or 1
        self._progress: Progress | None = None
        self._resumed: LoaderState | None = None
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device,
            in_order=in_order,
        )

    def check_worker_number_rationality(self) -> None:
        """Warns if there are more worker processes than CPUs. Threads never cause this warning."""
        if self.workers == "processes":
            super().check_worker_number_rationality()

    def __iter__(self) -> Any:
        """Starts the next epoch, or continues the epoch of a loaded state."""
        if self.workers == "threads":
            return self._get_iterator()
        return super().__iter__()

    def _get_iterator(self) -> Any:
        if self.num_workers:
            self.check_worker_number_rationality()  # PyTorch also does this for each epoch.
        if isinstance(self.sampler, torch.utils.data.SequentialSampler):
            _check_length(self.sampler.data_source)
        kind: Any = LocalIteration
        if self.num_workers:
            kind = ThreadIteration if self.workers == "threads" else ProcessIteration
        progress = Progress(self)
        iteration = kind(self, progress, self._resumed)
        self._progress, self._resumed = progress, None
        return iteration

    def __getstate__(self) -> dict[str, Any]:
        """Returns the attributes for a copy. The copy's next loop starts a new epoch."""
        return {**self.__dict__, "_progress": None}

    def state_dict(self) -> dict[str, Any]:
        """Returns the position after the last batch that your loop received.

        After the end of an epoch, this is the beginning of the next one. If the dataset, its
        iterator or the sampler has the methods `state_dict` and `load_state_dict`, its state is
        included.

        Returns:
            A dict that JSON can represent if it can represent the states of your dataset and
            sampler.
        """
        if self._resumed is not None:
            return self._resumed.as_dict()
        progress = Progress(self) if self._progress is None else self._progress
        return progress.state().as_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iteration continue from the result of `state_dict`.

        The samples before it are not loaded again, unless the dataset is iterable-style and keeps
        no state. Random draws in worker processes continue as well. Draws in this process depend on
        its global generators, which you must save yourself.

        Args:
            state_dict: The result of `state_dict` of a loader with the same arguments. An empty one
                changes nothing.

        Raises:
            ValueError: If `state_dict` is not a result of `DataLoader.state_dict()`. If it belongs
                to a different loader, the next iteration raises the error.
        """
        self._iterator = None
        if not state_dict and isinstance(state_dict, Mapping):
            return
        self._resumed = LoaderState.from_dict(state_dict)

    def bottleneck(self) -> str:
        """Returns a sentence that names the bottleneck of the last epoch and suggests a fix."""
        if self._progress is None:
            return "nothing has been read yet: try again after some batches"
        return self._progress.times.bottleneck()


def _check_length(dataset: Any) -> None:
    """Raises TypeError if the sampling order requires a length but the dataset has none."""
    if isinstance(dataset, torch.utils.data.IterableDataset) or hasattr(dataset, "__len__"):
        return
    name = type(dataset).__name__
    raise TypeError(
        f"object of type {name!r} has no len(), so the DataLoader doesn't know its indices. Add "
        f"__len__ to {name}, pass a sampler, or make it an IterableDataset."
    )
