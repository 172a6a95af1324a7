"""`tf.contrib.framework`: global steps, variables, checkpoints, nested structures.

Source: `tf.contrib.framework` in TensorFlow 1.15.
"""

from typing import TYPE_CHECKING

from headrace.ops.control.assertions import assert_equal
from headrace.ops.control.control_flow import with_dependencies
from headrace.ops.control.static_assertions import is_numeric_tensor
from headrace.ops.framework.conversion import is_tensor
from headrace.tf1.adapters.control import assert_scalar
from headrace.tf1.adapters.variables import create_global_step
from headrace.tf1.contrib.framework import nest
from headrace.tf1.namespace import namespace
from headrace.tf1.ops.readers.record_input import RecordInput
from headrace.tf1.ops.variables.global_step import (
    assert_global_step,
    get_global_step,
    get_or_create_global_step,
)
from headrace.tf1.ops.variables.initialization import global_variables as get_variables
from headrace.tf1.ops.variables.initialization import local_variables

if TYPE_CHECKING:
    from headrace.tf1.saver import list_variables, load_checkpoint, load_variable

get_local_variables = local_variables

__all__ = [
    "RecordInput",
    "assert_equal",
    "assert_global_step",
    "assert_scalar",
    "create_global_step",
    "get_global_step",
    "get_local_variables",
    "get_or_create_global_step",
    "get_variables",
    "is_numeric_tensor",
    "is_tensor",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "nest",
    "with_dependencies",
]

# Names that need protocol buffers are loaded on first use.
_LATE = dict.fromkeys(("list_variables", "load_checkpoint", "load_variable"), "headrace.tf1.saver")

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__, _LATE)
