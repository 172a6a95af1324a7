"""Checks the names of operations and makes them unique.

Source: `tf.Graph.unique_name` and `tf.Graph.name_scope` in TensorFlow 1.15.
"""

import re
from typing import Final, overload

__all__ = ["NameTable", "as_text", "check_node_name", "check_scope_name"]

_NODE_NAME: Final = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_INNER_SCOPE_NAME: Final = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


@overload
def as_text(name: str | bytes) -> str: ...


@overload
def as_text(name: None) -> None: ...


def as_text(name: str | bytes | None) -> str | None:
    """Returns a name as a string, or None if it is None."""
    return name.decode() if isinstance(name, bytes) else name


class NameTable:
    """The names used in a graph. Names that differ only in case count as equal.

    The table has no lock of its own: the graph that owns it must hold the graph's lock.
    """

    def __init__(self) -> None:
        self._uses: dict[str, int] = {}

    def make_unique(self, name: str, mark_as_used: bool = True) -> str:
        """Returns the name if it is free, otherwise `name_1`, `name_2` and so on.

        Args:
            name: The full name, including scopes.
            mark_as_used: Whether to mark the result as used.
        """
        key = base_key = name.lower()
        count = self._uses.get(key, 0)
        if mark_as_used:
            self._uses[key] = count + 1
        if count == 0:
            return name
        while key in self._uses:
            key = f"{base_key}_{count}"
            count += 1
        if mark_as_used:
            self._uses[key] = 1
        return f"{name}_{count - 1}"


def check_node_name(name: str) -> None:
    """Raises ValueError unless the name is valid for an operation."""
    if not _NODE_NAME.match(name):
        raise ValueError(f"'{name}' is not a valid node name")


def check_scope_name(name: str, is_root: bool) -> None:
    """Raises ValueError unless the name is valid for a scope.

    Args:
        name: The name, without enclosing scopes.
        is_root: Whether there is no enclosing scope. Operation names start with the root scope, so
            the root scope must be a valid start of a name.
    """
    if not (_NODE_NAME if is_root else _INNER_SCOPE_NAME).match(name):
        raise ValueError(f"'{name}' is not a valid scope name")
