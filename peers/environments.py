"""Other libraries to measure against, each in a virtual environment of its own."""

import subprocess
import sys
import venv
from pathlib import Path

ENVIRONMENTS = Path(__file__).parent.parent / ".peers"

REQUIREMENTS = {"tensorflow": ["tensorflow-cpu>=2.16,<3"]}


def python_of(peer: str) -> Path | None:
    """Returns the interpreter of the environment that has a peer, which is made if need be.

    Returns:
        None, after a line that says why, if the peer cannot be installed.
    """
    home = ENVIRONMENTS / peer
    python = home / "bin" / "python"
    stamp = home / "requirements.txt"
    wanted = "\n".join(REQUIREMENTS[peer])
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"installing {peer} into {home} ...", file=sys.stderr)
    venv.create(home, with_pip=True, clear=True)
    command = [python, "-m", "pip", "install", "--quiet", *REQUIREMENTS[peer]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"{peer} is left out: {reason}", file=sys.stderr)
        return None
    stamp.write_text(wanted)
    return python
