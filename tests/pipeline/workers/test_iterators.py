"""Iterators of `iterable` in worker processes: their examples, order, states, errors and ends."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.workers import picklable
from tests.pipeline.workers.test_processes import (
    TIMEOUT,
    check_same,
    environment,
    is_there,
    taken,
    wait_until,
)

import headrace as hr
from headrace.pipeline.workers.fork_server import fork_server
from headrace.pipeline.workers.remote import RemoteWorker, WorkerEnded
from headrace.testing import dump_waits

pytestmark = pytest.mark.timeout(TIMEOUT)
COUNTS = (7, 0, 12, 3)


def in_turn(*parts):
    """Yields one item of each list in turn, skipping lists that have ended."""
    longest = max(map(len, parts))
    return [part[n] for n in range(longest) for part in parts if n < len(part)]


def numbers_of(batches):
    return [int(number) for batch in batches for number in np.ravel(batch["n"])]


MERGED = in_turn(*([100 * worker + n for n in range(count)] for worker, count in enumerate(COUNTS)))


def test_one_process_yields_the_items_of_the_iterator():
    pipeline = hr.iterable(partial(picklable.numbered, 400), num_processes=1)
    result = taken(pipeline)
    assert [example["n"] for example in result] == list(range(400))
    assert [example["x"] for example in result] == [[n] * (n % 3) for n in range(400)]
    (process,) = {example["process"] for example in result}
    assert process != os.getpid()
    assert not is_there(process), "that of a plain iteration ends with it"


def test_all_kinds_of_values_match_with_and_without_workers():
    here, there = (hr.iterable(partial(picklable.rich, 50), number) for number in (0, 1))
    check_same(here, there)


def test_parts_take_turns_and_finished_ones_are_skipped():
    pipeline = hr.iterable(picklable.part, num_processes=4)
    result = taken(pipeline)
    assert [example["n"] for example in result] == MERGED
    assert {example["of"] for example in result} == {4}
    assert [len(example["text"]) for example in result] == [n % 100 % 3 for n in MERGED]
    assert numbers_of(pipeline.epochs(3)) == 3 * MERGED
    assert numbers_of(pipeline.take(9).epochs(3)) == 3 * MERGED[:9]


def test_first_part_can_be_empty():
    full = partial(picklable.part, counts=(0, 3))
    assert numbers_of(hr.iterable(full, 2)) == [100, 101, 102]
    assert numbers_of(hr.iterable(partial(picklable.part, counts=(0, 0)), 2)) == []


def test_list_is_iterated_in_a_worker():
    items = [{"n": n} for n in range(300)]
    pipeline = hr.iterable(items, num_processes=1)
    assert numbers_of(pipeline) == numbers_of(pipeline.epoch(1)) == list(range(300))
    assert repr(pipeline) == "Pipeline(iterable(list, num_processes=1))"


def test_iterator_can_modify_its_arrays_in_place():
    pipe = hr.iterable(partial(picklable.in_place, 9), 1).filter(lambda e: e["x"][0] > 3)
    results = [(e["x"].tolist(), e["text"].tolist()) for e in pipe.map(dict)]
    assert results == [([n, n], [str(n)]) for n in range(4, 9)]


def test_spec_uses_the_iterator_that_is_read_later():
    pipeline = hr.iterable(partial(picklable.numbered, 300), 1)
    process = {int(example["process"]) for example in pipeline.take(1)}
    assert list(pipeline.map(dict).spec) == ["n", "x", "process"]
    result = taken(pipeline.map(dict))
    assert [example["n"] for example in result] == list(range(300))
    assert {example["process"] for example in result}.isdisjoint(process)


@pytest.mark.parametrize(
    "make",
    [
        lambda: hr.iterable(partial(picklable.numbered, 50), 1).select("n"),
        lambda: hr.iterable(picklable.part, 4).select("n"),
        lambda: hr.iterable(partial(picklable.even_part, count=300), 3),
        lambda: hr.iterable(partial(picklable.Counter, 50), 1),
        lambda: hr.iterable(picklable.counter_part, 3),
    ],
)
def test_state_resumes_at_every_position(make):
    def pipeline():
        return make().epochs(2).batch(7)

    batches = iter(pipeline())
    states, uninterrupted = [batches.state()], []
    for batch in batches:
        uninterrupted.append(batch["n"].tolist())
        states.append(json.loads(json.dumps(batches.state())))
    assert len(uninterrupted) >= 6
    for place in {0, 1, 2, len(uninterrupted) // 2, len(uninterrupted) - 1, len(uninterrupted)}:
        resumed = pipeline().resume(states[place])
        assert [batch["n"].tolist() for batch in resumed] == uninterrupted[place:]


@pytest.mark.parametrize(
    "factory", [partial(picklable.even_part, 0, 1, 50), partial(picklable.Counter, 50)]
)
def test_state_resumes_with_and_without_a_worker(factory):
    for before, after in ((0, 1), (1, 0)):
        batches = iter(hr.iterable(factory, before).batch(4))
        for _ in range(5):
            next(batches)
        state = batches.state()
        batches.close()
        assert numbers_of(hr.iterable(factory, after).batch(4).resume(state)) == [*range(20, 50)]


def test_state_with_a_different_number_of_parts_is_rejected():
    batches = iter(hr.iterable(partial(picklable.even_part, count=50), 2))
    next(batches)
    state = batches.state()
    batches.close()
    for number in (1, 3):
        factory = partial(picklable.even_part, *((0, 1) * (number == 1)), count=50)
        with pytest.raises(ValueError, match=r"in 2 processes .* with the same num_processes"):
            hr.iterable(factory, number).resume(state)


def test_stateful_iterator_is_not_replayed():
    """Examples before it are not made again."""
    pipeline = hr.iterable(partial(picklable.Counter, 10**12), 1).batch(10)
    batches = iter(pipeline)
    next(batches)
    state = batches.state()
    batches.close()
    text = json.dumps(state["place"])
    assert "10" in text or "128" in text
    resumed = pipeline.resume(state)
    assert next(resumed)["n"].tolist() == [*range(10, 20)]
    resumed.close()


@pytest.mark.parametrize("number", [0, 1, 150])
def test_exception_keeps_type_message_and_item(number):
    results = []
    with pytest.raises(ValueError, match="no more") as caught:
        results.extend(hr.iterable(partial(picklable.failing, number, picklable.raises), 1))
    assert [int(example["n"]) for example in results] == list(range(number))
    [trace, where] = caught.value.__notes__
    assert trace.startswith("In the worker process:\nTraceback (most recent call last):")
    assert where == f"in iterable(partial), at item {number}, counted from 0"


def test_exception_of_a_part_is_raised_in_turn():
    results = []
    factory = partial(picklable.failing_part, how=picklable.raises)
    with pytest.raises(ValueError, match="no more") as caught:
        results.extend(hr.iterable(factory, 3))
    assert [int(example["n"]) for example in results] == [n for n in range(5) for _ in range(3)] + [
        5
    ]
    assert caught.value.__notes__[1:] == [
        "by worker 1 of 3, at its item 5",
        "in iterable(partial), at item 16, counted from 0",
    ]


def test_stored_exception_keeps_no_worker_alive():
    factory = partial(picklable.failing_part, how=picklable.raises)
    before, caught = children_of_server(), []
    for pipeline in (hr.iterable(factory, 3), hr.iterable(picklable.fails_to_open, 1).map(dict)):
        with pytest.raises((ValueError, KeyError)) as error:
            list(pipeline)
        caught.append(error)
    wait_until(lambda: children_of_server() <= before)
    assert len(caught) == 2


def children_of_server():
    """The processes that the fork server has started."""
    if fork_server()._process is None:
        return set()
    server = fork_server()._process.pid
    children = Path(f"/proc/{server}/task/{server}/children").read_text()
    return {int(child) for child in children.split()}


def test_exception_of_a_factory_is_raised():
    with pytest.raises(KeyError, match="nothing there") as caught:
        list(hr.iterable(picklable.fails_to_open, 1))
    assert caught.value.__notes__[-1].startswith("in iterable(fails_to_open)")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (picklable.exits_now, ["exited with code 7 at item 20", "called os._exit"]),
        (picklable.dies, ["was killed by SIGKILL (signal 9) at item 20", "Out of memory"]),
        (
            picklable.crashes_now,
            ["was killed by SIGSEGV (signal 11) at item 20", "native library crashed"],
        ),
    ],
)
@pytest.mark.parametrize("skips", [False, True])
def test_dead_worker_is_an_error(how, words, skips):
    results = []
    pipeline = hr.iterable(partial(picklable.failing, 20, how), 1)
    with pytest.raises(RuntimeError, match="worker process") as caught:
        results.extend(pipeline.skip_errors(5) if skips else pipeline)
    assert [int(example["n"]) for example in results] == list(range(len(results)))
    assert len(results) <= 20
    for word in words:
        assert word in str(caught.value)
    assert caught.value.__notes__ == [
        f"in iterable(partial), at item {len(results)}, counted from 0"
    ]


def test_error_names_the_worker_that_died():
    with pytest.raises(RuntimeError, match=", number 1 of 3, was killed by SIGKILL"):
        list(hr.iterable(partial(picklable.failing_part, how=picklable.dies), 3))


def test_worker_that_dies_between_epochs_is_replaced():
    pipeline = hr.iterable(partial(picklable.numbered, 30), 1)
    (process,) = {int(example["process"]) for example in pipeline.epoch(0)}
    (again,) = {int(example["process"]) for example in pipeline.epoch(1)}
    assert process == again
    os.kill(process, signal.SIGKILL)
    wait_until(lambda: not is_there(process))
    result = taken(pipeline.epoch(2))
    assert [example["n"] for example in result] == list(range(30))
    assert {example["process"] for example in result} != {process}


@pytest.mark.parametrize(
    ("pipeline", "at"),
    [
        (hr.iterable(partial(picklable.numbered, 30), 1), "between two items"),
        (hr.arrays({"n": [1]}).map(picklable.plus_one, num_processes=2), "between two calls"),
    ],
    ids=["iterable", "map"],
)
def test_workers_that_die_at_startup_are_an_error(monkeypatch, pipeline, at):
    def tell(worker, message, descriptors=()):
        os.kill(worker.process, signal.SIGKILL)
        raise WorkerEnded(worker.process, worker.close(), None)

    monkeypatch.setattr(RemoteWorker, "tell", tell)
    with pytest.raises(RuntimeError, match=rf"was killed by SIGKILL \(signal 9\) {at}"):
        list(pipeline)


def test_workers_are_kept_between_epochs_and_exit_with_the_pipeline():
    pipeline = hr.iterable(partial(picklable.numbered, 30), 1)
    (process,) = {int(e["process"]) for number in range(4) for e in pipeline.epoch(number)}
    assert len({int(e["process"]) for e in pipeline.epochs(3)}) == 1
    (process,) = {int(e["process"]) for e in pipeline.epoch(4)}
    assert is_there(process)
    del pipeline
    gc.collect()
    wait_until(lambda: not is_there(process))


def test_workers_exit_with_a_pipeline_whose_spec_was_read():
    pipeline = hr.iterable(picklable.part, 2)
    assert list(pipeline.spec) == ["n", "text", "of"]
    looked_at = pipeline._stages[0].openings._looked_at[0]
    processes = [worker.process for worker in looked_at._iterator._workers]
    assert len(processes) == 2
    assert all(map(is_there, processes))
    del pipeline, looked_at
    gc.collect()
    wait_until(lambda: not any(map(is_there, processes)))


def test_example_is_returned_before_the_iterator_produces_the_next(tmp_path):
    batches = iter(hr.iterable(partial(picklable.waits_behind, tmp_path, 3), 1))
    assert [int(next(batches)["n"]) for _ in range(3)] == [0, 1, 2]
    wait_until(lambda: list(tmp_path.glob("waits-*")))
    (tmp_path / "go").touch()
    assert numbers_of(batches) == [3]


@pytest.mark.parametrize("kept", [False, True])
def test_hanging_iterator_is_shown_and_its_worker_exits_with_the_iteration(tmp_path, kept):
    pipeline = hr.iterable(partial(picklable.waits_behind, tmp_path, 1), 1)
    batches = pipeline.epoch(0) if kept else iter(pipeline)
    process = int(next(batches)["process"])
    wait_until(lambda: list(tmp_path.glob("waits-*")))
    wait_until(lambda: "iterable(partial)" in dump_waits())
    assert is_there(process)
    batches.close()
    wait_until(lambda: not is_there(process))


def test_ctrl_c_during_inference_leaves_no_worker(tmp_path):
    pipeline = hr.iterable(partial(picklable.waits_behind, tmp_path, 0), 1).map(dict)

    def interrupt():
        wait_until(lambda: list(tmp_path.glob("waits-*")))
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        list(pipeline)
    interrupting.join(TIMEOUT)
    [file] = tmp_path.glob("waits-*")
    process = int(file.name.removeprefix("waits-"))
    del pipeline
    gc.collect()
    wait_until(lambda: not is_there(process))


def test_break_closes_the_iterator(tmp_path):
    for number, _ in enumerate(hr.iterable(partial(picklable.closes_file, tmp_path), 1)):
        if number == 5:
            break
    gc.collect()
    wait_until((tmp_path / "closed").exists)


def test_returning_the_same_iterator_twice_is_an_error():
    pipeline = hr.iterable(picklable.OnceMore([{"n": n} for n in range(5)]), 1)
    batches = iter(pipeline.epochs(2))
    assert [int(next(batches)["n"]) for _ in range(5)] == list(range(5))
    with pytest.raises(ValueError, match="returned the same iterator again"):
        next(batches)


def test_callable_with_the_wrong_signature_is_rejected():
    takes_none = (
        r"iterable: fails_to_open\(\) cannot be called with the arguments worker and "
        "num_workers, which it receives for num"
    )
    with pytest.raises(TypeError, match=takes_none):
        hr.iterable(picklable.fails_to_open, 2)
    takes_two = r"iterable: part\(worker, .*\) cannot be called with no arguments, as it is for num"
    with pytest.raises(TypeError, match=takes_two):
        hr.iterable(picklable.part, 1)
    with pytest.raises(TypeError, match=r"num_processes is 2, but list is not a function"):
        hr.iterable([{"n": 1}], 2)
    with pytest.raises(TypeError, match="can be read only once"):
        hr.iterable(iter([{"n": 1}]), 1)
    for number in (-1, 1.5, "2", True, None):
        with pytest.raises(ValueError, match=rf"iterable: num_processes is {number!r}, expected"):
            hr.iterable(picklable.part, number)


def test_unpicklable_factory_is_rejected_before_the_first_batch():
    lock = threading.Lock()
    with pytest.raises(TypeError, match="num_processes is set, but the function cannot be pickled"):
        list(hr.iterable(lambda: [{"n": lock.locked()}], 1))


@pytest.mark.parametrize("item", [5, {"n": threading.Lock}, {"m": 1}])
def test_invalid_example_is_an_error_with_its_item(item):
    for number in (0, 200):
        items = [*({"n": n} for n in range(number)), item]
        if number == 0 and isinstance(item, dict) and "m" in item:
            continue
        with pytest.raises((TypeError, ValueError)) as caught:
            list(hr.iterable(items, 1))
        assert f"at item {number}, counted from 0" in caught.value.__notes__[-1]


def test_small_budget_yields_the_same_examples():
    pipeline = hr.iterable(partial(picklable.wide, 60, 300_000), 1).batch(4)
    full = numbers_of(pipeline)
    batches = iter(pipeline.options(memory_bytes=6_000_000))
    assert numbers_of([next(batches)]) == [0, 1, 2, 3]
    assert batches._execution.used_bytes >= 3 * 300_000
    assert [0, 1, 2, 3, *numbers_of(batches)] == full == list(range(60))


def test_iterators_in_workers_can_be_mixed_and_cached():
    a = hr.iterable(partial(picklable.even_part, count=30), 2)
    b = hr.iterable(partial(picklable.Counter, 5), 1)
    assert numbers_of(hr.concat([a, b, a])) == [*range(30), *range(5), *range(30)]
    assert numbers_of(a.cache().epochs(3)) == 3 * [*range(30)]
    assert sorted(numbers_of(hr.mix([a, b], seed=1, stop="all"))) == sorted([*range(30), *range(5)])
    pairs = hr.zip([a.rename(n="m"), b], strict=False)
    assert [(int(e["m"]), int(e["n"])) for e in pairs] == [(n, n) for n in range(5)]


@pytest.mark.nightly
def test_many_epochs_leak_no_descriptor_and_keep_one_worker():
    pipeline = hr.iterable(partial(picklable.even_part, count=40), 2)

    def descriptors():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    for kept in (True, False):
        for number in range(3):
            assert numbers_of(pipeline.epoch(number) if kept else pipeline) == list(range(40))
        before = descriptors()
        for number in range(15):
            assert numbers_of(pipeline.epoch(number) if kept else pipeline) == list(range(40))
        assert descriptors() <= before


def test_iterator_can_print_fork_and_start_threads():
    program = (
        "import functools, headrace as hr\n"
        "from tests.pipeline.workers import picklable\n"
        "pipeline = hr.iterable(functools.partial(picklable.forks_and_prints, 30), 1)\n"
        "assert [int(example['n']) for example in pipeline] == list(range(30))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        timeout=TIMEOUT,
        capture_output=True,
        env=environment(),
    )
    assert run.stdout == b"printed 5\n"


def test_closed_iteration_yields_nothing_and_has_a_state():
    batches = iter(hr.iterable(picklable.part, 4))
    next(batches)
    batches.close()
    assert next(batches, None) is None
    closed = iter(hr.iterable(picklable.part, 4))
    closed.close()
    assert numbers_of(hr.iterable(picklable.part, 4).resume(closed.state())) == numbers_of(
        hr.iterable(picklable.part, 4)
    )


def test_bottleneck_and_statistics_mention_the_processes():
    batches = iter(hr.iterable(partial(picklable.even_part, count=500), 2).batch(50))
    assert len(list(batches)) == 10
    assert {stage.name: stage.examples for stage in batches.statistics().stages} == {
        "iterable(partial)": 500,
        "batch": 500,
    }
    bottleneck = batches.bottleneck()
    assert (
        "iterable(partial) (Python) is the bottleneck: the next of its 2 processes was busy"
        in bottleneck
    )
    assert "Use more processes (num_processes), or write the examples to files" in bottleneck
