"""Runs the scaling benchmarks, which check their data. Their results are not checked."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tqdm import tqdm

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import comparison, dataset, process, scaling  # noqa: E402
from benchmarks.workloads import csv_lines, text_lines  # noqa: E402

WORKLOADS = {"csv_lines": csv_lines.W4, "text_lines": text_lines.W5}


def figures_of(*arguments):
    program = [sys.executable, "-m", "benchmarks.scaling_programs", *arguments]
    run = process.run(program, 50.0)
    assert run.failure == ""
    return json.loads(run.output)


@pytest.fixture(autouse=True)
def data_home(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "HOME", tmp_path)
    monkeypatch.setattr(tqdm, "monitor_interval", 0)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("text_lines", "--threads 16 --capacity 10 --batch 4"),
        ("text_lines", "--readers 2 --capacity 5000"),
        ("csv_lines", "--threads 3 --capacity 100000 --batch 128"),
    ],
)
def test_all_variants_yield_each_example_once(name, arguments):
    home, parts = dataset.ensure(WORKLOADS[name], 0.001)
    chosen = dataset.select(home, parts, 2 * len(parts))
    figures = figures_of("queues", name, *arguments.split(), "2", *chosen.files)
    sums = [figures["count"], *figures["sums"]]
    assert WORKLOADS[name].difference([chosen.count, *chosen.sums], sums) == ""


def test_all_lines_on_a_slow_disk_are_read():
    arguments = ["--files", "3", "--blocks", "2", "--readers", "2", "--milliseconds", "0.1"]
    figures = figures_of("disk", *arguments)
    lines = 3 * 2 * 4_096 // 16
    assert (figures["count"], figures["sums"]) == (lines, [15 * lines])


def test_lines_are_read_while_the_consumer_holds_the_gil(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a line\n" * 1_000)
    assert figures_of("consumer", "holds-the-gil", str(path), "--seconds=0.05")["count"] > 0


def test_table_compares_with_the_first_successful_run():
    results = [comparison.Result(comparison.Contender(name, ["it"])) for name in ("1", "2", "4")]
    for result, rate in zip(results[1:], (100.0, 150.0), strict=True):
        result.rates.append(rate)
        result.cpu_us.append(rate / 50)
    results[0].failure = "no disk"
    table = scaling.table_of(scaling.Series("Disks", "readers", "lines", results))
    assert table.splitlines()[2:] == [
        "| readers | lines/s | spread | ÷ first | CPU µs each | ÷ first |",
        "|---|--:|--:|--:|--:|--:|",
        "| 1 | failed: no disk | | | | |",
        "| 2 | 100 | 0% | 1.00 | 2 | 1.00 |",
        "| 4 | 150 | 0% | 1.50 | 3 | 1.50 |",
    ]


def test_command_writes_the_tables_of_the_named_series(tmp_path, monkeypatch):
    monkeypatch.setattr(scaling, "HOME", tmp_path / "results")
    monkeypatch.setattr(scaling, "THREADS", [1, 2])
    monkeypatch.setattr(scaling, "ROOM", 500)
    small = replace(csv_lines.W4, count=1_000)
    monkeypatch.setattr(scaling, "WORKLOADS", {"csv_lines": small})
    done = CliRunner().invoke(scaling.main, ["threads", "--rounds", "1", "--seconds", "0.001"])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "results" / "scaling.md").read_text()
    assert "W4: threads that share a reader" in text
    assert "failed" not in text
