"""The components after each stage; those after Python functions are learned from examples.

Learning consumes nothing: files are read again, and the next iteration continues with the same
iterator, from its first example.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import reduce
from itertools import islice
from typing import Any, Final, NamedTuple

from headrace.pipeline.describe import stages
from headrace.pipeline.describe.source import InferredSource
from headrace.pipeline.describe.specs import (
    Known,
    Specs,
    after,
    batch_depth,
    gives_anything,
    static_specs,
    zipped,
)
from headrace.pipeline.describe.stages import Stage
from headrace.pipeline.describe.types import Spec
from headrace.pipeline.plan.column_conversion import check_components
from headrace.pipeline.plan.functions.function_state import initial, unchanged
from headrace.pipeline.plan.functions.python_functions import noted
from headrace.pipeline.plan.functions.python_values import learned, spec_of
from headrace.pipeline.plan.opened_iterators import name_of
from headrace.pipeline.plan.planned_functions import first_called_with
from headrace.pipeline.run.batches import Batches
from headrace.pipeline.run.threads.watchdog import named_if_stuck

__all__ = ["chain_specs"]

# The largest number of examples to learn from.
_MOST_TRIED: Final = 1000
# Options that also apply to learning.
_OPTIONS: Final = (
    *("memory_bytes", "cache_directory", "cache_bytes", "stuck_after_s"),
    *("index", "index_directory"),
)


class _How(NamedTuple):
    """The options of the pipeline, and whether an iteration follows; see `chain_specs`."""

    options: Mapping[str, Any]
    is_start: bool


def chain_specs(
    chain: Sequence[Stage],
    before: Known | None = None,
    is_covered: bool = False,
    options: Mapping[str, Any] | None = None,
    is_start: bool = False,
) -> Known:
    """Returns the components after each stage.

    Args:
        chain: The stages.
        before: The known components after all stages but the last.
        is_covered: Whether a later `skip_errors` handles failures: then the components are learned
            from the first example that does not fail.
        options: The limits of the pipeline's resources.
        is_start: Whether an iteration follows: then its worker processes start.

    Raises:
        OpError: If the first example cannot be read where that is needed.
    """
    how = _How(options or {}, is_start)
    skippers = [n for n, stage in enumerate(chain) if isinstance(stage, stages.SkipErrors)]
    covered = len(chain) if is_covered else max(skippers, default=0)
    if before is None:
        parts = stages.parts_of(chain[0])
        found: list[Specs] = []
        known = [chain_specs(part, None, covered > 0, options, is_start) for part in parts]
        empty_at, first = None, []
    else:
        found, known, empty_at = list(before.specs), before.parts, before.empty_at
        first = list(before.first)
    for index, stage in enumerate(chain[len(found) :], len(found)):
        specs = static_specs(chain[: index + 1]) if empty_at is None else {}
        if specs is None:
            specs = _next(
                chain[: index + 1],
                stage,
                Known(found, known, first=first),
                index < covered,
                how,
            )
        if specs is None:
            specs, empty_at = {}, index
        found.append(specs)
    return Known(found, known, empty_at, first)


def _next(
    chain: Sequence[Stage],
    stage: Stage,
    known: Known,
    is_covered: bool,
    how: "_How",
) -> Specs | None:
    """Returns the components after the last stage; None if there is no example to learn from."""
    if len(chain) > 1 and not gives_anything(stage):
        return after(stage, known.specs[-1])
    if known.parts and len(chain) == 1:
        parts = [part.specs[-1] for part in known.parts if part.empty_at is None]
        if not parts or (isinstance(stage, stages.Zip) and len(parts) < len(known.parts)):
            return None
        return zipped(parts) if isinstance(stage, stages.Zip) else _common(stage.name, parts)
    seconds = how.options.get("stuck_after_s")
    match stage:
        case InferredSource():
            with named_if_stuck(f"{stage.name}: the look at its components", seconds):
                return stage.inferred()
        case stages.Iterable_():
            name = f"iterable({name_of(stage.factory)})"
            start = "the start of its worker processes and " if stage.num_processes else ""
            text = f"{name}: {start}its first example, which says the components,"
            with named_if_stuck(text, seconds):
                return learned("iterable", islice(_looked_at(stage), _MOST_TRIED))
        case stages.Map() | stages.FlatMap():
            made = _few(chain[:-1], stage, known, is_covered, how)
            is_batched = batch_depth(chain[:-1]) > 0
            return learned(stage.name, islice(made, _MOST_TRIED), is_batched)
    raise AssertionError(f"the components of {stage!r} are known")


def _looked_at(source: stages.Iterable_) -> Iterator[Mapping[str, Any]]:
    """Yields the examples of an iterator, which are kept for the next iteration."""
    where, number = f"iterable({name_of(source.factory)})", 0
    try:
        for number, example in enumerate(source.openings.look(source.factory)):
            for name, value in check_components("iterable", example).items():
                spec_of("iterable", name, value)
            yield example
            number += 1  # noqa: PLW2901 (an error now is of the next one)
    except Exception as error:
        found = noted(error, where, f"item {number}, counted from 0")
        if found is error:
            raise
        raise found from error


def _common(where: str, parts: Sequence[Specs]) -> Specs:
    types = [{name: spec.dtype for name, spec in part.items()} for part in parts]
    for other in types[1:]:
        if list(other.items()) != list(types[0].items()):
            raise ValueError(
                f"{where}: the components are {types[0]} and {other}, expected the same."
            )
    return {
        name: reduce(Spec.merged, (part[name] for part in parts[1:]), spec)
        for name, spec in parts[0].items()
    }


def _few(
    chain: Sequence[Stage],
    stage: stages.Map | stages.FlatMap,
    known: Known,
    is_covered: bool,
    how: "_How",
) -> Iterator[Mapping[str, Any]]:
    """Yields a function's results for the first example, and for more if types are still open."""
    num_first = 0
    for made in _made(chain, stage, known, is_covered, 1, how):
        num_first += 1
        yield made
    if num_first:
        yield from islice(_made(chain, stage, known, is_covered, _MOST_TRIED, how), num_first, None)


def _made(
    chain: Sequence[Stage],
    stage: stages.Map | stages.FlatMap,
    known: Known,
    is_covered: bool,
    most: int,
    how: "_How",
) -> Iterator[Mapping[str, Any]]:
    """Yields the results of a function for this many examples.

    Skips examples at which it fails, if `is_covered`.
    """
    made: deque[Mapping[str, Any]] = deque()
    whole = [*chain, stages.Learn(stage, made, how.is_start)]
    if is_covered:
        whole.append(stages.SkipErrors(_MOST_TRIED))
    whole.append(stages.Take(most))
    # Learning leaves examples as they come to the first stage of the same call.
    before = known.specs[first_called_with(whole[: len(chain) + 1]) - 1]
    specs = [*known.specs, *[before] * (len(whole) - len(known.specs))]
    options = how.options
    chosen = {name: options[name] for name in _OPTIONS if name in options} | {"num_threads": 1}
    with ExitStack() as stack:
        for function in _functions(whole):
            initial(function)
            stack.enter_context(unchanged(function))
        batches = Batches(
            tuple(whole), chosen, Known(specs, known.parts, first=known.first), 0, is_learning=True
        )
        for _ in stack.enter_context(batches):
            while made:
                yield made.popleft()


def _functions(chain: Sequence[Stage]) -> Iterator[object]:
    for part in stages.parts_of(chain[0]):
        yield from _functions(part)
    for stage in chain:
        found = stage.stage if isinstance(stage, stages.Learn) else stage
        if isinstance(found, (stages.Map, stages.Filter, stages.FlatMap)):
            yield found.function
