"""`headrace bench`: its output for pipelines, and for programs without one."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.cli.files import call, run, write_numbers, write_records

PROGRAM = """
import headrace as hr

train = hr.tfrecords("a").batch(10)
packed = hr.tfrecords("a.gz").batch(10)
single = hr.tfrecords("a")
endless = hr.tfrecords("a").epochs().batch(10)
numbers = hr.arrays({"n": [1, 0]})
nothing = numbers.take(0)
number = 3


def make():
    return train


def fails():
    return numbers.map(lambda example: {"n": 1 / int(example["n"])})


def raises():
    return 1 / 0


def missing():
    return hr.tfrecords("nowhere")
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_numbers("a", 95)
    write_records("a.gz", [b"x"] * 20, "GZIP")
    Path("pipes.py").write_text(PROGRAM)
    return tmp_path


def benched(name, *arguments):
    done = run("bench", f"pipes.py:{name}", "--json", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["train", "make"])
def test_bench_reads_a_pipeline_to_the_end(name):
    result = benched(name)
    assert (result["batches"], result["examples"], result["has_ended"]) == (10, 95, True)
    assert result["first_batch_seconds"] <= result["seconds"]
    size = Path("a").stat().st_size
    assert result["limit"]["num_bytes"] == size
    assert result["bytes_per_second"] == pytest.approx(size / result["seconds"])
    assert result["share_of_limit"] == pytest.approx(
        result["bytes_per_second"] / result["limit"]["bytes_per_second"]
    )
    assert [stage["name"] for stage in result["stages"]] == ["tfrecords", "batch"]
    assert result["bottleneck"]


def test_bench_counts_the_bytes_that_arrow_and_tokens_read():
    np.arange(100_000, dtype=np.uint16).tofile("tokens.bin")
    table = pa.table({"n": np.arange(5_000)})
    with pa.ipc.new_file("rows.arrow", table.schema) as writer:
        writer.write_table(table)
    Path("pipes.py").write_text(
        "import headrace as hr\n"
        "tokens = hr.tokens('tokens.bin', 9, 'uint16').epochs().batch(10)\n"
        "rows = hr.arrow('rows.arrow').epochs().batch(10)\n"
    )
    for name in ("tokens", "rows"):
        result = benched(name, "--batches", "600")
        assert not result["has_ended"]
        assert result["bytes_per_second"] > 0, name


def test_bench_stops_after_the_requested_batches_or_seconds():
    assert benched("endless", "--batches", "25")["batches"] == 25
    result = benched("endless", "--seconds", "0.05")
    assert result["seconds"] >= 0.05
    assert not result["has_ended"]
    assert result["share_of_limit"] is not None


def test_bench_reports_how_many_files_the_first_examples_come_from():
    for file in range(20):
        Path(f"{file:02}.txt").write_text(f"{file}\n" * 100)
    Path("pipes.py").write_text(
        "import headrace as hr\n"
        "lines = hr.text_lines('*.txt').map(lambda e: {'n': len(e['text'])})\n"
        "mixed = lines.shuffle(window=200, seed=1, num_open=8).batch(10)\n"
        "odd = lines.filter(lambda e: e['n'] == 2).shuffle(window=50, seed=1).epochs().batch(10)\n"
    )
    assert benched("mixed")["mixing"] == {"num_examples": 1000, "num_files": 16, "of_files": 20}
    assert benched("odd", "--batches", "2")["mixing"]["num_files"] == 10
    assert benched("lines")["mixing"] is None
    done = run("bench", "pipes.py:mixed")
    assert "  mixing: the first 1,000 examples come from 16 of 20 files\n" in done.stdout


def test_share_of_the_limit_is_known_only_if_compressed_files_are_read_to_the_end():
    assert benched("packed")["share_of_limit"] is not None
    result = benched("packed", "--batches", "1")
    assert result["share_of_limit"] is None


def test_report_can_be_printed_as_text():
    done = run("bench", "pipes.py:single")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "pipes.py:single"
    assert lines[1].startswith("  95 examples in ")
    assert any(line.startswith("  share of the limit: ") for line in lines)
    assert any(line.startswith("  bottleneck: ") for line in lines)
    assert lines[-1].split()[:2] == ["tfrecords", "95"]
    done = run("bench", "pipes.py:numbers")
    assert "  share of the limit: unknown, because the pipeline reads no files" in done.stdout


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("pipes.py", "pipes.py: the name of the pipeline is missing"),
        ("nowhere.py:train", "nowhere.py: no such file"),
        ("pipes.py:x", "pipes.py: the program has no x; its pipelines are train, packed"),
        ("pipes.py:number", "pipes.py:number: this is 3, expected a pipeline"),
        ("pipes.py:raises", "pipes.py, line 22: ZeroDivisionError: division by zero"),
        ("pipes.py:fails", "ZeroDivisionError: division by zero"),
        ("pipes.py:missing", "tfrecords: nowhere: no such file"),
        ("pipes.py:nothing", "the pipeline yielded nothing"),
        ("broken.py:x", "broken.py, line 1: "),
        ("failing.py:x", "failing.py, line 2: ValueError: no"),
    ],
)  # fmt: skip
def test_invalid_argument_is_reported_in_one_line(where, expected):
    Path("broken.py").write_text("def (:\n")
    Path("failing.py").write_text("\nraise ValueError('no')\n")
    done = run("bench", where)
    assert (done.returncode, done.stdout) == (1, "")
    assert expected in done.stderr
    assert done.stderr.startswith("headrace: ")
    assert "Traceback" not in done.stderr


def test_modules_beside_the_program_can_be_imported():
    Path("deep").mkdir()
    Path("deep/parts.py").write_text("import headrace as hr\npipe = hr.arrays({'n': [1]})\n")
    Path("deep/program.py").write_text("from parts import pipe\n")
    assert run("bench", "deep/program.py:pipe").returncode == 0


def test_usage_error_exits_with_2():
    assert call("bench", "pipes.py:train", "--seconds", "0").exit_code == 2
