"""Native functions: Python functions over symbolic tensors that the engine computes.

`native` marks a function. A pipeline calls it once, with tensors in place of values (`trace`); the
operations that it adds become programs (`lowering`), for one row and, where operations have a batch
rule, for the rows of a block (`segments`).
"""

from headrace.pipeline.native_functions.function import native

__all__ = ["native"]
