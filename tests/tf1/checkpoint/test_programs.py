"""Programs that are saved in the middle continue exactly there in a new process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tf1.checkpoint.programs import PROGRAMS, write_files
from tests.tiers import nightly_after

PROGRAMS_MODULE = "tests.tf1.checkpoint.programs"
top = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("data")
    write_files(directory)
    return directory


def outputs(*arguments):
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-m",
            PROGRAMS_MODULE,
            *map(str, arguments),
        ],
        cwd=top,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", nightly_after(4, PROGRAMS))
def test_program_continues_in_another_process(name, directory):
    [uninterrupted] = outputs(name, directory, "whole")
    # The borders of epochs are at different steps of these programs.
    steps = sorted(
        {1, 2, 3, 5, 8, 13, 20, len(uninterrupted) // 2, len(uninterrupted) - 2}
        & set(range(len(uninterrupted)))
    )
    [saved] = outputs(name, directory, "save", *steps)
    assert saved == uninterrupted
    resumed = outputs(name, directory, "resume", *steps)
    assert resumed == [uninterrupted[step:] for step in steps]
