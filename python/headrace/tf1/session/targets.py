"""The targets of sessions: all run in this process, whatever the name.

Source: the argument `target` of `tf.Session` of TensorFlow 1.15.
"""

import itertools
from typing import Final

from headrace.core.errors import NotFoundError
from headrace.tf1.session.options import ConfigProto

__all__ = ["add_target", "config_of"]

_LOCAL: Final = frozenset({"", "local"})
_numbers: Final = itertools.count()
# The targets of this process's servers. Only grows.
_added: Final[dict[str, ConfigProto | None]] = {}


def add_target(config: ConfigProto | None) -> str:
    """Returns a new name of this process.

    Args:
        config: The options of the sessions there; None for none.
    """
    target = f"in-process://{next(_numbers)}"
    _added[target] = config
    return target


def config_of(target: str | bytes) -> ConfigProto | None:
    """Checks that a session of a target runs in this process.

    Returns:
        The options of the target, which count where those of a session say nothing.

    Raises:
        NotFoundError: If the target is another process.
    """
    name = target.decode() if isinstance(target, bytes) else target
    if name in _LOCAL:
        return None
    if name not in _added:
        raise NotFoundError(
            None,
            None,
            f"No session factory registered for the given session options: target is {name!r}, "
            "expected '' or the target of a tf.train.Server of this process. headrace runs "
            "sessions in the process that made the graph, without a network.",
        )
    return _added[name]
