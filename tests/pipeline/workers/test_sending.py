"""Functions that cannot be imported, and programs that are worker processes themselves."""

import errno
import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.pipeline.workers import picklable
from tests.pipeline.workers.test_processes import environment

import headrace as hr
from headrace.pipeline.workers.sending import _Packing

TIMEOUT = 60
LARGE = 64 << 20


def run(program, *arguments):
    return subprocess.run(
        [sys.executable, program, *arguments],
        timeout=TIMEOUT,
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )


def test_any_function_can_be_sent_with_cloudpickle():
    pytest.importorskip("cloudpickle")
    offset = 3
    rows = hr.arrays({"n": np.arange(100)}).map(lambda e: {"n": e["n"] + offset}, num_processes=2)
    assert [int(example["n"]) for example in rows] == list(range(3, 103))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize("kind", ["map", "iterable"])
def test_large_function_is_in_memory_once_per_worker(monkeypatch, kind, hides):
    if hides:
        monkeypatch.setitem(sys.modules, "cloudpickle", None)

    def bytes_of(num_bytes):
        function, before = picklable.Large(num_bytes), picklable.resident_bytes()
        pipeline = {
            "map": lambda: hr.arrays({"n": np.arange(9)}).map(function, num_processes=1),
            "iterable": lambda: hr.iterable(function, num_processes=1),
        }[kind]()
        with iter(pipeline.epoch(0)) as examples:
            first = next(examples)
            more = picklable.resident_bytes() - before
        assert int(first["last"]) == 1
        # The kept worker has the function already.
        assert {int(example["last"]) for example in pipeline.epoch(1)} == {1}
        return int(first["bytes"]), more

    small, large = bytes_of(1), bytes_of(LARGE)
    assert 0.8 * LARGE < large[0] - small[0] < 1.3 * LARGE
    assert large[1] < LARGE / 3


def test_main_module_name_split_across_writes_is_detected():
    packing = _Packing()
    for text in (b"a" * 100 + b"__ma", b"in", b"__", b"b" * (1 << 21), b"__mp_ma", b"in__"):
        packing.write(text)
    assert packing.names == {b"__main__", b"__mp_main__"}
    assert packing.functions().data is None


def test_error_names_the_full_directory(monkeypatch):
    def full(descriptor, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    pipeline = hr.arrays({"n": np.arange(9)}).map(picklable.Large(LARGE), num_processes=1)
    monkeypatch.setattr("headrace.pipeline.workers.sending.os.write", full)
    with pytest.raises(
        MemoryError, match=r"/.* has not enough space for a function .*No space left.*TMPDIR"
    ):
        list(pipeline)


@pytest.mark.parametrize("hides", [False, True])
def test_functions_of_the_main_program_are_sent(tmp_path, hides):
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
    values = run(program)
    assert (values.stdout, values.stderr) == ("2450\n", "")


def test_program_that_iterates_on_import_is_an_error_with_a_remedy(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import sys
import headrace as hr
sys.modules["cloudpickle"] = None

def doubled(example):
    return {"n": example["n"] * 2}

list(hr.arrays({"n": [1, 2]}).map(doubled, num_processes=2))
""")
    values = run(program)
    assert values.returncode == 1
    assert 'Move that code under if __name__ == "__main__":' in values.stderr


def test_lambda_is_rejected_without_cloudpickle(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    rows = hr.arrays({"n": np.arange(3)}).map(lambda example: example, num_processes=2)
    with pytest.raises(
        TypeError, match="num_processes is set, but the function cannot be pickled"
    ) as caught:
        list(rows)
    assert "pip install cloudpickle" in str(caught.value)


def iterate():
    rows = hr.arrays({"n": np.arange(100)}).map(picklable.plus_one, num_processes=2)
    if [int(example["n"]) for example in rows] != list(range(1, 101)):
        raise SystemExit(5)


def test_forked_daemon_process_can_have_workers():
    iterate()
    process = multiprocessing.get_context("fork").Process(target=iterate, daemon=True)
    process.start()
    process.join(timeout=TIMEOUT)
    assert process.exitcode == 0
