"""Session targets, all of which run in this process, whatever their names.

Source: the `target` argument of `tf.Session` in TensorFlow 1.15.
"""

import itertools
from typing import Final

from headrace.core.errors import NotFoundError
from headrace.tf1.session.options import ConfigProto

__all__ = ["add_target", "config_of"]

_LOCAL: Final = frozenset({"", "local"})
_numbers: Final = itertools.count()
# The targets of the servers in this process. The set only grows.
_added: Final[dict[str, ConfigProto | None]] = {}


def add_target(config: ConfigProto | None) -> str:
    """Returns a new target name for this process.

    Args:
        config: The options for sessions with this target, or None.
    """
    target = f"in-process://{next(_numbers)}"
    _added[target] = config
    return target


def config_of(target: str | bytes) -> ConfigProto | None:
    """Checks that sessions with a target run in this process.

    Returns:
        The options of the target, used if a session does not set them.

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
            "No session factory registered for the given session options: target is "
            f"{name!r}, expected '' or the target of a tf.train.Server in this process. "
            "headrace runs sessions only in the process that built the graph.",
        )
    return _added[name]
