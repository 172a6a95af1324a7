"""The global step: the variable that counts training steps.

Source: `tf.train.get_global_step` and similar functions in TensorFlow 1.15.
"""

from typing import Any

from headrace.core.dtypes import int64
from headrace.graph import Graph, GraphKeys, SupportsTensor, Tensor, get_default_graph
from headrace.tf1.ops.variables.initializers import zeros_initializer
from headrace.tf1.ops.variables.scope import get_variable
from headrace.tf1.ops.variables.variable import Variable

__all__ = [
    "assert_global_step",
    "create_global_step",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
]


def global_step(sess: Any, global_step_tensor: Tensor | SupportsTensor | str) -> int:
    """Returns the number of steps in a session.

    Args:
        sess: The session.
        global_step_tensor: The variable, its tensor, or its name.

    Raises:
        TypeError: If the value is not an integer.
    """
    step = sess.run(global_step_tensor)
    try:
        return int(step)
    except (ValueError, OverflowError):
        raise TypeError(f"{global_step_tensor}: got {step}, expected an integer.") from None


def get_global_step(graph: Graph | None = None) -> Any:
    """Returns the variable that counts the steps.

    Args:
        graph: The graph to search. Defaults to the default graph.

    Returns:
        The only item of the collection `GraphKeys.GLOBAL_STEP`, or the tensor named "global_step:0"
        if the collection is empty. Returns None if neither exists, or the collection has several
        items.

    Raises:
        TypeError: If the result is not an integer scalar.
    """
    graph = get_default_graph() if graph is None else graph
    members = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if not members:
        try:
            members = [graph.get_tensor_by_name("global_step:0")]
        except KeyError:
            return None
    if len(members) > 1:
        return None
    assert_global_step(members[0])
    return members[0]


def create_global_step(graph: Graph | None = None) -> Variable:
    """Creates the variable that counts the steps: an int64 scalar, initially 0.

    Args:
        graph: The graph of the variable. Defaults to the default graph.

    Raises:
        ValueError: If the variable already exists.
    """
    graph = get_default_graph() if graph is None else graph
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default():
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=int64,
            initializer=zeros_initializer(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Returns the variable that counts the steps, and creates it if it does not exist."""
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def assert_global_step(global_step_tensor: object) -> None:
    """Raises TypeError if the argument is not an integer scalar variable or tensor."""
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(
            f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.'
        )
    dtype, shape = global_step_tensor.dtype.base_dtype, global_step_tensor.shape
    if not dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {dtype}')
    if shape.rank not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')
