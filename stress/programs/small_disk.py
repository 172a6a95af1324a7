"""A disk with little space: `python -m stress.programs.small_disk WRITER OLD BYTES RESULTS`.

Mounts a file system in memory, so it needs its own mount namespace (`unshare --mount`).
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from stress import syscall_faults

__all__ = ["DiskWrites", "is_there", "write"]

_DISK_BYTES = 64 << 20
_SECONDS = 300
_ALONE = ("unshare", "--user", "--map-root-user", "--mount")


@dataclass(frozen=True)
class DiskWrites:
    """The results of writing to the disk, and of writing again with enough space.

    Attributes:
        status: The exit status.
        error: The error output.
        status_again: The exit status with enough space.
        error_again: The error output with enough space.
    """

    status: int
    error: str
    status_again: int
    error_again: str


def is_there() -> bool:
    """Returns whether file systems may be mounted in a new namespace."""
    if shutil.which("unshare") is None:
        return False
    command = [*_ALONE, "mount", "-t", "tmpfs", "none", os.curdir]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def write(writer: str, old: Path, free_bytes: int, results: Path) -> DiskWrites:
    """Runs a writer on a disk with the old files and the given free space.

    Its files are then in `results/seen`, and those written with enough space in `results/new`.

    Raises:
        RuntimeError: If the disk could not be mounted.
        subprocess.TimeoutExpired: If it hangs.
    """
    arguments = [writer, str(old), str(free_bytes), str(results)]
    command = [*_ALONE, sys.executable, "-m", "stress.programs.small_disk", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"no small disk: {done.stderr}")
    return DiskWrites(**json.loads(done.stdout))


def _main(writer: str, old: Path, free_bytes: int, results: Path) -> None:
    disk = results / "disk"
    disk.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "none", str(disk)]
    subprocess.run(mount, check=True)
    folder, filler = disk / "place", disk / "filler"
    shutil.copytree(old, folder)
    state = os.statvfs(disk)
    filler.write_bytes(bytes(max(state.f_bavail * state.f_frsize - free_bytes, 0)))
    first = syscall_faults.run(writer, folder, 1)
    shutil.copytree(folder, results / "seen")
    filler.unlink()
    again = syscall_faults.run(writer, folder, 1)
    shutil.copytree(folder, results / "new")
    written = DiskWrites(first.returncode, first.stderr, again.returncode, again.stderr)
    print(json.dumps(asdict(written)))


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
