"""Old names of functions over variables.

Source: `tf.initialize_all_variables` and its kin of TensorFlow 1.15.
"""

from collections.abc import Sequence
from typing import Any

from headrace import ops
from headrace.graph import Operation
from headrace.ops.variables.variable import Variable

__all__ = [
    "all_variables",
    "initialize_all_tables",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "tables_initializer",
]


def all_variables() -> list[Any]:
    """The old name of `global_variables`."""
    return ops.global_variables()


def initialize_all_variables() -> Operation:
    """The old name of `global_variables_initializer`."""
    return ops.global_variables_initializer()


def initialize_local_variables() -> Operation:
    """The old name of `local_variables_initializer`."""
    return ops.local_variables_initializer()


def initialize_variables(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """The old name of `variables_initializer`."""
    return ops.variables_initializer(var_list, name)


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Adds an operation that does nothing: there are no lookup tables here."""
    return ops.no_op(name)


def initialize_all_tables(name: str = "init_all_tables") -> Operation:
    """The old name of `tables_initializer`."""
    return tables_initializer(name)
