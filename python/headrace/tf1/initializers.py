"""`tf.initializers`: initializers under their newer names."""

from typing import TYPE_CHECKING

from headrace.tf1.namespace import namespace
from headrace.tf1.ops.variables.initialization import (
    global_variables_initializer as global_variables,
)
from headrace.tf1.ops.variables.initialization import (
    local_variables_initializer as local_variables,
)
from headrace.tf1.ops.variables.initialization import (
    variables_initializer as variables,
)
from headrace.tf1.ops.variables.initializers import (
    constant_initializer as constant,
)
from headrace.tf1.ops.variables.initializers import (
    glorot_normal_initializer as glorot_normal,
)
from headrace.tf1.ops.variables.initializers import (
    glorot_uniform_initializer as glorot_uniform,
)
from headrace.tf1.ops.variables.initializers import (
    ones_initializer as ones,
)
from headrace.tf1.ops.variables.initializers import (
    random_normal_initializer as random_normal,
)
from headrace.tf1.ops.variables.initializers import (
    random_uniform_initializer as random_uniform,
)
from headrace.tf1.ops.variables.initializers import (
    truncated_normal_initializer as truncated_normal,
)
from headrace.tf1.ops.variables.initializers import (
    variance_scaling_initializer as variance_scaling,
)
from headrace.tf1.ops.variables.initializers import (
    zeros_initializer as zeros,
)

__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "local_variables",
    "ones",
    "random_normal",
    "random_uniform",
    "truncated_normal",
    "variables",
    "variance_scaling",
    "zeros",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
