"""Programs that end while runner threads are working: no abort, no hang, and the right status.

Failures are rare. `HEADRACE_EXITS=200 pytest tests/tf1/test_exit.py` ends each kind of program 200
times.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "exiting.py"
NUM_EXITS = int(os.environ.get("HEADRACE_EXITS", "1"))

# Each activity alone with a normal end, and all ends with the most difficult activities.
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


@pytest.fixture(scope="module")
def program():
    """Runs the program for each given line."""
    with subprocess.Popen(
        [sys.executable, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.stdin.close()


@pytest.mark.timeout(60 * NUM_EXITS)
@pytest.mark.parametrize(("activities", "ending"), STATUS)
def test_program_exits_with_the_expected_status(program, activities, ending):
    for _ in range(NUM_EXITS):
        print(activities, ending, file=program.stdin, flush=True)
        status, output = json.loads(program.stdout.readline())
        assert status == STATUS[activities, ending], output
