"""Tensors that hooks fetch: the global step, and tensors named by the program.

Source: `tf.train.StopAtStepHook` and similar hooks in TensorFlow 1.15.
"""

from typing import Any, Final

from headrace.graph import Graph, Tensor, control_dependencies, get_default_graph
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.ops.math.arithmetic import add
from headrace.tf1.ops.variables.global_step import get_global_step
from headrace.tf1.ops.variables.variable import Variable

__all__ = ["find_element", "require_global_step"]

_READ_KEY: Final = "global_step_read_op_cache"


def require_global_step(hook: str) -> Tensor:
    """Returns a tensor with the number of steps, created once for each graph.

    Args:
        hook: The name of the hook that needs the global step.

    Raises:
        RuntimeError: If the default graph has no global step.
    """
    graph = get_default_graph()
    reads = graph.get_collection(_READ_KEY)
    if reads:
        return reads[0]  # type: ignore[no-any-return]
    step = get_global_step(graph)
    if step is None:
        raise RuntimeError(f"Global step should be created to use {hook}.")
    read = _read(step, graph)
    graph.add_to_collection(_READ_KEY, read)
    return read


def _read(step: Variable | Tensor, graph: Graph) -> Tensor:
    value = step.value() if isinstance(step, Variable) else step
    with control_dependencies(None), graph.name_scope(f"{step.op.name}/"):
        return add(value, convert_to_tensor(0, dtype=value.dtype.base_dtype))


def find_element(element: Any) -> Any:
    """Returns the element that a hook fetches, given the element or its name.

    Args:
        element: A tensor, operation or variable of the default graph, or the name of a tensor or of
            an operation with one output.

    Raises:
        KeyError: If the default graph has no element with that name.
        ValueError: If the element belongs to a different graph, or is an operation with several
            outputs.
    """
    graph = get_default_graph()
    if not isinstance(element, str):
        if getattr(element, "graph", None) is not graph:
            raise ValueError(
                f"Passed {element} should have graph attribute that is equal to current graph "
                f"{graph}."
            )
        return element
    if ":" in element:
        return graph.as_graph_element(element)
    tensor = graph.get_tensor_by_name(f"{element}:0")
    if len(tensor.op.outputs) > 1:
        raise ValueError(
            f"Name {element} is ambiguous, as this `Operation` has multiple outputs (at least 2)."
        )
    return tensor
