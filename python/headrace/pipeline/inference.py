"""The components after each stage, Python functions included: those are called once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any, Final

from headrace.errors import OutOfRangeError
from headrace.pipeline import stages
from headrace.pipeline.batches import Batches
from headrace.pipeline.columns import check_components, spec_of
from headrace.pipeline.draws import Draws
from headrace.pipeline.keeping import unchanged
from headrace.pipeline.source import InferredSource
from headrace.pipeline.specs import Known, Specs, after, gives_anything, static_specs, zipped
from headrace.pipeline.stages import Stage

__all__ = ["chain_specs"]

# Where failures are left out, so many examples are tried.
_MOST_TRIED: Final = 1000


def chain_specs(
    chain: Sequence[Stage], before: Known | None = None, is_covered: bool = False
) -> Known:
    """Returns the components after each stage.

    Args:
        chain: The stages.
        before: What is known of all stages but the last.
        is_covered: Whether what fails is left out by a stage behind all of these: then the
            components are learned from the first example that does not fail.

    Raises:
        OpError: If the first example cannot be read where that is needed.
        OutOfRangeError: If there is none.
    """
    skippers = [n for n, stage in enumerate(chain) if isinstance(stage, stages.SkipErrors)]
    covered = len(chain) if is_covered else max(skippers, default=0)
    if before is None:
        parts = stages.parts_of(chain[0])
        known = Known([], [chain_specs(part, is_covered=covered > 0) for part in parts])
    else:
        known = Known(list(before.specs), before.parts)
    for index, stage in enumerate(chain[len(known.specs) :], len(known.specs)):
        specs = static_specs(chain[: index + 1])
        if specs is None:
            specs = _next(chain[: index + 1], stage, known, index < covered)
        known.specs.append(specs)
    return known


def _next(chain: Sequence[Stage], stage: Stage, known: Known, is_covered: bool) -> Specs:
    if len(chain) > 1 and not gives_anything(stage):
        return after(stage, known.specs[-1])
    if known.parts and len(chain) == 1:
        parts = [part.specs[-1] for part in known.parts]
        return zipped(parts) if isinstance(stage, stages.Zip) else _common(stage.name, parts)
    match stage:
        case InferredSource():
            return stage.inferred()
        case stages.Iterable_(factory=factory):
            example = next(iter(islice(factory(), 1)), None)
            return _specs("iterable", example)
        case stages.Map(function=function, seed=seed):
            draws = () if seed is None else (Draws(seed).at(0, 0, 0, 0),)
            with unchanged(function):
                return _learned(
                    lambda example: _specs("map", function(example, *draws)),
                    _some(chain[:-1], known, is_covered, most=1),
                    is_covered,
                    chain[0].name,
                )
        case stages.FlatMap(function=function):
            with unchanged(function):
                return _learned(
                    lambda example: _made(function(example)),
                    _some(chain[:-1], known, is_covered),
                    is_covered,
                    chain[0].name,
                )
    raise AssertionError(f"the components of {stage!r} are known")


def _common(where: str, parts: Sequence[Specs]) -> Specs:
    types = [{name: spec.dtype for name, spec in part.items()} for part in parts]
    for other in types[1:]:
        if list(other.items()) != list(types[0].items()):
            raise ValueError(
                f"{where}: the components are {types[0]} and {other}, expected the same."
            )
    return parts[0]


def _learned(
    specs_of: Callable[[dict[str, Any]], Specs | None],
    examples: Iterable[dict[str, Any]],
    is_covered: bool,
    source: str,
) -> Specs:
    """Returns the components that the first of some examples becomes; None are asked of the next.

    So are those that fail, if that `is_covered`.
    """
    failure: Exception | None = None
    for example in examples:
        try:
            specs = specs_of(example)
        except Exception as error:
            if not is_covered:
                raise
            failure = error
            continue
        if specs is not None:
            return specs
    if failure is not None:
        raise failure
    raise OutOfRangeError(
        None,
        None,
        f"{source}: there is no example, from which the components behind a Python function are "
        "learned. Check the files.",
    )


def _some(
    chain: Sequence[Stage], known: Known, is_covered: bool, most: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yields examples; if that `is_covered`, `_MOST_TRIED` at most, without those that fail."""
    chain, specs = list(chain), list(known.specs)
    if is_covered:
        chain.append(stages.SkipErrors(_MOST_TRIED))
        most = _MOST_TRIED
    if most is not None:
        chain.append(stages.Take(most))
    specs.extend([specs[-1]] * (len(chain) - len(specs)))
    options = {"num_threads": 1}
    with ExitStack() as stack:
        for function in _functions(chain):
            stack.enter_context(unchanged(function))
        batches = Batches(tuple(chain), options, Known(specs, known.parts), 0)
        yield from stack.enter_context(batches)


def _functions(chain: Sequence[Stage]) -> Iterator[object]:
    for part in stages.parts_of(chain[0]):
        yield from _functions(part)
    for stage in chain:
        if isinstance(stage, (stages.Map, stages.Filter, stages.FlatMap)):
            yield stage.function


def _made(made: Iterable[Any]) -> Specs | None:
    example = next(iter(made), None)
    return None if example is None else _specs("flat_map", example)


def _specs(where: str, example: Any) -> Specs:
    if example is None:
        raise OutOfRangeError(
            None, None, f"{where}: there is no example, from which the components are learned."
        )
    components = check_components(where, example)
    return {name: spec_of(where, name, value) for name, value in components.items()}
