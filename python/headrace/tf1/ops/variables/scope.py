"""Variable scopes, which let parts of a program share variables by name.

Source: `tf.variable_scope`, `tf.get_variable` and `tf.VariableScope` in TensorFlow 1.15.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from headrace.core import dtypes
from headrace.core.dtypes import DType, DTypeLike, as_dtype
from headrace.core.shapes import ShapeLike, as_shape
from headrace.graph import Graph, GraphKeys, get_collection, get_default_graph, graph_of
from headrace.ops.framework.conversion import convert_to_tensor
from headrace.tf1.ops.variables.store import AUTO_REUSE, Initializer, Regularizer, Reuse, store_of
from headrace.tf1.ops.variables.variable import Variable

__all__ = [
    "AUTO_REUSE",
    "VariableScope",
    "get_local_variable",
    "get_variable",
    "get_variable_scope",
    "no_regularizer",
    "variable_scope",
]


class VariableScope:
    """The settings of `get_variable` inside a `with variable_scope(...)` block.

    Args:
        reuse: True: variables must already exist. False: they must not exist. `AUTO_REUSE`: both
            are allowed.
        name: The prefix for variable names.
        initializer: The default initializer. A call can override it.
        regularizer: Creates losses for variables, unless a call passes its own regularizer.
        name_scope: The name scope of the operations in the block that created this scope.
        dtype: The type of variables, unless a call passes its own.
        constraint: The constraint of variables, unless a call passes its own.

    Attributes:
        name: The prefix for variable names.
        original_name_scope: The name scope of the block that created this scope, with "/" at the
            end.
    """

    def __init__(
        self,
        reuse: Reuse,
        name: str = "",
        initializer: Initializer | None = None,
        regularizer: Regularizer | None = None,
        name_scope: str = "",
        dtype: DTypeLike = dtypes.float32,
        constraint: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.original_name_scope = name_scope
        self._reuse = reuse
        self._initializer = initializer
        self._regularizer = regularizer
        self._dtype = as_dtype(dtype)
        self._constraint = constraint

    @property
    def reuse(self) -> Reuse:
        """Whether variables must exist (True), may exist (AUTO_REUSE), or must not (False)."""
        return self._reuse

    @property
    def initializer(self) -> Initializer | None:
        """The initializer of variables."""
        return self._initializer

    @property
    def regularizer(self) -> Regularizer | None:
        """The regularizer of variables."""
        return self._regularizer

    @property
    def dtype(self) -> DType:
        """The type of variables."""
        return self._dtype

    @property
    def constraint(self) -> Callable[..., Any] | None:
        """The constraint of variables."""
        return self._constraint

    def reuse_variables(self) -> None:
        """Sets `reuse` to True, so that variables must already exist."""
        self._reuse = True

    def set_initializer(self, initializer: Initializer | None) -> None:
        """Replaces the initializer."""
        self._initializer = initializer

    def set_regularizer(self, regularizer: Regularizer | None) -> None:
        """Replaces the regularizer."""
        self._regularizer = regularizer

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Replaces the type."""
        self._dtype = as_dtype(dtype)

    def get_collection(self, name: str) -> list[Any]:
        """Returns the items of a collection whose names start with the name of this scope."""
        return get_collection(name, f"{self.name}/" if self.name else "")

    def global_variables(self) -> list[Any]:
        """Returns the global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Returns the local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        """Returns the trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def _child(
        self,
        name: str,
        name_scope: str,
        *,
        reuse: Reuse | None,
        initializer: Initializer | None,
        regularizer: Regularizer | None,
        dtype: DTypeLike | None,
        constraint: Callable[..., Any] | None,
    ) -> VariableScope:
        """Returns a scope with the given name, which inherits the settings that are None."""
        return VariableScope(
            name=name,
            name_scope=name_scope,
            reuse=self._reuse if reuse is None else reuse,
            initializer=self._initializer if initializer is None else initializer,
            regularizer=self._regularizer if regularizer is None else regularizer,
            dtype=self._dtype if dtype is None else dtype,
            constraint=self._constraint if constraint is None else constraint,
        )


class _ThreadState(threading.local):
    """A thread's current variable scope in a graph."""

    def __init__(self) -> None:
        self.scope = VariableScope(False)
        # The names of the scopes entered so far. A default name must differ from them.
        self._entered: frozenset[str] = frozenset()

    def full_name(self, name: str) -> str:
        """Returns the name, prefixed with the name of the current scope."""
        return f"{self.scope.name}/{name}" if self.scope.name else name

    def unique_name(self, prefix: str) -> str:
        """Returns a name that differs from all scopes entered so far."""
        names = (f"{prefix}_{number}" if number else prefix for number in itertools.count())
        return next(name for name in names if self.full_name(name) not in self._entered)

    @contextmanager
    def inside(self, scope: VariableScope, is_again: bool) -> Iterator[VariableScope]:
        """Makes a scope the current one for the block, then forgets scopes entered inside it."""
        outer = self.scope
        entered = self._entered | {scope.name}
        self.scope, self._entered = scope, entered
        try:
            yield scope
        finally:
            if not is_again:
                inner = f"{scope.name}/"
                entered = frozenset(name for name in self._entered if not name.startswith(inner))
            self.scope, self._entered = outer, entered


_lock: Final = threading.Lock()
# The key is not a string, so it differs from every key of a user's collection.
_KEY: Final = ("variable_scopes",)


def _state_of(graph: Graph) -> _ThreadState:
    with _lock:
        states = graph.get_collection_ref(_KEY)
        if not states:
            states.append(_ThreadState())
        state: _ThreadState = states[0]
    return state


def get_variable_scope() -> VariableScope:
    """Returns the current variable scope of this thread."""
    return _state_of(get_default_graph()).scope


@contextmanager
def variable_scope(
    name_or_scope: str | VariableScope | None,
    default_name: str | None = None,
    *,
    values: Iterable[object] | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    reuse: Reuse | None = None,
    dtype: DTypeLike | None = None,
    constraint: Callable[..., Any] | None = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Adds a prefix to the names of variables that `get_variable` returns or creates.

    This also enters a name scope with the same name, after making the name unique. Other settings
    are inherited from the surrounding scope, or from the scope that is entered again.

    Args:
        name_or_scope: A name, which is appended to the name of the surrounding scope, or a scope to
            enter again, which keeps its name.
        default_name: The name if `name_or_scope` is None. The name is made unique.
        values: The inputs of the operations inside the scope. Their graph becomes the default
            graph.
        initializer: Creates initial values; see `get_variable`.
        regularizer: Creates a loss for each new variable.
        reuse: True: variables must already exist, even in nested scopes. `AUTO_REUSE`: missing
            variables are created. None or False: as in the surrounding scope.
        dtype: The type of variables.
        constraint: The constraint of variables.
        auxiliary_name_scope: Whether to enter a name scope.

    Yields:
        The scope.

    Raises:
        TypeError: If `name_or_scope` is neither a string nor a scope, or no name is given.
        ValueError: If a name or `reuse` is invalid, or `reuse` is given without a name or scope.
    """
    _check_scope_arguments(name_or_scope, default_name, reuse, auxiliary_name_scope)
    graph = graph_of(() if values is None else values)
    state = _state_of(graph)
    if isinstance(name_or_scope, VariableScope):
        again, name = name_or_scope, name_or_scope.name.rpartition("/")[2]
    else:
        again, name = None, (default_name or "") if name_or_scope is None else name_or_scope
    with graph.as_default(), _name_scope(graph, name, auxiliary_name_scope) as inner_name_scope:
        if name_or_scope is None:
            name = state.unique_name(name)
        scope = (again or state.scope)._child(
            again.name if again else state.full_name(name),
            again.original_name_scope if again else inner_name_scope,
            reuse=reuse or None,
            initializer=initializer,
            regularizer=regularizer,
            dtype=dtype,
            constraint=constraint,
        )
        with state.inside(scope, is_again=again is not None):
            yield scope


def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    *,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool = True,
    collections: Collection[str] | None = None,
    validate_shape: bool = True,
    constraint: Callable[..., Any] | None = None,
) -> Variable:
    """Returns the variable with a name, creating it if necessary; see `variable_scope`.

    Args:
        name: The name, without the name of the variable scope. Name scopes have no effect.
        shape: The shape. Omit it if `initializer` is a value or does not accept a shape.
        dtype: The type. Defaults to the type of the scope, which defaults to float32.
        initializer: A value, a function `f(shape, dtype=...)` such as `zeros_initializer()`, or a
            function without arguments. Defaults to the initializer of the scope. If the scope has
            none, the default is `glorot_uniform_initializer()` for floats and zeros for other
            types.
        regularizer: A function that accepts the variable and returns a loss for
            `GraphKeys.REGULARIZATION_LOSSES`, or None. Defaults to the regularizer of the scope.
        trainable: See `Variable`.
        collections: See `Variable`.
        validate_shape: See `Variable`.
        constraint: See `Variable`. Defaults to the constraint of the scope.

    Returns:
        The variable: a new one, or the one that an earlier call with this name returned.

    Raises:
        ValueError: If the variable exists but must not, must exist but does not, or does not have
            the requested shape or type, or if its shape or initial value is unknown.
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"tf.get_variable: name is {name!r}, expected a non-empty string.")
    value = None if callable(initializer) else initializer
    if value is not None and shape is not None:
        raise ValueError("If initializer is a constant, do not specify shape.")
    graph = get_default_graph()
    scope = get_variable_scope()
    with graph.name_scope(None):
        if value is not None and dtype is not None:
            actual_dtype = convert_to_tensor(value).dtype.base_dtype
            if actual_dtype != as_dtype(dtype):
                raise ValueError(
                    f"Initializer type '{actual_dtype}' and explicit dtype '{as_dtype(dtype)}' "
                    "don't match."
                )
        return store_of(graph).get(
            _state_of(graph).full_name(name),
            scope.reuse,
            as_shape(shape),
            scope.dtype if dtype is None else as_dtype(dtype),
            scope.initializer if initializer is None else initializer,
            scope.regularizer if regularizer is None else regularizer,
            {
                "trainable": trainable,
                "collections": collections,
                "validate_shape": validate_shape,
                "constraint": scope.constraint if constraint is None else constraint,
            },
        )


def get_local_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    *,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    collections: Collection[str] | None = None,
    validate_shape: bool = True,
    constraint: Callable[..., Any] | None = None,
) -> Variable:
    """Like `get_variable`, but for a local variable, which is neither trained nor saved.

    The variable is added to `GraphKeys.LOCAL_VARIABLES` in addition to `collections`.
    """
    return get_variable(
        name,
        shape,
        dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=False,
        collections=[*(collections or ()), GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        constraint=constraint,
    )


def no_regularizer(_tensor: object) -> None:
    """A regularizer without a loss, for a variable that must ignore its scope's regularizer."""


def _name_scope(graph: Graph, name: str | None, is_entered: bool) -> AbstractContextManager[str]:
    """Returns the name scope of a variable scope, with a trailing "/"."""
    if is_entered:
        return graph.name_scope(name) if name else nullcontext("")
    current = graph.get_name_scope()
    return nullcontext(f"{current}/" if current else "")


def _check_scope_arguments(
    name_or_scope: object, default_name: str | None, reuse: object, auxiliary_name_scope: object
) -> None:
    if name_or_scope is None and default_name is None:
        raise TypeError("If default_name is None then name_or_scope is required")
    if not isinstance(name_or_scope, (str, VariableScope, type(None))):
        raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
    if not (reuse is None or isinstance(reuse, bool) or reuse is AUTO_REUSE):
        raise ValueError("The reuse parameter must be True or False or None.")
    if not isinstance(auxiliary_name_scope, bool):
        raise TypeError(
            f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}"
        )
    if name_or_scope is None and reuse:
        raise ValueError("reuse=True cannot be used without a name_or_scope")
