"""Devices for programs with parameter servers, which have no effect here.

Source: `tf.train.replica_device_setter` in TensorFlow 1.15.
"""

from collections.abc import Callable, Collection
from typing import Any, Final

from headrace.graph import DeviceSpec, Operation
from headrace.tf1.training.cluster import ClusterSpec

__all__ = ["replica_device_setter"]

_VARIABLE_TYPES: Final = (
    *("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2"),
    *("MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable"),
    *("MutableDenseHashTableV2", "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp"),
    "BoostedTreesQuantileStreamResourceHandleOp",
)


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Collection[str] | None = None,
    ps_strategy: Callable[[Operation], int] | None = None,
) -> Callable[[Operation], str] | None:
    """Returns a function for `tf.device` that places variables on parameter servers.

    Args:
        ps_tasks: The number of parameter servers. If it is 0, the result is None.
        ps_device: The device of parameter servers.
        worker_device: The device of workers.
        merge_devices: Accepted for compatibility, but not used, because devices are always merged.
        cluster: The cluster, which has a job with the name in `ps_device`.
        ps_ops: The types of operations on parameter servers. Defaults to variables.
        ps_strategy: A function that returns the server number for an operation. By default, servers
            are used in turn.

    Raises:
        TypeError: If `ps_strategy` is not a function.
    """
    if cluster is not None:
        spec = ClusterSpec(cluster)
        job = DeviceSpec.from_string(ps_device).job or "ps"
        if job not in spec.jobs or not spec.num_tasks(job):
            return None
        ps_tasks = spec.num_tasks(job)
    if ps_tasks == 0:
        return None
    if ps_strategy is None:
        ps_strategy = _RoundRobin(ps_tasks)
    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    return _Chooser(ps_device, worker_device, ps_ops or _VARIABLE_TYPES, ps_strategy).device_of


class _RoundRobin:
    """Chooses the servers in turn."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._next = 0

    def __call__(self, op: Operation) -> int:
        task, self._next = self._next, (self._next + 1) % self._num_tasks
        return task


class _Chooser:
    """Chooses the devices of operations."""

    def __init__(
        self,
        ps_device: str,
        worker_device: str,
        ps_ops: Collection[str],
        ps_strategy: Callable[[Operation], int],
    ) -> None:
        self._ps_device = ps_device
        self._worker_device = worker_device
        self._ps_ops = ps_ops
        self._ps_strategy = ps_strategy

    def device_of(self, op: Operation) -> str:
        """Returns the device for an operation. Its own device takes precedence."""
        current = DeviceSpec.from_string(op.device or "")
        if self._ps_device and op.type in self._ps_ops:
            chosen = DeviceSpec.from_string(self._ps_device)
            if current.job is None and chosen.task is None:
                task = DeviceSpec(task=self._ps_strategy(op))
                chosen = chosen.merged_with(task)
            elif current.job not in (None, chosen.job):
                return current.to_string()
        else:
            chosen = DeviceSpec.from_string(self._worker_device or "")
        return chosen.merged_with(current).to_string()
