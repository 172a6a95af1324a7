"""The devices that a program can list. The CPU is the only device.

Source: `tf.config.list_physical_devices` and similar functions in TensorFlow 1.15.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = [
    "LogicalDevice",
    "PhysicalDevice",
    "get_memory_growth",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_memory_growth",
    "set_soft_device_placement",
    "set_visible_devices",
]


class PhysicalDevice(NamedTuple):
    """A device of this machine.

    Attributes:
        name: The name.
        device_type: The kind of device.
    """

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device with the name that operations use.

    Attributes:
        name: The name.
        device_type: The kind of device.
    """

    name: str
    device_type: str


_PHYSICAL: Final = PhysicalDevice("/physical_device:CPU:0", "CPU")
_LOGICAL: Final = LogicalDevice("/device:CPU:0", "CPU")
# Values that programs have set. They have no effect.
_is_soft: Final = [False]


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns this machine's devices of one kind: the processor, or an empty list.

    Args:
        device_type: The kind, such as "GPU". Defaults to all kinds.
    """
    return [_PHYSICAL] if device_type in (None, _PHYSICAL.device_type) else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Returns the devices under the names that operations use.

    Args:
        device_type: The kind, such as "GPU". Defaults to all kinds.
    """
    return [_LOGICAL] if device_type in (None, _LOGICAL.device_type) else []


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices that operations can use, the same as `list_physical_devices`.

    Args:
        device_type: The kind, such as "GPU". Defaults to all kinds.
    """
    return list_physical_devices(device_type)


def set_visible_devices(
    devices: PhysicalDevice | Sequence[PhysicalDevice], device_type: str | None = None
) -> None:
    """Does nothing, because operations use the processor.

    Args:
        devices: The devices to use.
        device_type: The kind of the devices. Defaults to all kinds.

    Raises:
        ValueError: If the device does not exist.
    """
    items = [devices] if isinstance(devices, PhysicalDevice) else devices
    _check(items)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Does nothing, because there is no GPU.

    Args:
        device: A GPU.
        enable: Whether the device allocates memory as needed.

    Raises:
        ValueError: If the device does not exist, or it is not a GPU.
    """
    _check([device])
    raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Returns whether a GPU allocates memory as needed. Always fails, because there is no GPU.

    Args:
        device: A GPU.

    Raises:
        ValueError: If the device does not exist, or it is not a GPU.
    """
    _check([device])
    raise ValueError("Memory growth is only available for GPUs")


def set_soft_device_placement(enabled: bool) -> None:
    """Stores the value. Operations always run on the processor.

    Args:
        enabled: Whether operations can run on a device other than the requested one.
    """
    _is_soft[0] = bool(enabled)


def get_soft_device_placement() -> bool:
    """Returns the value that was set. Initially False."""
    return _is_soft[0]


def _check(devices: Sequence[PhysicalDevice]) -> None:
    for device in devices:
        if device != _PHYSICAL:
            raise ValueError(f"Unrecognized device: {device!r}. The only device is {_PHYSICAL!r}.")
