"""Traces a native function by calling it once, with tensors instead of values."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from headrace.core import dtypes
from headrace.core.errors import add_note
from headrace.graph import Operation, Tensor, is_own_file
from headrace.ops.array.placeholder import placeholder
from headrace.ops.framework.conversion import constant
from headrace.pipeline.functions.native_function import Use
from headrace.pipeline.native_functions.graph import COMPUTES_WITHOUT, TracedGraph
from headrace.pipeline.values.python_values import as_value
from headrace.pipeline.values.types import Spec, is_carried

__all__ = ["Trace", "trace"]


@dataclass(frozen=True)
class Trace:
    """The operations of a native function.

    Attributes:
        use: The stage that uses the function.
        name: The function's name, for errors.
        input_specs: The input components.
        graph: The graph of the function's operations.
        arguments: A placeholder for each input component.
        results: The function's results. A result that is not a component has the name "".
        specs: The components that the function returns. For a filter, these are its input
            components.
    """

    use: Use
    name: str
    input_specs: dict[str, Spec]
    graph: TracedGraph
    arguments: dict[str, Tensor]
    results: dict[str, Tensor]
    specs: dict[str, Spec]

    def operations(self) -> list[Operation]:
        """Returns the operations that the results depend on, in topological order.

        Operations whose values are the same for all rows are omitted.
        """
        needed: set[Operation] = set()
        stack = [tensor.op for tensor in self.results.values()]
        while stack:
            op = stack.pop()
            if op not in needed:
                needed.add(op)
                stack += [tensor.op for tensor in op.inputs]
        return [
            op
            for op in self.graph.get_operations()
            if op in needed and op.inputs and self.graph.is_varying(op.outputs[0])
        ]


def trace(
    use: Use,
    function: Callable[..., Any],
    name: str,
    specs: dict[str, Spec],
    seed: int | None = None,
) -> Trace:
    """Calls a function with a tensor for each component.

    Args:
        use: The stage that uses the function.
        function: The user's function.
        name: The function's name.
        specs: The components.
        seed: The seed for the function's random operations, or None if they are not allowed.

    Raises:
        TypeError: If the function cannot be traced, or returns the wrong kind of value.
        ValueError: If it uses an operation that the engine cannot run in a pipeline.
    """
    name = f"{use}({name})"
    graph = TracedGraph(name, seed)
    with graph.as_default():
        arguments = {component: _argument(spec) for component, spec in specs.items()}
        try:
            returned = function(dict(arguments))
        except Exception as error:
            note = f"in {name}, traced{_location(error)} with {specs}"
            mixed = _of_mixed_types(error)
            add_note(mixed or error, note)
            if mixed is not None:
                raise mixed from error
            raise
        results = _results(name, use, returned)
    output_specs = {
        component: _spec(name, component, tensor, use, arguments, specs)
        for component, tensor in results.items()
    }
    output_specs = specs if use == "filter" else output_specs
    return Trace(use, name, specs, graph, arguments, results, output_specs)


def _argument(spec: Spec) -> Tensor:
    if is_carried(spec.dtype) or spec.is_nested or spec.is_listed:
        # No operation supports this type, so the function can only return it unchanged.
        return placeholder(dtypes.resource, spec.shape)
    dtype = dtypes.string if isinstance(spec.dtype, type) else dtypes.as_dtype(spec.dtype)
    return placeholder(dtype, spec.shape)


def _of_mixed_types(error: Exception) -> TypeError | None:
    """Returns an error with a remedy if operations received mixed types, or None otherwise."""
    text = str(error)
    is_mixed = _MIXED_TYPES.search(text) is not None
    if not is_mixed or not isinstance(error, (TypeError, ValueError)):
        return None
    is_of_carried = "resource" in text
    if "str" in text and not is_of_carried:
        return None
    text = text.partition(" Error: ")[0].rstrip(".")
    if is_of_carried:
        text = text.replace("resource", "bfloat16, a date or time, or a list")
        return TypeError(f"{text}. {COMPUTES_WITHOUT}")
    return TypeError(
        f"{text}. Operations do not convert numbers automatically. Cast the tensor first, for "
        "example with headrace.ops.cast(value, 'float32')."
    )


# Fragments of the messages of errors that operations raise for inputs of different types.
_MIXED_TYPES: Final = re.compile(
    "of type '[^']*' instead|that does not match type|that don't all match|requested dtype|"
    "not in list of allowed values"
)


def _results(name: str, use: Use, returned: object) -> dict[str, Tensor]:
    if use == "filter":
        result = _tensor(name, "", returned)
        if result.dtype != dtypes.bool or result.shape.rank not in (0, None):
            raise TypeError(
                f"{name}: the function returned {result.dtype.name} of shape {result.shape}, "
                "expected one bool. Use headrace.ops.reduce_all or reduce_any to combine several."
            )
        return {"": result}
    if use == "call" and not isinstance(returned, Mapping):
        return {"": _tensor(name, "", returned)}
    if not isinstance(returned, Mapping):
        raise TypeError(
            f"{name}: the function returned {_kind(returned)}, expected a dict of components."
        )
    if not returned:
        raise TypeError(f"{name}: the function returned no components, expected at least one.")
    return {component: _tensor(name, component, value) for component, value in returned.items()}


def _tensor(name: str, component: str, value: object) -> Tensor:
    if isinstance(value, Tensor):
        return value
    array = as_value(name, component, value)
    dtype = dtypes.string if isinstance(array, bytes) else None
    return constant(array, dtype)


def _spec(
    name: str,
    component: str,
    tensor: Tensor,
    use: Use,
    arguments: dict[str, Tensor],
    specs: dict[str, Spec],
) -> Spec:
    argument_name = next(
        (other for other, argument in arguments.items() if argument is tensor), None
    )
    if argument_name is not None and use in ("call", "map"):
        return specs[argument_name]
    rank = tensor.shape.rank
    shape = None if rank is None else tuple(tensor.shape.as_list())
    if use == "flat_map":
        if shape == ():
            raise TypeError(
                f"{name}: the component {component!r} is a scalar, expected a leading axis with "
                "one row for each new example."
            )
        shape = None if shape is None else shape[1:]
    if argument_name is not None:
        return Spec(specs[argument_name].dtype, shape)
    is_text = tensor.dtype == dtypes.string
    return Spec(bytes if is_text else np.dtype(tensor.dtype.as_numpy_dtype), shape)


def _location(error: BaseException) -> str:
    """Returns where in the user's program an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not is_own_file(frame.filename)]
    return f" at {own[-1].filename}:{own[-1].lineno}" if own else ""


def _kind(value: object) -> str:
    return "Tensor" if isinstance(value, Tensor) else type(value).__name__
