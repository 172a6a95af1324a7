"""The shell sessions of docs/reference/command_line.md run unchanged, one after the other."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/reference/command_line.md"


@pytest.mark.timeout(180)
def test_sessions_on_the_page_run(tmp_path):
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 11
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    outputs = []
    for block in blocks:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), block
        outputs.append(done.stdout)
    inspected, verified, converted, indexed, tokenized, shown, benched, top, *last = outputs
    state, replayed, audited = last
    assert "2 records of " in inspected
    assert "exit code 1" in verified
    assert '"name":"bee"' in converted
    assert converted.endswith("000000001.cls\n")
    assert "animals.csv.hrindex: 2 records\n" in indexed
    assert "of animals.tfrecord (tfrecords, " in indexed
    assert "\n0 " in indexed
    assert tokenized.startswith(
        "insects.bin: 2 documents, 11 tokens of uint16\n[array([1, 2, 4, 4]"
    )
    assert shown == "animals.html: 2 examples\n"
    assert "share of the limit: " in benched
    assert top.endswith("done\n")
    assert "The program has received 2 batches." in state
    assert replayed.startswith("step 0: 2 examples\n  animals.tfrecord: record 0, byte 0\n")
    assert "one.ledger and two.ledger: the data of all 3 steps in both are equal\n" in audited
    assert "\nstep 1: 2 examples\n  animals.tfrecord: record 0, byte 0\n" in audited


def test_every_command_has_a_row(tmp_path):
    commands = re.findall(r"^\| \[`(\w+)", PAGE.read_text("utf-8"), re.MULTILINE)
    program = "from headrace.cli.commands import headrace; print(*headrace.commands)"
    listed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=True
    )
    assert commands == listed.stdout.split()
