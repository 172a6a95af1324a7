"""`tf.summary`: numbers and images for TensorBoard."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headrace.ops.summary import histogram, image, merge, merge_all, scalar

if TYPE_CHECKING:
    from headrace.events import FileWriter
    from headrace.protos import Event, SessionLog, Summary

__all__ = [
    "Event",
    "FileWriter",
    "SessionLog",
    "Summary",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
]

# What needs protocol buffers is loaded when it is first used.
_LATE = {
    "FileWriter": "headrace.events",
    **dict.fromkeys(("Event", "SessionLog", "Summary"), "headrace.protos"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)
