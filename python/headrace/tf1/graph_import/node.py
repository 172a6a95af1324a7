"""Message nodes, and ways to create operations from them."""

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
    """The data for creating an operation.

    Attributes:
        graph: The graph of the operation.
        name: The full name with a trailing "/", so that no scope is prepended.
        type: The type of the operation.
        inputs: The input tensors.
        attrs: The attributes.
        outputs: The outputs as described in the message, or None if the message does not describe
            them.
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
    """Creates the operation for a node."""

    def __call__(self, node: Node, /) -> object:
        """Adds the operation to the node's graph."""


def by(function: Any, /, **attributes: str) -> Maker:
    """Returns a maker that calls a public function with the inputs as its first arguments.

    Args:
        function: The function, which also accepts `name`.
        **attributes: The attribute name for each parameter. If a message lacks the attribute, the
            function's default is used.
    """

    def make(node: Node) -> None:
        _named(node, function(*node.inputs, **_arguments(node, attributes), name=node.name))

    return make


def by_list(function: Any, first: int = 0, /, **attributes: str) -> Maker:
    """Like `by`, but passes the inputs from index `first` on as a list."""

    def make(node: Node) -> None:
        head, tail = node.inputs[:first], node.inputs[first:]
        _named(node, function(*head, tail, **_arguments(node, attributes), name=node.name))

    return make


def native(infer: Callable[[Node], Outputs]) -> Maker:
    """Returns a maker for an engine operation.

    Args:
        infer: A function that returns the dtypes and static shapes of the outputs.
    """
    return lambda node: node.add(infer(node))


def declared(node: Node) -> None:
    """Creates an engine operation with the outputs described in the message."""
    assert node.outputs is not None
    node.add(node.outputs)


def _arguments(node: Node, attributes: dict[str, str]) -> dict[str, Any]:
    return {
        parameter: node.attrs[attribute]
        for parameter, attribute in attributes.items()
        if attribute in node.attrs
    }


def _named(node: Node, result: object) -> None:
    """Adds an identity with the node's name if the function had nothing to compute."""
    if isinstance(result, Tensor) and result in node.inputs:
        identity(result, name=node.name)
