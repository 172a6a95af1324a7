"""Determines the components after each stage, by running Python functions if necessary.

Learning does not consume any examples. Files are read again, and the next iteration continues with
the same iterator, from its first example.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain as joined
from itertools import islice
from math import ceil, prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from headrace.pipeline.functions.function_state import initial, unchanged
from headrace.pipeline.functions.iterators import name_of
from headrace.pipeline.functions.python_functions import noted
from headrace.pipeline.paths.index_files import index_files
from headrace.pipeline.plan.function_planning import first_called_with
from headrace.pipeline.plan.planner import plan
from headrace.pipeline.plan.revisions import pinned, revisions_of
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.run.episodes import find_episodes
from headrace.pipeline.run.limits import cache_of
from headrace.pipeline.run.sample_weights import read_weights
from headrace.pipeline.run.threads.watchdog import named_if_stuck
from headrace.pipeline.sources.combination import Combination
from headrace.pipeline.sources.file_source import InferredSource
from headrace.pipeline.sources.iterable import Iterable_
from headrace.pipeline.stages.cache import Cache
from headrace.pipeline.stages.components import (
    ChainSpecs,
    batch_depth,
    source_of,
    static_specs,
    steps,
)
from headrace.pipeline.stages.function_step import FunctionStep, callers
from headrace.pipeline.stages.learn import Learn
from headrace.pipeline.stages.skip_errors import SkipErrors
from headrace.pipeline.stages.source import Origin, Source
from headrace.pipeline.stages.stage import Effect, Stage, Step
from headrace.pipeline.stages.take import Take
from headrace.pipeline.values.column_conversion import check_components
from headrace.pipeline.values.python_values import learned, spec_of
from headrace.pipeline.values.types import Specs

if TYPE_CHECKING:
    from headrace.pipeline.plan.cache_keys.spec_file import SpecFile
    from headrace.pipeline.sources.journal import JournalRows

__all__ = ["InferenceContext", "infer_specs"]

# The maximum number of examples to learn from.
_MOST_TRIED: Final = 1000
# The maximum number of a part's epochs to learn from.
_MOST_EPOCHS: Final = 10
# The maximum number of empty iterators to try.
_MOST_EMPTY: Final = 100
# Options that also apply while the spec is being inferred.
_OPTIONS: Final = (
    *("memory_bytes", "cache_directory", "cache_bytes", "warn_after_s"),
    *("index", "index_directory"),
)


class InferenceContext(NamedTuple):
    """The iteration for which components are learned.

    Attributes:
        options: The pipeline's options.
        is_start: Whether the iteration starts next, so its worker processes are started.
        epoch: The epoch number.
        is_part: Whether the stages belong to a combined pipeline.
    """

    options: Mapping[str, Any]
    is_start: bool = False
    epoch: int = 0
    is_part: bool = False


def infer_specs(
    chain: Sequence[Stage],
    how: InferenceContext,
    before: ChainSpecs | None = None,
    behind: Sequence[Step] = (),
) -> ChainSpecs:
    """Returns the components after each stage.

    They are learned from the first example of the epoch. If `skip_errors` follows, that is the
    first example that does not fail. If `epochs` follows a function and the first epochs are empty,
    later epochs are used.

    Args:
        chain: The stages.
        how: The iteration for which components are learned.
        before: The known components after all stages except the last.
        behind: The stages that follow.

    Raises:
        OpError: If the first example is needed and cannot be read.
    """
    if before is None:
        parts = chain[0].parts
        specs_so_far: list[Specs] = []
        rest, of_part = (*steps(chain), *behind), how._replace(is_part=True)
        parts_specs = [infer_specs(part, of_part, None, rest) for part in parts]
        first_empty_stage, first = None, []
    else:
        specs_so_far, parts_specs, first_empty_stage = (
            list(before.specs),
            before.parts,
            before.first_empty_stage,
        )
        first = list(before.first)
    for index in range(len(specs_so_far), len(chain)):
        specs = static_specs(chain[: index + 1]) if first_empty_stage is None else {}
        if specs is None:
            specs = _next(
                chain[: index + 1],
                ChainSpecs(specs_so_far, parts_specs, first=first),
                (*steps(chain)[index:], *behind),
                how,
            )
        if specs is None:
            specs, first_empty_stage = {}, index
        specs_so_far.append(specs)
    return ChainSpecs(specs_so_far, parts_specs, first_empty_stage, first)


def _next(
    chain: Sequence[Stage],
    chain_specs: ChainSpecs,
    behind: Sequence[Step],
    how: InferenceContext,
) -> Specs | None:
    """Returns the components after the last stage, or None if no example provides them."""
    if len(chain) == 1:
        return _of_source(source_of(chain), chain_specs, behind, how)
    specs = steps(chain)[-1].specs_after(chain_specs.specs[-1])
    if specs is not None:
        return specs
    function = cast("FunctionStep", chain[-1])
    kept = _kept_specs(chain, chain_specs, behind, how)
    specs = None if kept is None else kept.read()
    if specs is None:
        specs = _learned_from_results(chain[:-1], function, chain_specs, behind, how)
        if kept is not None and specs is not None:
            kept.write(specs)
    return specs


def _of_source(
    source: Source, chain_specs: ChainSpecs, behind: Sequence[Step], how: InferenceContext
) -> Specs | None:
    """Returns the components of a source that does not declare them, or None if it is empty."""
    seconds = how.options.get("warn_after_s")
    if source.origin is Origin.ITERATOR:
        iterable = cast("Iterable_", source)
        name = f"iterable({name_of(iterable.factory)})"
        start = "starting its worker processes and " if iterable.num_processes else ""
        text = f"{name}: {start}reading the first example, which determines the components,"
        with named_if_stuck(text, seconds):
            return _learned_from_passes(iterable, behind)
    if source.origin is Origin.PARTS:
        parts = [part.specs[-1] for part in chain_specs.parts if part.first_empty_stage is None]
        return cast("Combination", source).combined_of(parts)
    if source.origin is Origin.JOURNAL:
        journal = cast("JournalRows", source)
        text = f"journal({journal.directory}): waiting for the first rows"
        with named_if_stuck(text, seconds):
            return journal.inferred()
    with named_if_stuck(f"{source.name}: inferring the components", seconds):
        return cast("InferredSource", source).inferred()


def _kept_specs(
    chain: Sequence[Stage], chain_specs: ChainSpecs, behind: Sequence[Step], how: InferenceContext
) -> "SpecFile | None":
    """Returns the components stored with the next disk cache, or None without such a cache."""
    cache = next((cast("Cache", step) for step in behind if step.keeps_on_disk), None)
    if cache is None:
        return None
    # This is loaded only if there is a disk cache.
    from headrace.pipeline.plan.cache_keys.spec_file import SpecFile  # noqa: PLC0415

    before = pinned(chain[:-1], revisions_of(chain))
    find_episodes(before, chain_specs, how.options, Batches)
    read_weights(before, chain_specs, how.options, Batches)
    indexes = index_files(how.options)
    planned = plan(before, chain_specs, cache_of(how.options), is_learning=True, indexes=indexes)
    return SpecFile(chain, planned.contents, joined.from_iterable(planned.files), cache)


def _learned_from_results(
    chain: Sequence[Stage],
    stage: FunctionStep,
    chain_specs: ChainSpecs,
    behind: Sequence[Step],
    how: InferenceContext,
) -> Specs | None:
    """Returns the components of a function's results."""
    is_batched = batch_depth(chain) > 0
    # A part draws different numbers than the same stages alone, so an epoch that is empty here may
    # not be empty there.
    for epoch in range(how.epoch, how.epoch + (_MOST_EPOCHS if how.is_part else 1)):
        results = _few(chain, stage, chain_specs, behind, how._replace(epoch=epoch))
        specs = learned(stage.name, islice(results, _MOST_TRIED), is_batched)
        if specs is not None:
            return specs
    return None


def _learned_from_passes(source: Iterable_, behind: Sequence[Step]) -> Specs | None:
    """Returns the components of the first iterator that yields an example."""
    lengths = (step.length_after(1) for step in behind if step.effect is Effect.REPEATS)
    num_epochs = prod(max(length or 1, 1) for length in lengths)
    for number in range(int(min(num_epochs, _MOST_EMPTY))):
        specs = learned("iterable", islice(_looked_at(source, number), _MOST_TRIED))
        if specs is not None:
            return specs
    return None


def _looked_at(source: Iterable_, number_of_pass: int) -> Iterator[Mapping[str, Any]]:
    """Yields an iterator's examples, and keeps them for the next iteration."""
    where, number = f"iterable({name_of(source.factory)})", 0
    try:
        looked_at = source.openings.look(source.factory, number=number_of_pass)
        for number, example in enumerate(looked_at):
            for name, value in check_components("iterable", example).items():
                spec_of("iterable", name, value)
            yield example
            number += 1  # noqa: PLW2901 (an error now is of the next one)
    except Exception as error:
        error_with_notes = noted(error, where, f"item {number}, counted from 0")
        if error_with_notes is error:
            raise
        raise error_with_notes from error


def _few(
    chain: Sequence[Stage],
    stage: FunctionStep,
    chain_specs: ChainSpecs,
    behind: Sequence[Step],
    how: InferenceContext,
) -> Iterator[Mapping[str, Any]]:
    """Yields a function's results for the first example, and for more if types are unknown."""
    num_first = 0
    for example in _learning_results(chain, stage, chain_specs, behind, 1, how):
        num_first += 1
        yield example
    if num_first:
        more = _learning_results(chain, stage, chain_specs, behind, _MOST_TRIED, how)
        yield from islice(more, num_first, None)


def _learning_results(
    chain: Sequence[Stage],
    stage: FunctionStep,
    chain_specs: ChainSpecs,
    behind: Sequence[Step],
    most: int,
    how: InferenceContext,
) -> Iterator[Mapping[str, Any]]:
    """Yields a function's results for this many examples.

    An example that fails is skipped if a later `skip_errors` would skip it.
    """
    results: deque[Mapping[str, Any]] = deque()
    learning_chain = [*chain, Learn(stage, results, how.is_start)]
    budgets = [cast("SkipErrors", later).budget for later in behind if later.judges_errors]
    if budgets:
        learning_chain.append(SkipErrors(max(_MOST_TRIED, *map(ceil, budgets))))
    # Even with zero epochs, the components are learned from an example.
    learning_chain.extend(
        later for later in behind if later.effect is Effect.REPEATS and later.length_after(1) != 0
    )
    learning_chain.append(Take(most))
    # While components are learned, examples stay as they were before the first stage of the call.
    before = chain_specs.specs[first_called_with(learning_chain[: len(chain) + 1]) - 1]
    specs = [*chain_specs.specs, *[before] * (len(learning_chain) - len(chain_specs.specs))]
    options = how.options
    chosen = {name: options[name] for name in _OPTIONS if name in options} | {"num_threads": 1}
    with ExitStack() as stack:
        for caller in callers(learning_chain):
            initial(caller.called_function)
            stack.enter_context(unchanged(caller.called_function))
        of_stages = ChainSpecs(specs, chain_specs.parts, first=chain_specs.first)
        batches = Batches(tuple(learning_chain), chosen, of_stages, how.epoch, is_learning=True)
        for _ in stack.enter_context(batches):
            while results:
                yield results.popleft()
