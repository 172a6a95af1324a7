"""The components of packed rows: lists, carried-along components, and costs."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias, get_args

from headrace.pipeline.stages.arguments import real_number
from headrace.pipeline.values.types import Spec, Specs, element_type

__all__ = [
    "Cost",
    "Costs",
    "PlainCost",
    "check_components",
    "check_cost",
    "checked_costs",
    "columns_along",
    "cost_terms",
    "list_columns",
    "packed_spec",
    "specs_along",
]

# How a component determines a cost: by its length, its squared length, or the sum of its values.
CostMeasure: TypeAlias = Literal["length", "square", "sum"]
# The cost of each element, a measure, or the weights of several measures.
Cost: TypeAlias = float | CostMeasure | Mapping[CostMeasure, float]
# The same as plain data, in which a dict is a tuple of pairs.
PlainCost: TypeAlias = float | CostMeasure | tuple[tuple[CostMeasure, float], ...]
# The components that determine the cost of a row, with their costs.
Costs: TypeAlias = tuple[tuple[str, PlainCost], ...]

_MEASURES: Final = get_args(CostMeasure)


def checked_costs(
    cost: Mapping[str, Cost] | None, balance: int | None, names: Sequence[str]
) -> Costs:
    """Returns the costs of components as plain data.

    Args:
        cost: The costs.
        balance: The number of ranks that get rows of equal cost, or None.
        names: The components that may have a cost.

    Raises:
        TypeError: If a cost is neither a number nor a measure nor a dict.
        ValueError: If a component or a cost is invalid, or `cost` is set without `balance`.
    """
    if cost is None:
        return ()
    if not isinstance(cost, Mapping) or not cost:
        raise TypeError(
            f"pack: cost is {cost!r}, expected a dict from components to costs, such as "
            f"{{{names[0]!r}: 'square'}}."
        )
    if balance is None:
        raise ValueError(
            "pack: cost is set, but balance is not, so no row would use it. Set balance to the "
            "number of ranks, or remove cost."
        )
    for name in cost:
        if name not in names:
            raise ValueError(
                f"pack: cost contains {name!r}, expected only components in names or along: "
                f"{', '.join(map(repr, names))}."
            )
    # A state doesn't depend on the order of the keys.
    return tuple((name, _checked_cost(name, one)) for name, one in sorted(cost.items()))


def _checked_cost(name: str, cost: Cost) -> PlainCost:
    if isinstance(cost, str) and cost in _MEASURES:
        return cost
    if not isinstance(cost, Mapping):
        return _checked_weight(name, cost)
    if not cost or any(measure not in _MEASURES for measure in cost):
        raise ValueError(
            f"pack: cost has {cost!r} for {name!r}, expected a dict from 'length', 'square' or "
            "'sum' to weights, such as {'length': 1000.0, 'square': 0.5}."
        )
    weights = sorted(cost.items())
    return tuple((measure, _checked_weight(name, weight)) for measure, weight in weights)


def _checked_weight(name: str, weight: object) -> float:
    number = real_number(weight)
    if number is None:
        raise TypeError(
            f"pack: cost has {weight!r} for {name!r}, expected a number (the cost of each "
            "element), 'square' (the squared length), 'sum' (the sum of the values), or a dict "
            "with their weights, such as {'square': 0.5}."
        )
    if not 0 <= number < math.inf:
        raise ValueError(
            f"pack: cost has {weight!r} for {name!r}, expected a finite number of at least 0."
        )
    return number


def check_components(
    names: Sequence[str],
    along: Sequence[str],
    specs: Specs,
    added: Sequence[str],
    tree: Sequence[str] = (),
) -> None:
    """Raises ValueError if a component can be neither packed nor carried along.

    Args:
        names: The components to pack.
        along: The components to carry along.
        specs: The components of an example.
        added: The components that the stage adds.
        tree: The component that identifies a group, if there is one.
    """
    joined = [name for name in along if specs[name].is_list]
    kept = dict.fromkeys((*names, *tree, *along))
    new = (*added, *(f"{name}.{part}" for name in joined for part in ("values", "offsets")))
    for name, spec in specs.items():
        if name in new:
            raise ValueError(f"pack: there is already a component {name!r}. Rename it.")
        if name in along or name in tree:
            if spec.shape is None:
                raise ValueError(
                    f"pack: the component {name!r} is {spec}, but along needs a known number of "
                    "axes. Reshape it in map, or drop it with select."
                )
        elif name not in names:
            raise ValueError(
                f"pack: the component {name!r} is neither packed nor in along. Drop it with "
                f"select({', '.join(map(repr, kept))}), or add it to along."
            )
        elif spec.shape == () or isinstance(spec.dtype, type):
            raise ValueError(f"pack: the component {name!r} is {spec}, expected lists of numbers.")


def packed_spec(spec: Spec, length: int | None) -> Spec:
    """Returns the spec of lists that are joined end to end.

    Args:
        spec: The spec of a list.
        length: The length of a row, or None if it varies.
    """
    shape = (length, *(spec.shape or (None,))[1:])
    return Spec(spec.dtype, shape, shape == (None,))


def specs_along(name: str, spec: Spec) -> Specs:
    """Returns the components that replace one that is carried along."""
    if not spec.is_list:
        shape = (None, *(spec.shape or ()))
        return {name: Spec(spec.dtype, shape, shape == (None,))}
    values = spec if spec.is_nested else packed_spec(spec, None)
    offsets = Spec(element_type("pack", int), (None,), True)
    return {f"{name}.values": values, f"{name}.offsets": offsets}


def check_cost(cost: Costs, specs: Specs, along: Sequence[str]) -> None:
    """Raises ValueError if a component has no length or values that could determine a cost.

    Args:
        cost: The components, with their costs.
        specs: The components of an example.
        along: The components that are carried along.
    """
    for name, measure, _ in _terms(cost):
        spec = specs[name]
        if measure != "sum" and spec.shape == ():
            raise ValueError(
                f"pack: cost contains {name!r}, but that component is {spec}, which has no "
                "length. Use the name of a list, or 'sum' for the number itself."
            )
        is_number = not isinstance(spec.dtype, type) and spec.dtype.kind in "iuf"
        if measure == "sum" and (name not in along or spec.is_nested or not is_number):
            raise ValueError(
                f"pack: cost has 'sum' for {name!r}, but that component is {spec}, expected a "
                "number or an array of numbers in along."
            )


def list_columns(names: Iterable[str], specs: Specs) -> list[tuple[str, int]]:
    """Returns the names of lists and their numbers of axes, for the engine."""
    return [(name, len(specs[name].shape or (None,))) for name in names]


def columns_along(names: Iterable[str], specs: Specs) -> list[tuple[str, int | None]]:
    """Returns how the engine collects components: lists are joined, the rest is stacked."""
    return [(name, len(specs[name].shape or ()) if specs[name].is_list else None) for name in names]


def cost_terms(cost: Costs, columns: Sequence[str]) -> list[tuple[int, str, float]]:
    """Returns the parts of a cost, for the engine: columns, measures and weights.

    Args:
        cost: The components, with their costs.
        columns: The names of the engine's columns.
    """
    return [(columns.index(name), measure, weight) for name, measure, weight in _terms(cost)]


def _terms(cost: Costs) -> Iterator[tuple[str, CostMeasure, float]]:
    for name, one in cost:
        if isinstance(one, str):
            yield name, one, 1.0
        elif isinstance(one, tuple):
            yield from ((name, measure, weight) for measure, weight in one)
        else:
            yield name, "length", one
