"""`tf.config`: the devices and the options of the process, for programs that ask or set them.

There is one device, the processor. What is set is kept, so that it can be asked for, and changes no
result: options that mean something here are those of `tf.ConfigProto`.

Source: `tf.config` of TensorFlow 1.15.
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

if not TYPE_CHECKING:  # For mypy a wrong name is an error.
    __getattr__, __dir__ = namespace(__name__, __all__)
