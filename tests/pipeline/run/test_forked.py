"""A forked child of a process that iterates does not wait for threads of the parent."""

import os
import subprocess
import sys

import pytest

BEGIN = """
import multiprocessing, os, sys
import numpy as np
import headrace as hr

def rows():
    return ({"n": number} for number in range(1000))

def once(example):
    return {"n": example["n"] + 1}

arrays = hr.arrays({"n": np.arange(1000)}).map(once).batch(10)
stream = hr.iterable(rows).map(once).batch(10)
"""

PROGRAMS = {
    "a pool": """
def work(number):
    return sum(len(batch["n"]) for batch in arrays) + sum(len(batch["n"]) for batch in stream)

first, second = iter(arrays), iter(stream)
next(first), next(second)
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(work, range(4)))
print(sum(len(batch["n"]) for batch in first), sum(len(batch["n"]) for batch in second))
""",
    "a child that drops its parent's iterators after it has begun its own": """
first, second = iter(arrays), iter(stream)
next(first), next(second)
child = os.fork()
if child == 0:
    mine = iter(arrays)
    next(mine)
    del first, second
    print([2000] * 4 if sum(len(batch["n"]) for batch in mine) == 990 else "wrong", flush=True)
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
print(sum(len(batch["n"]) for batch in first), sum(len(batch["n"]) for batch in second))
""",
    "generators in globals": """
def pairs(batches):
    with batches:
        for batch in batches:
            yield batch

first, second = pairs(iter(arrays)), pairs(iter(stream))
next(first), next(second)
child = os.fork()
if child == 0:
    first.close()
    print([2000] * 4 if len(list(stream)) == 100 else "wrong", flush=True)
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
print(sum(len(batch["n"]) for batch in first), sum(len(batch["n"]) for batch in second))
""",
}


def run(*command):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", *command],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_forked_child_does_not_hang(name):
    done = run(BEGIN + PROGRAMS[name])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [str([2000] * 4), "990 990"]


WRITER = """
import os, sys
from headrace.io.records import TFRecordWriter, tf_record_iterator

writer = TFRecordWriter(sys.argv[1])
writer.write(b"first")
child = os.fork()
if child == 0:
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
assert not os.path.exists(sys.argv[1])
writer.write(b"second")
writer.close()
print(list(tf_record_iterator(sys.argv[1])))
"""


def test_forked_child_does_not_touch_a_file_the_parent_is_writing(tmp_path):
    done = run(WRITER, str(tmp_path / "records"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str([b"first", b"second"])
    assert os.listdir(tmp_path) == ["records"]
