"""`headrace state`: its output for valid and damaged states."""

import json
import re
import subprocess
import sys
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from tests.cli.files import call, write_numbers

import headrace as hr
from headrace.cli.state import position
from headrace.pipeline import source_functions, stages
from headrace.pipeline.run.checkpoints import last_checkpoint
from headrace.pipeline.stages.stage import Step


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_numbers("a", 50)
    write_numbers("b", 50)
    return tmp_path


def rows_of_journal():
    with hr.Journal("journal") as journal:
        journal.append([{"n": n} for n in range(50)])
    return "journal"


def state_of(pipe, number):
    """The state after the given number of batches."""
    with iter(pipe) as batches:
        for _ in range(number):
            next(batches)
        return batches.state()


def report_of(state):
    """Returns the report of a state."""
    Path("state.json").write_text(json.dumps(state))
    done = call("state", "state.json")
    assert (done.exit_code, done.stderr) == (0, "")
    return [line.strip() for line in done.stdout.splitlines()]


def windows():
    np.arange(400, dtype=np.uint16).tofile("windows.bin")
    return "windows.bin"


def tables():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"n": list(range(50))})
    with pa.OSFile("tables.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=10)
    return "tables.arrow"


STAGE_MODULES = [
    import_module(f"headrace.pipeline.stages.{module.name}")
    for module in iter_modules(stages.__path__)
]


def is_step(value):
    return isinstance(value, type) and issubclass(value, Step) and not isabstract(value)


def reads():
    return hr.tfrecords(["a", "b"])


@pytest.mark.parametrize(
    ("pipe", "number", "expected"),
    [
        (lambda: reads().batch(4), 0, ["batch: It starts at the beginning."]),
        (
            lambda: reads().batch(4),
            14,
            [
                "batch: The program has received 14 batches. The last one started at the "
                "position below.",
                "tfrecords: The next record is number 2 of file 1, both counted from 0.",
            ],
        ),
        (
            lambda: reads().shuffle(seed=1).epochs(3).batch(10),
            25,
            [
                "batch: The program has received 25 batches. The last one started at the "
                "position below.",
                "epochs: The iteration is in pass 2, counted from 0.",
                "shuffle: The next example is at position 40 in the order of this pass.",
            ],
        ),
        (reads, 7, ["tfrecords: The next record is number 7 of file 0, both counted from 0."]),
        (
            lambda: reads().parse({"n": int}).filter(lambda e: e["n"] % 2).take(20).batch(5),
            2,
            [
                "batch: The program has received 2 batches. The last one started at the position "
                "below.",
                "take: It has yielded 5 examples.",
            ],
        ),
        (
            lambda: hr.concat([reads(), reads()]).batch(30),
            4,
            [
                "batch: The program has received 4 batches. The last one started at the position "
                "below."
            ],
        ),
    ],
)
def test_position_is_described_in_words(pipe, number, expected):
    assert positions(state_of(pipe(), number))[: len(expected)] == expected


def positions(state):
    """Returns the lines of the report about the position of each stage."""
    lines = report_of(state)
    return lines[lines.index("The stages resume at these positions, the last stage first:") + 1 :]


def test_window_position_is_followed_by_its_open_files():
    batch, window, begun, *open_files = positions(
        state_of(reads().shuffle(window=10, seed=1).batch(4), 3)
    )
    assert (
        batch
        == "batch: The program has received 3 batches. The last one started at the position below."
    )
    assert window == (
        "shuffle: It has drawn 8 examples. Its window is refilled from the position below."
    )
    # When the window began, the position in each file varied from run to run.
    assert begun.startswith("tfrecords: It had started 2 files, and has yielded")
    assert len(open_files) == 2
    for line in open_files:
        assert re.fullmatch(
            r"tfrecords: (It starts at the beginning|The next record is number \d+ of file [01], "
            r"both counted from 0)\.",
            line,
        )


def test_positions_of_open_pieces_have_byte_offsets():
    shuffled = reads().shuffle(window=10, seed=1, block_bytes=60).batch(4)
    _, _, begun, *open_pieces = positions(state_of(shuffled, 3))
    assert re.match(r"tfrecords: It had started \d+ pieces?, and has yielded", begun)
    assert open_pieces
    for line in open_pieces:
        assert re.fullmatch(
            r"tfrecords: (It (starts at|resumes \d+ examples? after) the beginning of a piece|"
            r"The next record (starts at|is \d+ after) byte [\d,]+ of file [01], "
            r"both counted from 0)\.",
            line,
        ), line


def test_pipeline_is_described_with_its_seeds_and_files():
    lines = report_of(state_of(reads().shuffle(seed=77).epochs(3).batch(10), 5))
    assert lines[:7] == [
        "state.json",
        "This is the state of an iteration over a pipeline (version 3).",
        "The pipeline has these stages:",
        "tfrecords('auto')",
        "shuffle(None)",
        "epochs()",
        "batch(10, 'keep')",
    ]
    for line in (
        "Its source reads 2 files.",
        "Its seed is 77.",
        "epochs(3) reads the data 3 times.",
        "The program has received 5 batches. The next one is number 5, counted from 0.",
    ):
        assert line in lines


def test_skipped_examples_are_reported():
    Path("t.txt").write_text("1\n2\nthree\n4\n")
    numbers = hr.text_lines("t.txt").map(lambda example: {"n": int(example["text"])})
    lines = report_of(state_of(numbers.skip_errors(5).batch(1), 3))
    assert "1 example was skipped:" in lines
    assert any(line.startswith("t.txt, record 2") for line in lines)


@pytest.mark.parametrize(
    "pipe",
    [
        lambda: hr.mix([reads(), reads()], seed=1).batch(3),
        lambda: hr.zip([reads(), hr.arrays({"n": np.arange(100)})]).batch(3),
        lambda: hr.concat([reads(), reads()]).shuffle(seed=3).batch(3),
        lambda: reads().cache().epochs(2).batch(3),
        lambda: reads().shuffle(seed=3).shard(1, 2).batch(3),
        lambda: reads().parse({"n": hr.Ragged(int)}).pack(4, "n"),
        lambda: reads().parse({"n": hr.Ragged(int)}).bucket_by_length("n", [3], size=4),
        lambda: reads().parse({"n": int}).flat_map(lambda e: [e, e]).batch(3),
        lambda: hr.iterable(lambda: ({"n": n} for n in range(50))).skip(2).take(30).batch(3),
        lambda: reads().batch(4).map(lambda e: e).unbatch().batch(3),
        lambda: reads().skip_errors(4).shuffle(window=5, seed=1).batch(3),
        lambda: hr.indexed(range(50)).batch(3),
        lambda: hr.tokens(windows(), length=10, dtype=np.uint16).batch(3),
        lambda: hr.tokens(windows(), length=10, dtype=np.uint16).shuffle(window=5).batch(3),
        lambda: hr.arrow(tables()).batch(3),
        lambda: hr.arrow(tables()).shuffle(window=5).batch(3),
        lambda: hr.journal(rows_of_journal()),
        lambda: hr.journal(rows_of_journal()).shuffle(window=5, seed=1).batch(3),
    ],
)
@pytest.mark.parametrize("number", [0, 1, 8])
def test_states_of_all_stages_are_described(pipe, number):
    lines = report_of(state_of(pipe(), number))
    begin = lines.index("The stages resume at these positions, the last stage first:") + 1
    assert lines[begin:]
    assert not any(
        "No stage can have this position" in line or "cannot describe" in line for line in lines
    )


def test_journal_batches_are_counted_from_its_last_end():
    pipe = hr.journal(rows_of_journal()).batch(20)
    assert len(list(pipe)) == 3
    rows_of_journal()
    lines = report_of(state_of(pipe, 4))
    assert lines[-1] == "The journal has ended 1 time before. Counts start at its last end."
    assert not any("The next one is number" in line for line in lines)


def test_every_stage_has_a_position_text():
    steps = {step for room in STAGE_MODULES for step in vars(room).values() if is_step(step)}
    of_readers = {
        "share",
        "read_rows",
        "origin_files",
        "learn",
        "many_clips",
    }  # States of users don't contain these.
    with_names_of_stages = {
        *("pack_tree", "shape_bucket", "crop_to_bucket", "in_buckets"),
        "split_by",
    }
    names = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", step.__name__).lower() for step in steps}
    named = {name for name, _ in position._SAYINGS}
    without_place = {"prefetch", "without_steps", *position._OF_ROWS, *position._GROUPS}
    assert names - of_readers - with_names_of_stages <= named | without_place


def test_every_source_has_a_position_text():
    named = {name for name, _ in position._SAYINGS} | set(position._TOGETHER)
    assert set(source_functions.__all__) <= named


def test_unknown_position_is_shown_as_raw_numbers():
    state = state_of(reads().batch(4), 2)
    checkpoint = last_checkpoint(state["place"])
    lines = list(position.position_lines(["tfrecords()", "sorted()"], checkpoint))
    assert lines == ["sorted: This version of headrace cannot describe its position: 1, 4."]


def test_states_inside_a_checkpoint_are_shown():
    states = [state_of(reads().batch(2), number) for number in (3, 4)]
    Path("checkpoint.json").write_text(
        json.dumps({"weight": 1.5, "ranks": states, "data": states[0]})
    )
    document = json.loads(call("state", "checkpoint.json", "--json").stdout)
    assert [(one["where"], one["batches"]) for one in document["states"]] == [
        ("ranks[0]", 3),
        ("ranks[1]", 4),
        ("data", 3),
    ]
    assert "checkpoint.json: ranks[1]\n" in call("state", "checkpoint.json").stdout


def test_state_is_read_from_stdin():
    text = json.dumps(state_of(reads().batch(2), 3))
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "state", "-"],
        input=text,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "The program has received 3 batches." in done.stdout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (lambda state: json.dumps({**state, "epoch": 1}), "the state is damaged: it was cut short"),
        (lambda state: json.dumps({**state, "version": 99}), "the state has version 99"),
        (lambda state: json.dumps(state)[:-10], "the JSON is damaged"),
        (lambda state: '{"weight": 1}', "the file contains no state of an iteration"),
        (lambda state: "PK\x03\x04", "this file is not JSON. States in PyTorch or pickle files"),
        (lambda state: "", "this file is not JSON"),
        (lambda state: "[" * 100_000, "this file is not JSON"),
    ],
)
def test_damaged_state_is_reported(text, expected):
    Path("state.json").write_text(text(state_of(reads().batch(2), 3)))
    done = call("state", "state.json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("headrace: state.json: ")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_missing_file_is_reported():
    done = call("state", "nowhere")
    assert done.exit_code == 1
    assert "nowhere; No such file or directory" in done.stderr
