"""`tf.config.optimizer`: options for TensorFlow's graph rewriting, which have no effect.

headrace has its own rewrites, which don't change any result. To turn them off, configure the
session with `tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))`, where
`options` is `tf.OptimizerOptions(opt_level=-1)`.

Source: `tf.config.optimizer` in TensorFlow 1.15.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from headrace.tf1.namespace import namespace

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]

_options: Final[dict[str, Any]] = {"disable_model_pruning": False, "disable_meta_optimizer": False}
_is_compiled: Final = [False]


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Stores options of the graph optimizer, which have no effect.

    Args:
        options: The options by name, such as "constant_folding". Other options keep their values.
    """
    _options.update(options)


def get_experimental_options() -> dict[str, Any]:
    """Returns the options that were set, plus two options that always exist."""
    return dict(_options)


def set_jit(enabled: bool) -> None:
    """Stores the value. There is no just-in-time compiler.

    Args:
        enabled: Whether graphs are compiled.
    """
    _is_compiled[0] = bool(enabled)


def get_jit() -> bool:
    """Returns the value that was set. Initially False."""
    return _is_compiled[0]


if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
