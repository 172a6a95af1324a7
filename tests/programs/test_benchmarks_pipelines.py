"""The parts of the pipeline benchmarks: reading, checks, measurements and tables."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tqdm import tqdm

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import comparison, process  # noqa: E402
from benchmarks.pipelines import (  # noqa: E402
    checksums,
    consume,
    contenders,
    data,
    dataset,
    programs,
    report,
    running,
)
from benchmarks.pipelines.workloads import WORKLOADS, Workload  # noqa: E402

PARTS = [dataset.Part([f"{n}.txt"], 10, [n, 100]) for n in range(3)]


@pytest.fixture
def make_small(tmp_path, monkeypatch):
    """Makes a data set with few examples."""
    monkeypatch.setattr(dataset, "ROOT", tmp_path)

    def make(stem):
        maker = data.import_module(f"benchmarks.pipelines.data.{stem}")
        if hasattr(maker, "photographs"):
            pixels = np.random.default_rng(0).integers(0, 256, (150, 200, 3), dtype=np.uint8)
            monkeypatch.setattr(maker, "photographs", lambda: [Image.fromarray(pixels)])
        monkeypatch.setattr(maker, "NUM_PARTS", 2)
        monkeypatch.setattr(maker, "PART_COUNT", 10 if stem == "photos" else 300)
        data.ensure(stem)
        return dataset.parts_of(stem)

    return make


def test_fewer_parts_are_the_first_ones_once():
    chosen = dataset.select("lines", PARTS, 2)
    assert [Path(name).name for name in chosen.files] == ["0.txt", "1.txt"]
    assert (chosen.num_epochs, chosen.count, chosen.sums) == (1, 20, [1, 200])


def test_more_parts_than_there_are_become_epochs():
    chosen = dataset.select("lines", PARTS, 9)
    assert len(chosen.files) == 3
    assert (chosen.num_epochs, chosen.count, chosen.sums) == (3, 90, [9, 900])


@pytest.mark.parametrize(
    ("task", "batch", "expected"),
    [
        ("examples", (np.full((2, 784), 0.5, np.float32), np.array([3, 4])), (2, [7, 2 * 4 * 255])),
        ("numbers", (np.eye(2, 10, dtype=np.float32) / 4, [5, 6]), (2, [11, 250_000, 0])),
        ("lines", np.array([b"ab", b"", b"c"], object), (3, [3])),
        ("lines", [b"ab"], (1, [2])),
        ("images", (np.ones((2, 32, 32, 3), np.uint8), np.array([200, 3])), (2, [203, 40_009, 6])),
    ],
)
def test_a_tally_sums_the_contents_of_batches(task, batch, expected):
    assert checksums.CHECKSUMS[task](batch) == expected


def test_a_tally_refuses_images_that_are_not_standardised():
    with pytest.raises(ValueError, match=r"images of mean 1\.0, deviation 0\.0"):
        checksums.CHECKSUMS["augmented_images"]((np.ones((1, 24, 24, 3)), np.array([1])))


def test_the_rate_omits_the_start_and_end_of_a_program():
    times = [5.0, *np.arange(5.1, 6.0, 0.1), *[5.9] * 2]
    marks = [(time, 10 * number) for number, time in enumerate(times)]
    assert consume.steady_rate(marks) == pytest.approx(100)
    assert consume.steady_rate(marks[:9]) is None


def test_a_lost_example_is_noticed_and_rounding_is_not():
    assert checksums.difference("lines", [3, 10], [3, 10]) == ""
    assert "[2, 10], expected [3, 10]" in checksums.difference("lines", [3, 10], [2, 10])
    assert "lost or doubled" in checksums.difference("lines", [3, 10], [3, 11])
    assert checksums.difference("photos", [3, 10, 1_000], [3, 10, 1_015]) == ""
    assert checksums.difference("photos", [3, 10, 1_000], [3, 10, 1_025]) != ""


def test_a_data_set_is_made_once_for_each_version_of_its_code(tmp_path, make_small, capsys):
    make_small("numbers")
    assert "making" in capsys.readouterr().err
    for part in make_small("numbers"):
        table = np.loadtxt(tmp_path / "numbers" / part.files[0], delimiter=",")
        batch = (table[:, :10].astype(np.float32), table[:, 10].astype(int))
        assert checksums.numbers(batch) == (part.count, part.sums)
    assert capsys.readouterr().err == ""


def test_without_photographs_there_is_no_data_set(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "ROOT", tmp_path)
    maker = data.import_module("benchmarks.pipelines.data.photographs")
    monkeypatch.setattr(maker, "python_of", lambda peer: None)
    maker.photographs.cache_clear()
    with pytest.raises(data.MissingSourceError, match="scikit-image could not be installed"):
        data.ensure("photos")


def test_a_process_is_measured_with_its_children():
    child = "x = bytearray(120 << 20); import time; time.sleep(1)"
    command = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    run = process.run([sys.executable, "-c", command], timeout=30)
    assert run.failure == ""
    assert run.cpu_seconds > 0
    assert run.peak_bytes > 120 << 20


def test_a_failed_process_says_why():
    run = process.run([sys.executable, "-c", "raise SystemExit('no data')"], timeout=30)
    assert run.failure == "no data"
    late = process.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2)
    assert "not done after 0 s" in late.failure


def test_a_contender_that_loses_examples_has_failed(tmp_path):
    def problem_of(figures):
        return checksums.difference("lines", [2, 6], [figures["count"], *figures["sums"]])

    for count, failure in ((2, ""), (1, "examples were lost or doubled")):
        figures = f'{{"count": {count}, "sums": [6], "seconds": 2.0}}'
        command = [sys.executable, "-c", f"print({figures!r})"]
        result = comparison.Result(comparison.Contender("it", command, problem_of=problem_of))
        comparison.measure(result, [], 30.0)
        assert failure in result.failure
        assert result.rates == ([] if failure else [1.0])


def result_of(name, *rates):
    result = comparison.Result(comparison.Contender(name, ["it"]))
    result.rates += rates
    result.cpu_us += [1.5, 2.5]
    result.peak_mib.append(20.0)
    return result


def program_of(key):
    return contenders.Program(key, f"the {key}", None, None, [], f"as {key} is")


def test_a_table_compares_with_the_limit_and_with_ours():
    slow = result_of("slow", 10.0, 30.0, 20.0)
    slow.first_batch_seconds.append(0.25)
    broken = comparison.Result(comparison.Contender("broken", ["it"]), failure="no such module")
    rows = [
        report.row_of(program_of("slow"), slow),
        report.row_of(program_of("broken"), broken),
        report.row_of(program_of("absent"), None),
        report.row_of(program_of("limit"), result_of("limit", 400.0)),
    ]
    table = report.table_of(WORKLOADS[0], rows, limit="limit", ours="slow")
    assert table.splitlines()[2:] == [
        "| | examples/s | spread | of limit | slow ÷ this | CPU µs each | peak MiB "
        "| first batch, s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
        "| the limit | 400 | 0% | 100% | 0.05 | 2 | 20 |  |",
        "| the slow | 20 | 100% | 5.0% | 1 | 2 | 20 | 0.25 |",
        "",
        "the broken is skipped: no such module.",
        "the absent is skipped: could not be installed.",
    ]


def test_results_are_written_for_a_reader_and_for_the_plot(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "HOME", tmp_path / "results")
    rows = [report.row_of(program_of("it"), result_of("it", 2.0))]
    path = report.write("two cores", ["a table"], [(WORKLOADS[0], rows)])
    text = (path.parent / "results.md").read_text()
    assert all(part in text for part in ("two cores", "a table", "- the it: as it is."))
    [workload] = json.loads(path.read_text())["workloads"]
    assert (workload["name"], workload["rows"][0]["rate"]) == ("W1", 2.0)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_each_workload_has_the_limit_and_our_two_programs(workload: Workload):
    keys = [program.key for program in programs.programs_for(workload, [])]
    assert {"limit", "headrace", "headrace-best", "tensorflow", "tf.data"} <= set(keys)
    assert programs.programs_for(workload, ["limit"])[0].key == "limit"


@pytest.mark.parametrize("way", ["tf1", "best"])
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_our_programs_move_each_example_once(tmp_path, make_small, way, workload):
    parts = make_small(dataset.stem_of(workload.task))
    expected = dataset.select(dataset.stem_of(workload.task), parts, 4)
    program = contenders.Program("it", "it", way, None, [], "")
    command = [*contenders.command_of(program, workload.task), "--parts", "4"]
    variables = {"HEADRACE_BENCH_DATA": str(tmp_path), "PYTHONPATH": str(ROOT)}
    run = process.run(command, 50.0, variables)
    assert run.failure == ""
    figures = json.loads(run.output)
    got = [figures["count"], *figures["sums"]]
    assert checksums.difference(workload.task, [expected.count, *expected.sums], got) == ""
    assert figures["first_batch_at"] > run.started_at


def test_a_program_that_is_measured_once_runs_as_often_as_its_trial_needs(monkeypatch):
    command = [sys.executable, "-c", 'print(\'{"count": 1, "sums": [], "seconds": 9.0}\')']
    program = contenders.Program("it", "it", None, None, ["lines"], "")
    monkeypatch.setattr(tqdm, "monitor_interval", 0)
    monkeypatch.setattr(running, "command_of", lambda *_: command)
    contender = comparison.Contender("it", command)
    monkeypatch.setattr(running, "_contender", lambda *_: contender)
    monkeypatch.setattr(running.dataset, "parts_of", lambda _: [])
    [lines] = [workload for workload in WORKLOADS if workload.name == "W5"]
    for rounds, expected in ((1, 1), (2, 2)):
        [result] = running.run(lines, [program], rounds, 0.1)
        assert len(result.rates) == expected
