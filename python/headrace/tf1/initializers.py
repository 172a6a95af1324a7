"""`tf.initializers`: initializers under their newer names."""

from headrace.ops.initialization import (
    global_variables_initializer as global_variables,
)
from headrace.ops.initialization import (
    local_variables_initializer as local_variables,
)
from headrace.ops.initialization import (
    variables_initializer as variables,
)
from headrace.ops.initializers import (
    constant_initializer as constant,
)
from headrace.ops.initializers import (
    glorot_normal_initializer as glorot_normal,
)
from headrace.ops.initializers import (
    glorot_uniform_initializer as glorot_uniform,
)
from headrace.ops.initializers import (
    ones_initializer as ones,
)
from headrace.ops.initializers import (
    random_normal_initializer as random_normal,
)
from headrace.ops.initializers import (
    random_uniform_initializer as random_uniform,
)
from headrace.ops.initializers import (
    truncated_normal_initializer as truncated_normal,
)
from headrace.ops.initializers import (
    variance_scaling_initializer as variance_scaling,
)
from headrace.ops.initializers import (
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
