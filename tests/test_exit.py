"""The end of the program while threads of runners work: no abort, no hang, and the right status.

What goes wrong there goes wrong now and then. `HEADRACE_EXITS=200 pytest tests/test_exit.py` lets
each kind of program end 200 times.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

TIMEOUT = 30.0
PROGRAM = Path(__file__).parent / "exiting.py"
NUM_EXITS = int(os.environ.get("HEADRACE_EXITS", "1"))

# Each of these alone when the program just ends, and all kinds of ends with the worst of them.
ALONE = (
    *("computing", "sleeping", "napping", "locked", "writing", "failing", "printing", "counting"),
    *("native", "enqueueing", "dequeueing", "reading", "running", "feeding", "eager"),
)
TOGETHER = "napping+printing+counting+enqueueing+dequeueing"
STATUS = {
    **{(activity, "falling_off"): 0 for activity in ALONE},
    (TOGETHER, "leaving_with"): 0,
    (TOGETHER, "closed"): 0,
    (TOGETHER, "coordinated"): 0,
    (TOGETHER, "stopped"): 0,
    (TOGETHER, "not_daemons"): 0,
    (TOGETHER, "exiting"): 0,
    (TOGETHER, "exiting_with_3"): 3,
    (TOGETHER, "raising"): 1,
    (TOGETHER, "interrupted"): -signal.SIGINT,
    (TOGETHER, "terminated"): -signal.SIGTERM,
    (TOGETHER, "leaving_at_once"): 0,
    (TOGETHER, "failing_at_exit"): 0,
    (TOGETHER, "joining_at_exit"): 0,
    (TOGETHER, "running_at_exit"): 0,
}


@pytest.mark.parametrize("attempt", range(NUM_EXITS))
@pytest.mark.parametrize(("activities", "ending"), STATUS)
def test_the_program_ends_as_it_should(activities, ending, attempt):
    done = subprocess.run(
        [sys.executable, PROGRAM, activities, ending],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    told = [line for line in done.stderr.splitlines() if not line.startswith("seen: [")]
    assert done.returncode == STATUS[activities, ending], told
    print(told)
