"""Converts a run's fetches from nested structures to a flat list and back.

Source: the rules of `tf.Session.run` in TensorFlow 1.15.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias, cast

from headrace.core.dtypes import resource
from headrace.graph import Graph, GraphElementLike, Operation, Role, Tensor
from headrace.graph.lowering.composites import composite_for
from headrace.ops.sparse.tensor import SparseTensor

__all__ = ["FetchPlan", "Fetches"]

# The possible fetches of a run: tensors, operations, objects that represent them, and structures of
# these.
Fetches: TypeAlias = (
    GraphElementLike | SparseTensor | list[Any] | tuple[Any, ...] | Mapping[Any, Any]
)

# A function from the tensors' values to the value of one fetch.
_Restore: TypeAlias = Callable[[dict[Tensor, Any]], Any]


class FetchPlan:
    """The tensors to compute and the operations to run for a structure of fetches.

    Args:
        graph: The graph in which names are looked up.
        fetches: A tensor, operation, variable, sparse tensor or object of another registered type,
            the name of one of these, or lists, tuples, named tuples and dicts of fetches.

    Attributes:
        tensors: All fetched tensors, without duplicates.
        targets: All operations to run for their effects, without duplicates.

    Raises:
        TypeError: If a fetch has an unsupported type.
        ValueError: If a fetch is not in the graph.
    """

    def __init__(self, graph: Graph, fetches: Fetches) -> None:
        self._graph = graph
        tensors: dict[Tensor, None] = {}
        targets: dict[Operation, None] = {}
        self._restore = self._plan(fetches, tensors, targets)
        self.tensors = tuple(tensors)
        self.targets = tuple(targets)

    @property
    def ops(self) -> list[Operation]:
        """The operations of all fetches."""
        return [*self.targets, *(tensor.op for tensor in self.tensors)]

    def restore(self, values: dict[Tensor, Any]) -> Any:
        """Returns the values in the structure of the fetches, with None for each operation."""
        return self._restore(values)

    def _plan(
        self, fetch: Fetches, tensors: dict[Tensor, None], targets: dict[Operation, None]
    ) -> _Restore:
        def plan(item: Fetches) -> _Restore:
            return self._plan(item, tensors, targets)

        if isinstance(fetch, (list, tuple)):
            return _plan_sequence(type(fetch), [plan(item) for item in fetch])
        if isinstance(fetch, Mapping):
            parts = {key: plan(item) for key, item in fetch.items()}
            return _plan_mapping(_empty_like(fetch), parts)
        composite = composite_for(fetch)
        if composite is not None:
            parts_of_it, make = composite.fetch(fetch)
            parts_plan = plan(list(parts_of_it))
            return lambda values: make(parts_plan(values))
        element = self._find(cast("GraphElementLike", fetch))
        if isinstance(element, Operation):
            targets[element] = None
            return lambda _values: None
        if element.dtype == resource or element.op.definition.role is Role.BARRIER:
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type: it is a resource and has no "
                "value. Fetch the result of an operation on the resource instead."
            )
        tensors[element] = None
        return lambda values: values[element]

    def _find(self, fetch: GraphElementLike) -> Operation | Tensor:
        try:
            element: Operation | Tensor = self._graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch)}, must be a string or "
                f"Tensor. ({error})"
            ) from None
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})"
            ) from None
        if not self._graph.is_fetchable(element):
            raise ValueError(f"Operation {element.name!r} has been marked as not fetchable.")
        return element


def _plan_sequence(kind: type[Any], parts: list[_Restore]) -> _Restore:
    if hasattr(kind, "_fields"):
        return lambda values: kind(*[part(values) for part in parts])
    if issubclass(kind, tuple):
        return lambda values: tuple(part(values) for part in parts)
    return lambda values: [part(values) for part in parts]


def _plan_mapping(make: Callable[[], Any], parts: dict[Any, _Restore]) -> _Restore:
    def restore(values: dict[Tensor, Any]) -> Any:
        result = make()
        for key, part in parts.items():
            result[key] = part(values)
        return result

    return restore


def _empty_like(fetch: Mapping[Any, Any]) -> Callable[[], Any]:
    """Returns a function that creates an empty mapping of the same type."""
    if isinstance(fetch, defaultdict):
        return partial(type(fetch), fetch.default_factory)
    return type(fetch)
