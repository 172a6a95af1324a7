"""`headrace top` with running pipelines in other processes."""

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.files import call, run

from headrace.cli.top.measurement import Measurements, lines_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="uses Linux's abstract sockets")

# It prints a line once it iterates, and ends when its standard input does.
PROGRAM = """
import sys
import headrace as hr

batches = iter(hr.arrays({"x": list(range(100))}).epochs().batch(10))
next(batches)
print("ready", flush=True)
sys.stdin.read()
for _ in range(1000):
    next(batches)
print("done")
sys.exit(3)
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(PROGRAM)


@pytest.fixture
def start():
    """Starts the program, and returns it once it iterates."""
    children = []

    def started(**variables):
        child = subprocess.Popen(
            [sys.executable, "train.py"],
            env=os.environ | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        children.append(child)
        assert child.stdout.readline() == "ready\n"
        return child

    yield started
    for child in children:
        child.communicate(timeout=50)


def test_running_process_is_shown(start):
    child = start(HEADRACE_TOP="1")
    done = call("top", "--once", "--interval", "0.1", child.pid)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == f"process {child.pid}: train.py"
    assert lines[1] == "arrays > epochs > batch, epoch 0"
    assert "0.0 batches/s, 1 batch in" in lines[2]
    assert any(line.strip().startswith("batch") for line in lines[4:])


def test_all_processes_are_shown_without_a_process_id(start):
    children = [start(HEADRACE_TOP="1") for _ in range(2)]
    document = json.loads(call("top", "--json").stdout)
    processes = {one["process"]: one for one in document["processes"]}
    for child in children:
        (iteration,) = processes[child.pid]["iterations"]
        assert iteration["count"] == 1
        assert iteration["unit"] == "batches"


def test_process_that_does_not_report_is_an_error(start):
    child = start(HEADRACE_TOP="")
    done = call("top", "--once", child.pid)
    assert done.exit_code == 1
    assert f"process {child.pid} does not report. Start the program with HEADRACE_TOP=1" in (
        done.stderr
    )


def test_process_that_does_not_exist_is_an_error():
    done = call("top", "--once", 2**22 + 1)
    assert done.exit_code == 1
    assert "is not running" in done.stderr


def test_command_is_run_and_its_output_follows():
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "top", "--interval", "0.1", sys.executable, "train.py"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout.endswith("ready\ndone\n")


# It prints a line and ends when it gets a signal.
PATIENT = """
import signal, sys
import headrace as hr

def end(number, _):
    print("saved", number, flush=True)
    sys.exit(4)

signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGHUP, end)
for batch in hr.arrays({"x": [1]}).epochs().batch(10):
    signal.sigtimedwait([], 0.01)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_are_sent_on_to_the_command(number):
    Path("patient.py").write_text(PATIENT)
    command = [sys.executable, "-m", "headrace", "top", "--interval", "0.1"]
    with subprocess.Popen(
        [*command, sys.executable, "patient.py"], stdout=subprocess.PIPE, text=True
    ) as top:
        while "batches/s" not in top.stdout.readline():
            pass
        top.send_signal(number)
        output, _ = top.communicate(timeout=50)
    assert output.endswith(f"saved {int(number)}\n")
    assert top.returncode == 4


def test_command_that_a_signal_ends_is_waited_for():
    command = [sys.executable, "-m", "headrace", "top", "--interval", "0.1"]
    program = "import os; print(os.getpid(), flush=True); import signal; signal.pause()"
    with subprocess.Popen(
        [*command, sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as top:
        assert top.stdout.readline() == "No pipeline is running.\n"
        top.send_signal(signal.SIGTERM)
        output, _ = top.communicate(timeout=50)
    assert top.returncode == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(output.split()[-1]), 0)


def test_command_that_cannot_be_started_is_an_error():
    done = run("top", "./nothing")
    assert done.returncode == 1
    assert "./nothing: No such file or directory." in done.stderr


def test_options_may_follow_the_process_id(start):
    child = start(HEADRACE_TOP="1")
    done = call("top", "--interval", "0.1", child.pid, "--once")
    assert done.stdout.startswith(f"process {child.pid}: train.py")
    assert json.loads(call("top", child.pid, "--json").stdout)["processes"]


@pytest.mark.parametrize("arguments", [("1", "train.py"), ("1", "--once", "2"), ("1", "--nope")])
def test_other_arguments_after_the_process_id_are_an_error(arguments):
    done = call("top", *arguments)
    assert done.exit_code == 2
    assert "got arguments after the process ID" in done.stderr


def test_once_cannot_be_combined_with_a_command():
    assert call("top", "--once", "python", "train.py").exit_code == 2


def report(count, seconds, busy):
    stage = {
        "name": "map(<b>f</b>)",
        "examples": 10 * count,
        "bytes": 2048 * count,
        "busy": 0.5,
        "busy_seconds": busy,
        "parallel": 2,
        "fill": None,
    }
    iteration = {
        "number": 1,
        "name": "arrays > map",
        "epoch": 0,
        "unit": "batches",
        "count": count,
        "seconds": seconds,
        "waiting_seconds": seconds / 4,
        "is_open": True,
        "skipped": 0,
        "memory_bytes": 1024,
        "memory_limit_bytes": 2048,
        "stages": [stage],
    }
    return {"process": 7, "command": ["train.py", "\x1b[31m"], "iterations": [iteration]}


def test_rates_cover_the_last_interval():
    measurements = Measurements()
    measurements.add([report(100, 10.0, 5.0)])
    assert "10.0 batches/s, 100 batches in 10 s" in "\n".join(lines_of(measurements))
    measurements.add([report(160, 12.0, 8.0)])
    lines = list(lines_of(measurements))
    assert lines[0] == "process 7: train.py \\x1b[31m"
    assert lines[2] == "30.0 batches/s, 160 batches in 12 s, the loop waited 25% of the time"
    assert lines[3] == "memory 1.0 KiB of 2.0 KiB, 0 examples skipped"
    assert lines[5].split() == ["map(<b>f</b>)", "[########", "]", "75%", "300.0", "60.0", "KiB"]


def test_process_without_running_pipelines_is_reported():
    measurements = Measurements()
    measurements.add([{"process": 7, "command": [], "iterations": []}])
    assert list(lines_of(measurements)) == ["No pipeline is running."]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_the_alternate_screen(start, number):
    child = start(HEADRACE_TOP="1")
    leader, follower = pty.openpty()
    shown = b""
    command = [sys.executable, "-m", "headrace", "top", "--interval", "0.1", str(child.pid)]
    with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower) as top:
        os.close(follower)
        while b"batches/s" not in shown:
            shown += os.read(leader, 4096)
        top.send_signal(number)
        assert top.wait(50) == 128 + number
        # Linux raises an error at the end.
        with suppress(OSError):
            while data := os.read(leader, 4096):
                shown += data
    os.close(leader)
    assert shown.startswith(b"\x1b[?1049h")
    assert shown.rstrip().endswith(b"\x1b[?1049l")


def test_top_ends_with_the_process(start):
    child = start(HEADRACE_TOP="1")
    command = [sys.executable, "-m", "headrace", "top", "--interval", "0.1", str(child.pid)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as top:
        while "batches/s" not in top.stdout.readline():
            pass
        child.communicate(timeout=50)
        top.communicate(timeout=50)
        assert top.returncode == 0
