"""Detects which training library is calling a loader, and how the library uses it.

Libraries don't pass on this information. For example, a loader can't know that a `DataLoader` will
batch its items, or that Lightning has yet to load a checkpoint. So it has to be inferred from the
call stack. Unknown libraries have no effect.
"""

import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any, Final, NamedTuple

from headrace.core.errors import FailedPreconditionError

__all__ = ["Caller", "callers", "check_use", "combination", "is_lightning", "unloaded_states"]

_LIBRARIES: Final = frozenset(
    {"accelerate", "lightning", "pytorch_lightning", "torch", "torchdata", "transformers"}
)


class Caller(NamedTuple):
    """A running method of a library.

    Attributes:
        owner: The object that the method belongs to.
        variables: The method's local variables.
    """

    owner: object
    variables: Mapping[str, Any]

    def is_of(self, module: str, *names: str) -> bool:
        """Returns whether the owner is an instance of these classes, if the module is loaded."""
        loaded = sys.modules.get(module)
        # `isinstance` returns True for some of Accelerate's wrappers, which would be wrong here.
        kinds = tuple(getattr(loaded, name) for name in names if hasattr(loaded, name))
        return issubclass(type(self.owner), kinds)

    def is_of_lightning(self, module: str, name: str) -> bool:
        """Returns whether the owner is an instance of a Lightning class, from either package."""
        packages = ("lightning.pytorch", "pytorch_lightning")
        return any(self.is_of(f"{package}.{module}", name) for package in packages)


def callers() -> Iterator[Caller]:
    """Yields the training libraries' methods on the call stack, starting with the innermost."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and _package(frame) == "headrace":
        frame = frame.f_back
    while frame is not None and _package(frame) in _LIBRARIES:
        if "self" in frame.f_locals:
            yield Caller(frame.f_locals["self"], frame.f_locals)
        frame = frame.f_back


def combination(is_resumed: bool) -> str | None:
    """Returns how a Lightning `CombinedLoader` combines this loader, or None if it isn't in one.

    Args:
        is_resumed: Whether the loader resumes from a state.

    Raises:
        FailedPreconditionError: If Lightning cannot resume the combination.
    """
    modes = {"max_size": "_MaxSize", "max_size_cycle": "_MaxSizeCycle"}
    for caller in callers():
        for mode, name in modes.items():
            if not caller.is_of_lightning("utilities.combined_loader", name):
                continue
            loaders = getattr(caller.owner, "iterables", [])
            if is_resumed and len(loaders) > 1 and not all(map(_has_length, loaders)):
                raise FailedPreconditionError(
                    None,
                    None,
                    f"to_torch: CombinedLoader({mode!r}) cannot resume with a loader of unknown "
                    "length, because Lightning would read one batch ahead. Pass the number of "
                    "batches per epoch: to_torch(length=...).",
                )
            return mode
    return None


def is_lightning() -> bool:
    """Returns whether the caller is Lightning's training loop. It counts epochs from the start."""
    return any(caller.is_of_lightning("loops.fit_loop", "_FitLoop") for caller in callers())


def _has_length(loader: Any) -> bool:
    try:
        len(loader)
    except (NotImplementedError, TypeError):
        return False
    return True


def unloaded_states(loader: object) -> Any:
    """Returns Lightning's loop if it has not loaded a checkpoint's state into this loader yet.

    Lightning forgets this if the data was set up before the checkpoint was read, as
    `trainer.estimated_stepping_batches` does. Returns None in all other cases.
    """
    for caller in callers():
        if caller.is_of_lightning("loops.training_epoch_loop", "_TrainingEpochLoop"):
            loop = getattr(getattr(caller.owner, "trainer", None), "fit_loop", None)
            states = getattr(loop, "_combined_loader_states_to_load", None)
            combined = getattr(loop, "_combined_loader", None)
            loaders = getattr(combined, "flattened", ())
            is_unloaded = bool(states) and getattr(loop, "restarting", False)
            return loop if is_unloaded and any(one is loader for one in loaders) else None
    return None


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def check_use(is_batched: bool, is_sharded: bool, is_attached: bool) -> None:
    """Raises an error if the calling library would train on the wrong batches.

    Args:
        is_batched: Whether the loader yields batches.
        is_sharded: Whether it yields only one rank's examples.
        is_attached: Whether a Trainer restores its position, by `headrace.hf.attach`.

    Raises:
        ValueError: If a `DataLoader` would batch batches, if Accelerate would distribute one rank's
            examples to all, or if Hugging Face's Trainer would not set the epoch.
    """
    used_by = list(callers())
    if is_batched and used_by and getattr(used_by[0].owner, "auto_collation", False):
        raise ValueError(
            "to_torch: a DataLoader with a batch_size got a loader that already yields batches, "
            "so it would make batches of batches. Use the loader itself, or DataLoader(loader, "
            "batch_size=None). If a trainer creates the DataLoader, remove batch() from the "
            "pipeline."
        )
    prepared = ("DataLoaderDispatcher", "IterableDatasetShard")
    if is_sharded and any(caller.is_of("accelerate.data_loader", *prepared) for caller in used_by):
        raise ValueError(
            "to_torch: Accelerate distributes the batches of one process to all processes, but "
            "the pipeline already has shard(), so most examples would be lost. Remove shard(). "
            "Or don't prepare the loader, and pass it to register_for_checkpointing instead."
        )
    is_prepared = any(
        caller.is_of("accelerate.data_loader", "DataLoaderDispatcher", "DataLoaderShard")
        for caller in used_by
    )
    trainers = (caller for caller in used_by if caller.is_of("transformers.trainer", "Trainer"))
    nearest = next(trainers, None)
    # Evaluation has no epochs.
    is_restored = is_prepared or is_attached
    if nearest is not None and "epoch" in nearest.variables and not is_restored:
        raise ValueError(
            "to_torch: Trainer got a loader that Accelerate has not prepared. Trainer would not "
            "set the epoch, and a resumed training would repeat epoch 0. Call "
            "headrace.hf.attach(trainer, loader) instead."
        )
