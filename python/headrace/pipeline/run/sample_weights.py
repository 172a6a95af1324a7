"""Reads the weights that `sample` draws with, in one pass over the examples before it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from headrace.pipeline.functions.function_state import initial, unchanged
from headrace.pipeline.run.file_digests import digests_of
from headrace.pipeline.stages.batch import Batch
from headrace.pipeline.stages.components import ChainSpecs, source_of, steps
from headrace.pipeline.stages.function_step import callers
from headrace.pipeline.stages.rename import Rename
from headrace.pipeline.stages.sample import (
    DrawingWeights,
    Sample,
    check_sum,
    invalid_weight,
    samples_of,
)
from headrace.pipeline.stages.select import Select
from headrace.pipeline.stages.shard import Shard
from headrace.pipeline.stages.skip import Skip
from headrace.pipeline.stages.split import RecordPart, are_kept
from headrace.pipeline.stages.stage import Effect, Stage, Stages, Step
from headrace.pipeline.stages.take import Take
from headrace.pipeline.values.types import Specs

__all__ = ["forget_changed_weights", "read_weights"]

# How many examples to read at a time.
_SIZE: Final = 4096
# Options that also apply while weights are read.
_OPTIONS: Final = (
    *("num_threads", "memory_bytes", "cache_directory", "cache_bytes", "warn_after_s"),
    *("index", "index_directory"),
)

# Starts an iteration: the class `Batches`, which imports this module.
Start: TypeAlias = Callable[..., Any]


def read_weights(
    chain: Sequence[Stage], chain_specs: ChainSpecs, options: Mapping[str, Any], start: Start
) -> None:
    """Reads the weights of all `sample` stages, unless an earlier iteration has read them.

    Args:
        chain: The stages, whose sources refer to specific commits.
        chain_specs: The components after each stage.
        options: The pipeline's options.
        start: The class `Batches`.

    Raises:
        ValueError: If a weight is invalid. The message names its record.
    """
    for part, specs in zip(chain[0].parts, chain_specs.parts, strict=True):
        read_weights(part, specs, options, start)
    for index, sample in samples_of(chain):
        empty = chain_specs.first_empty_stage
        if sample.read.known is None and (empty is None or empty >= index):
            reading = _Reading(chain, index, chain_specs, options, start)
            sample.read.known = DrawingWeights(reading.weights())


def forget_changed_weights(chain: Sequence[Stage], files: Sequence[Sequence[bytes]]) -> bool:
    """Discards weights that were read from files which have changed since then.

    Args:
        chain: The stages.
        files: The files of all sources, as the iteration reads them.

    Returns:
        Whether weights have to be read again.
    """
    stages = list(_all_samples(chain))
    if not stages:
        return False
    identity = [digests_of(paths) for paths in files]
    is_changed = False
    for sample in stages:
        known = sample.read.known
        if known is not None and known.files not in (None, identity):
            sample.read.known, is_changed = None, True
        elif known is not None:
            known.files = identity
    return is_changed


def _all_samples(chain: Sequence[Stage]) -> Iterator[Sample]:
    for part in chain[0].parts:
        yield from _all_samples(part)
    yield from (sample for _, sample in samples_of(chain))


class _Reading:
    """One pass over the examples before a `sample`."""

    def __init__(
        self,
        chain: Sequence[Stage],
        index: int,
        chain_specs: ChainSpecs,
        options: Mapping[str, Any],
        start: Start,
    ) -> None:
        """Prepares the pass; see `read_weights`.

        Args:
            chain: The stages.
            index: The index of the `sample`.
            chain_specs: The components after each stage.
            options: The pipeline's options.
            start: The class `Batches`.
        """
        self._sample: Final = cast("Sample", chain[index])
        self._before: Final = tuple(chain[:index])
        self._name: Final = cast("str", self._sample.component)
        self._chain_specs: Final = chain_specs
        self._options: Final = {name: options[name] for name in _OPTIONS if name in options}
        self._start: Final = start

    def weights(self) -> npt.NDArray[np.float64]:
        """Returns the weight of each example."""
        known = _known_column(self._before, self._name)
        columns = self._columns() if known is None else iter([known])
        if self._sample.by is not None:
            return _even_weights(columns)
        read = [np.asarray(column, np.float64) for column in columns]
        weights = np.concatenate(read) if read else np.empty(0, np.float64)
        invalid = invalid_weight(weights)
        if invalid is not None:
            raise ValueError(
                f"sample: {self._record(invalid, known is None)} has {weights[invalid]} in "
                f"{self._name!r}, expected a weight that is a finite number of at least 0. Fix the "
                "data, or filter it when you write it."
            )
        check_sum(f"the {len(weights)} weights in {self._name!r}", weights)
        return weights

    def _columns(self) -> Iterator[npt.NDArray[Any]]:
        """Yields the component's values, for many examples at a time."""
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
        """Returns stages that read as little as possible, their components, and the name there."""
        specs = list(self._chain_specs.specs[: len(self._before)])
        moved = _through_names(self._before, self._name)
        source = None if moved is None else source_of(self._before).with_columns([moved[1]])
        if moved is None or source is None:
            return self._before, specs, self._name
        kept, name = moved
        return (source, *kept), [{name: specs[0][name]}] * (1 + len(kept)), name

    def _record(self, number: int, is_read: bool) -> str:
        """Returns the words for the record of an example."""
        if is_read:
            specs = list(self._chain_specs.specs[: len(self._before)])
            last = {name: spec.batched(None) for name, spec in specs[-1].items()}
            listed = tuple(name for name, spec in specs[-1].items() if spec.is_open)
            one = (Skip(number), Take(1), Batch(1, "keep", lists=listed))
            of_one = [*specs, specs[-1], specs[-1], last]
            with self._batches((*self._before, *one), of_one, keeps_origins=True) as read:
                read.next_columns()
                origins = read.origins()
            if origins and origins[0][0] is not None:
                return f"{origins[0][0]}: record {origins[0][1]}"
        return f"example {number}, counted from 0,"

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
        if step.effect in (Effect.SPLITS, Effect.DIVIDES):
            kept.insert(0, step)
        elif isinstance(step, Rename):
            name = {new: old for old, new in step.names}.get(name, name)
        elif not isinstance(step, Select):
            return None
    return kept, name


def _even_weights(columns: Iterator[npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """Returns weights with which all classes are equally likely, given the classes."""
    numbers: dict[Any, int] = {}
    read = []
    for column in columns:
        labels, inverse = np.unique(column, return_inverse=True)
        of_labels = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
        read.append(np.asarray(of_labels, np.int64)[inverse.reshape(-1)])
    if not read:
        return np.empty(0, np.float64)
    classes = np.concatenate(read)
    weights: npt.NDArray[np.float64] = 1 / np.bincount(classes).astype(np.float64)
    return weights[classes]
