"""Python functions in several threads: `num_threads` of `map`, `filter` and `flat_map`."""

import json
import threading

import numpy as np
import pytest

import headrace as hr
from headrace import pipeline as hp
from headrace.testing import dump_waits

TIMEOUT = 20
NUM_ROWS = 16


class Meeting:
    """The calls for two examples, which wait until both have started."""

    def __init__(self):
        self._met = threading.Barrier(2)
        self.is_begun = False
        self.threads = set()

    def __call__(self, number):
        if self.is_begun and number < 2:
            self._met.wait(timeout=TIMEOUT)
            self.threads.add(threading.get_ident())


def mapped(rows, meet, num_threads):
    def with_number(example):
        meet(example["n"])
        return {"n": example["n"]}

    return rows.map(with_number, num_threads=num_threads)


def filtered(rows, meet, num_threads):
    return rows.filter(lambda example: meet(example["n"]) is None, num_threads=num_threads)


def flat_mapped(rows, meet, num_threads):
    def once(example):
        meet(example["n"])
        return [{"n": example["n"]}]

    return rows.flat_map(once, num_threads=num_threads)


@pytest.mark.parametrize("through", [mapped, filtered, flat_mapped])
def test_two_calls_run_concurrently(through):
    meet = Meeting()
    pipeline = through(hp.arrays({"n": np.arange(NUM_ROWS)}), meet, 2)
    assert "n" in pipeline.spec
    meet.is_begun = True
    assert [int(example["n"]) for example in pipeline] == list(range(NUM_ROWS))
    assert len(meet.threads) == 2


def with_functions(num_threads):
    def noisy(example, draws):
        return {"n": example["n"], "noise": draws.random()}

    def twice(example):
        return [dict(example), {**example, "n": -example["n"]}]

    return (
        hp.arrays({"n": np.arange(3000)})
        .map(noisy, seed=7, num_threads=num_threads)
        .filter(lambda example: example["n"] % 7 != 0, num_threads=num_threads)
        .shuffle(100, seed=3)
        .flat_map(twice, num_threads=num_threads)
        .epochs(2)
        .batch(64)
        .map(lambda batch: {**batch, "sum": batch["noise"].sum()}, num_threads=num_threads)
    )


def test_batches_do_not_depend_on_the_number_of_threads():
    [alone, *others] = [list(with_functions(number)) for number in (1, 2, 8)]
    assert len(alone) == 161
    for batches in others:
        assert len(batches) == len(alone)
        for expected, batch in zip(alone, batches, strict=True):
            for name, values in expected.items():
                np.testing.assert_array_equal(batch[name], values)


@pytest.mark.parametrize("num_threads", [1, 2, 8])
def test_first_error_in_order_follows_the_preceding_batches(num_threads):
    def fail(example):
        if example["n"] in (555, 700, 2500):
            raise ValueError(f"at {example['n']}")
        return example

    rows = hp.arrays({"n": np.arange(3000)}).map(fail, num_threads=num_threads).batch(100)
    taken = []
    with pytest.raises(ValueError, match="at 555"):
        taken.extend(rows)
    assert [int(batch["n"][0]) for batch in taken] == [0, 100, 200, 300, 400]


@pytest.mark.parametrize("num_threads", [1, 2, 8])
def test_skipped_examples_are_reported_in_order(num_threads):
    def fail(example):
        if example["n"] % 250 == 1:
            raise ValueError("one of 250")
        return example

    pipeline = hp.arrays({"n": np.arange(3000)}).map(fail, num_threads=num_threads)
    batches = iter(pipeline.skip_errors(100).batch(100))
    taken = np.concatenate([batch["n"] for batch in batches])
    assert taken.tolist() == [n for n in range(3000) if n % 250 != 1]
    assert [left.record_number for left in batches.skipped] == list(range(1, 3000, 250))


def test_close_stops_all_function_threads():
    """Both waiting threads and threads with a task end, which `no_thread_left` checks."""
    is_over = threading.Event()
    meet, is_begun = threading.Barrier(3), []

    def wait(example):
        if is_begun and example["n"] < 2:
            meet.wait(timeout=TIMEOUT)
            assert is_over.wait(timeout=TIMEOUT)
        return {"n": example["n"]}

    pipeline = hp.arrays({"n": np.arange(NUM_ROWS)}).map(wait, num_threads=2)
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


def taken_by(pipeline):
    return [{name: value.tolist() for name, value in batch.items()} for batch in pipeline]


def test_state_resumes_with_any_number_of_threads():
    full = taken_by(with_functions(1))
    for number, (before, after) in enumerate([(1, 4), (4, 1), (3, 2), (2, 5)]):
        num_taken = 7 + 31 * number
        with iter(with_functions(before)) as batches:
            first = [next(batches) for _ in range(num_taken)]
            state = json.loads(json.dumps(batches.state()))
        rest = taken_by(with_functions(after).resume(state))
        assert len(first) + len(rest) == len(full)
        assert rest == full[num_taken:]


def test_rows_of_one_block_are_divided_among_threads():
    """Each thread gets some rows, even though all rows would fit into one small task."""
    threads, is_begun = set(), threading.Event()
    met = threading.Barrier(4)

    def slow(example):
        if is_begun.is_set() and example["n"] >= 900:
            threads.add(threading.get_ident())
            if len(threads) <= 4 and example["n"] in (900, 925, 950, 975):
                met.wait(timeout=TIMEOUT)
        return example

    # Before four calls must run concurrently, earlier calls show that the function is quick and its
    # results are small.
    pipeline = hp.arrays({"n": np.arange(1000)}).map(slow, num_threads=4)
    assert list(pipeline.spec) == ["n"]
    assert [int(example["n"]) for example in pipeline] == list(range(1000))


def test_function_is_called_once_for_the_first_example():
    for _ in range(20):
        calls = []

        def note(example, calls=calls):
            calls.append(int(example["n"]))
            return {"n": example["n"]}

        pipeline = hp.arrays({"n": np.arange(200)}).map(note, num_threads=4)
        assert [int(example["n"]) for example in pipeline] == list(range(200))
        assert sorted(calls) == list(range(200))


def test_draws_do_not_depend_on_the_number_of_threads():
    def draw(example, rng):
        return {"n": example["n"], "noise": rng.random(3)}

    rows = hp.arrays({"n": np.arange(500)})
    [alone, several] = [
        np.concatenate([batch["noise"] for batch in rows.map(draw, 7, threads).batch(50)])
        for threads in (1, 4)
    ]
    assert np.array_equal(alone, several)


def test_dump_waits_shows_each_running_call():
    met, is_over, is_begun = threading.Barrier(3), threading.Event(), []

    def wait(example):
        if is_begun and example["n"] < 2:
            met.wait(timeout=TIMEOUT)
            assert is_over.wait(timeout=TIMEOUT)
        return {"n": example["n"]}

    pipeline = hp.arrays({"n": np.arange(NUM_ROWS)}).map(wait, num_threads=2)
    assert list(pipeline.spec) == ["n"]
    is_begun.append(True)
    with iter(pipeline) as batches:
        met.wait(timeout=TIMEOUT)
        lines = dump_waits()
        is_over.set()
        assert [int(example["n"]) for example in batches] == list(range(NUM_ROWS))
    for number in (0, 1):
        assert f"the call for arrays: row {number}, in a block" in lines


@pytest.mark.parametrize("stage", ["map", "filter", "flat_map"])
@pytest.mark.parametrize("number", [0, -1, 1.5, "2", True, None])
def test_invalid_num_threads_is_rejected(stage, number):
    rows = hr.arrays({"n": np.arange(3)})
    with pytest.raises(ValueError, match=rf"{stage}: num_threads is {number!r}, expected an int"):
        getattr(rows, stage)(dict, num_threads=number)


class Counting:
    def __init__(self):
        self.count = 0

    def __call__(self, example):
        self.count += 1
        return {"n": example["n"], "count": self.count}

    def state(self):
        return self.count

    def restore(self, state):
        self.count = state


@pytest.mark.parametrize("stage", ["map", "filter", "flat_map"])
def test_stateful_function_cannot_have_several_threads(stage):
    rows = hr.arrays({"n": np.arange(3)})
    with pytest.raises(ValueError, match=f"{stage}: num_threads is 2, but Counting has state"):
        getattr(rows, stage)(Counting(), num_threads=2)
    assert [int(e["count"]) for e in rows.map(Counting(), num_threads=1)] == [1, 2, 3]


def test_native_function_rejects_num_threads():
    @hr.native
    def doubled(example):
        return {"n": example["n"] * 2}

    rows = hr.arrays({"n": np.arange(3)})
    with pytest.raises(ValueError, match="num_threads is 3, but the function is native"):
        rows.map(doubled, num_threads=3)
    assert [int(example["n"]) for example in rows.map(doubled, num_threads=1)] == [0, 2, 4]


def test_describe_shows_num_threads():
    rows = hr.arrays({"n": np.arange(3)})
    assert "map(dict, num_threads=4)" in rows.map(dict, num_threads=4).describe()
    assert "num_threads" not in rows.map(dict, num_threads=1).describe()
