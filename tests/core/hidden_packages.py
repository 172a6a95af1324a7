"""Runs programs as if packages of extras were not installed."""

import subprocess
import sys

__all__ = ["run", "run_without_protobuf"]

# Makes the packages of an extra look uninstalled.
_HIDDEN = "import sys; sys.modules.update(click=None, tqdm=None)\n"
_NO_PROTOBUF = "import sys; sys.modules.update({'google.protobuf': None})\n"


def run(program: str) -> subprocess.CompletedProcess:
    """Runs a program without the packages of the commands."""
    return _run(_HIDDEN + program)


def run_without_protobuf(program: str) -> subprocess.CompletedProcess:
    """Runs a program without protocol buffers."""
    return _run(_NO_PROTOBUF + program)


def _run(program: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
