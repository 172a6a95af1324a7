"""The training libraries that call a loader, and how they use it.

They do not pass these facts on: a `DataLoader` does not say that it will batch what it reads, nor
Lightning that a checkpoint is yet to be loaded. So they are read off the calls that led to the
loader. What is not recognised changes nothing.
"""

import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any, Final, NamedTuple

__all__ = ["Caller", "callers", "check_use"]

_LIBRARIES: Final = frozenset(
    {"accelerate", "lightning", "pytorch_lightning", "torch", "torchdata", "transformers"}
)


class Caller(NamedTuple):
    """A method of a library that is running.

    Attributes:
        owner: The object that it belongs to.
        variables: Its local variables.
    """

    owner: object
    variables: Mapping[str, Any]

    def is_of(self, module: str, *names: str) -> bool:
        """Returns whether the object is of one of these classes, if that module is loaded."""
        loaded = sys.modules.get(module)
        # Accelerate's classes answer `isinstance` for others.
        kinds = tuple(getattr(loaded, name) for name in names if hasattr(loaded, name))
        return issubclass(type(self.owner), kinds)


def callers() -> Iterator[Caller]:
    """Yields the methods of training libraries that led to this call, the nearest first."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and _package(frame) == "headrace":
        frame = frame.f_back
    while frame is not None and _package(frame) in _LIBRARIES:
        if "self" in frame.f_locals:
            yield Caller(frame.f_locals["self"], frame.f_locals)
        frame = frame.f_back


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def check_use(is_batched: bool, is_sharded: bool) -> None:
    """Raises if the code that begins to iterate over a loader would train on the wrong batches.

    Args:
        is_batched: Whether the loader yields batches.
        is_sharded: Whether it has only the examples of one rank.

    Raises:
        ValueError: If a `DataLoader` would batch batches, Accelerate would distribute one rank's
            examples, or Hugging Face's Trainer would not set the epoch.
    """
    used_by = list(callers())
    if is_batched and used_by and getattr(used_by[0].owner, "auto_collation", False):
        raise ValueError(
            "to_torch: a DataLoader with a batch_size got a loader of batches, and would make "
            "batches of batches. Use DataLoader(loader, batch_size=None) or the loader itself. If "
            "a trainer makes the DataLoader, leave batch() out."
        )
    prepared = ("DataLoaderDispatcher", "IterableDatasetShard")
    if is_sharded and any(caller.is_of("accelerate.data_loader", *prepared) for caller in used_by):
        raise ValueError(
            "to_torch: Accelerate distributes the batches of one process to all, but the pipeline "
            "has shard(): the other processes' examples would be lost. Leave shard() out, or do "
            "not prepare the loader: pass it to register_for_checkpointing."
        )
    is_prepared = any(
        caller.is_of("accelerate.data_loader", "DataLoaderDispatcher", "DataLoaderShard")
        for caller in used_by
    )
    trainers = (caller for caller in used_by if caller.is_of("transformers.trainer", "Trainer"))
    nearest = next(trainers, None)
    # Evaluation has no epochs.
    if nearest is not None and "epoch" in nearest.variables and not is_prepared:
        raise ValueError(
            "to_torch: Trainer got a loader that Accelerate has not prepared, so it sets no epoch, "
            "and a resumed training would repeat epoch 0. Return "
            "self.accelerator.prepare(DataLoader(loader, batch_size=None)) from "
            "get_train_dataloader."
        )
