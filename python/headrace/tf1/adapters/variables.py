"""Variables with TensorFlow 1's arguments, and old names for functions on variables.

Source: `tf.Variable`, `tf.get_variable`, `tf.variable_scope`, `tf.initialize_all_variables` and
similar functions in TensorFlow 1.15.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from headrace.core.dtypes import DTypeLike
from headrace.core.shapes import ShapeLike
from headrace.graph import Graph, GraphKeys, Operation, TensorLike, name_scope
from headrace.tf1 import input as pipelines
from headrace.tf1 import ops
from headrace.tf1.ops.variables.store import Initializer, Regularizer, Reuse
from headrace.tf1.ops.variables.variable import InitialValue

__all__ = [
    "Variable",
    "all_variables",
    "create_global_step",
    "get_local_variable",
    "get_variable",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "match_filenames_once",
    "op_scope",
    "variable_op_scope",
    "variable_scope",
]


class Variable(ops.Variable, metaclass=ABCMeta):
    """A tensor whose value is kept between the runs of a session; see `ops.Variable`.

    Every variable is an instance of this class, even if another function created it.

    Args:
        initial_value: See `ops.Variable`.
        trainable: See `ops.Variable`. Defaults to True.
        collections: See `ops.Variable`.
        validate_shape: See `ops.Variable`.
        caching_device: Has no effect.
        name: See `ops.Variable`.
        variable_def: Not supported. Must be None.
        dtype: See `ops.Variable`.
        expected_shape: Has no effect.
        import_scope: Has no effect.
        constraint: See `ops.Variable`.
        use_resource: Has no effect: all variables are reference variables.
        synchronization: Has no effect.
        aggregation: Has no effect.
        shape: See `ops.Variable`.

    Raises:
        TypeError: See `ops.Variable`.
        ValueError: If `initial_value` is None, or `variable_def` is given. See also `ops.Variable`.
    """

    def __init__(
        self,
        initial_value: InitialValue | None = None,
        trainable: bool | None = None,
        collections: Collection[str] | None = None,
        validate_shape: bool = True,
        caching_device: object = None,
        name: str | None = None,
        variable_def: None = None,
        dtype: DTypeLike | None = None,
        expected_shape: object = None,
        import_scope: str | None = None,
        constraint: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        synchronization: object = None,
        aggregation: object = None,
        shape: ShapeLike = None,
    ) -> None:
        if variable_def is not None:
            raise ValueError(
                "tf.Variable: variable_def is not supported. Pass an initial_value instead."
            )
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        super().__init__(
            initial_value,
            trainable=True if trainable is None else trainable,
            collections=collections,
            validate_shape=validate_shape,
            dtype=dtype,
            shape=shape,
            constraint=constraint,
            name=name,
        )

    @classmethod
    def __subclasshook__(cls, subclass: type) -> bool:
        # The core also creates variables, as instances of its own class. They count as instances of
        # this class, but not of its subclasses.
        return issubclass(subclass, ops.Variable) if cls is Variable else NotImplemented


def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool | None = None,
    collections: Collection[str] | None = None,
    caching_device: object = None,
    partitioner: None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: None = None,
    constraint: Callable[..., Any] | None = None,
    synchronization: object = None,
    aggregation: object = None,
) -> Variable:
    """Calls `ops.get_variable`.

    `caching_device`, `use_resource`, `synchronization` and `aggregation` have no effect.

    Raises:
        ValueError: If `partitioner` or `custom_getter` is set, because neither is supported. See
            also `ops.get_variable`.
    """
    _check_supported("tf.get_variable", partitioner=partitioner, custom_getter=custom_getter)
    variable = ops.get_variable(
        name,
        shape,
        dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=True if trainable is None else trainable,
        collections=collections,
        validate_shape=validate_shape,
        constraint=constraint,
    )
    return cast(Variable, variable)


def get_local_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool = False,
    collections: Collection[str] | None = None,
    caching_device: object = None,
    partitioner: None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: None = None,
    constraint: Callable[..., Any] | None = None,
    synchronization: object = None,
    aggregation: object = None,
) -> Variable:
    """Returns a local variable, which is never trained; see `get_variable`."""
    return get_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        trainable=False,
        collections=[*(collections or ()), GraphKeys.LOCAL_VARIABLES],
        partitioner=partitioner,
        validate_shape=validate_shape,
        custom_getter=custom_getter,
        constraint=constraint,
    )


@contextmanager
def variable_scope(
    name_or_scope: str | ops.VariableScope | None,
    default_name: str | None = None,
    values: Iterable[object] | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    caching_device: object = None,
    partitioner: None = None,
    custom_getter: None = None,
    reuse: Reuse | None = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Callable[..., Any] | None = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[ops.VariableScope]:
    """Calls `ops.variable_scope`; `caching_device` and `use_resource` have no effect.

    Raises:
        TypeError: See `ops.variable_scope`.
        ValueError: If `partitioner` or `custom_getter` is given. See also `ops.variable_scope`.
    """
    _check_supported("tf.variable_scope", partitioner=partitioner, custom_getter=custom_getter)
    with ops.variable_scope(
        name_or_scope,
        default_name,
        values=values,
        initializer=initializer,
        regularizer=regularizer,
        reuse=reuse,
        dtype=dtype,
        constraint=constraint,
        auxiliary_name_scope=auxiliary_name_scope,
    ) as scope:
        yield scope


@contextmanager
def op_scope(
    values: Iterable[object] | None, name: str | None, default_name: str | None = None
) -> Iterator[str]:
    """Opens a name scope; the old form of `name_scope`, with the values first."""
    with name_scope(name, default_name, values) as scope:
        yield scope


@contextmanager
def variable_op_scope(
    values: Iterable[object] | None,
    name_or_scope: str | ops.VariableScope | None,
    default_name: str | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    caching_device: object = None,
    partitioner: None = None,
    custom_getter: None = None,
    reuse: Reuse | None = None,
    dtype: DTypeLike | None = None,
    use_resource: bool | None = None,
    constraint: Callable[..., Any] | None = None,
) -> Iterator[ops.VariableScope]:
    """Opens a variable scope; the old form of `variable_scope`, with the values first."""
    with variable_scope(
        name_or_scope,
        default_name,
        values,
        initializer,
        regularizer,
        partitioner=partitioner,
        custom_getter=custom_getter,
        reuse=reuse,
        dtype=dtype,
        constraint=constraint,
    ) as scope:
        yield scope


def create_global_step(graph: Graph | None = None) -> Variable:
    """Calls `ops.create_global_step`. Type checkers see the result as a `tf.Variable`."""
    return cast(Variable, ops.create_global_step(graph))


def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Variable:
    """Calls `headrace.match_filenames_once`. Type checkers see the result as a `tf.Variable`."""
    return cast(Variable, pipelines.match_filenames_once(pattern, name))


def all_variables() -> list[Any]:
    """Returns all global variables; the old name of `global_variables`."""
    return ops.global_variables()


def initialize_all_variables() -> Operation:
    """Adds an initializer of global variables; the old name of `global_variables_initializer`."""
    return ops.global_variables_initializer()


def initialize_local_variables() -> Operation:
    """Adds an initializer of local variables; the old name of `local_variables_initializer`."""
    return ops.local_variables_initializer()


def initialize_variables(var_list: Sequence[ops.Variable], name: str = "init") -> Operation:
    """Adds an initializer of variables; the old name of `variables_initializer`."""
    return ops.variables_initializer(var_list, name)


def _check_supported(where: str, **arguments: object) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(
                f"{where}: {name} is not supported: headrace neither partitions variables nor "
                "calls custom getters. Remove the argument."
            )
