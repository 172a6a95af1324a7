"""The number of processors that this process may use."""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["num_cores"]

_GROUPS: Final = Path("/proc/self/cgroup")
_MOUNT: Final = Path("/sys/fs/cgroup")


def num_cores() -> int:
    """Returns the number of processors that this process may use, at least 1.

    If a container limits the CPU time, the limit is converted to a number of processors and rounded
    up. Both cgroup versions are supported.
    """
    has_mask = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_mask else os.cpu_count() or 1
    return max(min([cores, *(math.ceil(limit) for limit in _limits())]), 1)


def _limits() -> Iterator[float]:
    """Yields the CPU limits of the process's control groups, in processors.

    Source: the Linux kernel's "Control Group v2" and "CFS Bandwidth Control" (docs.kernel.org).
    """
    try:
        lines = _GROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            home, read = _MOUNT, _limit_of_version_2
        elif "cpu" in controllers.split(","):
            home, read = _MOUNT / "cpu", _limit_of_version_1
        else:
            continue
        # In a container, this may be the path outside the container. The container's own group is
        # then at the mount point itself.
        group = home / path.strip("/")
        for level in [group, *group.parents]:
            limit = read(level)
            if limit is not None:
                yield limit
            if level == home:
                break


def _limit_of_version_2(group: Path) -> float | None:
    try:
        quota, period = (group / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None


def _limit_of_version_1(group: Path) -> float | None:
    try:
        quota = int((group / "cpu.cfs_quota_us").read_text())
        period = int((group / "cpu.cfs_period_us").read_text())
        return quota / period if quota > 0 else None
    except (OSError, ValueError, ZeroDivisionError):
        return None
