"""A killed torchft replica group returns at the position of the others."""

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import headrace as hr

if find_spec("torchft") is None:
    pytest.skip("torchft is not installed", allow_module_level=True)

PROGRAM = Path(__file__).with_name("torchft_replica.py")
LIGHTHOUSE = """
import sys
from torchft.coordination import LighthouseServer

server = LighthouseServer(bind="[::]:0", min_replicas=2, join_timeout_ms=100)
print(server.address(), flush=True)
sys.stdin.read()
server.shutdown()
"""
NUM_STEPS, BATCH = 40, 2


def program(arguments, log):
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )


def share(replica):
    """The batches of a replica, without torchft."""
    pipe = hr.arrays({"n": list(range(1000))}).shuffle(seed=3).shard(replica, 2).batch(BATCH)
    return [batch["n"].tolist() for batch in pipe]


def check_steps(replica, steps):
    """Checks that a replica used its own batch of each step."""
    assert steps
    batches = share(replica)
    for step, numbers in steps:
        assert numbers == batches[step], f"replica {replica}, step {step}"


@pytest.mark.timeout(400)
def test_killed_replica_rejoins_at_the_step_of_the_others(tmp_path):
    with (tmp_path / "errors").open("w+") as log:
        lighthouse = program(["-c", LIGHTHOUSE], log)
        address = lighthouse.stdout.readline().strip()
        assert address, (tmp_path / "errors").read_text()[-4000:]
        replicas = [program([PROGRAM, address, number, 2, NUM_STEPS], log) for number in range(2)]
        try:
            steps = [json.loads(replicas[1].stdout.readline()) for _ in range(10)]
            replicas[1].send_signal(signal.SIGKILL)
            steps += [json.loads(text) for text in replicas[1].communicate()[0].splitlines()]
            check_steps(1, steps)
            replicas[1] = program([PROGRAM, address, 1, 2, NUM_STEPS], log)
            # Reading one replica to its end would let the other wait for a full pipe.
            outputs = [replica.communicate(timeout=300)[0] for replica in reversed(replicas)]
        finally:
            for process in (*replicas, lighthouse):
                process.kill()
                process.communicate()
    errors = (tmp_path / "errors").read_text()[-4000:]
    assert [replica.returncode for replica in replicas] == [0, 0], errors
    back, whole = ([json.loads(text) for text in output.splitlines()] for output in outputs)
    check_steps(0, whole)
    check_steps(1, back)
    assert [step for step, _ in whole] == list(range(NUM_STEPS))
    # It did not start from the beginning. The step in which it was killed may be complete.
    first = back[0][0]
    assert first in (len(steps), len(steps) + 1)
    assert [step for step, _ in back] == list(range(first, NUM_STEPS))
