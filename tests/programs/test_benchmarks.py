"""Runs the benchmark programs, which check their data. Their results are not checked."""

import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tqdm import tqdm

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import (  # noqa: E402
    __main__ as command,
)
from benchmarks import (  # noqa: E402
    comparison,
    dataset,
    libraries,
    machine_speed,
    measure,
    pictures,
    plot,
    process,
    report,
    runner,
    startup,
)
from benchmarks.workload import LIMIT, Part, Program  # noqa: E402
from benchmarks.workloads import (  # noqa: E402
    arrays_in_memory,
    cifar,
    csv_lines,
    digits,
    first_batch,
    functions,
    photos,
    text_lines,
    worker_processes,
)

SCALES = {
    "W1": 0.005,
    "W2": 0.005,
    "W2-plain": 0.005,
    "W3": 0.02,
    "W4": 0.001,
    "W5": 0.001,
    "W7": 0.005,
    "W8": 0.002,
    "W9": 0.002,
    "W10": 0.01,
    "W11": 0.01,
    "W12": 0.02,
    "W14": 0.01,
    "W16": 0.02,
    "W19": 0.02,
    "W20": 0.05,
    "W21": 0.05,
    "W22": 0.02,
    "W24": 0.01,
}
PROGRAMS = [
    pytest.param(workload, program, id=f"{workload.name}-{program.key}")
    for workload in command.WORKLOADS
    if workload.make is not None
    for program in workload.programs
    if program.function is not None
]
PARTS = [Part([f"{n}.txt"], 10, [n, 100]) for n in range(3)]
W5, W14 = text_lines.W5, arrays_in_memory.W14


@pytest.fixture(autouse=True)
def small_data(tmp_path, monkeypatch):
    """Leaves out photographs and threads, and returns the directory for the data."""
    pixels = np.random.default_rng(0).integers(0, 256, (150, 200, 3), dtype=np.uint8)
    monkeypatch.setattr(pictures, "photographs", lambda: [Image.fromarray(pixels)])
    monkeypatch.setattr(dataset, "HOME", tmp_path)
    monkeypatch.setattr(digits, "HOME", tmp_path)
    monkeypatch.setattr(tqdm, "monitor_interval", 0)


@pytest.mark.parametrize(("workload", "program"), PROGRAMS)
def test_each_program_yields_all_examples_once_per_epoch(workload, program):
    home, parts = dataset.ensure(workload, SCALES[workload.name])
    chosen = dataset.select(home, parts, 2 * len(parts))
    source = chosen.files if workload.num_epochs is None else home
    try:
        for name in program.imports:
            import_module(name)
        batches = program.function(source, 2, **program.options)
        sums = np.sum([workload.sums_of(batch) for batch in batches], axis=0).tolist()
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    assert workload.difference([chosen.count, *chosen.sums], sums) == ""


def test_program_prints_its_figures():
    home, parts = dataset.ensure(W5, 0.001)
    arguments = ["text_lines", "lines", "headrace", "2", str(home / parts[0].files[0])]
    run = process.run([sys.executable, "-m", "benchmarks.measure", *arguments], 50.0)
    assert run.failure == ""
    figures = json.loads(run.output)
    expected = [2 * parts[0].count, *(2 * number for number in parts[0].sums)]
    assert [figures["count"], *figures["sums"]] == expected
    assert figures["first_batch_at"] > run.started_at


def test_data_is_generated_once_per_version_of_its_code(capsys):
    home, parts = dataset.ensure(W14, 0.001)
    assert "making the data of W14" in capsys.readouterr().err
    assert dataset.ensure(W14, 0.001) == (home, parts)
    assert capsys.readouterr().err == ""
    assert parts[0].count == 100


def test_workload_is_skipped_without_photographs(monkeypatch, capsys):
    def missing():
        raise pictures.MissingPhotographsError("the photographs could not be installed")

    monkeypatch.setattr(pictures, "photographs", missing)
    assert list(command.measured([photos.W3], 1, 0.1, 1.0, [])) == []
    assert "W3 is skipped: the photographs could not be installed" in capsys.readouterr().err


def test_table_lists_installed_and_missing_programs(monkeypatch):
    monkeypatch.setattr(runner, "_python_of", lambda name: None)
    rows = runner.measured(W14, 1, 0.1, 0.001, ["headrace", "alone"])
    table = report.table_of(W14, rows)
    assert "\n| headrace | " in table
    assert "NumPy by hand is skipped: could not be installed." in table


def test_program_that_loses_a_row_fails():
    home, [part] = dataset.ensure(W14, 0.001)
    expected = [part.count + 1, *part.sums]
    [ours] = W14.chosen(["headrace"])
    results = runner.repeated(replace(W14, num_epochs=1), [ours], 1, home, expected)
    assert "rows were lost, doubled or changed" in results["headrace"].failure


def test_selecting_fewer_parts_uses_the_first_ones_once():
    chosen = dataset.select(Path("lines"), PARTS, 2)
    assert chosen.files == ["lines/0.txt", "lines/1.txt"]
    assert (chosen.num_epochs, chosen.count, chosen.sums) == (1, 20, [1, 200])


def test_selecting_more_parts_than_exist_adds_epochs():
    chosen = dataset.select(Path("lines"), PARTS, 9)
    assert len(chosen.files) == 3
    assert (chosen.num_epochs, chosen.count, chosen.sums) == (3, 90, [9, 900])


@pytest.mark.parametrize(
    ("sums_of", "batch", "expected"),
    [
        (
            digits.sums_of,
            (np.full((2, 784), 0.5, np.float32), np.array([3, 4])),
            [2, 7, 2 * 4 * 255],
        ),
        (csv_lines.sums_of, (np.eye(2, 10, dtype=np.float32) / 4, [5, 6]), [2, 11, 250_000, 0]),
        (text_lines.sums_of, np.array([b"ab", b"", b"c"], object), [3, 3]),
        (text_lines.sums_of, [b"ab"], [1, 2]),
        (
            cifar.sums_of,
            (np.ones((2, 32, 32, 3), np.uint8), np.array([200, 3])),
            [2, 203, 40_009, 6],
        ),
    ],
)
def test_sums_cover_the_contents_of_batches(sums_of, batch, expected):
    assert sums_of(batch) == expected


def test_images_that_are_not_standardized_are_an_error():
    with pytest.raises(ValueError, match=r"images of mean 1\.0, deviation 0\.0"):
        cifar.augmented_sums_of((np.ones((1, 24, 24, 3)), np.array([1])))


def test_steady_rate_ignores_the_start_and_end_of_a_program():
    times = [5.0, *np.arange(5.1, 6.0, 0.1), *[5.9] * 2]
    marks = [(time, 10 * number) for number, time in enumerate(times)]
    assert measure.steady_rate(marks) == pytest.approx(100)
    assert measure.steady_rate(marks[:9]) is None


def test_lost_example_is_detected_and_rounding_is_tolerated():
    assert W5.difference([3, 10], [3, 10]) == ""
    assert "[2, 10], expected [3, 10]" in W5.difference([3, 10], [2, 10])
    assert "lost, doubled or changed" in W5.difference([3, 10], [3, 11])
    assert photos.W3.difference([3, 10, 1_000], [3, 10, 1_015]) == ""
    assert photos.W3.difference([3, 10, 1_000], [3, 10, 1_025]) != ""


@pytest.mark.parametrize("texts", [["ab", "cde"], np.array(["ab", "cde"], object)])
def test_text_bytes_counts_lists_and_arrays(texts):
    assert libraries.text_bytes(texts) == 5


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_text_bytes_counts_slices_of_arrow_arrays(kind):
    pa = pytest.importorskip("pyarrow")
    texts = pa.array(["x", "ab", "cde", "y"], getattr(pa, kind)())
    assert libraries.text_bytes(texts[1:3]) == 5
    assert libraries.text_bytes(pa.chunked_array([texts[1:3], texts[:1]])) == 6


def test_process_is_measured_with_its_children():
    child = "x = bytearray(120 << 20); import time; time.sleep(1)"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    run = process.run([sys.executable, "-c", program], timeout=30)
    assert run.failure == ""
    assert run.cpu_seconds > 0
    assert run.peak_bytes > 120 << 20


def test_failed_process_reports_the_reason():
    run = process.run([sys.executable, "-c", "raise SystemExit('no data')"], timeout=30)
    assert run.failure == "no data"
    late = process.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2)
    assert "not done after 0 s" in late.failure


def test_contender_that_loses_examples_fails():
    def problem_of(figures):
        return W5.difference([2, 6], [figures["count"], *figures["sums"]])

    for count, failure in ((2, ""), (1, "lines were lost, doubled or changed")):
        figures = f'{{"count": {count}, "sums": [6], "seconds": 2.0}}'
        program = [sys.executable, "-c", f"print({figures!r})"]
        result = comparison.Result(comparison.Contender("it", program, problem_of=problem_of))
        comparison.measure(result, [], 30.0)
        assert failure in result.failure
        assert result.rates == ([] if failure else [1.0])


def test_run_is_repeated_if_the_speed_of_the_machine_changes(monkeypatch):
    program = [sys.executable, "-c", 'print(\'{"count": 1, "sums": [], "seconds": 9.0}\')']
    times = iter([1.0, 1.4, 1.0, 1.1, *[1.4] * 6])
    monkeypatch.setattr(machine_speed, "loop_seconds", lambda: next(times))
    settled, unsettled = (comparison.Result(comparison.Contender("it", program)) for _ in range(2))
    comparison.measure(settled, [], 30.0, in_round=1.0)
    assert (len(settled.rates), settled.num_repeated, settled.num_unsettled) == (1, 1, 0)
    assert settled.loop_seconds == [1.0, 1.1]
    comparison.measure(unsettled, [], 30.0, in_round=1.0)
    assert (len(unsettled.rates), unsettled.num_repeated, unsettled.num_unsettled) == (1, 2, 1)


def test_rounds_run_programs_in_turn_and_in_reverse(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_speed, "loop_seconds", lambda: 1.0)
    path = tmp_path / "order"
    code = (
        f"import sys; open({str(path)!r}, 'a').write(sys.argv[1]); "
        'print(\'{"count": 1, "sums": [], "seconds": 1.0}\')'
    )
    contenders = [comparison.Contender(name, [sys.executable, "-c", code, name]) for name in "ab"]
    comparison.compare([comparison.Scenario("two", contenders)], 2)
    assert path.read_text() == "abba"


def test_state_of_the_machine_is_described():
    assert machine_speed.is_same_state(1.0, 1.1)
    assert not machine_speed.is_same_state(1.0, 1.1, 1.4)
    assert machine_speed.loop_seconds() > 0
    text = machine_speed.description([0.01, 0.014], 2, 1)
    assert text == (
        "The machine: a fixed loop took 10.0 to 14.0 ms between the runs; runs repeated because "
        "its speed had changed: 2; runs that count although it changed every time: 1."
    )


def result_of(name, *rates):
    result = comparison.Result(comparison.Contender(name, ["it"]))
    result.rates += rates
    result.cpu_us += [1.5, 2.5]
    result.peak_mib.append(20.0)
    return result


def program_of(key):
    return Program(key, f"the {key}", f"as {key} is")


def test_table_compares_with_the_limit_and_with_headrace():
    slow = result_of("slow", 10.0, 30.0)
    slow.first_batch_seconds.append(0.25)
    slow.loop_seconds += [0.010, 0.011]
    slow.num_repeated = 1
    broken = comparison.Result(comparison.Contender("broken", ["it"]), failure="no such module")
    results = {"slow": slow, "broken": broken, "limit": result_of("limit", 200.0, 400.0)}
    programs = [program_of(key) for key in ("slow", "broken", "absent", "limit")]
    rows = report.rows_of(programs, results, "slow")
    table = report.table_of(replace(digits.W1, ours="slow"), rows)
    assert table.splitlines()[2:] == [
        "| | examples/s | spread | of limit | slow ÷ this | in each round | CPU µs each | ÷ ours "
        "| in each round | peak MiB | first batch, s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        "| the limit | 300 | 67% | 100% | 0.062 | 0.05 to 0.07 | 2 | 1 | 1.00 to 1.00 | 20 |  |",
        "| the slow | 20 | 100% | 6.7% | 1 | 1.00 to 1.00 | 2 | 1 | 1.00 to 1.00 | 20 | 0.25 |",
        "",
        "the broken is skipped: no such module.",
        "the absent is skipped: could not be installed.",
        "The machine: a fixed loop took 10.0 to 11.0 ms between the runs; runs repeated because "
        "its speed had changed: 1.",
    ]


def test_programs_ahead_of_ours_are_listed_first(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "HOME", tmp_path / "results")
    results = {
        "headrace": result_of("headrace", 10.0, 30.0),
        "numpy": result_of("numpy", 20.0, 40.0),
        "torch": result_of("torch", 5.0, 6.0),
        "limit": result_of("limit", 400.0, 400.0),
    }
    for name in ("numpy", "torch"):
        results[name].cpu_us[:] = [3.0, 5.0]
    rows = report.rows_of([program_of(key) for key in results], results, "headrace")
    text = (report.write("two cores", ["a table"], [(W5, rows)]).parent / "results.md").read_text()
    [ahead] = [line for line in text.partition("a table")[0].splitlines() if "| the " in line]
    assert ahead.endswith("| the numpy | 0.62 | 0.50 to 0.75 | 2.00 | 2.00 to 2.00 |")
    assert report.losses([(W5, [row for row in rows if row.key == "torch"])]) == []


def test_results_are_written_as_markdown_and_json(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "HOME", tmp_path / "results")
    rows = [report.row_of(program_of("it"), result_of("it", 2.0))]
    path = report.write("two cores", ["a table"], [(digits.W1, rows)])
    text = (path.parent / "results.md").read_text()
    assert all(part in text for part in ("two cores", "a table", "- the it: as it is."))
    [workload] = json.loads(path.read_text())["workloads"]
    assert (workload["name"], workload["rows"][0]["rate"]) == ("W1", 2.0)


def test_plot_omits_missing_measurements(tmp_path):
    rows = [report.row_of(program_of("it"), result_of("it", 2.0))]
    missing = [report.row_of(program_of("absent"), None)]
    path = tmp_path / "plot.svg"
    plot.draw("two cores", [(digits.W1, rows), (W5, missing)], path)
    assert path.exists()
    plot.draw("two cores", [(W5, missing)], tmp_path / "none.svg")
    assert not (tmp_path / "none.svg").exists()


@pytest.mark.parametrize("workload", command.WORKLOADS[:7], ids=lambda workload: workload.name)
def test_each_workload_has_a_limit_and_two_headrace_programs(workload):
    keys = {program.key for program in workload.programs}
    assert {LIMIT, "headrace", "headrace-best", "tensorflow", "tf.data"} <= keys
    assert workload.chosen(["limit"])[0].native


def test_program_with_one_measurement_runs_as_often_as_its_trial_requires(monkeypatch):
    program = [sys.executable, "-c", 'print(\'{"count": 1, "sums": [], "seconds": 9.0}\')']
    contender = comparison.Contender("it", program)
    monkeypatch.setattr(runner, "contender_of", lambda *_: contender)
    for rounds in (1, 2):
        result = runner.sized(W5, [program_of("it")], rounds, 0.1, 0.001)["it"]
        assert len(result.rates) == rounds


@pytest.mark.parametrize("program", first_batch.W15.programs, ids=lambda program: program.key)
def test_first_batches_of_each_case_have_different_lines(program):
    home, _ = dataset.ensure(first_batch.W15, 0.01)
    cases = program.options.get("cases", first_batch.CASES)
    for case in (first_batch.PREPARE, *(case for case in cases if case != first_batch.IMPORT)):
        try:
            batches = iter(program.function(home, case))
            _, *sums = first_batch.sums_of(next(batches))
        except ModuleNotFoundError as error:
            pytest.skip(f"{error.name} is not installed")
        assert sums == [first_batch.BATCH_SIZE] * 2, case


def test_first_batch_benchmark_has_a_table_per_case(monkeypatch):
    monkeypatch.setattr(startup, "CASES", {"second": "The second start"})
    [(workload, rows)] = startup.measured(1, 0.01, ["headrace"])
    table = startup.table_of(workload, rows)
    assert table.startswith("### W15. The second start\n")
    assert "\n| headrace | " in table
    assert "| 1.00 |" in table


def test_limit_of_functions_builds_each_result_once():
    numbers = range(1, 70, 2)
    batches = functions.fresh_batches(lambda number: np.full((2, 3), number, np.uint8), numbers)
    results = list(batches)
    assert [batch.shape for batch in results] == [(32, 2, 3), (3, 2, 3)]
    assert np.concatenate(results)[:, 0, 0].tolist() == list(numbers)
    program = [sys.executable, "-m", "benchmarks.workloads.functions", "70", "holds"]
    run = process.run(program, 50.0)
    assert run.failure == ""
    assert json.loads(run.output)["count"] == 70


def test_functions_are_measured_with_their_limit(monkeypatch):
    monkeypatch.setattr(runner, "_python_of", lambda name: Path(sys.executable))
    workload = runner.with_count(functions.HOLDS, 70)
    rows = runner.measured(workload, 1, 0.1, 1.0, ["limit", "headrace-threads"])
    assert sorted(row.key for row in rows if row.rate) == ["headrace-threads", "limit"]


@pytest.mark.parametrize(
    ("workload", "key"),
    [
        (workload, program.key)
        for workload in command.WORKLOADS
        if workload.expected_rate
        for program in workload.programs
        if program.function is not None
    ],
    ids=lambda each: each if isinstance(each, str) else f"{each.name}-{each.task}",
)
def test_each_functions_program_yields_all_results(workload, key):
    if workload.task.startswith("releases"):
        pytest.importorskip("cv2")
    [program] = [program for program in workload.programs if program.key == key]
    run = process.run(
        [
            *(sys.executable, "-m", "benchmarks.measure", workload.module.rpartition(".")[2]),
            *(workload.task, key, "70", workload.task),
        ],
        50.0,
    )
    if "ModuleNotFoundError" in run.failure and program.environment is not None:
        pytest.skip(run.failure)
    assert run.failure == ""
    assert json.loads(run.output)["count"] == 70


def test_hand_written_pool_shuffles_the_pictures_in_each_epoch():
    count = 2 * worker_processes.NUM_PICTURES
    first, second = np.concatenate(list(worker_processes.indices(count))).reshape(2, -1)
    assert sorted(first) == sorted(second) == list(range(worker_processes.NUM_PICTURES))
    assert first.tolist() != second.tolist()


@pytest.mark.nightly
@pytest.mark.parametrize("producers", [1, 3])
@pytest.mark.parametrize("batch", [1, 128])
@pytest.mark.parametrize("way", ["run", "runner"])
def test_queue_benchmark_loses_no_element(way, batch, producers):
    arguments = [f"--batch={batch}", f"--producers={producers}"]
    figures = figures_of_queue("graph", "headrace", way, *arguments)
    assert figures["count"] % batch == 0


@pytest.mark.parametrize(
    "program",
    [
        ("graph", "headrace", "callable"),
        ("graph", "headrace", "batches"),
        ("python", "headrace", "flow"),
        ("python", "queue", "flow"),
        ("python", "copy", "batches"),
    ],
)
def test_other_queue_programs_run(program):
    assert figures_of_queue(*program, "--batch=8")["count"] > 0


def figures_of_queue(*arguments):
    """Returns the numbers that a queue benchmark prints."""
    program = [sys.executable, "-m", "benchmarks.workloads.queues", *arguments, "--seconds=0.02"]
    run = process.run(program, 50.0)
    assert run.failure == ""
    return json.loads(run.output)
