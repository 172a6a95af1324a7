"""Imports operations from a `GraphDef` message.

Source: `tf.import_graph_def` in TensorFlow 1.15.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from typing import Any, Final

from headrace.core.errors import NotFoundError, PermissionDeniedError, UnimplementedError
from headrace.graph import Graph, Operation, Tensor, TensorLike, get_default_graph, name_scope
from headrace.graph.naming import as_text
from headrace.graph.node_defs import python_value
from headrace.protos import GraphDef, NodeDef
from headrace.tf1.graph_import.makers import is_control_flow, maker_of
from headrace.tf1.graph_import.node import Node
from headrace.tf1.ops import convert_to_tensor

__all__ = ["import_graph_def"]

# Attributes that do not describe the computation.
_SEPARATE: Final = frozenset({"_branch", "_class", "_output_shapes", "_output_types"})

# Operations that are imported only if the program declares the message as trusted.
_OF_ANY_FILE: Final = frozenset({"ReadFile", "WriteFile"})


def import_graph_def(
    graph_def: GraphDef,
    input_map: Mapping[str, TensorLike] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: object = None,
    producer_op_list: object = None,
    allow_files: bool = False,
) -> list[Any] | None:
    """Adds the operations of a `GraphDef` to the default graph.

    Python functions are found if this process registered them and their graph still exists.
    Conditions are restored if headrace wrote the message. Loops, tensor arrays and the component
    names of queues are not restored.

    Args:
        graph_def: The message, from `Graph.as_graph_def`, a file or TensorFlow.
        input_map: Tensors that replace tensors of the message, by their names in the message
            ("op:0", "op").
        return_elements: The operations ("op") and tensors ("op:0") to return, by their names in the
            message.
        name: The scope of the new operations. Defaults to "import". If the name is "", there is no
            scope, and numbers are appended to names that are already used.
        op_dict: Accepted for compatibility, but not used.
        producer_op_list: Accepted for compatibility, but not used.
        allow_files: Only in headrace. Whether the graph may contain operations that read or write
            arbitrary files: `ReadFile`, `WriteFile`, and `PrintV2` to a file. Readers are always
            allowed.

    Returns:
        A list of the operations and tensors in `return_elements`, or None if `return_elements` is
        None.

    Raises:
        NotFoundError: If headrace lacks the type of an operation.
        PermissionDeniedError: If an operation reads or writes arbitrary files and `allow_files` is
            False.
        TypeError: If `graph_def` is not a `GraphDef`, or names are not strings.
        UnimplementedError: If the message contains a loop, a tensor array, or a condition written
            by TensorFlow.
        ValueError: If a node reads a missing node, a name in `input_map` or `return_elements` is
            not in the message, or attributes and inputs do not match. In the last case, some
            operations may already have been added.
    """
    if not isinstance(graph_def, GraphDef):
        raise TypeError("Argument `graph_def` must be a GraphDef proto.")
    replaced = _checked_map(input_map)
    elements = _checked_elements(return_elements)
    graph = get_default_graph()
    with ExitStack() as scopes:
        prefix = ""
        if name != "":
            prefix = scopes.enter_context(name_scope(name, "import", list(replaced.values())))
        importing = _Import(graph, graph_def, prefix, set(replaced))
        importing.check(elements, allow_files)
        tensors = _converted(replaced, prefix)
        scopes.enter_context(graph.name_scope(None))
        importing.run(tensors)
    return None if return_elements is None else [importing.find(element) for element in elements]


def _checked_map(input_map: Mapping[str, TensorLike] | None) -> dict[str, Any]:
    if input_map is None:
        return {}
    if not isinstance(input_map, dict):
        raise TypeError(f"Argument `input_map` must be a dictionary. Obtained {input_map!r}.")
    if not all(isinstance(key, (str, bytes)) for key in input_map):
        raise TypeError(
            f"All keys for argument `input_map` must be strings. Obtained keys: {list(input_map)}"
        )
    return {_whole_name(as_text(key)): value for key, value in input_map.items()}


def _checked_elements(elements: Sequence[str] | None) -> list[str]:
    is_list = elements is None or isinstance(elements, (list, tuple))
    if not (is_list and all(isinstance(item, (str, bytes)) for item in elements or ())):
        raise TypeError(
            f"Argument `return_elements` must be a list of strings. Obtained {elements!r}."
        )
    return [as_text(item) for item in elements or ()]


def _converted(replaced: Mapping[str, Any], prefix: str) -> dict[str, Tensor]:
    if all(isinstance(value, Tensor) for value in replaced.values()):
        return dict(replaced)
    if not prefix:
        raise ValueError(
            "tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor "
            "values. Try calling tf.convert_to_tensor() on your `input_map` values before calling "
            "tf.import_graph_def()."
        )
    with name_scope("_inputs"):
        return {key: convert_to_tensor(value) for key, value in replaced.items()}


class _Import:
    """One import of a message.

    Args:
        graph: The graph to which operations are added.
        graph_def: The message.
        prefix: The scope of the new operations with a trailing "/", or "" for no scope.
        replaced: The names of the outputs in the message that are replaced.
    """

    def __init__(
        self, graph: Graph, graph_def: GraphDef, prefix: str, replaced: AbstractSet[str]
    ) -> None:
        self._graph = graph
        self._prefix = prefix
        self._messages = list(graph_def.node)
        self._positions = {node.name: position for position, node in enumerate(self._messages)}
        self._replaced = replaced
        self._tensors: Mapping[str, Tensor] = {}
        self._made: dict[str, Operation] = {}

    def check(self, elements: Sequence[str], allow_files: bool) -> None:
        """Checks everything that can be checked before an operation is added."""
        for position, node in enumerate(self._messages):
            if self._positions[node.name] != position:
                raise ValueError(f"Node '{node.name}' is not unique")
            _check_type(node, allow_files)
            for text in node.input:
                if _whole_name(text) not in self._replaced and not self._has(text):
                    raise ValueError(f"Node '{node.name}': Unknown input node '{text}'")
        read = {_whole_name(text) for node in self._messages for text in node.input}
        unknown = sorted(key for key in self._replaced if key not in read and not self._has(key))
        if unknown:
            raise ValueError(
                f"Attempted to map inputs that were not found in graph_def: [{', '.join(unknown)}]"
            )
        for element in elements:
            if not self._has(element):
                raise ValueError(f"Requested return node '{element}' not found in graph def")
        self._order = self._sorted()

    def _has(self, text: str) -> bool:
        return _node_name(text) in self._positions

    def _sorted(self) -> list[NodeDef]:
        """Returns the nodes in topological order, otherwise keeping their order."""
        missing = [self._needed(node) for node in self._messages]
        readers: list[list[int]] = [[] for _ in self._messages]
        for position, needed in enumerate(missing):
            for other in needed:
                readers[other].append(position)
        ready = [position for position, needed in enumerate(missing) if not needed]
        ordered: list[NodeDef] = []
        while ready:
            position = heapq.heappop(ready)
            ordered.append(self._messages[position])
            for reader in readers[position]:
                missing[reader].discard(position)
                if not missing[reader]:
                    heapq.heappush(ready, reader)
        if len(ordered) < len(self._messages):
            raise ValueError(f"{len(self._messages) - len(ordered)} nodes form a cycle")
        return ordered

    def _needed(self, node: NodeDef) -> set[int]:
        """Returns the indices of the nodes that must be added before a node."""
        texts = [text for text in node.input if _whole_name(text) not in self._replaced]
        texts += [text[1:] for text in _branches(node)]
        return {self._positions[_node_name(text)] for text in texts}

    def run(self, tensors: Mapping[str, Tensor]) -> None:
        """Adds the operations, each after its inputs.

        Args:
            tensors: The tensors that replace outputs in the message, by the names of the outputs.
        """
        self._tensors = tensors
        for message in self._order:
            self._add(message)

    def _add(self, message: NodeDef) -> None:
        name = self._graph.unique_name(self._prefix + message.name)
        node = self._node(message, name)
        make = maker_of(message.op, node.outputs is not None)
        assert make is not None
        waits_for = [self._control(text) for text in message.input if text.startswith("^")]
        with ExitStack() as scopes:
            scopes.enter_context(self._graph.control_dependencies(waits_for))
            for text in _branches(message):
                predicate = self._tensor(message, text[1:])
                scopes.enter_context(self._graph.on_branch(predicate, text.startswith("+")))
            try:
                make(node)
            except KeyError as error:
                raise ValueError(
                    f"NodeDef missing attr {error.args[0]!r} from Op {message.op}: {message.name}"
                ) from None
            except TypeError as error:
                raise ValueError(f"Node '{name}' of type {message.op}: {error}") from None
        op = self._made[message.name] = self._graph.get_operation_by_name(name)
        for tensor, shape in zip(op.outputs, _listed(message, "_output_shapes"), strict=False):
            tensor.set_shape(shape)
        if message.device:
            op._set_device(message.device)
        groups = _listed(message, "_class")
        if groups:
            op.colocation = tuple(
                group.replace("loc:@", f"loc:@{self._prefix}", 1) for group in groups
            )

    def _node(self, message: NodeDef, name: str) -> Node:
        types, shapes = (_listed(message, key) for key in ("_output_types", "_output_shapes"))
        is_declared = "_output_types" in message.attr and len(types) == len(shapes)
        return Node(
            graph=self._graph,
            name=f"{name}/",
            type=message.op,
            inputs=[
                self._tensor(message, text) for text in message.input if not text.startswith("^")
            ],
            attrs={
                key: python_value(value)
                for key, value in message.attr.items()
                if key not in _SEPARATE
            },
            outputs=list(zip(types, shapes, strict=True)) if is_declared else None,
        )

    def _control(self, text: str) -> Operation:
        """Returns the operation for a control input "^name"."""
        tensor = self._tensors.get(text)
        return self._made[text[1:]] if tensor is None else tensor.op

    def _tensor(self, message: NodeDef, text: str) -> Tensor:
        """Returns the tensor for an input of a node."""
        full_name = _whole_name(text)
        if full_name in self._tensors:
            return self._tensors[full_name]
        name, _, number = full_name.partition(":")
        outputs = self._made[name].outputs
        if not (number.isdecimal() and int(number) < len(outputs)):
            raise ValueError(
                f"Node '{message.name}': Connecting to invalid output {number} of source node "
                f"{name} which has {len(outputs)} outputs."
            )
        return outputs[int(number)]

    def find(self, element: str) -> Tensor | Operation:
        """Returns an operation, or a tensor or its replacement, by its name in the message."""
        if element in self._tensors:
            return self._tensors[element]
        name, colon, number = element.partition(":")
        op = self._made[name]
        if not colon:
            return op
        if not (number.isdecimal() and int(number) < len(op.outputs)):
            raise ValueError(
                f"Invalid return output {number} of node '{name}', which has {len(op.outputs)} "
                "output(s)"
            )
        return op.outputs[int(number)]


def _check_type(node: NodeDef, allow_files: bool) -> None:
    if _is_of_any_file(node) and not allow_files:
        raise PermissionDeniedError(
            None,
            None,
            f"Node '{node.name}' of type {node.op} reads or writes files when the graph runs, "
            "and the graph chooses which. If you trust the graph, import it with "
            "allow_files=True.",
        )
    if maker_of(node.op, "_output_types" in node.attr) is not None:
        return
    if is_control_flow(node.op):
        raise UnimplementedError(
            None,
            None,
            f"Node '{node.name}' of type {node.op}: loops, tensor arrays and TensorFlow's "
            "conditions cannot be imported. Call the function that creates them instead.",
        )
    raise NotFoundError(
        None,
        None,
        f"Op type not registered '{node.op}' (node '{node.name}'). headrace supports only "
        "operations that prepare input. Import the part of the graph before this node, or "
        "build it with headrace.tf1.",
    )


def _is_of_any_file(node: NodeDef) -> bool:
    """Returns whether an operation reads or writes files whose names come from the graph."""
    if node.op == "PrintV2":
        return node.attr["output_stream"].s.startswith(b"file://")
    return node.op in _OF_ANY_FILE


def _whole_name(text: str) -> str:
    """Returns an input's name, including the output number."""
    return text if text.startswith("^") or ":" in text else f"{text}:0"


def _node_name(text: str) -> str:
    """Returns the name of the node to which an input refers."""
    return text.removeprefix("^").partition(":")[0]


def _listed(message: NodeDef, key: str) -> list[Any]:
    """Returns a list attribute, or an empty list if it is missing."""
    return list(python_value(message.attr[key])) if key in message.attr else []


def _branches(message: NodeDef) -> list[str]:
    """Returns the branches that contain a node, outermost first; see `headrace.graph.node_defs`."""
    return _listed(message, "_branch")
