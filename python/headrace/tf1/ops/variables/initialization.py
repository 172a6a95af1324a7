"""A graph's variables, their initialization, and reports of uninitialized variables.

Source: `tf.global_variables`, `tf.variables_initializer`, `tf.report_uninitialized_variables` and
similar functions in TensorFlow 1.15.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.core.dtypes import string
from headrace.core.shapes import TensorShape
from headrace.graph import (
    GraphKeys,
    Operation,
    Tensor,
    define,
    get_collection,
    get_default_graph,
    name_scope,
)
from headrace.ops.array.join import stack
from headrace.ops.array.shape import rank_when_run
from headrace.ops.control.control_flow import group
from headrace.ops.framework.conversion import constant
from headrace.ops.framework.kernel import NumpyKernel
from headrace.tf1.ops.variables.assign import is_variable_initialized
from headrace.tf1.ops.variables.variable import Variable

__all__ = [
    "assert_variables_initialized",
    "global_variables",
    "global_variables_initializer",
    "local_variables",
    "local_variables_initializer",
    "model_variables",
    "moving_average_variables",
    "report_uninitialized_variables",
    "trainable_variables",
    "variables_initializer",
]


def global_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables in `GraphKeys.GLOBAL_VARIABLES`, which are saved.

    Args:
        scope: A regular expression that must match the start of a name. Defaults to all variables.
    """
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables in `GraphKeys.LOCAL_VARIABLES`, which are not saved."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables in `GraphKeys.TRAINABLE_VARIABLES`, which can be trained."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that the user added to `GraphKeys.MODEL_VARIABLES`."""
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Returns the variables that the user added to `GraphKeys.MOVING_AVERAGE_VARIABLES`."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """Adds an operation that runs the initializers of the given variables, in any order."""
    return group(*[variable.initializer for variable in var_list], name=name)


def global_variables_initializer() -> Operation:
    """Adds an operation that initializes all global variables that exist now."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Adds an operation that initializes all local variables, such as epoch counters."""
    return variables_initializer(local_variables())


def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Adds an operation that returns the names of the variables without a value.

    Args:
        var_list: The variables to check. Defaults to all global and local variables that exist now.
        name: Name of the operation.

    Returns:
        The names, a string vector.
    """
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    with name_scope(name):
        if not variables:
            return constant([], dtype=string)
        flags = [is_variable_initialized(variable) for variable in variables]
        names = [variable.op.name for variable in variables]
        op = get_default_graph().create_op(
            "ReportUninitialized",
            flags,
            [string],
            output_shapes=[TensorShape([None])],
            attrs={"names": names},
            kernel=uninitialized_names(names),
        )
    return op.outputs[0]


def assert_variables_initialized(var_list: Sequence[Variable] | None = None) -> Tensor | None:
    """Adds an operation that fails if a variable has no value.

    Args:
        var_list: The variables. Defaults to all global and local variables that exist now.

    Returns:
        The ranks of the values: an int32 vector, a scalar for one variable, or None if there are no
        variables. If a variable has no value, the run ends with FailedPreconditionError.
    """
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    if not variables:
        return None
    ranks = [rank_when_run(variable) for variable in variables]
    return ranks[0] if len(ranks) == 1 else stack(ranks)


def uninitialized_names(names: Sequence[str]) -> NumpyKernel:
    """Returns a function that selects the names of uninitialized variables."""
    encoded = np.array([name.encode() for name in names], dtype=object)
    return NumpyKernel(lambda *is_ready: encoded[~np.array(is_ready)], [string])


define("ReportUninitialized")
