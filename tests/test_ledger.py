"""Ledgers: the lines of training steps, `headrace audit` and `headrace replay`."""

import errno
import json
import multiprocessing
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from tests.cli.files import call, write_numbers

import headrace as hr
from headrace.ledger import read_ledger

PROGRAM = """
import headrace as hr

records = hr.tfrecords(["a", "b"]).parse({"n": int})
train = records.shuffle(seed=1).batch(4)
other = records.shuffle(seed=2).batch(4)
window = records.shuffle(window=7, seed=2).filter(lambda e: e["n"] % 3 > 0).batch(3)
mixed = hr.mix({"a": records.shuffle(seed=1), "b": records}, [0.7, 0.3], seed=3).batch(5)
endless = records.shuffle(seed=1).epochs().batch(4)
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_numbers("a", 30)
    write_numbers("b", 20)
    Path("pipes.py").write_text(PROGRAM)


def pipe_named(name):
    scope = {}
    exec(PROGRAM, scope)
    return scope[name]


def record(path, pipe, steps, batches_per_step=1, first=0):
    with hr.Ledger(path) as ledger, iter(pipe) as batches:
        for step in range(first, first + steps):
            for _ in range(batches_per_step):
                next(batches)
            ledger.record(step, batches, loss=1 / (step + 1))


def test_step_can_be_recorded_again_after_the_disk_was_full(monkeypatch):
    write, is_full = os.pwrite, True

    def writing(*arguments):
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(*arguments)

    monkeypatch.setattr("headrace.ledger.os.pwrite", writing)
    with hr.Ledger("run") as ledger, iter(pipe_named("mixed")) as batches:
        for step in range(3):
            next(batches)
            # The first time, this is the line with the names of the parts.
            is_full = True
            with pytest.raises(OSError, match="No space left"):
                ledger.record(step, batches)
            is_full = False
            ledger.record(step, batches)
        counts = batches.counts
    entries = list(read_ledger("run"))
    assert [entry.step for entry in entries] == [0, 1, 2]
    assert entries[-1].parts == counts


def test_line_contains_order_parts_and_numbers():
    pipe = pipe_named("mixed")
    record("run", pipe, 3)
    entries = list(read_ledger("run"))
    batches = iter(pipe)
    for step, entry in enumerate(entries):
        next(batches)
        assert entry[:3] == (step, 0, 5 * (step + 1))
        assert entry.digest == batches.digest()
        assert entry.parts == batches.counts
        assert entry.numbers == {"loss": 1 / (step + 1)}
    assert len(entries) == 3
    batches.close()


def test_ledger_lines_are_short():
    record("run", pipe_named("mixed"), 8)
    lines = Path("run").read_bytes().splitlines()
    assert max(map(len, lines)) <= 150


def test_recording_a_step_again_replaces_it_and_later_steps():
    pipe = pipe_named("train")
    with hr.Ledger("whole") as ledger, iter(pipe) as batches:
        for step, _ in enumerate(batches):
            ledger.record(step, batches)
            if step == 3:
                state = batches.state()
    record("run", pipe_named("other"), 4)
    record("run", pipe, 8)
    with hr.Ledger("run") as ledger, pipe.resume(state) as batches:
        for step, _ in enumerate(batches, 4):
            ledger.record(step, batches)
    assert [e[:4] for e in read_ledger("run")] == [e[:4] for e in read_ledger("whole")]


def test_ranks_record_the_same_ledger():
    global_order = hr.tfrecords(["a", "b"]).parse({"n": int}).shuffle(seed=1).epochs()
    for rank in range(2):
        record(f"rank{rank}", global_order.shard(rank, 2).batch(4), 9)
    record("alone", global_order.batch(4), 9, batches_per_step=2)
    entries = [[e[:4] for e in read_ledger(path)] for path in ("rank0", "rank1", "alone")]
    assert entries[0] == entries[1]
    assert entries[0] == entries[2]


def test_incomplete_last_line_is_removed():
    record("run", pipe_named("train"), 4)
    content = Path("run").read_bytes()
    for cut in range(1, 60):
        Path("cut").write_bytes(content[:-cut])
        expected = list(read_ledger("cut"))
        hr.Ledger("cut").close()
        assert list(read_ledger("cut")) == expected
        assert content.startswith(Path("cut").read_bytes())
        assert len(expected) == 4 - 1


@pytest.mark.parametrize("text", ["", "hello", '{"a":1}\n', "1\n", '{"ledger":', '{"ledgers":1}\n'])
def test_other_files_are_not_overwritten(text):
    Path("notes").write_text(text)
    is_beginning = '{"ledger":'.startswith(text)
    if is_beginning:
        hr.Ledger("notes").close()
        return
    with pytest.raises(ValueError, match="notes: this file is not a ledger"):
        hr.Ledger("notes")
    assert Path("notes").read_text() == text


def test_error_names_a_damaged_line():
    record("run", pipe_named("train"), 4)
    lines = Path("run").read_bytes().splitlines(keepends=True)
    for damaged in (
        b"\n",
        b'{"step":1}\n',
        lines[1],
        lines[3].replace(b'"digest":"', b'"digest":'),
    ):
        Path("run").write_bytes(b"".join([*lines[:3], damaged, *lines[4:]]))
        with pytest.raises(ValueError, match="run, line 4: the ledger is damaged here"):
            hr.Ledger("run")
        with pytest.raises(ValueError, match="run, line 4"):
            list(read_ledger("run"))


def test_newer_ledger_version_is_rejected():
    Path("run").write_text('{"ledger":2,"parts":[]}\n')
    with pytest.raises(ValueError, match="has version 2, but this headrace reads"):
        hr.Ledger("run")


def test_only_one_process_can_write_at_a_time():
    with hr.Ledger("run"), pytest.raises(BlockingIOError, match="another process writes"):
        hr.Ledger("run")
    hr.Ledger("run").close()


def test_numbers_of_every_kind_are_recorded():
    with hr.Ledger("run") as ledger, iter(pipe_named("train")) as batches:
        next(batches)
        ledger.record(
            7, batches, a=np.float32(0.5), b=3, c=float("nan"), d=float("-inf"), e=np.int64(4)
        )
    (entry,) = read_ledger("run")
    assert entry.step == 7
    assert repr(entry.numbers) == "{'a': 0.5, 'b': 3.0, 'c': nan, 'd': -inf, 'e': 4.0}"
    for line in Path("run").read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)


@pytest.mark.parametrize(
    ("arguments", "numbers", "error", "words"),
    [
        ((-1,), {}, ValueError, "step is -1"),
        ((True,), {}, ValueError, "step is True"),
        ((0,), {"digest": 1}, ValueError, "'digest' is a reserved name"),
        ((0,), {"loss": "1"}, TypeError, "loss is '1'"),
        ((0,), {"loss": None}, TypeError, "loss is None"),
    ],
)
def test_invalid_arguments_change_nothing(arguments, numbers, error, words):
    record("run", pipe_named("train"), 2)
    before = Path("run").read_bytes()
    with hr.Ledger("run") as ledger, iter(pipe_named("train")) as batches:
        next(batches)
        with pytest.raises(error, match=words):
            ledger.record(*arguments, batches, **numbers)
    assert Path("run").read_bytes() == before


def test_pipeline_is_rejected_in_place_of_an_iteration():
    with hr.Ledger("run") as ledger, pytest.raises(TypeError, match="batches is a Pipeline"):
        ledger.record(0, pipe_named("train"))


def test_pipeline_without_an_order_is_rejected():
    pipe = pipe_named("train").options(deterministic=False)
    with hr.Ledger("run") as ledger, iter(pipe) as batches:
        next(batches)
        with pytest.raises(hr.errors.FailedPreconditionError, match="deterministic=False"):
            ledger.record(0, batches)
    assert list(read_ledger("run")) == []


def test_closed_ledger_rejects_steps():
    ledger = hr.Ledger("run")
    ledger.close()
    ledger.close()
    with iter(pipe_named("train")) as batches, pytest.raises(ValueError, match="is closed"):
        ledger.record(0, batches)


def write_until_killed(path):
    with hr.Ledger(path) as ledger:
        while True:
            with iter(pipe_named("train")) as batches:
                for step, _ in enumerate(batches):
                    ledger.record(step, batches, loss=0.25)


def test_killed_writer_leaves_a_valid_ledger():
    record("expected", pipe_named("train"), 13)
    expected = [e[:4] for e in read_ledger("expected")]
    context = multiprocessing.get_context("fork")
    for _ in range(5):
        writer = context.Process(target=write_until_killed, args=("run",))
        writer.start()
        while not Path("run").exists() or os.path.getsize("run") < 300:
            assert writer.is_alive()
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        hr.Ledger("run").close()
        entries = [e[:4] for e in read_ledger("run")]
        assert entries == expected[: len(entries)]
        os.remove("run")


# Commands


def run(*arguments, code=0):
    done = call(*arguments)
    assert done.exit_code == code, done.output
    return (done.stdout if code == 0 else done.stderr).splitlines()


def test_audit_summarizes_one_ledger():
    record("run", pipe_named("mixed"), 6)
    (line,) = run("audit", "run")
    last = list(read_ledger("run"))[-1]
    shares = ", ".join(f"{name} {count}" for name, count in last.parts.items())
    assert line == (
        f"run: 6 steps, from 0 to 5; epoch 0, 30 examples ({shares}), digest {last.digest}"
    )
    (line,) = run("audit", "run", "--steps", "2:4")
    assert line.startswith("run: 2 steps, from 2 to 3;")
    assert run("audit", "run", "--steps", "6:", code=1) == [
        "headrace: run: the ledger has no steps from 6."
    ]


def test_audit_confirms_equal_data_and_reports_different_numbers():
    record("one", pipe_named("train"), 6)
    record("two", pipe_named("train"), 8)
    assert run("audit", "one", "two")[-1] == (
        "one and two: the data of all 6 steps in both are equal"
    )
    with hr.Ledger("two") as ledger, iter(pipe_named("train")) as batches:
        for step in range(4):
            next(batches)
            ledger.record(step, batches, loss=1 / (step + 1) if step < 3 else 9)
    assert run("audit", "one", "two")[-1] == (
        "one and two: the data of all 4 steps in both are equal; loss first differs at step 3: "
        "0.25 and 9.0"
    )


def test_audit_finds_the_first_difference():
    record("one", pipe_named("train"), 6)
    record("two", pipe_named("train"), 3)
    with hr.Ledger("two") as ledger, iter(pipe_named("other")) as batches:
        for step in range(6):
            next(batches)
            if step >= 3:
                ledger.record(step, batches)
    (line,) = run("audit", "one", "two", code=1)
    assert line.startswith("headrace: one and two first differ at step 3: epoch 0, 16 examples")
    assert line.endswith("3 earlier steps are equal.")
    assert run("audit", "one", "two", "--steps", ":3")[-1].endswith("all 3 steps in both are equal")
    run("audit", "one", "two", "--steps", "4:", code=1)


def test_audit_of_ledgers_without_common_steps_fails():
    record("one", pipe_named("train"), 3)
    record("two", pipe_named("train"), 3, first=3)
    (line,) = run("audit", "one", "two", code=1)
    assert line == "headrace: one and two have no step in common among steps from 0."


@pytest.mark.parametrize("steps", ["1", "3:2", "a:b", "2:2", "-1:3"])
def test_audit_rejects_invalid_ranges(steps):
    record("one", pipe_named("train"), 3)
    done = call("audit", "one", "--steps", steps)
    assert done.exit_code == 2
    assert "is not a range of steps" in done.stderr


def numbers_of(lines):
    """The file and number of each example in lines of JSON, by step."""
    steps = {}
    for line in map(json.loads, lines):
        steps.setdefault(line["step"], []).append((line["file"], line["record"]))
    return steps


def records_of(name, batches_per_step=1):
    """The file and record of each example of a pipeline's steps."""
    with pipe_named(name).replay(None) as batches:
        steps = []
        for number, _ in enumerate(batches):
            origins = [(file, record) for file, record, _ in batches.origins()]
            if number % batches_per_step == 0:
                steps.append([])
            steps[-1] += origins
            if len(steps) > 8:
                break
    return steps


@pytest.mark.parametrize("name", ["train", "window", "mixed", "endless"])
@pytest.mark.parametrize("batches_per_step", [1, 2])
def test_replay_lists_the_records_of_a_step(name, batches_per_step):
    record("run", pipe_named(name), 5, batches_per_step)
    expected = records_of(name, batches_per_step)
    pipeline = ("--pipeline", f"pipes.py:{name}", "--json")
    assert numbers_of(run("replay", "run", "--step", "3", *pipeline)) == {3: expected[3]}
    lines = run("audit", "run", "--steps", "1:3", *pipeline)
    assert numbers_of(lines) == {1: expected[1], 2: expected[2]}


def test_replay_of_a_different_pipeline_fails():
    record("run", pipe_named("train"), 5)
    (line,) = run("replay", "run", "--step", "3", "--pipeline", "pipes.py:other", code=1)
    assert line.startswith("headrace: run: step 0 has digest ")
    assert line.endswith("Use the same pipeline, seeds and files as in that run.")
    (line,) = run("replay", "run", "--step", "7", "--pipeline", "pipes.py:train", code=1)
    assert line == "headrace: run: the ledger has no step 7."


def test_replay_follows_epochs():
    pipe = pipe_named("train")
    with hr.Ledger("run") as ledger:
        step, expected = 0, {}
        for epoch in range(3):
            with pipe.epoch(epoch) as batches, pipe.replay(None, epoch) as replayed:
                for _, _ in zip(batches, replayed, strict=True):
                    ledger.record(step, batches)
                    origins = [(file, record) for file, record, _ in replayed.origins()]
                    expected[step] = origins
                    step += 1
    lines = run("audit", "run", "--pipeline", "pipes.py:train", "--json")
    assert numbers_of(lines) == expected
