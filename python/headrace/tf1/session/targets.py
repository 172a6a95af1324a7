"""The targets of sessions: all run in this process, whatever the name.

Source: the argument `target` of `tf.Session` of TensorFlow 1.15.
"""

import itertools
from typing import Final

from headrace.core.errors import NotFoundError

__all__ = ["add_target", "check_target"]

_LOCAL: Final = frozenset({"", "local"})
_numbers: Final = itertools.count()
# The targets of this process's servers. Only grows.
_added: Final[set[str]] = set()


def add_target() -> str:
    """Returns a new name of this process."""
    target = f"in-process://{next(_numbers)}"
    _added.add(target)
    return target


def check_target(target: str | bytes) -> None:
    """Checks that a session of a target runs in this process.

    Raises:
        NotFoundError: If it does not.
    """
    name = target.decode() if isinstance(target, bytes) else target
    if name not in _LOCAL and name not in _added:
        raise NotFoundError(
            None,
            None,
            f"No session factory registered for the given session options: target is {name!r}, "
            "expected '' or the target of a tf.train.Server of this process. headrace runs "
            "sessions in the process that made the graph, without a network.",
        )
