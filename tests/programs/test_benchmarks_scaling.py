"""The benchmarks of scaling run, and check their data. Their figures are not checked."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tqdm import tqdm

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import comparison, process  # noqa: E402
from benchmarks.pipelines import checksums, data, dataset  # noqa: E402
from benchmarks.scaling import __main__ as command  # noqa: E402
from benchmarks.scaling import report, series  # noqa: E402


@pytest.fixture
def small_data(tmp_path, monkeypatch):
    """Makes data sets of few examples; returns the environment in which programs find them."""
    monkeypatch.setattr(dataset, "ROOT", tmp_path)
    for stem in ("numbers", "lines"):
        maker = data.import_module(f"benchmarks.pipelines.data.{stem}")
        monkeypatch.setattr(maker, "NUM_PARTS", 2)
        monkeypatch.setattr(maker, "PART_COUNT", 300)
        data.ensure(stem)
    monkeypatch.setenv("HEADRACE_BENCH_DATA", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def figures_of(module, *arguments):
    run = process.run([sys.executable, "-m", f"benchmarks.{module}", *arguments], 50.0)
    assert run.failure == ""
    return json.loads(run.output)


@pytest.mark.parametrize(
    ("task", "arguments"),
    [
        ("lines", "--threads 16 --capacity 10 --batch 4"),
        ("lines", "--readers 2 --capacity 5000"),
        ("numbers", "--threads 3 --capacity 100000 --batch 128"),
    ],
)
def test_each_example_comes_once_in_all_variants(small_data, task, arguments):
    expected = dataset.select(task, dataset.parts_of(task), 4)
    figures = figures_of("pipelines.scaled", task, "--parts", "4", *arguments.split())
    got = [figures["count"], *figures["sums"]]
    assert checksums.difference(task, [expected.count, *expected.sums], got) == ""


def test_all_lines_of_a_slow_disk_are_read():
    arguments = ["--files", "3", "--blocks", "2", "--readers", "2", "--milliseconds", "0.1"]
    figures = figures_of("scaling.slow_disk", *arguments)
    lines = 3 * 2 * 4_096 // 16
    assert (figures["count"], figures["sums"]) == (lines, [15 * lines])


def test_lines_are_read_while_the_consumer_holds_the_gil(small_data):
    assert figures_of("scaling.busy_consumer", "holds-the-gil", "--seconds=0.05")["count"] > 0


def test_a_table_compares_with_the_first_that_ran():
    results = [comparison.Result(comparison.Contender(name, ["it"])) for name in ("1", "2", "4")]
    for result, rate in zip(results[1:], (100.0, 150.0), strict=True):
        result.rates.append(rate)
        result.cpu_us.append(rate / 50)
    results[0].failure = "no disk"
    table = report.table_of(series.Series("Disks", "readers", "lines", results))
    assert table.splitlines()[2:] == [
        "| readers | lines/s | spread | ÷ first | CPU µs each | ÷ first |",
        "|---|--:|--:|--:|--:|--:|",
        "| 1 | failed: no disk | | | | |",
        "| 2 | 100 | 0% | 1.00 | 2 | 1.00 |",
        "| 4 | 150 | 0% | 1.50 | 3 | 1.50 |",
    ]


def test_the_command_writes_the_tables_of_the_series_it_was_given(
    small_data, tmp_path, monkeypatch
):
    monkeypatch.setattr(tqdm, "monitor_interval", 0)
    monkeypatch.setattr(report, "HOME", tmp_path / "results")
    monkeypatch.setattr(series, "THREADS", [1, 2])
    monkeypatch.setattr(series, "SCALED", [w for w in series.WORKLOADS if w.name == "W4"])
    done = CliRunner().invoke(command.main, ["threads", "--rounds", "1", "--seconds", "0.001"])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "results" / "scaling.md").read_text()
    assert "W4: threads that share a reader" in text
    assert "failed" not in text
