"""The store of the variables that a graph shares by name.

Source: the treatment of names by `tf.get_variable` in TensorFlow 1.15.
"""

from __future__ import annotations

import enum
import inspect
import threading
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from headrace.core.dtypes import DType, string
from headrace.core.shapes import TensorShape
from headrace.graph import (
    Graph,
    GraphKeys,
    Tensor,
    TensorLike,
    add_to_collection,
    control_dependencies,
    name_scope,
)
from headrace.tf1.ops.variables.initializers import glorot_uniform_initializer, zeros_initializer
from headrace.tf1.ops.variables.variable import InitialValue, Variable

__all__ = ["AUTO_REUSE", "Initializer", "Regularizer", "Reuse", "VariableStore", "store_of"]

# Values that `get_variable` accepts as `initializer`: an initial value, or an initializer class.
Initializer: TypeAlias = "InitialValue | Callable[..., Callable[..., TensorLike]]"

# A function from a variable to a loss or None.
Regularizer: TypeAlias = Callable[[Any], Tensor | None]


class _ReuseMode(enum.Enum):
    """Values of `reuse` other than True and False."""

    AUTO_REUSE = 1


AUTO_REUSE: Final = _ReuseMode.AUTO_REUSE
"""The variable with a name is returned if it exists, otherwise created."""

Reuse: TypeAlias = bool | _ReuseMode


class VariableStore:
    """Variables by full name. Safe to use from many threads at once."""

    def __init__(self) -> None:
        # Held while a variable is created, so that only one thread creates it. The lock is
        # re-entrant, because an initializer may request another variable.
        self._lock = threading.RLock()
        self._variables: dict[str, Variable] = {}

    def get(
        self,
        name: str,
        reuse: Reuse,
        shape: TensorShape,
        dtype: DType,
        initializer: Initializer | None,
        regularizer: Regularizer | None,
        arguments: dict[str, Any],
    ) -> Variable:
        """Returns the variable with a name, creating it if necessary and allowed by `reuse`.

        Args:
            name: The full name.
            reuse: Whether the variable must exist (True), must not exist (False), or may exist
                (`AUTO_REUSE`).
            shape: The shape with which the variable's shape must be compatible. It must be fully
                known if a function creates the initial value.
            dtype: The type, unless `initializer` is a value.
            initializer: The initial value, or a function that creates it. By default, it depends on
                the type.
            regularizer: Creates the loss of a new variable.
            arguments: More arguments for a new `Variable`.

        Raises:
            ValueError: If `reuse` does not allow the call, or the variable has a different shape or
                type.
        """
        with self._lock:
            existing = self._variables.get(name)
            if existing is not None:
                _check_shareable(name, existing, reuse, shape, dtype)
                return existing
            if reuse is True:
                raise ValueError(
                    f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                    "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
                )
            value, kind = _initial_value(name, shape, dtype, initializer)
            variable = Variable(value, name=name, dtype=kind, **arguments)
            self._variables[name] = variable
        if regularizer is not None:
            _add_loss(name, variable, regularizer)
        return variable


def store_of(graph: Graph) -> VariableStore:
    """Returns a graph's variable store, which all threads share."""
    with _lock:
        stores = graph.get_collection_ref(_KEY)
        if not stores:
            stores.append(VariableStore())
        store: VariableStore = stores[0]
    return store


_lock: Final = threading.Lock()
# The key is not a string, so it differs from every key of a user's collection.
_KEY: Final = ("variable_store",)


def _check_shareable(
    name: str, existing: Variable, reuse: Reuse, shape: TensorShape, dtype: DType
) -> None:
    if reuse is False:
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            f"reuse=tf.AUTO_REUSE in VarScope? Originally defined at:\n\n  {existing.op.defined_at}"
        )
    if not shape.is_compatible_with(existing.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {shape} and found shape "
            f"{existing.shape}."
        )
    if not dtype.is_compatible_with(existing.dtype):
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{existing.dtype.name}."
        )


def _initial_value(
    name: str, shape: TensorShape, dtype: DType, initializer: Initializer | None
) -> tuple[Any, DType | None]:
    """Returns the initial value of a new variable, and the dtype that it must have."""
    if initializer is None:
        initializer = _default_initializer(name, dtype)
    if not callable(initializer):
        return initializer, None
    function: Any = initializer() if inspect.isclass(initializer) else initializer
    parameters = inspect.signature(function).parameters
    if shape.is_fully_defined():
        # Variables are not partitioned here, but a program's functions may have this parameter.
        part = {"partition_info": None} if "partition_info" in parameters else {}
        return lambda: function(shape.as_list(), dtype=dtype, **part), dtype
    if any(_is_required(parameter) for parameter in parameters.values()):
        raise ValueError(
            "The initializer passed is not valid. It should be a callable with no arguments and "
            "the shape should not be provided or an instance of `tf.keras.initializers.*' and "
            f"`shape` should be fully defined. Variable {name} was given shape {shape} and "
            f"{function!r}."
        )
    return function, None


def _default_initializer(name: str, dtype: DType) -> Callable[..., Tensor]:
    if dtype.is_floating:
        return glorot_uniform_initializer()
    if dtype.is_integer or dtype.is_bool or dtype == string:
        return zeros_initializer()
    raise ValueError(f"An initializer for variable {name} of {dtype} is required")


def _is_required(parameter: inspect.Parameter) -> bool:
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameter.default is inspect.Parameter.empty and parameter.kind not in optional


def _add_loss(name: str, variable: Variable, regularizer: Regularizer) -> None:
    with name_scope(f"{name}/Regularizer/"), control_dependencies(None):
        loss = regularizer(variable)
    if loss is not None:
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
