"""`tf.config`: devices and options of the process, for programs that read or set them.

The only device is the CPU. Programs can set values and read them back, but the values have no
effect. Only the options in `tf.ConfigProto` do.

Source: `tf.config` in TensorFlow 1.15.
"""

from typing import TYPE_CHECKING

from headrace.tf1.config import experimental, optimizer, threading
from headrace.tf1.config.devices import (
    LogicalDevice,
    PhysicalDevice,
    get_soft_device_placement,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_soft_device_placement,
    set_visible_devices,
)
from headrace.tf1.namespace import namespace

__all__ = [
    "LogicalDevice",
    "PhysicalDevice",
    "experimental",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "optimizer",
    "set_soft_device_placement",
    "set_visible_devices",
    "threading",
]

if not TYPE_CHECKING:  # Hidden from mypy, so that mypy still reports unknown names.
    __getattr__, __dir__ = namespace(__name__, __all__)
