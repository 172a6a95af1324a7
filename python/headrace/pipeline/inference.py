"""The components after each stage, Python functions included: those are called once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import reduce
from itertools import islice
from typing import Any, Final

from headrace.errors import OutOfRangeError
from headrace.pipeline import stages
from headrace.pipeline.batches import Batches
from headrace.pipeline.columns import check_components
from headrace.pipeline.draws import Draws
from headrace.pipeline.elements import Spec
from headrace.pipeline.keeping import unchanged
from headrace.pipeline.source import InferredSource
from headrace.pipeline.specs import Known, Specs, after, gives_anything, static_specs, zipped
from headrace.pipeline.stages import Stage
from headrace.pipeline.values import learned, spec_of

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
            return _learned("iterable", lambda _: factory(), [None], False, "iterable")
        case stages.Map(function=function, seed=seed):
            draws = () if seed is None else (Draws(seed).at(0, 0, 0, 0),)
            with unchanged(function):
                return _learned(
                    "map",
                    lambda example: [function(example, *draws)],
                    _few(chain[:-1], known, is_covered),
                    is_covered,
                    chain[0].name,
                )
        case stages.FlatMap(function=function, seed=seed):
            draws = () if seed is None else (Draws(seed).at(0, 0, 0, 0),)
            with unchanged(function):
                return _learned(
                    "flat_map",
                    lambda example: function(example, *draws),
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
    return {
        name: reduce(Spec.merged, (part[name] for part in parts[1:]), spec)
        for name, spec in parts[0].items()
    }


def _learned(
    where: str,
    make: Callable[[Any], Iterable[Any]],
    examples: Iterable[Any],
    is_covered: bool,
    source: str,
) -> Specs:
    """Returns the components of the first example that is made of some examples.

    Those that fail are passed over, if that `is_covered`.
    """
    failure: Exception | None = None

    def made() -> Iterator[Mapping[str, Any]]:
        nonlocal failure
        for example in examples:
            try:
                for row in make(example):
                    components = check_components(where, row)
                    for name, value in components.items():
                        spec_of(where, name, value)
                    yield components
            except Exception as error:
                if not is_covered:
                    raise
                failure = error

    specs = learned(where, islice(made(), _MOST_TRIED))
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


def _few(chain: Sequence[Stage], known: Known, is_covered: bool) -> Iterator[dict[str, Any]]:
    """Yields one example, and more if that does not say all."""
    if not is_covered:
        yield from _some(chain, known, is_covered, most=1)
    yield from islice(_some(chain, known, is_covered), 0 if is_covered else 1, None)


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
