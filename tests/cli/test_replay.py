"""`headrace replay`: the records of the steps that follow a state."""

import json
from pathlib import Path

import pytest
from tests.cli.files import call, write_numbers

PROGRAM = """
import headrace as hr

records = hr.tfrecords(["a", "b"])
train = records.parse({"n": int}).shuffle(seed=1).batch(4)
shared = records.parse({"n": int}).shuffle(seed=1).shard(1, 2).batch(4)
epochs = records.parse({"n": int}).shuffle(seed=1).epochs(2).shard(0, 3, even="pad").batch(9)
cached = records.parse({"n": int}).cache().shuffle(seed=1).shard(1, 2).batch(4)
packed = (
    records.parse({"n": int})
    .map(lambda e: {"list": [int(e["n"])] * (int(e["n"]) % 3 + 1)})
    .pack(6, "list")
    .batch(2)
)
window = records.shuffle(window=10, seed=2)
filtered = records.parse({"n": int}).filter(lambda e: e["n"] % 3 == 0).batch(3)
arrays = hr.arrays({"n": list(range(20))}).batch(4)
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_numbers("a", 50)
    write_numbers("b", 50)
    Path("pipes.py").write_text(PROGRAM)
    return tmp_path


def pipe_named(name):
    scope = {}
    exec(PROGRAM, scope)
    return scope[name]


def state_of(name, number):
    with iter(pipe_named(name)) as batches:
        for _ in range(number):
            next(batches)
        Path("state.json").write_text(json.dumps({"data": batches.state()}))


def replayed(name, *options):
    done = call("replay", "state.json", "--pipeline", f"pipes.py:{name}", *options)
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout.splitlines()


def records_of(lines):
    """The records in the lines of JSON, by step."""
    steps = {}
    for line in map(json.loads, lines):
        assert line["file"] in ("a", "b")
        steps.setdefault(line["step"], []).append(line["record"])
    return list(steps.values())


@pytest.mark.parametrize("name", ["train", "shared", "epochs", "cached"])
def test_step_lists_the_records_of_its_examples(name):
    state_of(name, 3)
    batches = list(pipe_named(name))[3:5]
    lines = replayed(name, "--batches", "2", "--json")
    assert records_of(lines) == [batch["n"].tolist() for batch in batches]


def test_text_output_lists_the_same_records():
    state_of("train", 3)
    lines, texts = replayed("train", "--json"), replayed("train")
    assert texts[0] == "step 0: 4 examples"
    first = json.loads(lines[0])
    assert texts[1] == f"  {first['file']}: record {first['record']}, byte {first['byte']}"


def test_packed_rows_list_the_records_of_their_documents():
    state_of("packed", 2)
    batch = list(pipe_named("packed"))[2]
    numbers = [
        sorted({int(n) for n in row[mask > 0]})
        for row, mask in zip(batch["list"], batch["segment_ids"], strict=True)
    ]
    (results,) = records_of(replayed("packed", "--json"))
    assert sorted(results) == sorted(number for row in numbers for number in row)


def test_each_unbatched_example_is_a_step():
    state_of("window", 5)
    lines = replayed("window", "--batches", "3", "--json")
    assert [len(step) for step in records_of(lines)] == [1, 1, 1]


def test_examples_after_a_filter_are_replayed():
    state_of("filtered", 2)
    batch = list(pipe_named("filtered"))[2]
    assert records_of(replayed("filtered", "--json")) == [batch["n"].tolist()]


def test_array_rows_have_no_offset():
    state_of("arrays", 1)
    assert replayed("arrays")[1].endswith("record 4")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("state.json", "--pipeline", "pipes.py:packed"), "resume: "),
        (
            ("state.json", "--pipeline", "pipes.py:train", "--where", "other"),
            "the file has no state other",
        ),
        (("pipes.py", "--pipeline", "pipes.py:train"), "pipes.py"),
        (("state.json", "--pipeline", "nowhere:train"), "nowhere: no such module"),
    ],
)
def test_mismatched_state_is_rejected(arguments, words):
    state_of("train", 3)
    done = call("replay", *arguments)
    assert done.exit_code == 1
    assert words in done.stderr


def test_pipeline_from_a_module_can_be_replayed(monkeypatch):
    state_of("train", 3)
    done = call("replay", "state.json", "--pipeline", "pipes:train")
    assert (done.exit_code, done.stderr) == (0, "")
