"""A graph's elements: its operations and tensors, looked up by name, and its collections.

Source: `tf.Graph` in TensorFlow 1.15.
"""

import re
import threading
from collections.abc import Hashable, Iterable
from typing import Any, Literal, overload

from headrace.graph.nodes import GraphElementLike, Operation, Tensor

__all__ = ["GraphElements"]


class GraphElements:
    """A graph's operations, its restrictions on feeding and fetching, and its collections."""

    def __init__(self) -> None:
        # Guards everything below.
        self._lock = threading.RLock()
        self._operations: dict[str, Operation] = {}
        self._collections: dict[Hashable, list[Any]] = {}
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation | Tensor] = set()
        self._is_finalized = False

    # Operations

    def get_operations(self) -> list[Operation]:
        """Returns all operations in the order in which they were created."""
        with self._lock:
            return list(self._operations.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """Returns the operation with this name.

        Raises:
            TypeError: If `name` is not a string.
            ValueError: If `name` looks like the name of a tensor.
            KeyError: If the graph has no such operation.
        """
        if not isinstance(name, (str, bytes)):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False)

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Returns the tensor with this name, such as "op:0".

        Raises:
            TypeError: If `name` is not a string.
            ValueError: If `name` does not look like the name of a tensor.
            KeyError: If the graph has no such tensor.
        """
        if not isinstance(name, (str, bytes)):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)

    @overload
    def as_graph_element(
        self,
        obj: GraphElementLike,
        allow_tensor: Literal[False],
        allow_operation: Literal[True] = True,
    ) -> Operation: ...

    @overload
    def as_graph_element(
        self,
        obj: GraphElementLike,
        allow_tensor: Literal[True] = True,
        *,
        allow_operation: Literal[False],
    ) -> Tensor: ...

    @overload
    def as_graph_element(
        self, obj: GraphElementLike, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any: ...

    def as_graph_element(
        self, obj: GraphElementLike, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Operation | Tensor:
        """Returns the operation or tensor that an object represents.

        Args:
            obj: A tensor, an operation, the name of one, or an object with a method
                `_as_graph_element`, such as a variable.
            allow_tensor: Whether the result may be a tensor.
            allow_operation: Whether the result may be an operation.

        Returns:
            The `Tensor` or `Operation`.

        Raises:
            TypeError: If the object represents neither.
            ValueError: If the element belongs to a different graph, or the name refers to a tensor
                or operation that is not allowed.
            KeyError: If the graph contains nothing with this name.
        """
        if not (allow_tensor or allow_operation):
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        kinds = [
            kind
            for kind, allowed in (("Tensor", allow_tensor), ("Operation", allow_operation))
            if allowed
        ]
        kinds_text = " or ".join(kinds)
        convert = getattr(obj, "_as_graph_element", None)
        if callable(convert):
            obj = convert()
        if isinstance(obj, (str, bytes)):
            name = obj if isinstance(obj, str) else obj.decode()
            if ":" in name:
                return self._find_tensor(name, allow_tensor, kinds_text)
            return self._find_operation(name, allow_operation, kinds_text)
        if (isinstance(obj, Tensor) and allow_tensor) or (
            isinstance(obj, Operation) and allow_operation
        ):
            graph: object = obj.graph
            if graph is not self:
                kind = "Tensor" if isinstance(obj, Tensor) else "Operation"
                raise ValueError(f"{kind} {obj} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds_text}.")

    def finalize(self) -> None:
        """Makes the graph read-only. Adding operations afterwards raises an error."""
        with self._lock:
            self._is_finalized = True

    def _unsafe_unfinalize(self) -> None:
        """Allows changes again. Monitored sessions finalize the graph while they run."""
        with self._lock:
            self._is_finalized = False

    @property
    def finalized(self) -> bool:
        """True if `finalize` was called."""
        return self._is_finalized

    @property
    def version(self) -> int:
        """The number of operations, which grows as operations are added."""
        return len(self._operations)

    # Feeding and fetching

    def is_feedable(self, tensor: object) -> bool:
        """Returns whether a value may be fed for the tensor."""
        return tensor not in self._unfeedable

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Forbids feeding a value for the tensor."""
        with self._lock:
            self._unfeedable.add(tensor)

    def is_fetchable(self, tensor_or_op: object) -> bool:
        """Returns whether the tensor or operation may be fetched."""
        return tensor_or_op not in self._unfetchable

    def prevent_fetching(self, op: Operation) -> None:
        """Forbids fetching the operation or its outputs."""
        with self._lock:
            self._unfetchable.update([op, *op.outputs])

    # Collections

    def add_to_collection(self, name: Hashable, value: object) -> None:
        """Appends a value to a collection.

        Raises:
            RuntimeError: If the graph is finalized.
        """
        with self._lock:
            self._check_not_finalized()
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Iterable[Hashable], value: object) -> None:
        """Appends a value to several collections, or to a single one."""
        for name in (names,) if isinstance(names, str) else set(names):
            self.add_to_collection(name, value)

    def get_collection(self, name: Hashable, scope: str | None = None) -> list[Any]:
        """Returns a copy of a collection.

        Args:
            name: The name of the collection.
            scope: A regular expression that must match the start of an item's name. Items without a
                name are skipped. If `scope` is None, all items are returned.
        """
        with self._lock:
            items = list(self._collections.get(name, ()))
        if scope is None:
            return items
        matches = re.compile(scope).match
        return [item for item in items if hasattr(item, "name") and matches(item.name)]

    def get_collection_ref(self, name: Hashable) -> list[Any]:
        """Returns the collection itself, so changing the list changes the collection."""
        with self._lock:
            return self._collections.setdefault(name, [])

    @property
    def collections(self) -> list[str]:
        """The names of all collections whose name is a string."""
        return self.get_all_collection_keys()

    def get_all_collection_keys(self) -> list[str]:
        """Returns the names of all collections whose name is a string."""
        with self._lock:
            return [key for key in self._collections if isinstance(key, str)]

    def clear_collection(self, name: Hashable) -> None:
        """Removes a collection.

        Raises:
            RuntimeError: If the graph is finalized.
        """
        with self._lock:
            self._check_not_finalized()
            self._collections.pop(name, None)

    def _check_not_finalized(self) -> None:
        if self._is_finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def _find_tensor(self, name: str, is_allowed: bool, expected: str) -> Tensor:
        if not is_allowed:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a {expected}.")
        op_name, _, index = name.partition(":")
        if not index.isdecimal():
            raise ValueError(
                f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor "
                'names must be of the form "<op_name>:<output_index>".'
            )
        op = self._operations.get(op_name)
        if op is None:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{op_name!r}, does not exist in the graph."
            )
        if int(index) >= len(op.outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{op_name!r}, exists but only has {len(op.outputs)} outputs."
            )
        return op.outputs[int(index)]

    def _find_operation(self, name: str, is_allowed: bool, expected: str) -> Operation:
        op = self._operations.get(name)
        if not is_allowed:
            problem = "refers to an Operation" if op else "looks like an (invalid) Operation name"
            raise ValueError(
                f"The name {name!r} {problem}, not a {expected}. Tensor names must be of the form "
                '"<op_name>:<output_index>".'
            )
        if op is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return op
