"""`tf.config.experimental`: the older names of the device functions."""

from typing import TYPE_CHECKING

from headrace.tf1.config.devices import (
    get_memory_growth,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_memory_growth,
    set_visible_devices,
)
from headrace.tf1.namespace import namespace

__all__ = [
    "get_memory_growth",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_memory_growth",
    "set_visible_devices",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
