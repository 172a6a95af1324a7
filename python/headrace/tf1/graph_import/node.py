"""A node of a message, and the ways to make an operation from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from headrace.core.dtypes import DType
from headrace.core.shapes import TensorShape
from headrace.graph import Graph, Operation, Tensor
from headrace.tf1.ops import identity

__all__ = ["Maker", "Node", "Outputs", "by", "by_list", "declared", "native"]

Outputs: TypeAlias = Sequence[tuple[DType, TensorShape]]


@dataclass(frozen=True, slots=True)
class Node:
    """The parts of an operation to make.

    Attributes:
        graph: The graph of the operation.
        name: Its whole name with "/" at its end, so that no scope is put before it.
        type: Its type.
        inputs: The tensors it reads.
        attrs: Its attributes.
        outputs: The outputs as the message describes them; None if it does not.
    """

    graph: Graph
    name: str
    type: str
    inputs: list[Any]
    attrs: dict[str, Any]
    outputs: Outputs | None

    def add(self, outputs: Outputs, kernel: Callable[..., Any] | None = None) -> Operation:
        """Adds the operation."""
        return self.graph.create_op(
            self.type,
            self.inputs,
            [dtype for dtype, _ in outputs],
            output_shapes=[shape for _, shape in outputs],
            name=self.name,
            attrs=self.attrs,
            kernel=kernel,
        )


class Maker(Protocol):
    """Makes the operation of a node."""

    def __call__(self, node: Node, /) -> object:
        """Adds it to the node's graph."""


def by(function: Any, /, **attributes: str) -> Maker:
    """Returns a maker that calls a public function, with the inputs as its first arguments.

    Args:
        function: Takes `name`, too.
        **attributes: The attribute for each parameter that takes one. Those that a message lacks
            have the function's defaults.
    """

    def make(node: Node) -> None:
        _named(node, function(*node.inputs, **_arguments(node, attributes), name=node.name))

    return make


def by_list(function: Any, first: int = 0, /, **attributes: str) -> Maker:
    """Returns a maker as `by` does, with the inputs after the first ones as a list."""

    def make(node: Node) -> None:
        head, tail = node.inputs[:first], node.inputs[first:]
        _named(node, function(*head, tail, **_arguments(node, attributes), name=node.name))

    return make


def native(infer: Callable[[Node], Outputs]) -> Maker:
    """Returns a maker of operations that the engine knows.

    Args:
        infer: Returns types and static shapes of its outputs.
    """
    return lambda node: node.add(infer(node))


def declared(node: Node) -> None:
    """Makes an operation that the engine knows, with the outputs that the message describes."""
    assert node.outputs is not None
    node.add(node.outputs)


def _arguments(node: Node, attributes: dict[str, str]) -> dict[str, Any]:
    return {
        parameter: node.attrs[attribute]
        for parameter, attribute in attributes.items()
        if attribute in node.attrs
    }


def _named(node: Node, result: object) -> None:
    """Adds an identity with the node's name if a function had nothing to compute."""
    if isinstance(result, Tensor) and result in node.inputs:
        identity(result, name=node.name)
