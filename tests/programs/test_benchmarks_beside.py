"""Each program of the benchmarks reads all of a small data set. No figure is checked."""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from tqdm import tqdm

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import beside, process, taking  # noqa: E402
from benchmarks.__main__ import KINDS  # noqa: E402
from benchmarks.first_batch import __main__ as first_batch  # noqa: E402
from benchmarks.functions import limit  # noqa: E402
from benchmarks.pipelines import dataset  # noqa: E402

SCALES = {"W8": 0.002, "W9": 0.002, "W10": 0.01, "W11": 0.01, "W12": 0.02, "W14": 0.01, "W16": 0.02}
PROGRAMS = [
    pytest.param(kind, peer, id=f"{kind.name}-{peer.key}")
    for kind in KINDS
    for peer in kind.peers
    if peer.module is not None
]
[ARRAYS] = [kind for kind in KINDS if kind.name == "W14"]


@pytest.fixture(autouse=True)
def small_data(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset, "ROOT", tmp_path)
    monkeypatch.setattr(tqdm, "monitor_interval", 0)


@pytest.mark.parametrize(("kind", "peer"), PROGRAMS)
def test_each_program_gives_all_examples_once_an_epoch(kind, peer, monkeypatch):
    try:
        program = import_module(f"benchmarks.{kind.folder}.{peer.module}")
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    work = import_module(f"benchmarks.{kind.folder}.work")
    home, sums = beside.ensure(kind, SCALES[kind.name])
    monkeypatch.setattr(sys, "argv", ["program", str(home), "2", *peer.arguments])
    got = [work.sums_of(batch) for batch in program.batches(home, 2)]
    expected = [2 * number for number in sums]
    assert beside.difference(kind, expected, np.sum(got, axis=0).tolist()) == ""


def test_data_are_made_once_for_each_version_of_their_code(capsys):
    home, sums = beside.ensure(ARRAYS, 0.001)
    assert "making the data of W14" in capsys.readouterr().err
    assert beside.ensure(ARRAYS, 0.001) == (home, sums)
    assert capsys.readouterr().err == ""
    assert sums[0] == 100


def test_a_table_has_the_programs_and_says_which_are_not_installed(monkeypatch):
    monkeypatch.setattr(beside, "python_of", lambda name: None)
    workload, rows = beside.measured(ARRAYS, 1, 0.001, ["headrace", "alone"])
    table = beside.table_of(ARRAYS, workload, rows)
    assert "\n| headrace | " in table
    assert "NumPy by hand is skipped: could not be installed." in table


def test_a_program_that_loses_a_row_has_failed():
    home, sums = beside.ensure(ARRAYS, 0.001)
    peers = beside.chosen(ARRAYS.peers, ["headrace"])
    expected = [sums[0] + 1, *sums[1:]]
    results = beside.compared(ARRAYS, peers, 1, [str(home), "1"], expected)
    assert "rows were lost, doubled or changed" in results["headrace"].failure


@pytest.mark.parametrize("texts", [["ab", "cde"], np.array(["ab", "cde"], object)])
def test_strings_are_counted_in_lists_and_arrays(texts):
    assert taking.text_bytes(texts) == 5


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_strings_are_counted_in_a_part_of_an_arrow_array(kind):
    pa = pytest.importorskip("pyarrow")
    texts = pa.array(["x", "ab", "cde", "y"], getattr(pa, kind)())
    assert taking.text_bytes(texts[1:3]) == 5
    assert taking.text_bytes(pa.chunked_array([texts[1:3], texts[:1]])) == 6


@pytest.mark.parametrize("peer", first_batch.KIND.peers, ids=lambda peer: peer.key)
def test_the_first_batch_of_each_case_has_different_lines(peer):
    try:
        program = import_module(f"benchmarks.first_batch.{peer.module}")
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    work = import_module("benchmarks.first_batch.work")
    home, _ = beside.ensure(first_batch.KIND, 0.01)
    cases = first_batch.CASES.get(peer.key, tuple(work.CASES))
    for case in (work.PREPARE, *(case for case in cases if case != work.IMPORT)):
        batches = iter(program.CASES[case](home))
        numbers = [work.number_of(line) for line in next(batches)]
        assert (len(numbers), len(set(numbers))) == (work.BATCH_SIZE, work.BATCH_SIZE), case


def test_first_batches_have_a_table_for_each_case(monkeypatch):
    monkeypatch.setattr(first_batch.work, "CASES", {"second": "The second start"})
    [(workload, rows)] = first_batch.measured(1, 0.01, ["headrace"])
    table = first_batch.table_of(workload, rows)
    assert table.startswith("### W15. The second start\n")
    assert "\n| headrace | " in table
    assert "| 1.00 |" in table
    assert "left out" not in table


def test_the_limit_of_functions_makes_each_result_once():
    numbers = range(1, 70, 2)
    got = list(limit.batches(lambda number: np.full((2, 3), number, np.uint8), numbers))
    assert [batch.shape for batch in got] == [(32, 2, 3), (3, 2, 3)]
    assert np.concatenate(got)[:, 0, 0].tolist() == list(numbers)
    run = process.run([sys.executable, "-m", "benchmarks.functions.limit", "holds", "70"], 50.0)
    assert run.failure == ""
    assert json.loads(run.output)["count"] == 70
