"""The device of all sessions.

Source: `tf.Session.list_devices` in TensorFlow 1.15.
"""

from typing import Final, NamedTuple

__all__ = ["CPU", "DeviceAttributes", "cpu"]


class DeviceAttributes(NamedTuple):
    """A device that a session can use.

    Attributes:
        name: The full name of the device.
        device_type: The type of the device.
        memory_limit_bytes: The memory that the device may use, or 0 if only the machine limits it.
        incarnation: A number that changes when the device is restarted.
    """

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int


def cpu(number: int) -> DeviceAttributes:
    """Returns the device with a given number. Every device represents all CPUs of this machine."""
    return DeviceAttributes(f"/job:localhost/replica:0/task:0/device:CPU:{number}", "CPU", 0, 0)


CPU: Final = cpu(0)
"""All CPUs of this machine."""
