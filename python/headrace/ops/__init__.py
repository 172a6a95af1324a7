"""Operations: one module a family; each function adds operations to the current graph.

Importing any of them gives tensors their operators.
"""

from headrace.ops import operators

__all__ = ["operators"]
