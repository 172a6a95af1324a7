"""Reads files that released versions wrote. See `written.py`."""

import json
import os
import shutil
from itertools import islice
from pathlib import Path

import pytest
from tests.upgrade.written import STEPS, pipelines, plain, set_times

import headrace as hr
from headrace.ledger import read_ledger

HOME = Path(__file__).parent
VERSIONS = sorted(path.parent.name for path in HOME.glob("*/states.json"))
NAMES = sorted(pipelines(HOME / VERSIONS[0] / "data"))


@pytest.fixture(params=VERSIONS)
def files(request, tmp_path):
    """A copy of one version's files, with their original times."""
    directory = tmp_path / "files"
    shutil.copytree(HOME / request.param, directory)
    set_times(directory / "data")
    return directory


def test_files_of_this_version_are_kept():
    assert hr.__version__ in VERSIONS, "run `python -m tests.upgrade.written`, and commit its files"


@pytest.mark.parametrize("name", NAMES)
def test_states_of_released_versions_resume_exactly(files, name):
    stored = json.loads((files / "states.json").read_text())[name]
    pipe = pipelines(files / "data")[name]
    batches = pipe.resume(stored["state"])
    assert batches.digest() == stored["digest"]
    assert [plain(batch) for batch in islice(batches, 2)] == stored["next"]
    batches.close()
    whole = iter(pipe)
    assert [plain(batch) for batch in islice(whole, STEPS, STEPS + 2)] == stored["next"]
    whole.close()


def test_indexes_of_released_versions_are_used_unchanged(files):
    data = files / "data"
    indexes = {path: path.read_bytes() for path in data.glob("*.hrindex")}
    assert len(indexes) == 2
    for path in indexes:
        os.utime(path, (1, 1))
    records = list(hr.tfrecords(data / "records.tfrecord").shuffle(seed=1))
    assert {example["record"] for example in records} == {b"record %d" % n for n in range(30)}
    rows = list(hr.json_lines(data / "rows.jsonl").shuffle(seed=4))
    assert sorted(int(example["a"]) for example in rows) == list(range(40))
    for path, content in indexes.items():
        assert path.read_bytes() == content
        assert path.stat().st_mtime == 1


def test_ledgers_of_released_versions_continue(files):
    path = files / "ledger.jsonl"
    entries = list(read_ledger(path))
    pipe = pipelines(files / "data")["text"]
    with hr.Ledger(path) as ledger:
        batches = iter(pipe)
        for step, _ in enumerate(batches):
            ledger.record(step, batches, loss=1 / (1 + step))
    assert list(read_ledger(path)) == entries
    assert len(entries) == 9


def test_journals_of_released_versions_are_read(files):
    examples = list(hr.journal(files / "journal", group="group", group_size=2))
    assert [example["group"].tolist() for example in examples] == [[0, 0], [1, 1], [2, 2]]
    lengths = [[len(tokens) for tokens in example["tokens"]] for example in examples]
    assert lengths == [[0, 1], [2, 3], [4, 5]]
