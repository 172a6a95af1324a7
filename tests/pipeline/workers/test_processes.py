"""Functions in worker processes: their arguments, results, order, errors and ends."""

import contextlib
import gc
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.workers import picklable

import headrace as hr
from headrace.pipeline.workers.remote import RemoteWorker, WorkerEnded, start_workers
from headrace.testing import dump_waits

TIMEOUT = 60


def rows(count=100):
    texts = np.array([f"é{n}" for n in range(count)], object)
    x = np.arange(3 * count).reshape(count, 3)
    return hr.arrays({"n": np.arange(count), "x": x, "text": texts})


def taken(pipeline):
    return [
        {name: np.asarray(value).tolist() for name, value in example.items()}
        for example in pipeline
    ]


def is_there(process):
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}


def wait_until(holds):
    deadline = time.monotonic() + TIMEOUT
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_two_processes_call_the_function_and_results_stay_in_order():
    result = taken(rows(400).map(picklable.with_process, num_processes=2))
    assert [example["n"] for example in result] == list(range(400))
    assert [example["text"] for example in result] == [f"é{n}" for n in range(400)]
    processes = {example["process"] for example in result}
    assert len(processes) == 2
    assert os.getpid() not in processes
    assert not any(map(is_there, processes)), "those of a plain iteration end with it"


@pytest.fixture
def exchanges(monkeypatch):
    """The blocks that are sent to workers, and the results."""
    exchanges = []
    send, result = RemoteWorker.send, RemoteWorker.result

    def recorded_send(worker, place, block):
        exchanges.append((worker, block.limit))
        return send(worker, place, block)

    def recorded_result(worker, place):
        message = result(worker, place)
        exchanges.append((worker, None))
        return message

    monkeypatch.setattr(RemoteWorker, "send", recorded_send)
    monkeypatch.setattr(RemoteWorker, "result", recorded_result)
    return exchanges


def test_worker_receives_its_next_block_while_busy(exchanges):
    result = taken(rows(200).map(picklable.slow, num_processes=1))
    assert [example["n"] for example in result] == list(range(200))
    num_waiting = list(itertools.accumulate(-1 if n is None else 1 for _, n in exchanges))
    assert max(num_waiting) == 2
    assert num_waiting.count(2) >= 5


def test_small_groups_of_rows_are_sent_together(exchanges):
    large = hr.arrays({"x": np.zeros((2_000, 64 << 10), np.uint8)})
    mean = large.map(picklable.first_value, num_processes=2)
    assert len(list(mean)) == 2_000
    # The source reads four rows at a time. On a busy machine, 20 ms of work are few rows.
    assert max(n or 0 for _, n in exchanges) > 4


def check_same(one, other):
    assert one.spec == other.spec
    for here, there in zip(one, other, strict=True):
        assert here.keys() == there.keys()
        for name, value in here.items():
            assert type(value) is type(there[name])
            assert np.asarray(value).dtype == np.asarray(there[name]).dtype
            np.testing.assert_array_equal(value, there[name])


def test_all_kinds_of_values_are_sent_unchanged():
    output = rows().map(picklable.everything)
    check_same(output, rows().map(picklable.everything, num_processes=2))
    check_same(output.map(dict), output.map(dict, num_processes=1))


def test_batches_are_sent_unchanged():
    for batched in (rows().batch(30), rows().map(picklable.everything).padded_batch(30)):
        one, other = (batched.map(dict, num_processes=number) for number in (0, 2))
        for here, there in zip(one, other, strict=True):
            assert here.keys() == there.keys()
            for name, value in here.items():
                np.testing.assert_array_equal(value, there[name])
    sums = rows().batch(30).map(picklable.batch_sum, num_processes=2)
    assert [batch["sum"].tolist() for batch in sums] == [
        (9 * np.arange(begin, min(begin + 30, 100)) + 3).tolist() for begin in (0, 30, 60, 90)
    ]


def with_all(number):
    return (
        rows(300)
        .map(picklable.noisy, seed=7, num_processes=number)
        .map(picklable.plus_one, num_processes=number)
        .filter(picklable.is_odd, num_processes=number)
        .shuffle(50, seed=3)
        .flat_map(picklable.twice, num_processes=number)
        .map(picklable.noisy, seed=8, num_processes=number)
        .epochs(2)
        .batch(32)
    )


def test_batches_and_states_do_not_depend_on_the_number_of_processes():
    full = taken(with_all(0))
    assert len(full) == 19
    for number in (1, 2, 3):
        assert taken(with_all(number)) == full
    for before, after, count in ((2, 0, 5), (0, 3, 11), (3, 1, 17)):
        with iter(with_all(before)) as batches:
            first = [next(batches) for _ in range(count)]
            state = json.loads(json.dumps(batches.state()))
        assert len(first) == count
        assert taken(with_all(after).resume(state)) == full[count:]


def test_adjacent_stages_run_in_one_call_of_a_worker():
    pipeline = (
        rows()
        .map(picklable.with_process, num_processes=2)
        .map(picklable.plus_one, num_processes=2)
        .filter(picklable.is_odd, num_processes=2)
    )
    with iter(pipeline) as batches:
        result = taken(batches)
    assert [example["n"] for example in result] == list(range(1, 101, 2))
    assert len({example["process"] for example in result}) <= 2
    counted = {stage.name: stage.examples for stage in batches.statistics().stages}
    assert counted == {
        "arrays": 100,
        "map(with_process)": 100,
        "map(plus_one)": 100,
        "filter(is_odd)": 50,
    }


def skipping(number):
    return (
        rows(200)
        .map(picklable.with_process, num_processes=number)
        .map(picklable.fails_often, num_processes=number)
        .map(picklable.fails_elsewhere, num_processes=number)
        .filter(picklable.is_odd, num_processes=number)
        .skip_errors(200)
    )


def test_adjacent_stages_before_skip_errors_run_in_one_call():
    with iter(skipping(2)) as batches:
        result = taken(batches)
    expected = [n for n in range(1, 200, 2) if n % 10 != 3 and n % 7 != 2]
    assert [example["n"] for example in result] == expected
    assert all(example["process"] == example["second"] for example in result)
    lost = [n for n in range(200) if n % 10 == 3 or n % 7 == 2]
    assert [skipped.record_number for skipped in batches.skipped] == lost
    stages = {n: "fails_often" if n % 10 == 3 else "fails_elsewhere" for n in lost}
    assert [skipped.stage for skipped in batches.skipped] == [f"map({stages[n]})" for n in lost]


def test_state_before_skip_errors_resumes_with_any_number_of_processes():
    numbers = [int(example["n"]) for example in skipping(0)]
    lost = [n for n in range(200) if n % 10 == 3 or n % 7 == 2]
    for before, after, count in ((2, 0, 5), (0, 2, 31), (2, 1, 64), (1, 2, 0), (2, 2, 69)):
        with iter(skipping(before)) as batches:
            assert [int(next(batches)["n"]) for _ in range(count)] == numbers[:count]
            state = json.loads(json.dumps(batches.state()))
        resumed = skipping(after).resume(state)
        assert [int(example["n"]) for example in resumed] == numbers[count:]
        assert [skipped.record_number for skipped in resumed.skipped] == lost


def test_function_can_keep_its_arguments():
    result = taken(rows(300).map(picklable.keeps_what_it_gets, num_processes=1))
    # The first example was used for inference.
    assert [example["count"] for example in result][:3] in ([1, 2, 3], [2, 3, 4])
    offset = result[0]["count"] - 1
    for number, example in enumerate(result):
        assert example["sum"] == sum(3 * n for n in range(number + 1)), offset


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (picklable.fails, KeyError, "thirty"),
        (picklable.fails_without_unpickling, picklable.WithTwoArguments, "one and two"),
        (picklable.fails_without_pickling, picklable.Refused, "thirty is refused"),
        (picklable.gives_a_lock, TypeError, "lock"),
    ],
)
def test_exception_keeps_type_message_traceback_and_record(function, kind, message):
    results = []
    with pytest.raises(kind, match=message) as caught:
        results.extend(rows().map(function, num_processes=2))
    assert [int(example["n"]) for example in results] == list(range(30))
    [trace, *others] = caught.value.__notes__
    assert trace.startswith("In the worker process:\nTraceback (most recent call last):")
    shown = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert len(shown) == 2, shown
    if f", in {function.__name__}\n" in trace:
        assert trace.count("  File ") == 1, trace
    assert f"in map({function.__name__}), at arrays: row 30" in others


def test_exception_that_cannot_be_unpickled_keeps_its_attributes():
    with pytest.raises(picklable.WithSlots, match="no") as caught:
        list(rows().map(picklable.fails_with_slots, num_processes=1))
    assert caught.value.code == 7


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (picklable.gives_locks, TypeError, r"contains objects \(lock\)"),
        (picklable.gives_a_large_int, ValueError, "has an int that cannot be represented"),
        (picklable.gives_none, TypeError, "returned NoneType, expected a dict"),
    ],
)
def test_error_for_an_invalid_first_result_names_its_record(function, kind, message):
    with pytest.raises(kind, match=message) as caught:
        list(rows().map(function, num_processes=1))
    where = f"in map({function.__name__}), at arrays: row 0"
    assert caught.value.__notes__[-1] == where


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (picklable.exits, ["exited with code 7 at arrays: row 30", "called os._exit"]),
        (
            picklable.kills_itself,
            [
                "was killed by SIGKILL (signal 9) at arrays: row 30",
                "Out of memory",
                "num_processes",
            ],
        ),
        (
            picklable.crashes,
            ["was killed by SIGSEGV (signal 11) at arrays: row 30", "native library"],
        ),
    ],
)
def test_dead_worker_is_an_error_with_record_and_signal(function, words):
    results = []
    with pytest.raises(RuntimeError, match="worker process") as caught:
        results.extend(rows().map(function, num_processes=2))
    assert [int(example["n"]) for example in results] == list(range(30))
    for word in words:
        assert word in str(caught.value)
    assert caught.value.__notes__ == [f"in map({function.__name__}), at arrays: row 30"]


def test_dead_worker_provides_no_memory():
    [worker] = start_workers(1)
    worker.kill()
    with pytest.raises(WorkerEnded, match=str(-signal.SIGKILL)):
        worker.answer()
    with pytest.raises(WorkerEnded):
        worker.take_place()


@pytest.mark.parametrize("num_processes", [1, 2])
def test_examples_that_kill_or_fail_a_worker_can_be_skipped(num_processes):
    """A block that waits at a worker that dies is sent to another worker."""
    died = iter(rows().map(picklable.kills_itself, num_processes=num_processes).skip_errors(5))
    assert [int(e["n"]) for e in died] == [n for n in range(100) if n not in (30, 31, 77)]
    assert [left.record_number for left in died.skipped] == [30, 31, 77]
    assert all("SIGKILL" in left.reason for left in died.skipped)
    failed = iter(rows().map(picklable.fails_often, num_processes=num_processes).skip_errors(20))
    assert [int(e["n"]) for e in failed] == [n for n in range(100) if n % 10 != 3]
    assert [left.record_number for left in failed.skipped] == list(range(3, 100, 10))


def test_workers_are_kept_between_epochs_and_exit_with_the_pipeline():
    pipeline = rows().map(picklable.with_process, num_processes=2)
    processes = [
        {int(example["process"]) for example in pipeline.epoch(number)} for number in range(4)
    ]
    expected = set().union(*processes)
    assert len(expected) <= 2
    assert all(map(is_there, expected))
    del pipeline
    gc.collect()
    wait_until(lambda: not any(map(is_there, expected)))


def test_functions_can_print_fork_and_start_threads():
    program = (
        "from tests.pipeline.workers import picklable, test_processes as t\n"
        "pipeline = t.rows().map(picklable.prints_forks_and_starts_threads, num_processes=2)\n"
        "assert [int(example['n']) for example in pipeline] == list(range(100))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        timeout=TIMEOUT,
        capture_output=True,
        env=environment(),
    )
    assert run.stdout == b"printed 5\n"


def test_hanging_call_is_shown_and_its_worker_exits_with_the_iteration(tmp_path, caplog):
    pipeline = rows(20).map(picklable.Waits(tmp_path), num_processes=1).options(warn_after_s=0.05)
    batches = iter(pipeline)
    assert int(next(batches)["n"]) == 0
    wait_until(lambda: list(tmp_path.glob("waits-*")))
    [file] = tmp_path.glob("waits-*")
    process = int(file.name.removeprefix("waits-"))
    assert "map(Waits): the call for arrays: row 5, in a block" in dump_waits()
    wait_until(lambda: "map(Waits): waiting for its turn, in a block" in dump_waits())
    # A slow machine may have warned of the first call, for which the worker starts.
    call = "map(Waits): the call for arrays: row 5"
    warning = f"{call} has taken more than 0.05 s and is still running"
    wait_until(lambda: warning in caplog.messages)
    assert not any("its turn" in message for message in caplog.messages)
    assert is_there(process)
    batches.close()
    wait_until(lambda: not is_there(process))


@pytest.mark.parametrize("kind", ["map", "filter", "iterable"])
def test_function_is_not_blamed_while_its_worker_starts(tmp_path, caplog, kind):
    file = tmp_path / "go"
    slow = picklable.SlowToLoad(file)
    pipeline = {
        "map": lambda: rows(3).map(slow, num_processes=1),
        "filter": lambda: rows(3).filter(slow, num_processes=1),
        "iterable": lambda: hr.iterable(picklable.SlowSource(file), num_processes=1),
    }[kind]().options(warn_after_s=0.02)
    results = []
    thread = threading.Thread(target=lambda: results.extend(pipeline))
    thread.start()
    wait_until(lambda: any("starting its worker process" in text for text in caplog.messages))
    assert not any("the call for" in text for text in caplog.messages)
    file.write_text("")
    thread.join(TIMEOUT)
    assert results


@pytest.mark.parametrize("num_processes", [1, 2])
@pytest.mark.parametrize("stage", ["map", "flat_map"])
def test_each_row_passes_adjacent_functions_in_one_worker(stage, num_processes):
    """The first row too, from which components are learned."""
    pipeline = rows(50).map(picklable.remember, num_processes=num_processes)
    pipeline = pipeline.map(picklable.is_remembered, num_processes=num_processes)
    if stage == "flat_map":
        pipeline = pipeline.flat_map(picklable.is_remembered_twice, num_processes=num_processes)
    for epoch in range(2):
        results = list(pipeline.epoch(epoch))
        assert [int(example["n"]) for example in results] == list(range(50))
        assert all(example["is_there"] and example["is_same"] for example in results)


def test_unpicklable_functions_are_rejected_before_the_first_batch():
    lock = threading.Lock()

    def local(example):
        return {**example, "is_locked": lock.locked()}

    with pytest.raises(TypeError, match=r"map\(.*local\): num_processes is set, but the functio"):
        list(rows().map(local, num_processes=2))


@pytest.mark.parametrize("number", [-1, 1.5, "2", True, None])
def test_invalid_num_processes_is_rejected(number):
    for stage in ("map", "filter", "flat_map"):
        with pytest.raises(ValueError, match=rf"{stage}: num_processes is {number!r}, expected an"):
            getattr(rows(), stage)(dict, num_processes=number)


def test_unsupported_num_processes_is_rejected():
    with pytest.raises(ValueError, match="num_threads is 2 and num_processes is 2, but only one"):
        rows().map(dict, num_threads=2, num_processes=2)
    with pytest.raises(ValueError, match="num_processes is 2, but the function is native"):
        rows().map(hr.native(picklable.plus_one), num_processes=2)


def test_bottleneck_mentions_processes():
    batches = iter(rows(1000).map(picklable.slow, num_processes=2).batch(50))
    assert len(list(batches)) == 20
    assert (
        "map(slow) (Python) is the bottleneck: each of its 2 processes was busy"
        in batches.bottleneck()
    )


@pytest.mark.nightly
def test_many_epochs_leak_no_descriptor_or_memory_file():
    pipeline = rows().map(picklable.plus_one, num_processes=2)

    def descriptors():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    for kept in (True, False):
        for number in range(3):
            assert len(list(pipeline.epoch(number) if kept else pipeline)) == 100
        before = descriptors()
        for number in range(20):
            assert len(list(pipeline.epoch(number) if kept else pipeline)) == 100
        assert descriptors() <= before


PROGRAM = """
import os, sys
import headrace as hr
import numpy as np
from tests.pipeline.workers import picklable

if __name__ == "__main__":
    batches = iter(hr.arrays({"n": np.arange(10**6)}).map(picklable.with_process, num_processes=2))
    print(*{int(next(batches)["process"]) for _ in range(2000)}, flush=True)
    sys.stdin.readline()
    if sys.argv[1] == "exit":
        os._exit(3)
    for _ in batches:
        pass
"""


@pytest.mark.parametrize("way", ["exit", "kill", "interrupt", "fork"])
def test_no_worker_survives_the_program(tmp_path, way):
    forks = "os.fork() or __import__('time').sleep(30); sys.stdin.readline()"
    text = PROGRAM.replace("sys.stdin.readline()", forks) if way == "fork" else PROGRAM
    (tmp_path / "program.py").write_text(text)
    program = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py"), way],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
        process_group=0,
    )
    try:
        processes = list(map(int, program.stdout.readline().split()))
        assert processes
        assert all(map(is_there, processes))
        if way == "exit":
            program.stdin.write(b"\n")
            program.stdin.flush()
        elif way == "interrupt":
            program.stdin.write(b"\n")
            program.stdin.flush()
            os.killpg(program.pid, signal.SIGINT)
        else:
            program.kill()
        assert program.wait(timeout=TIMEOUT) != 0
        wait_until(lambda: not any(map(is_there, processes)))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait(timeout=TIMEOUT)
        program.stdin.close()
        program.stdout.close()


def test_worker_modules_are_loaded_only_when_needed():
    program = (
        "import sys, headrace as hr\n"
        "list(hr.arrays({'n': [1]}).map(dict, num_threads=2))\n"
        "room = 'headrace.pipeline.workers'\n"
        "loaded = {m.removeprefix(room) for m in sys.modules if m.startswith(room)}\n"
        "assert loaded == {'', '.iterator_pool', '.python_iterables'}\n"
        "assert 'multiprocessing' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=TIMEOUT)


def test_pipelines_load_no_operations_and_workers_few_modules():
    program = (
        "import sys\n"
        "import headrace.pipeline.workers.server\n"
        "rest = 'stages.map', 'plan.planner', 'run.batches', 'workers.remote'\n"
        "assert not [name for name in rest if f'headrace.pipeline.{name}' in sys.modules]\n"
        "import headrace as hr\n"
        "list(hr.arrays({'n': [1]}).map(dict).batch(1))\n"
        "assert 'headrace.ops' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=TIMEOUT)


def test_all_workers_load_the_function_before_the_first_result(tmp_path):
    meeting = picklable.MeetsWhenLoaded(tmp_path, 2)
    result = taken(rows(4).map(meeting, num_processes=2))
    assert [example["n"] for example in result] == list(range(4))


def test_reading_the_spec_starts_one_worker(tmp_path):
    pipeline = rows(4).map(picklable.MeetsWhenLoaded(tmp_path, 1), num_processes=2)
    assert list(pipeline.spec) == ["n"]
    assert len(list(tmp_path.iterdir())) == 1


def test_adjacent_stages_share_workers_during_inference(tmp_path):
    loads = picklable.MeetsWhenLoaded(tmp_path, 2)
    pipeline = rows(40).map(loads, num_processes=2).map(picklable.plus_one, num_processes=2)
    assert [example["n"] for example in taken(pipeline)] == list(range(1, 41))
    assert len(list(tmp_path.iterdir())) == 2
