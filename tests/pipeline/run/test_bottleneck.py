"""Statistics and bottlenecks: pipelines with a known slow stage, and the advice for them."""

import fcntl
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from headrace.pipeline.functions.python_functions import has_gil
from headrace.pipeline.run import batches as batches_module
from headrace.pipeline.run import bottleneck as bottleneck_module
from headrace.pipeline.run.bottleneck import bottleneck
from headrace.pipeline.run.statistics import Readings, StageReadings
from headrace.pipeline.stages.batch import Batch
from headrace.pipeline.stages.map import Map

SECONDS = 0.002


def run(pipeline, seconds=0.0):
    """Runs a pipeline in a loop that spends the given time on each batch."""
    with iter(pipeline) as batches:
        for _ in batches:
            time.sleep(seconds)
    return batches


def waited(batches):
    """The share of the time for which the loop waited."""
    readings = batches._readings()
    return readings.consumer_waiting / readings.seconds


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    directory = tmp_path_factory.mktemp("lines")
    for index in range(4):
        text = "".join(f"{number:030}\n" for number in range(2_000))
        (directory / f"{index}.txt").write_text(text)
    return directory


def slow(example):
    time.sleep(SECONDS)
    return example


def slow_batch(batch):
    time.sleep(SECONDS)
    return batch


def is_slowly_kept(example):
    time.sleep(SECONDS)
    return True


def slow_twins(example):
    time.sleep(SECONDS)
    return [example, example]


def slow_numbers():
    for number in range(200):
        time.sleep(SECONDS)
        yield {"n": number}


@hr.native
def dear(example):
    x = hr.ops.cast(hr.ops.decode_raw(example["text"], "uint8"), "float32")
    for _ in range(200):
        x = hr.ops.sqrt(x + 1.0)
    return {"x": hr.ops.reduce_sum(x)}


def test_bottleneck_names_a_slow_training_loop(lines):
    batches = run(hr.text_lines(lines).batch(1_000), seconds=0.1)
    assert batches.bottleneck().startswith("the training loop is the bottleneck: it was busy")
    assert waited(batches) < waited(run(hr.text_lines(lines).batch(1_000)))


@pytest.mark.parametrize(
    ("function", "stage"),
    [(slow, "map"), (is_slowly_kept, "filter"), (slow_twins, "flat_map")],
)
def test_bottleneck_names_a_slow_python_function(lines, function, stage):
    source = hr.text_lines(lines).take(200)
    batches = run(getattr(source, stage)(function).batch(20))
    result = batches.bottleneck()
    where = f"{stage}({function.__name__})"
    assert result.startswith(f"{where} (Python) is the bottleneck: its only thread was busy")
    assert "call it on whole batches, after batch(...)" in result
    [there] = [s for s in batches.statistics().stages if s.name.startswith(stage)]
    helped = run(source.batch(20).map(slow_batch)).statistics().stages[-1]
    assert helped.busy_seconds < there.busy_seconds / 2


def keeps_the_interpreter(example):
    sum(range(3_000))
    return example


def test_python_function_that_holds_the_gil_is_not_mistaken_for_the_loop(lines):
    pipeline = hr.text_lines(lines).map(keeps_the_interpreter).batch(10).prefetch(8)
    batches = iter(pipeline)
    for _ in batches:
        pass
    assert "map(keeps_the_interpreter) (Python)" in batches.bottleneck()


@pytest.mark.skipif(not has_gil(), reason="this Python has no GIL")
def test_bottleneck_suggests_threads_for_a_function_that_releases_the_gil(lines):
    def wait(example):
        time.sleep(0.002)
        return example

    batches = run(hr.text_lines(lines).take(400).map(wait).batch(20))
    result = batches.bottleneck()
    released = re.search(
        r"^map\(.*wait\) \(Python\) is the bottleneck: its only thread was busy \d+% of the time, "
        r"and released the GIL for (\d+)% of that\. .*\. Pass num_threads=4, or make it native",
        result,
    )
    assert released, result
    assert int(released[1]) >= 50
    several = run(hr.text_lines(lines).take(400).map(wait, num_threads=4).batch(20))
    assert several.statistics().seconds < batches.statistics().seconds


@pytest.mark.skipif(not has_gil(), reason="this Python has no GIL")
def test_bottleneck_suggests_processes_for_a_function_that_holds_the_gil(lines):
    def compute(example):
        sum(range(60_000))
        return example

    # Several threads share the GIL with the loop, so the loop may look slow.
    values = run(hr.text_lines(lines).take(2000).map(compute).batch(20)).bottleneck()
    assert "(Python) is the bottleneck: its only thread was busy" in values
    assert re.search(r"and held the GIL for \d+% of that", values), values
    assert "num_threads" not in values
    assert re.search(r" Pass num_processes=\d+, or make it native", values), values


@pytest.mark.parametrize("holds_gil", [0.1, 0.9])
def test_bottleneck_suggests_neither_threads_nor_processes_for_short_calls(lines, holds_gil):
    with iter(hr.text_lines(lines).map(dict).batch(10)) as batches:
        source, mapped, batch = batches._counted

    def advice(num_calls, num_batched=0):
        stages = [
            stage_readings(source, 0.1, examples=num_calls),
            stage_readings(mapped, 9.0, 9.0, num_calls, holds_gil),
        ]
        if num_batched:
            stages.insert(1, stage_readings(batch, 0.1, examples=num_batched))
        return bottleneck(readings(stages, consumer_waiting=9.5, idle=19.0))

    short = advice(300_000)
    assert (
        "Its calls take only 30 µs, too short for more threads or processes to help. Make it"
        in short
    )
    assert "Pass num_" not in short
    name = "num_threads" if holds_gil < 0.5 else "num_processes"
    assert f"Pass {name}=" in advice(30_000)
    # A call for each batch takes longer than its share of an example.
    assert f"Pass {name}=" in advice(300_000, num_batched=300_000)


def test_full_shuffle_reads_a_file_with_all_threads(lines):
    ordered = hr.text_lines(lines / "0.txt")
    for pipeline, expected in ((ordered, 1), (ordered.shuffle(seed=1), None)):
        batches = run(pipeline.batch(100))
        source, *_ = batches._readings().stages
        assert source.counted.num_parallel == expected
        assert expected or "by one thread" not in batches.bottleneck()


def test_bottleneck_names_a_slow_iterable(lines):
    batches = run(hr.iterable(slow_numbers).batch(20))
    assert batches.bottleneck().startswith("iterable(slow_numbers) (Python) is the bottleneck")
    helped = run(hr.arrays({"n": np.arange(200)}).batch(20))
    assert helped.statistics().seconds < batches.statistics().seconds / 2


@contextmanager
def slow_files(directory: Path, count: int) -> Iterator[list[Path]]:
    """Named pipes, each with a few blocks that arrive one by one after a pause."""
    paths = [directory / f"{count}-{index}" for index in range(count)]

    def serve(path: Path) -> None:
        with path.open("wb", buffering=0) as pipe:
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
            for _ in range(100 // count):
                time.sleep(2 * SECONDS)
                pipe.write(b"%015d\n" % 7 * 256)

    threads = [threading.Thread(target=serve, args=(path,)) for path in paths]
    for path, thread in zip(paths, threads, strict=True):
        os.mkfifo(path)
        thread.start()
    yield paths
    for thread in threads:
        thread.join()


def test_bottleneck_names_slow_storage(tmp_path):
    def read(paths):
        options = {"num_threads": len(paths) + 1}
        return run(hr.text_lines(paths, compression=None).batch(256).options(**options))

    with slow_files(tmp_path, 1) as paths:
        batches = read(paths)
    assert batches.bottleneck().startswith(
        "text_lines is the bottleneck: its reads waited for storage"
    )
    assert "more files" in batches.bottleneck()
    assert batches.statistics().stages[0].waiting_seconds > 100 * SECONDS
    with slow_files(tmp_path, 4) as paths:
        assert read(paths).statistics().seconds < batches.statistics().seconds


def test_bottleneck_names_slow_storage_of_a_parsing_source(tmp_path):
    with slow_files(tmp_path, 1) as paths:
        columns = {"n": int}
        source = hr.csv(paths, columns, header=False, compression=None)
        batches = run(source.batch(256).options(num_threads=2))
    assert batches.bottleneck().startswith("csv is the bottleneck: its reads waited for storage")
    reading, fields, batch = batches.statistics().stages
    assert (reading.name, fields.name, batch.name) == ("csv", "csv, fields", "batch")
    assert reading.examples == fields.examples == batch.examples == 25_600
    assert reading.waiting_seconds > 100 * SECONDS > fields.waiting_seconds


def test_bottleneck_names_an_expensive_native_function(lines, monkeypatch):
    monkeypatch.setattr(bottleneck_module, "num_cores", lambda: 2)
    batches = run(hr.text_lines(lines).map(dear).batch(50).options(num_threads=1))
    result = batches.bottleneck()
    assert result.startswith("map(dear) is the bottleneck: workers were busy")
    assert " Use more threads with options(num_threads=2), or " in result
    *_, mapped, batch = batches.statistics().stages
    assert (mapped.examples, batch.examples) == (8_000, 8_000)
    assert mapped.busy_seconds > batch.busy_seconds


def test_bottleneck_names_a_memory_budget_that_is_too_small(lines):
    pipeline = hr.text_lines(lines).epochs(10).map(dear).batch(500)
    batches = run(pipeline.options(memory_bytes=1, num_threads=4))
    assert batches.bottleneck().startswith("memory is the bottleneck: work waited for memory")
    assert "options(memory_bytes=...)" in batches.bottleneck()
    helped = run(pipeline.options(num_threads=4))
    assert helped._readings().budget_waiting < batches._readings().budget_waiting
    assert "memory is the bottleneck" not in helped.bottleneck()


def test_bottleneck_names_an_expensive_gather():
    wide = hr.arrays({"x": np.zeros((400, 100_000), np.float32)})
    batches = run(wide.shuffle(seed=1).batch(50).options(num_threads=1, memory_bytes=100 << 20))
    busy = {stage.name: stage.busy_seconds for stage in batches.statistics().stages}
    named = max(busy, key=lambda name: busy[name])
    assert named in ("arrays", "shuffle", "batch")
    assert batches.bottleneck().startswith(f"{named} is the bottleneck: workers were busy")


def readings(stages, **seconds):
    """Ten seconds of two workers, idle except for the given activities."""
    nothing = dict.fromkeys(
        ("tasks_busy", "tasks_computing", "idle", "consumer_waiting", "budget_waiting"), 0.0
    )
    return Readings(10.0, 2, stages, **{**nothing, **seconds})


def stage_readings(counted, busy, computing=0.0, examples=1_000, holds_gil=None):
    return StageReadings(
        counted, examples, 1_000, busy, computing, 0.0, None, None, holds_gil=holds_gil
    )


def test_bottleneck_names_a_single_file_read_by_one_thread(lines):
    counted = iter(hr.text_lines(lines / "0.txt").batch(100))._counted
    source, batch = counted
    assert source.num_parallel == 1
    assert isinstance(batch.stage, Batch)
    result = bottleneck(
        readings(
            [stage_readings(source, 9.5, 9.5), stage_readings(batch, 0.5)],
            tasks_busy=0.5,
            tasks_computing=0.5,
            idle=10.0,
            consumer_waiting=9.0,
        )
    )
    assert result.startswith(
        "text_lines is the bottleneck: each file is read by one thread, and the threads of the "
        "only file were"
    )
    assert "Divide the data into more files" in result


@pytest.mark.parametrize(
    ("cores", "used", "remedy"),
    [
        (4, "workers were busy 95% of the time", "Use more threads with options(num_threads=4)"),
        (2, "workers were busy 95% of the time", "Use a machine with more cores"),
        (
            1,
            "workers used 95% of the core",
            "Remove options(num_threads=2), because more threads than",
        ),
    ],
)
def test_thread_advice_considers_the_number_of_cores(lines, monkeypatch, cores, used, remedy):
    monkeypatch.setattr(bottleneck_module, "num_cores", lambda: cores)
    source, batch = iter(hr.text_lines(lines).batch(100))._counted
    # With one core, each task runs for half of its time.
    computing = 19.0 if cores > 1 else 9.5
    result = bottleneck(
        readings(
            [stage_readings(source, 0.0), stage_readings(batch, 19.0, computing)],
            tasks_busy=19.0,
            tasks_computing=computing,
            idle=1.0,
            consumer_waiting=9.0,
        )
    )
    assert result.startswith(f"batch is the bottleneck: {used}, 100% of that in this stage")
    assert f" {remedy}" in result


def test_bottleneck_reports_when_no_single_stage_limits(lines):
    source, batch = iter(hr.text_lines(lines).batch(100))._counted
    result = bottleneck(
        readings(
            [stage_readings(source, 4.0, 4.0), stage_readings(batch, 3.0)],
            tasks_busy=3.0,
            tasks_computing=3.0,
            idle=13.0,
            consumer_waiting=6.0,
        )
    )
    assert result.startswith(
        "there is no single bottleneck. The training loop waited 60% of the time"
    )


def test_no_bottleneck_before_anything_was_read(tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    assert run(hr.text_lines(tmp_path)).bottleneck() == (
        "nothing has been read yet. Call it again after a few batches."
    )


def test_statistics_count_the_results_of_each_stage(lines):
    pipeline = hr.text_lines(lines).take(1_000).filter(lambda e: e["text"].endswith(b"0"))
    batches = run(pipeline.epochs(2).batch(16))
    statistics = batches.statistics()
    assert [(stage.name.split("(")[0], stage.examples) for stage in statistics.stages[1:]] == [
        ("take", 2_000),
        ("filter", 200),
        ("epochs", 200),
        ("batch", 200),
    ]
    assert statistics.stages[0].bytes >= 2_000 * 30
    assert 0 < statistics.seconds == batches.statistics().seconds


def percentages(text):
    return [int(number) for number in re.findall(r"(\d+)%", text)]


def test_no_share_exceeds_100_percent(lines):
    source, batch = iter(hr.text_lines(lines / "0.txt").batch(100))._counted
    [mapped] = [
        counted
        for counted in iter(hr.text_lines(lines).map(slow))._counted
        if isinstance(counted.stage, Map)
    ]
    # The clocks of threads run a little longer than the iteration's clock.
    for stages in ([], [stage_readings(mapped, 20.0)], [stage_readings(source, 25.0, 25.0)]):
        for seconds in ("idle", "consumer_waiting", "budget_waiting", "tasks_busy"):
            result = bottleneck(readings([stage_readings(batch, 0.1), *stages], **{seconds: 25.4}))
            assert percentages(result)
            assert max(percentages(result)) <= 100, result


def test_advice_for_parquet_mentions_row_groups(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"n": list(range(100))}), tmp_path / "n.parquet")
    with iter(hr.parquet(tmp_path / "n.parquet")) as batches:
        [source] = batches._counted
    assert (source.num_parallel, source.is_python, source.reads_files) == (1, False, True)
    busy = readings([stage_readings(source, 9.0, 9.0)], consumer_waiting=9.5, tasks_busy=9.0)
    assert bottleneck(busy).startswith(
        "parquet is the bottleneck: each row group is read by one thread, and the threads of the "
        "only row group were busy"
    )
    assert "Divide the data into more row groups" in bottleneck(busy)


def test_advice_for_a_batch_function_does_not_suggest_batches(lines):
    with iter(hr.text_lines(lines).batch(10).map(slow_batch)) as batches:
        counted = batches._counted
    stages = [stage_readings(one, 9.0 if isinstance(one.stage, Map) else 0.1) for one in counted]
    result = bottleneck(readings(stages, consumer_waiting=9.5, idle=19.0))
    assert result.startswith("map(slow_batch) (Python) is the bottleneck")
    assert result.endswith("Make it native (headrace.native), or do less work in it.")


def test_repr_of_an_iteration_shows_stages_and_position(lines):
    batches = iter(hr.text_lines(lines).shuffle(seed=1).batch(100))
    next(batches)
    next(batches)
    name = "text_lines > shuffle > batch"
    assert repr(batches) == f"Batches({name}: epoch 0, 2 batches taken, open)"
    batches.close()
    assert repr(batches) == f"Batches({name}: epoch 0, 2 batches taken, closed)"
    examples = hr.text_lines(lines).epoch(3)
    assert len(list(examples)) == 8_000
    assert repr(examples) == "Batches(text_lines: epoch 3, 8000 examples taken, closed)"


@pytest.mark.parametrize(("after_s", "expected"), [(1e9, 0), (-1.0, 1)])
def test_gil_is_sampled_only_in_longer_iterations(monkeypatch, after_s, expected):
    monkeypatch.setattr(batches_module, "_LOOKED_AT_S", after_s)
    with iter(hr.arrays({"n": np.arange(100)}).map(dict)) as batches:
        next(batches)
        names = [thread.name for thread in threading.enumerate()]
        assert names.count("headrace-gil") == (expected if has_gil() else 0)


def test_gil_is_not_sampled_for_functions_in_other_processes(monkeypatch):
    monkeypatch.setattr(batches_module, "_LOOKED_AT_S", -1.0)
    with iter(hr.arrays({"n": np.arange(100)}).map(dict, num_processes=1)) as batches:
        next(batches)
        assert "headrace-gil" not in [thread.name for thread in threading.enumerate()]
