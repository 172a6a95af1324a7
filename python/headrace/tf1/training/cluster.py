"""Cluster descriptions, and a server that serves only this process.

headrace runs a graph in the process that built it. A distributed program works if its cluster has a
single task.

Source: `tf.train.ClusterSpec` and `tf.train.Server` in TensorFlow 1.15.
"""

import threading
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from headrace.core.wait_registry import RegisteredWait
from headrace.tf1.session import ConfigProto
from headrace.tf1.session.targets import add_target

__all__ = ["ClusterSpec", "Server"]

_Jobs: TypeAlias = dict[str, dict[int, str]]

_ONE_TASK: Final = (
    "headrace runs sessions only in the process that built the graph. Start the program with "
    "one task, or read the input separately in each process."
)


class ClusterSpec:
    """The addresses of the tasks of each job.

    Args:
        cluster: The addresses of each job (a list, or a dict by task number), or another
            `ClusterSpec`.

    Raises:
        TypeError: If `cluster` is anything else.
    """

    def __init__(self, cluster: "Mapping[str, Any] | ClusterSpec") -> None:
        if isinstance(cluster, ClusterSpec):
            self._jobs: _Jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
        elif isinstance(cluster, Mapping):
            self._jobs = {_text(job): _tasks(job, tasks) for job, tasks in cluster.items()}
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network "
                f"addresses, or a `ClusterDef` protocol buffer, got {type(cluster).__name__}."
            )

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        jobs = ", ".join(f"{job!r}: {self.as_dict()[job]!r}" for job in sorted(self._jobs))
        return f"ClusterSpec({{{jobs}}})"

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """Returns the addresses of each job: a list, or a dict if task numbers are missing."""
        return {
            job: self.job_tasks(job) if set(tasks) == set(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Returns the number of tasks in a job.

        Raises:
            ValueError: If the job does not exist.
        """
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Returns a job's task numbers, in order.

        Raises:
            ValueError: If the job does not exist.
        """
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Returns the address of a task.

        Raises:
            ValueError: If the job or the task does not exist.
        """
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[Any]:
        """Returns the addresses of a job, with None for missing task numbers.

        Raises:
            ValueError: If the job does not exist.
        """
        tasks = self._job(job_name)
        return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]

    def _job(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self._jobs[job_name]


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"Expected binary or unicode string, got {value!r}")
    return value


def _tasks(job: str, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, (list, tuple)):
        return {index: _text(address) for index, address in enumerate(tasks)}
    if not isinstance(tasks, Mapping):
        raise TypeError(
            f"The tasks for job {job!r} must be a list or a dictionary from integers to strings."
        )
    for index in tasks:
        if not isinstance(index, int):
            raise TypeError(
                f"The tasks for job {job!r} have the number {index!r}, which is not an integer."
            )
    return {index: _text(address) for index, address in tasks.items()}


class Server:
    """Represents this process in a cluster with only one process. Pass its `target` to sessions.

    Each session has its own variables and queues, even with the same target.

    Args:
        server_or_cluster_def: The cluster: a `ClusterSpec`, or its argument.
        job_name: The job of this process. Not needed if there is only one.
        task_index: The task of this process. Not needed if there is only one.
        protocol: Accepted for compatibility, but not used.
        config: The options of sessions with this target. Options of a session take precedence.
        start: Accepted for compatibility, but not used.

    Raises:
        ValueError: If the task does not exist, or the cluster has several tasks.
    """

    def __init__(
        self,
        server_or_cluster_def: "Mapping[str, Any] | ClusterSpec",
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: ConfigProto | None = None,
        start: bool = True,
    ) -> None:
        cluster = ClusterSpec(server_or_cluster_def)
        tasks = [(job, index) for job in cluster.jobs for index in cluster.task_indices(job)]
        if job_name is not None and task_index is not None:
            cluster.task_address(job_name, task_index)
        elif job_name is not None:
            cluster.num_tasks(job_name)
        if len(tasks) != 1:
            names = ", ".join(f"/job:{job}/task:{index}" for job, index in tasks) or "none"
            raise ValueError(
                f"tf.train.Server: the cluster has {len(tasks)} tasks ({names}), expected "
                f"one. {_ONE_TASK}"
            )
        self._target = add_target(config)

    @staticmethod
    def create_local_server(config: ConfigProto | None = None, start: bool = True) -> "Server":
        """Creates a server for a cluster that consists of this process.

        Args:
            config: The options of sessions with this target.
            start: Accepted for compatibility, but not used.
        """
        return Server({"local": ["localhost:0"]}, config=config, start=start)

    @property
    def target(self) -> str:
        """The target to pass to `tf.Session`."""
        return self._target

    def start(self) -> None:
        """Does nothing, because there is nothing to start."""

    def join(self) -> None:
        """Waits forever, because a server does not end by itself. Ctrl-C ends the wait."""
        with RegisteredWait(lambda: "a server to end (it never does)"):
            threading.Event().wait()
