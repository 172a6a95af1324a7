"""Absurd sizes in files and arguments must be rejected before memory is allocated."""

import resource
import subprocess
import sys
from random import Random

from stress.files.claims import CLAIMS
from stress.part import Options, Result

# The share of it that runs each night.
NIGHTLY = 1.0
# Far less than any declared size, and more than the program needs.
_MEMORY_BYTES = 6 << 30
_FEWEST = 6
_SECONDS = 600


def run(options: Options) -> Result:
    """Uses files and arguments with absurd sizes in a process with limited memory."""
    result = Result()
    names = sorted(CLAIMS)
    few = Random(options.seed).sample(
        names, min(len(names), max(_FEWEST, options.times(len(names))))
    )
    command = [sys.executable, "-m", "stress.files.claims", *few]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES)),
    )
    lines = done.stdout.splitlines()
    result.figures["sizes that were claimed"] = sum(line.startswith("tried") for line in lines)
    result.failures += [line for line in lines if line.startswith("FAILED")]
    if done.returncode or len(few) != len([line for line in lines if line == "next"]):
        result.failures.append(
            f"it ended with {done.returncode} after {lines[-2:]}: {done.stderr[-600:]}"
        )
    return result
