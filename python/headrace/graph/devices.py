"""Device strings: accepted, merged and kept as TensorFlow keeps them, and followed by nobody.

Everything runs on the processor. But programs compare the device of an operation or a node with
what they asked for.

Source: `tf.DeviceSpec` and `tf.Graph.device` of TensorFlow 1.15.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

__all__ = ["DeviceScope", "DeviceSpec", "as_device_scope", "device_of"]


@dataclass(frozen=True)
class DeviceSpec:
    """Where an operation shall run; what is None is not said.

    Attributes:
        job: Name of a group of processes.
        replica: Number of the replica.
        task: Number of the process in the job.
        device_type: "CPU" or "GPU", in capitals.
        device_index: Number of the device of that type.
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    @classmethod
    def from_string(cls, spec: str) -> "DeviceSpec":
        """Reads a device string, such as "/job:worker/task:1/device:GPU:0" or "/cpu:0".

        Raises:
            ValueError: If it is none.
        """
        found: dict[str, Any] = {}
        for part in spec.split("/"):
            name, *values = part.split(":")
            if not part:
                continue
            if name in ("job", "replica", "task") and len(values) == 1:
                found[name] = values[0] if name == "job" else int(values[0])
            elif name == "device" and len(values) in (1, 2):
                _set_type(found, spec, values[0], values[1:])
            elif name.upper() in _TYPES and len(values) <= 1:
                _set_type(found, spec, name, values)
            else:
                raise ValueError(
                    f"Unknown attribute '{name}' is encountered while parsing the device spec: "
                    f"'{spec}'."
                )
        return cls(**found)

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
        """Returns what `other` says, and this one where `other` says nothing."""
        pairs = {
            field.name: (getattr(self, field.name), getattr(other, field.name))
            for field in fields(self)
        }
        return DeviceSpec(
            **{name: mine if theirs is None else theirs for name, (mine, theirs) in pairs.items()}
        )


# What a block asks for: nothing more, whatever is around it; a device; or what a function says.
DeviceScope: TypeAlias = DeviceSpec | Callable[[Any], Any] | None

_ANY = DeviceSpec()

_TYPES = frozenset({"CPU", "GPU", "TPU"})


def _set_type(found: dict[str, Any], spec: str, kind: str, index: list[str]) -> None:
    if "device_type" in found:
        raise ValueError(
            f"Multiple device types are not allowed while parsing the device spec: {spec}."
        )
    found["device_type"] = kind.upper()
    if index and index[0] != "*":
        found["device_index"] = int(index[0])


def as_device_scope(device: Any) -> DeviceScope:
    """Returns what an argument of `Graph.device` asks for.

    Raises:
        TypeError: If it is neither a string, a `DeviceSpec`, a function nor None.
        ValueError: If it is no device string.
    """
    if device is None or isinstance(device, DeviceSpec):
        return device
    if callable(device):
        function: Callable[[Any], Any] = device
        return function
    if not isinstance(device, str):
        raise TypeError(f"device is {device!r}, expected a device string, a function or None.")
    return DeviceSpec.from_string(device)


def device_of(op: Any, scopes: list[DeviceScope]) -> str:
    """Returns the device of an operation made inside some blocks.

    Args:
        op: The operation; functions are given it with the device so far.
        scopes: What the blocks ask for, innermost last. What an inner one says counts.

    Raises:
        TypeError: If a function returns no device string.
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
    device: str = op._device
    return device
