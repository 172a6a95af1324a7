"""Runs programs of tests on several ranks."""

import os
import subprocess
import sys
from pathlib import Path


def torchrun(
    world: int, *arguments: str | Path, timeout: float, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a program under `torchrun`. If it takes too long, its ranks are ended too.

    Args:
        world: The number of ranks. Each has one thread, since more would hardly start on a busy
            machine.
        arguments: Options of `torchrun`, the program, and its arguments.
        timeout: The number of seconds after which the test fails.
        cwd: The working directory.
    """
    start = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"]
    with subprocess.Popen(
        [sys.executable, *start, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
    ) as launcher:
        try:
            output, errors = launcher.communicate(timeout=timeout)
        except BaseException:  # Also the time limit of the test.
            # Ranks have sessions of their own, so only the launcher can end them.
            launcher.terminate()
            raise
    assert launcher.returncode == 0, errors[-4000:]
    return subprocess.CompletedProcess(launcher.args, 0, output, errors)
