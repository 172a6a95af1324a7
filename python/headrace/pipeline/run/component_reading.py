"""Reads one component of all examples before a stage, in a separate iteration."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from headrace.pipeline.functions.function_state import initial, unchanged
from headrace.pipeline.stages.batch import Batch
from headrace.pipeline.stages.components import ChainSpecs, source_of, steps
from headrace.pipeline.stages.function_step import callers
from headrace.pipeline.stages.rename import Rename
from headrace.pipeline.stages.select import Select
from headrace.pipeline.stages.shard import Shard
from headrace.pipeline.stages.skip import Skip
from headrace.pipeline.stages.split import RecordPart, are_kept
from headrace.pipeline.stages.stage import Effect, Stage, Stages, Step
from headrace.pipeline.stages.take import Take
from headrace.pipeline.values.types import Specs

__all__ = ["ComponentReading", "Start"]

# How many examples to read at a time.
_SIZE: Final = 4096
# Options that also apply to this iteration.
_OPTIONS: Final = (
    *("num_threads", "memory_bytes", "cache_directory", "cache_bytes", "warn_after_s"),
    *("index", "index_directory"),
)

# The class `Batches`. It is passed as an argument because it imports this module's callers.
Start: TypeAlias = Callable[..., Any]


class ComponentReading:
    """One pass over the examples after some stages, for the values of one component.

    Attributes:
        name: The name of the component.
    """

    def __init__(
        self,
        chain: Sequence[Stage],
        name: str,
        chain_specs: ChainSpecs,
        options: Mapping[str, Any],
        start: Start,
    ) -> None:
        """Prepares the pass.

        Args:
            chain: The stages. Their sources refer to specific commits.
            name: The name of the component.
            chain_specs: The components after each stage. More stages may follow.
            options: The pipeline's options.
            start: The class `Batches`.
        """
        self.name: Final = name
        self._chain: Final = tuple(chain)
        self._chain_specs: Final = chain_specs
        self._options: Final = {name: options[name] for name in _OPTIONS if name in options}
        self._start: Final = start

    def columns(self) -> Iterator[npt.NDArray[Any]]:
        """Yields the component's values, for many examples at a time."""
        known = _known_column(self._chain, self.name)
        return self._read_columns() if known is None else iter([known])

    def record(self, number: int) -> str:
        """Describes an example's record, for messages."""
        if _known_column(self._chain, self.name) is None:
            specs = list(self._chain_specs.specs[: len(self._chain)])
            last = {name: spec.batched(None) for name, spec in specs[-1].items()}
            listed = tuple(name for name, spec in specs[-1].items() if spec.is_open)
            one = (Skip(number), Take(1), Batch(1, "keep", lists=listed))
            of_one = [*specs, specs[-1], specs[-1], last]
            with self._batches((*self._chain, *one), of_one, keeps_origins=True) as read:
                read.next_columns()
                origins = read.origins()
            if origins and origins[0][0] is not None:
                return f"{origins[0][0]}: record {origins[0][1]}"
        return f"example {number}, counted from 0,"

    def _read_columns(self) -> Iterator[npt.NDArray[Any]]:
        before, specs, name = self._narrowed()
        values = {name: specs[-1][name]}
        chain: Stages = (*before, Select((name,)), Batch(_SIZE, "keep"))
        batched = {name: values[name].batched(None)}
        with ExitStack() as stack:
            for caller in callers(chain):
                initial(caller.called_function)
                stack.enter_context(unchanged(caller.called_function))
            batches = stack.enter_context(self._batches(chain, [*specs, values, batched]))
            while (columns := batches.next_columns()) is not None:
                yield columns[1][name]

    def _narrowed(self) -> tuple[Stages, list[Specs], str]:
        """Returns stages that read as little as possible, their components, and the new name."""
        specs = list(self._chain_specs.specs[: len(self._chain)])
        moved = _through_names(self._chain, self.name)
        source = None if moved is None else source_of(self._chain).with_columns([moved[1]])
        if moved is None or source is None:
            return self._chain, specs, self.name
        kept, name = moved
        return (source, *kept), [{name: specs[0][name]}] * (1 + len(kept)), name

    def _batches(self, chain: Stages, specs: list[Specs], keeps_origins: bool = False) -> Any:
        of_stages = ChainSpecs(specs, self._chain_specs.parts)
        return self._start(chain, self._options, of_stages, 0, keeps_origins=keeps_origins)


def _known_column(chain: Sequence[Stage], name: str) -> npt.NDArray[Any] | None:
    """Returns a component of all examples; None if examples must be read to determine it."""
    moved = _through_names(chain, name)
    values = None if moved is None else source_of(chain).column(moved[1])
    if moved is None or values is None:
        return None
    splits = [cast("RecordPart", step) for step in moved[0] if step.effect is Effect.SPLITS]
    if splits:
        counts = source_of(chain).counts()
        assert counts is not None, "a source with known columns knows its examples"
        values = values[np.concatenate([*are_kept(splits, counts), np.empty(0, np.bool_)])]
    shard = next((step for step in moved[0] if step.effect is Effect.DIVIDES), None)
    return values if shard is None else _share(values, cast("Shard", shard))


def _share(values: npt.NDArray[Any], shard: Shard) -> npt.NDArray[Any]:
    """Returns one rank's share of the values."""
    rest = len(values) % shard.count
    if shard.even == "drop":
        values = values[: len(values) - rest]
    own = values[shard.index :: shard.count]
    if shard.even == "pad" and 0 < rest <= shard.index:
        own = np.append(own, values[len(values) - rest + shard.index % rest])
    return own


def _through_names(chain: Sequence[Stage], name: str) -> tuple[list[Step], str] | None:
    """Returns the steps that select examples, and a component's name in the source.

    Returns None if another stage may compute the component.
    """
    kept: list[Step] = []
    for step in reversed(steps(chain)):
        if isinstance(step, RecordPart) or step.effect is Effect.DIVIDES:
            kept.insert(0, step)
        elif isinstance(step, Rename):
            name = {new: old for old, new in step.names}.get(name, name)
        elif not isinstance(step, Select):
            return None
    return kept, name
