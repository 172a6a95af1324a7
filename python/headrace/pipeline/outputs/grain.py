"""Pipelines as datasets of Grain."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

from headrace.core.optional_dependencies import missing_grain
from headrace.core.tracebacks import with_short_tracebacks
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.run.state import keys_of, state_from_text, state_text

__all__ = ["grain_dataset"]

# The key of a state. Its value is text, because Grain's checkpoints need values of constant shape.
_KEY: Final = "headrace"


class PipelineDataset:
    """A pipeline as a dataset. It becomes a `grain.IterDataset` when Grain is loaded."""

    def __init__(self, pipeline: Any) -> None:
        super().__init__()
        self._pipeline = pipeline

    def __iter__(self) -> "PipelineIterator":
        iterator: PipelineIterator = _grain_class(PipelineIterator, "DatasetIterator")(
            self._pipeline
        )
        return iterator

    def set_slice(self, sl: slice, sequential_slice: bool = False) -> None:
        """Keeps the elements of one worker of `mp_prefetch`.

        Args:
            sl: A slice whose start is the worker's index and whose step is the number of workers.
            sequential_slice: Whether the worker needs a contiguous part of the elements.

        Raises:
            ValueError: If the worker needs a contiguous part, or the order has no seed.
        """
        if sequential_slice:
            raise ValueError(
                "to_grain: sequential_slice=True needs random access, but a pipeline is read in "
                "order. Remove it."
            )
        self._pipeline = self._pipeline.shard(sl.start, sl.step)

    def __reduce__(self) -> tuple[Any, ...]:
        return grain_dataset, (self._pipeline,), self.__dict__

    def __str__(self) -> str:
        return f"PipelineDataset({self._pipeline!r})"


class PipelineIterator:
    """An iteration over a pipeline. It becomes a `grain.DatasetIterator` when Grain is loaded.

    The threads start at the first call of any method except `close`.
    """

    _closed: bool  # Set by Grain.

    def __init__(self, pipeline: Any) -> None:
        super().__init__()
        self._pipeline: Final = pipeline
        self._batches: Batches | None = None

    @with_short_tracebacks
    def __next__(self) -> dict[str, Any]:
        return next(self._begun())

    def get_state(self) -> dict[str, Any]:
        """Returns the position after the last element, as data that `json` can serialise."""
        batches = self._begun() if self._batches is None else self._batches
        return {_KEY: state_text(batches.state())}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continues from a result of `get_state`, from this pipeline in any process.

        Raises:
            ValueError: If `state` is something else, or belongs to another pipeline.
        """
        text = state.get(_KEY) if isinstance(state, Mapping) else None
        if not isinstance(text, str):
            raise ValueError(
                f"set_state: got {keys_of(state)}, expected the result of get_state() of an "
                "iterator over a to_grain() dataset."
            )
        self._check_open()
        resumed = self._pipeline.resume(state_from_text(text))
        if self._batches is not None:
            self._batches.close()
        self._batches = resumed

    def start_prefetch(self) -> None:
        """Starts the threads that read ahead."""
        self._begun()

    def close(self) -> None:
        """Stops the threads of the pipeline."""
        self._closed = True
        if self._batches is not None:
            self._batches.close()

    def __del__(self) -> None:
        """Does nothing. Grain's method would call `close`, but `Batches` stops its own threads."""

    def __str__(self) -> str:
        return f"PipelineIterator({self._pipeline!r})"

    def _begun(self) -> Batches:
        self._check_open()
        if self._batches is None:
            self._batches = iter(self._pipeline)
        return self._batches

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(
                "to_grain: the iterator is closed. Start a new one with iter(dataset)."
            )


def grain_dataset(pipeline: Any) -> Any:
    """Returns a pipeline as a `grain.IterDataset`.

    Raises:
        ModuleNotFoundError: If Grain is not installed.
    """
    if missing := missing_grain():
        raise ModuleNotFoundError(f"to_grain: {missing}")
    return _grain_class(PipelineDataset, "IterDataset")(pipeline)


@cache
def _grain_class(cls: type, base: str) -> Any:
    """Returns a class of this module with a base class of Grain."""
    bases = (cls, getattr(import_module("grain"), base))
    return type(cls.__name__, bases, {"__doc__": cls.__doc__, "__module__": __name__})
