"""The devices that a program can list: only the CPU.

Source: `tf.config.list_physical_devices` and similar functions of TensorFlow 1.15.
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
        name: Its name.
        device_type: Its kind.
    """

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device with the name that operations use.

    Attributes:
        name: Its name.
        device_type: Its kind.
    """

    name: str
    device_type: str


_PHYSICAL: Final = PhysicalDevice("/physical_device:CPU:0", "CPU")
_LOGICAL: Final = LogicalDevice("/device:CPU:0", "CPU")
# Values that programs have set. They have no effect.
_is_soft: Final = [False]


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices of this machine of one kind: the processor, or none.

    Args:
        device_type: The kind, such as "GPU"; None for all.
    """
    return [_PHYSICAL] if device_type in (None, _PHYSICAL.device_type) else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Returns the devices with the names that operations use.

    Args:
        device_type: The kind, such as "GPU"; None for all.
    """
    return [_LOGICAL] if device_type in (None, _LOGICAL.device_type) else []


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices that operations may use: those of `list_physical_devices`.

    Args:
        device_type: The kind, such as "GPU"; None for all.
    """
    return list_physical_devices(device_type)


def set_visible_devices(
    devices: PhysicalDevice | Sequence[PhysicalDevice], device_type: str | None = None
) -> None:
    """Does nothing: operations use the processor.

    Args:
        devices: The devices to use.
        device_type: Their kind; None for all.

    Raises:
        ValueError: If there is no such device.
    """
    items = [devices] if isinstance(devices, PhysicalDevice) else devices
    _check(items)


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Does nothing: there is no memory of a GPU.

    Args:
        device: A GPU.
        enable: Whether it takes memory as needed.

    Raises:
        ValueError: If there is no such device, or it is not a GPU.
    """
    _check([device])
    raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Returns whether a GPU takes memory as needed; always an error, since there are none.

    Args:
        device: A GPU.

    Raises:
        ValueError: If there is no such device, or it is not a GPU.
    """
    _check([device])
    raise ValueError("Memory growth is only available for GPUs")


def set_soft_device_placement(enabled: bool) -> None:
    """Stores the value; operations run on the processor with any device.

    Args:
        enabled: Whether operations may run on another device than the one they name.
    """
    _is_soft[0] = bool(enabled)


def get_soft_device_placement() -> bool:
    """Returns the value that was set; False at first."""
    return _is_soft[0]


def _check(devices: Sequence[PhysicalDevice]) -> None:
    for device in devices:
        if device != _PHYSICAL:
            raise ValueError(f"Unrecognized device: {device!r}. The only device is {_PHYSICAL!r}.")
