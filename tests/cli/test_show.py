"""`headrace show`: the stages and first examples of a pipeline in one HTML file."""

from pathlib import Path

import pytest
from tests.cli.files import call, run, write_numbers
from tests.markup import Elements

PROGRAM = """
import headrace as hr

train = hr.tfrecords("a").parse({"n": int})
batches = train.batch(4)


def fails():
    return train.map(lambda example: {"n": 1 / (int(example["n"]) - int(example["n"]))})


def missing():
    return hr.tfrecords("nowhere")
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_numbers("a", 10)
    Path("pipes.py").write_text(PROGRAM)


@pytest.mark.parametrize(
    ("name", "options", "output"),
    [
        ("train", (), "train.html: 4 examples\n"),
        ("train", ("--examples", "1"), "train.html: 1 example\n"),
        ("train", ("--examples", "50"), "train.html: 10 examples\n"),
        ("batches", ("--html", "b.html"), "b.html: 3 batches\n"),
    ],
)
def test_page_shows_stages_and_examples(name, options, output):
    done = call("show", f"pipes.py:{name}", *options)
    assert (done.exit_code, done.stdout) == (0, output)
    made = Elements(Path(output.partition(":")[0]).read_text())
    assert {"html", "title", "table"} <= set(made.tags)
    assert any(text.startswith("tfrecords(") for text in made.texts)
    assert f"pipes.py:{name}" in made.texts


def test_pipeline_can_be_imported_from_a_module():
    done = run("show", "pipes:train")
    assert (done.returncode, done.stdout) == (0, "train.html: 4 examples\n")


def test_page_loads_no_external_resources():
    call("show", "pipes.py:train")
    made = Elements(Path("train.html").read_text())
    assert "script" not in made.tags
    assert "link" not in made.tags
    loaded = [value for name, value in made.attributes if name in ("src", "href", "srcset")]
    assert all(value.startswith("data:") for value in loaded)


@pytest.mark.parametrize(
    ("name", "message"),
    [("fails", "ZeroDivisionError"), ("missing", "nowhere"), ("nothing", "has no nothing")],
)
def test_failure_is_reported_in_one_line(name, message):
    done = call("show", f"pipes.py:{name}")
    assert done.exit_code == 1
    assert message in done.stderr
    assert done.stderr.startswith("headrace: ")
    assert len(done.stderr.splitlines()) == 1
    assert not Path(f"{name}.html").exists()


def test_directory_that_does_not_exist_is_an_error():
    done = call("show", "pipes.py:train", "--html", "nowhere/train.html")
    assert done.exit_code == 1
    assert "nowhere" in done.stderr
