"""Native functions: Python functions that are traced with symbolic tensors and run by the engine.

`native` marks a function. A pipeline calls it once, with tensors instead of values (`trace`). The
recorded operations are compiled to programs (`lowering`): one for a single row and, if the
operations have batch rules, one for all rows of a block (`segments`).
"""

from headrace.pipeline.native_functions.conversations import chat
from headrace.pipeline.native_functions.function import native

__all__ = ["chat", "native"]
