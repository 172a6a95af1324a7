"""Staging areas: buffers between parts of a program, with limits on elements and bytes.

Source: `tf.contrib.staging.StagingArea` in TensorFlow 1.15.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from headrace.core.dtypes import DType, DTypeLike, as_dtype, int32
from headrace.core.shapes import ShapeLike, TensorShape, as_shape, unknown_shape
from headrace.graph import (
    Operation,
    SessionResource,
    Tensor,
    TensorLike,
    define,
    get_default_graph,
    name_scope,
)
from headrace.ops.control.control_flow import no_op
from headrace.ops.framework.arguments import Input, InputList, apply_op

__all__ = ["StagingArea"]

# The tensors of an element: several, the only one, or a dict of them by name.
_Values: TypeAlias = "Tensor | Sequence[Tensor] | Mapping[str, Tensor]"


class StagingArea:
    """A first-in, first-out buffer in the session, between parts of a program.

    Unlike a queue, a staging area cannot be closed. `put` waits until there is room for the
    element, and `get` waits until there is an element. If the session ends, the run's time limit
    expires or you press Ctrl-C, both stop waiting without losing elements.

    Args:
        dtypes: The type of each tensor in an element.
        shapes: The shape of each tensor, or None if the shapes are unknown.
        names: The name of each tensor. If given, elements are dicts.
        shared_name: Areas with the same name share their elements in a session. By default, the
            area is not shared.
        capacity: The maximum number of elements. 0 means no limit.
        memory_limit: The maximum number of bytes in all elements combined. 0 means no limit.

    Raises:
        ValueError: If the numbers of shapes, names and types differ, or `shared_name` is not a
            string.
    """

    def __init__(
        self,
        dtypes: Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        if shared_name is None:
            self._name = get_default_graph().unique_name(type(self).__name__)
        elif isinstance(shared_name, str):
            self._name = shared_name
        else:
            raise ValueError("shared_name must be a string")
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError("StagingArea shapes must be the same length as dtypes")
        if names is not None and len(names) != len(dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        self._dtypes = list(dtypes)
        self._types = [as_dtype(dtype) for dtype in dtypes]
        shape_list = [unknown_shape()] * len(dtypes) if shapes is None else shapes
        self._shapes = [as_shape(shape) for shape in shape_list]
        self._names = list(names) if names else None
        self._capacity, self._memory_limit = capacity, memory_limit
        # In TensorFlow, the other operations are colocated with this one.
        with name_scope(f"{self._name}_root"):
            no_op()

    @property
    def name(self) -> str:
        """The name of the area, which is its shared name."""
        return self._name

    @property
    def dtypes(self) -> list[DTypeLike]:
        """The type of each tensor in an element, in a new list."""
        return list(self._dtypes)

    @property
    def shapes(self) -> list[TensorShape]:
        """The shape of each tensor in an element, in a new list."""
        return list(self._shapes)

    @property
    def names(self) -> list[str] | None:
        """The name of each tensor in an element in a new list, or None."""
        return None if self._names is None else list(self._names)

    @property
    def capacity(self) -> int:
        """The maximum number of elements. 0 means no limit."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """The maximum number of bytes in all elements combined. 0 means no limit."""
        return self._memory_limit

    def put(self, values: _Values, name: str | None = None) -> Operation:
        """Adds an operation that adds an element, waiting until there is room.

        Args:
            values: The tensors of the element: a list, a dict by name, or a single tensor.
            name: Name of the operation.

        Raises:
            ResourceExhaustedError: At run time, if the element has more bytes than `memory_limit`.
            ValueError: If a tensor has the wrong type or shape, or if there are too many tensors.
                Also raised if `values` is a dict but the area has no names, or vice versa.
        """
        listed = values if isinstance(values, (list, tuple, Mapping)) else [values]
        scope_values = list(listed.values() if isinstance(listed, Mapping) else listed)
        with name_scope(name, f"{self._name}_put", scope_values) as scope:
            tensors = self._checked(listed)
            types = [tensor.dtype.base_dtype for tensor in tensors]
            inputs = [InputList("values", tensors, var="dtypes", is_mixed=True)]
            return apply_op(
                "Stage", inputs, lambda *_: [], name=scope, attrs=self._attrs("Stage", types)
            )

    def get(self, name: str | None = None) -> Any:
        """Adds an operation that removes and returns the first element, waiting until there is one.

        Returns:
            The element's tensors as a list, or as a dict if they have names.
        """
        return self._take("Unstage", [], name or f"{self._name}_get")

    def peek(self, index: TensorLike, name: str | None = None) -> Any:
        """Adds an operation that copies an element, waiting until there is one at the position.

        Args:
            index: The position, an integer starting at 0.
            name: Name of the operation.

        Returns:
            See `get`.

        Raises:
            InvalidArgumentError: At run time, if the index is negative. TensorFlow would wait
                forever.
        """
        inputs = [Input("index", index, int32)]
        return self._take("StagePeek", inputs, name or f"{self._name}_peek")

    def size(self, name: str | None = None) -> Tensor:
        """Adds an operation that returns the number of elements as an int32 scalar."""
        outputs = [(int32, TensorShape([]))]
        name, attrs = name or f"{self._name}_size", self._attrs("StageSize", self._types)
        return apply_op("StageSize", [], lambda: outputs, name=name, attrs=attrs).outputs[0]

    def clear(self, name: str | None = None) -> Operation:
        """Adds an operation that drops all elements."""
        name, attrs = name or f"{self._name}_clear", self._attrs("StageClear", self._types)
        return apply_op("StageClear", [], lambda: [], name=name, attrs=attrs)

    def _checked(self, values: Any) -> list[Tensor]:
        """Returns the tensors of an element after checking their dtypes and shapes."""
        if isinstance(values, Mapping):
            if self._names is None:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(values) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. "
                    f"Dictionary: ({sorted(values)}), Queue: ({sorted(self._names)})"
                )
            indices = [index for index, name in enumerate(self._names) if name in values]
            items = [values[self._names[index]] for index in indices]
        else:
            if self._names is not None:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            items, indices = list(values), list(range(len(values)))
        if len(items) > len(self._types):
            raise ValueError(f"Unexpected number of inputs '{len(items)}' vs '{len(self._types)}'")
        for value, index in zip(items, indices, strict=True):
            if value.dtype != self._types[index]:
                raise ValueError(
                    f"Datatypes do not match. '{value.dtype}' != '{self._dtypes[index]}'"
                )
            value.shape.assert_is_compatible_with(self._shapes[index])
        return items

    def _take(self, op_type: str, inputs: Sequence[Input], name: str) -> Any:
        outputs: list[tuple[DType, TensorShape]] = list(zip(self._types, self._shapes, strict=True))
        attrs = self._attrs(op_type, self._types)
        op = apply_op(op_type, inputs, lambda *_: outputs, name=name, attrs=attrs)
        no_op()  # TensorFlow adds an operation here to determine the device.
        if self._names is None:
            return list(op.outputs)
        return dict(zip(self._names, op.outputs, strict=True))

    def _attrs(self, op_type: str, types: Sequence[DType]) -> dict[str, Any]:
        for attr, value in (("capacity", self._capacity), ("memory_limit", self._memory_limit)):
            if value < 0:
                raise ValueError(
                    f"Attr '{attr}' of '{op_type}' Op passed {value} less than minimum 0."
                )
        return {
            "capacity": self._capacity,
            "memory_limit": self._memory_limit,
            "dtypes": list(types),
            "container": "",
            "shared_name": self._name,
        }


define("Stage", is_stateful=True, kept=SessionResource.STAGING_AREA)
define("StageClear", is_stateful=True, kept=SessionResource.STAGING_AREA)
define("StagePeek", is_stateful=True, kept=SessionResource.STAGING_AREA)
define("StageSize", is_stateful=True, kept=SessionResource.STAGING_AREA)
define("Unstage", is_stateful=True, kept=SessionResource.STAGING_AREA)
