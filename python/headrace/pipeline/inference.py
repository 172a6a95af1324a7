"""The components after each stage, Python functions included: those are called once."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Any

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


def chain_specs(chain: Sequence[Stage], before: Known | None = None) -> Known:
    """Returns the components after each stage.

    Args:
        chain: The stages.
        before: What is known of all stages but the last.

    Raises:
        OpError: If the first example cannot be read where that is needed.
        OutOfRangeError: If there is none.
    """
    if before is None:
        known = Known([], [chain_specs(part) for part in stages.parts_of(chain[0])])
    else:
        known = Known(list(before.specs), before.parts)
    for index, stage in enumerate(chain[len(known.specs) :], len(known.specs)):
        specs = static_specs(chain[: index + 1])
        if specs is None:
            specs = _next(chain[: index + 1], stage, known)
        known.specs.append(specs)
    return known


def _next(chain: Sequence[Stage], stage: Stage, known: Known) -> Specs:
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
            example = _first(chain[:-1], known)
            draws = () if seed is None else (Draws(seed).at(0, 0, 0, 0),)
            with unchanged(function):
                return _specs("map", function(example, *draws))
        case stages.FlatMap(function=function):
            found = (made for given in _some(chain[:-1], known) for made in function(given))
            with unchanged(function):
                return _specs("flat_map", next(iter(found), None))
    raise AssertionError(f"the components of {stage!r} are known")


def _common(where: str, parts: Sequence[Specs]) -> Specs:
    types = [{name: spec.dtype for name, spec in part.items()} for part in parts]
    for other in types[1:]:
        if list(other.items()) != list(types[0].items()):
            raise ValueError(
                f"{where}: the components are {types[0]} and {other}, expected the same."
            )
    return parts[0]


def _first(chain: Sequence[Stage], known: Known) -> dict[str, Any]:
    one = Known([*known.specs, known.specs[-1]], known.parts)
    for example in _some((*chain, stages.Take(1)), one):
        return example
    raise OutOfRangeError(
        None,
        None,
        f"{chain[0].name}: there is no example, from which the components behind a Python function "
        "are learned. Check the files.",
    )


def _some(chain: Sequence[Stage], known: Known) -> Iterator[dict[str, Any]]:
    options = {"num_threads": 1}
    with ExitStack() as stack:
        for function in _functions(chain):
            stack.enter_context(unchanged(function))
        yield from stack.enter_context(Batches(tuple(chain), options, known, 0))


def _functions(chain: Sequence[Stage]) -> Iterator[object]:
    for part in stages.parts_of(chain[0]):
        yield from _functions(part)
    for stage in chain:
        if isinstance(stage, (stages.Map, stages.Filter, stages.FlatMap)):
            yield stage.function


def _specs(where: str, example: Any) -> Specs:
    if example is None:
        raise OutOfRangeError(
            None, None, f"{where}: there is no example, from which the components are learned."
        )
    components = check_components(where, example)
    return {name: spec_of(where, name, value) for name, value in components.items()}
