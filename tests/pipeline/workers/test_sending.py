"""Functions that cannot be imported, and programs that are worker processes themselves."""

import multiprocessing
import subprocess
import sys

import numpy as np
import pytest
from tests.pipeline.workers import sent
from tests.pipeline.workers.test_processes import environment

import headrace as hr

TIMEOUT = 60


def run(program, *arguments):
    return subprocess.run(
        [sys.executable, program, *arguments],
        timeout=TIMEOUT,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )


def test_with_cloudpickle_any_function_is_sent():
    pytest.importorskip("cloudpickle")
    offset = 3
    rows = hr.arrays({"n": np.arange(100)}).map(lambda e: {"n": e["n"] + offset}, num_processes=2)
    assert [int(example["n"]) for example in rows] == list(range(3, 103))


@pytest.mark.parametrize("hides", [False, True])
def test_functions_of_the_program_itself_are_sent(tmp_path, hides):
    program = tmp_path / "program.py"
    # Without cloudpickle, workers import the program.
    hidden = "sys.modules['cloudpickle'] = None" if hides else ""
    program.write_text(f"""
import sys
import headrace as hr
{hidden}

def doubled(example):
    return {{"n": example["n"] * 2}}

if __name__ == "__main__":
    rows = hr.arrays({{"n": list(range(50))}}).map(doubled, num_processes=2)
    print(sum(int(example["n"]) for example in rows))
""")
    found = run(program)
    assert (found.stdout, found.stderr) == ("2450\n", "")


def test_a_program_that_iterates_on_import_is_an_error_with_the_remedy(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import sys
import headrace as hr
sys.modules["cloudpickle"] = None

def doubled(example):
    return {"n": example["n"] * 2}

list(hr.arrays({"n": [1, 2]}).map(doubled, num_processes=2))
""")
    found = run(program)
    assert found.returncode == 1
    assert 'Put what runs under if __name__ == "__main__":' in found.stderr


def test_a_lambda_is_refused_without_cloudpickle(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    rows = hr.arrays({"n": np.arange(3)}).map(lambda example: example, num_processes=2)
    with pytest.raises(
        TypeError, match=r"num_processes is given, and the function cannot be sent"
    ) as caught:
        list(rows)
    assert "pip install cloudpickle" in str(caught.value)


def iterate():
    rows = hr.arrays({"n": np.arange(100)}).map(sent.plus_one, num_processes=2)
    if [int(example["n"]) for example in rows] != list(range(1, 101)):
        raise SystemExit(5)


def test_a_forked_daemon_process_may_have_workers():
    iterate()
    process = multiprocessing.get_context("fork").Process(target=iterate, daemon=True)
    process.start()
    process.join(timeout=TIMEOUT)
    assert process.exitcode == 0
