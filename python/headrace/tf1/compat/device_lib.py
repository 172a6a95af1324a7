"""The machine's devices, for programs that list them. The CPU is the only device.

Source: `tensorflow.python.client.device_lib` in TensorFlow 1.15.
"""

from dataclasses import dataclass
from typing import Any

from headrace.core.allocation_guard import available_bytes

__all__ = ["DeviceAttributes", "list_local_devices"]


@dataclass(frozen=True)
class DeviceAttributes:
    """A device.

    Attributes:
        name: The name of the device.
        device_type: Always "CPU".
        memory_limit: The memory limit in bytes.
        physical_device_desc: Always empty.
    """

    name: str = "/device:CPU:0"
    device_type: str = "CPU"
    memory_limit: int = 0
    physical_device_desc: str = ""


def list_local_devices(session_config: Any = None) -> list[DeviceAttributes]:
    """Returns a list of the only device, on which all operations run."""
    return [DeviceAttributes(memory_limit=available_bytes())]
