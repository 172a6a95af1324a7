"""Device strings. They are accepted, merged and stored as in TensorFlow, but have no effect.

Everything runs on the CPU, but programs may still compare an operation's device with the device
they requested.

Source: `tf.DeviceSpec` and `tf.Graph.device` in TensorFlow 1.15.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from headrace.graph.nodes import Operation

__all__ = ["DeviceLike", "DeviceScope", "DeviceSpec", "as_device_scope", "device_of"]


@dataclass(frozen=True)
class DeviceSpec:
    """The device of an operation. Parts that are None are not specified.

    Attributes:
        job: The name of a group of processes.
        replica: The replica number.
        task: The process number within the job.
        device_type: "CPU" or "GPU", in upper case.
        device_index: The device number within its type.
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    @classmethod
    def from_string(cls, spec: str) -> "DeviceSpec":
        """Parses a device string, such as "/job:worker/task:1/device:GPU:0" or "/cpu:0".

        Raises:
            ValueError: If it is not a valid device string.
        """
        parts: dict[str, Any] = {}
        for part in spec.split("/"):
            name, *values = part.split(":")
            if not part:
                continue
            if name in ("job", "replica", "task") and len(values) == 1:
                parts[name] = values[0] if name == "job" else int(values[0])
            elif name == "device" and len(values) in (1, 2):
                _set_type(parts, spec, values[0], values[1:])
            elif name.upper() in _TYPES and len(values) <= 1:
                _set_type(parts, spec, name, values)
            else:
                raise ValueError(
                    f"Unknown attribute '{name}' is encountered while parsing the device spec: "
                    f"'{spec}'."
                )
        return cls(**parts)

    def to_string(self) -> str:
        """Returns the device string."""
        parts = [
            f"/{name}:{value}"
            for name in ("job", "replica", "task")
            if (value := getattr(self, name)) is not None
        ]
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            parts.append(f"/device:{self.device_type}:{index}")
        return "".join(parts)

    def merged_with(self, other: "DeviceSpec") -> "DeviceSpec":
        """Returns `other`, with this spec's values for the parts that `other` does not specify."""
        pairs = {
            field.name: (getattr(self, field.name), getattr(other, field.name))
            for field in fields(self)
        }
        return DeviceSpec(
            **{name: mine if theirs is None else theirs for name, (mine, theirs) in pairs.items()}
        )


_DeviceFunction: TypeAlias = Callable[[Operation], str | DeviceSpec]
# A block's setting: a device, a function that chooses one, or None to ignore outer blocks.
DeviceScope: TypeAlias = DeviceSpec | _DeviceFunction | None
# Values that `Graph.device` accepts.
DeviceLike: TypeAlias = str | DeviceScope

_ANY = DeviceSpec()

_TYPES = frozenset({"CPU", "GPU", "TPU"})


def _set_type(parts: dict[str, Any], spec: str, kind: str, index: list[str]) -> None:
    if "device_type" in parts:
        raise ValueError(
            f"Multiple device types are not allowed while parsing the device spec: {spec}."
        )
    parts["device_type"] = kind.upper()
    if index and index[0] != "*":
        parts["device_index"] = int(index[0])


def as_device_scope(device: DeviceLike) -> DeviceScope:
    """Checks an argument of `Graph.device` and parses a device string.

    Raises:
        TypeError: If the argument is not a string, a `DeviceSpec`, a function or None.
        ValueError: If it is not a valid device string.
    """
    if device is None or isinstance(device, DeviceSpec):
        return device
    if callable(device):
        return device
    if not isinstance(device, str):
        raise TypeError(f"device is {device!r}, expected a device string, a function or None.")
    return DeviceSpec.from_string(device)


def device_of(op: Operation, scopes: list[DeviceScope]) -> str:
    """Returns the device of an operation that was created inside the given `device` blocks.

    Args:
        op: The operation. When a device function is called with it, `op.device` is the result of
            the outer blocks.
        scopes: The blocks' settings, innermost last. Inner blocks override outer blocks.

    Raises:
        TypeError: If a function does not return a device.
    """
    for scope in reversed(scopes):
        if scope is None:
            break
        if scope == _ANY:
            continue
        if isinstance(scope, DeviceSpec):
            op._device = scope.merged_with(DeviceSpec.from_string(op._device)).to_string()
            continue
        said = scope(op)
        if not isinstance(said, (str, DeviceSpec)):
            raise TypeError(f"Expected binary or unicode string, got {said!r}")
        op._device = said if isinstance(said, str) else said.to_string()
    return op._device
