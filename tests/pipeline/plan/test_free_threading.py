"""Free-threaded Python: functions of a pipeline run side by side there.

What needs two calls at once is skipped where the GIL is on: a function has one thread there.
"""

import os
import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pytest

from headrace import pipeline as hp
from headrace.pipeline.plan.python_functions import has_gil

TIMEOUT = 20
NUM_ROWS = 16

without_gil = pytest.mark.skipif(has_gil(), reason="this Python has the GIL")
free_threaded = pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python is not free-threaded"
)


@pytest.fixture
def large():
    """Rows so large that each is a block of its own, and so a task."""
    return hp.arrays({"x": np.zeros((NUM_ROWS, 300_000), np.uint8), "n": np.arange(NUM_ROWS)})


@free_threaded
def test_the_engine_leaves_the_gil_off():
    program = "import sys, headrace, headrace.tf1; assert not sys._is_gil_enabled()"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    subprocess.run(
        [sys.executable, "-W", "error", "-c", program], check=True, timeout=60, env=environment
    )


class Meeting:
    """The calls for two examples; each continues only while the other one is under way, too."""

    def __init__(self):
        self._met = threading.Barrier(2)
        self.is_begun = False
        self.threads = set()

    def __call__(self, number):
        if self.is_begun and number < 2:
            self._met.wait(timeout=TIMEOUT)
            self.threads.add(threading.get_ident())


def mapped(rows, meet):
    def with_number(example):
        meet(example["n"])
        return {"n": example["n"]}

    return rows.map(with_number)


def filtered(rows, meet):
    return rows.filter(lambda example: meet(example["n"]) is None)


def flat_mapped(rows, meet):
    def once(example):
        meet(example["n"])
        return [{"n": example["n"]}]

    return rows.flat_map(once)


@without_gil
@pytest.mark.parametrize("through", [mapped, filtered, flat_mapped])
def test_two_calls_of_a_function_are_under_way_at_once(large, through):
    meet = Meeting()
    pipeline = through(large, meet).options(num_threads=2)
    assert "n" in pipeline.spec
    meet.is_begun = True
    assert [int(example["n"]) for example in pipeline] == list(range(NUM_ROWS))
    assert len(meet.threads) == 2


@without_gil
def test_an_iterable_and_a_function_with_a_state_have_one_thread(large):
    class Counting:
        def __init__(self):
            self.count = 0
            self.threads = set()

        def __call__(self, example):
            self.threads.add(threading.get_ident())
            self.count += 1
            return {"n": example["n"], "count": self.count}

        def state(self):
            return self.count

        def restore(self, state):
            self.count = state

    counting, threads = Counting(), set()

    def numbers():
        for number in range(300):
            threads.add(threading.get_ident())
            yield {"n": number}

    pipeline = large.map(counting).options(num_threads=8)
    assert list(pipeline.spec) == ["n", "count"]
    counting.threads.clear()
    assert [int(example["count"]) for example in pipeline] == list(range(1, NUM_ROWS + 1))
    assert len(counting.threads) == 1
    numbered = hp.iterable(numbers).options(num_threads=8)
    assert list(numbered.spec) == ["n"]
    threads.clear()
    assert [int(example["n"]) for example in numbered] == list(range(300))
    assert len(threads) == 1


def with_functions(num_threads):
    def noisy(example, draws):
        return {"n": example["n"], "noise": draws.random()}

    def twice(example):
        return [dict(example), {**example, "n": -example["n"]}]

    return (
        hp.arrays({"n": np.arange(3000)})
        .map(noisy, seed=7)
        .filter(lambda example: example["n"] % 7 != 0)
        .shuffle(100, seed=3)
        .flat_map(twice)
        .epochs(2)
        .batch(64)
        .map(lambda batch: {**batch, "sum": batch["noise"].sum()})
        .options(num_threads=num_threads)
    )


def test_batches_are_the_same_with_any_number_of_threads():
    [alone, *others] = [list(with_functions(number)) for number in (1, 2, 8)]
    assert len(alone) == 161
    for batches in others:
        assert len(batches) == len(alone)
        for expected, batch in zip(alone, batches, strict=True):
            for name, values in expected.items():
                np.testing.assert_array_equal(batch[name], values)


@pytest.mark.parametrize("num_threads", [1, 2, 8])
def test_the_first_error_in_order_is_raised_behind_the_batches_before_it(num_threads):
    def fail(example):
        if example["n"] in (555, 700, 2500):
            raise ValueError(f"at {example['n']}")
        return example

    rows = hp.arrays({"n": np.arange(3000)}).map(fail).batch(100)
    taken = []
    with pytest.raises(ValueError, match="at 555"):
        taken.extend(rows.options(num_threads=num_threads))
    assert [int(batch["n"][0]) for batch in taken] == [0, 100, 200, 300, 400]


@pytest.mark.parametrize("num_threads", [1, 2, 8])
def test_what_is_left_out_is_reported_in_order(num_threads):
    def fail(example):
        if example["n"] % 250 == 1:
            raise ValueError("one of 250")
        return example

    pipeline = hp.arrays({"n": np.arange(3000)}).map(fail).skip_errors(100)
    batches = iter(pipeline.batch(100).options(num_threads=num_threads))
    taken = np.concatenate([batch["n"] for batch in batches])
    assert taken.tolist() == [n for n in range(3000) if n % 250 != 1]
    assert [left.record_number for left in batches.skipped] == list(range(1, 3000, 250))


@without_gil
def test_a_close_ends_all_threads_of_a_function(large):
    """Threads that wait for a task end, and threads that have one.

    `no_thread_left` looks for them.
    """
    is_over = threading.Event()
    meet, is_begun = threading.Barrier(3), []

    def wait(example):
        if is_begun and example["n"] < 2:
            meet.wait(timeout=TIMEOUT)
            assert is_over.wait(timeout=TIMEOUT)
        return {"n": example["n"]}

    pipeline = large.map(wait).options(num_threads=2)
    assert list(pipeline.spec) == ["n"]
    is_begun.append(True)
    with iter(pipeline) as batches:
        meet.wait(timeout=TIMEOUT)
        closing = threading.Thread(target=batches.close)
        closing.start()
        is_over.set()
        closing.join(timeout=TIMEOUT)
        assert not closing.is_alive()
    assert not batches.is_open
