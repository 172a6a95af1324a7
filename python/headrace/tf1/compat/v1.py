"""`tf.compat.v1`: the name under which converted programs use `headrace.tf1`."""

import sys
from typing import TYPE_CHECKING, Any

# Python imports the package before this module, and then binds the name to this entry in
# `sys.modules`.
sys.modules[__name__] = sys.modules["headrace.tf1"]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
