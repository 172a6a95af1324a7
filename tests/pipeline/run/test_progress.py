"""`progress`: the same batches, with a bar at the right position."""

import io
import re
from contextlib import contextmanager, redirect_stderr

import numpy as np
import pytest

import headrace as hr
from headrace.core import progress as bars


class Terminal(io.StringIO):
    """A terminal that keeps its text."""

    def isatty(self):
        return True


@contextmanager
def terminal():
    """Replaces stderr by a terminal."""
    with redirect_stderr(Terminal()) as stream:
        yield stream


@pytest.fixture
def without_tqdm(monkeypatch):
    find = bars.find_spec
    monkeypatch.setattr(bars, "find_spec", lambda name: None if name == "tqdm" else find(name))


@pytest.fixture
def shown(monkeypatch):
    """The bars that are opened, and the numbers that they show."""
    opened = []

    class Bar:
        def __init__(self, what, total, initial, unit):
            self.arguments, self.numbers, self.notes = (what, total, initial, unit), [], []
            self.is_closed = False
            opened.append(self)

        def move_to(self, number, note=None):
            self.numbers.append(number)
            self.notes.append(note)

        def close(self):
            self.is_closed = True

    monkeypatch.setattr("headrace.pipeline.run.progress.loop_bar", Bar)
    return opened


def values(batches):
    return [batch["x"].tolist() for batch in batches]


PIPE = hr.arrays({"x": list(range(20))}).shuffle(seed=5).batch(3)


def test_progress_does_not_change_the_batches(shown):
    assert values(PIPE.progress(description="train")) == values(PIPE)
    assert shown[0].arguments == ("train", 7, 0, "batches")
    assert shown[0].numbers == list(range(1, 8))
    assert shown[0].is_closed


def test_examples_are_counted_without_batch(shown):
    assert len(list(hr.arrays({"x": [1, 2, 3]}).progress())) == 3
    assert shown[0].arguments == ("", 3, 0, "examples")
    assert shown[0].numbers == [1, 2, 3]


def test_total_covers_all_epochs(shown):
    list(hr.arrays({"x": list(range(6))}).epochs(4).batch(5).progress())
    assert shown[0].arguments[1] == 5
    assert shown[0].numbers[-1] == 5


def test_each_epoch_of_a_loop_has_its_own_bar(shown):
    for epoch in range(2):
        assert values(PIPE.epoch(epoch).progress()) == values(PIPE.epoch(epoch))
    assert [bar.numbers[-1] for bar in shown] == [7, 7]


def test_length_matches_the_pipeline():
    assert len(PIPE.progress()) == 7


def test_bar_of_unknown_length_has_no_total(shown):
    batches = hr.arrays({"x": [1, 2, 3]}).filter(lambda e: e["x"] > 1).progress()
    assert shown[0].arguments[1] is None
    assert batches
    with pytest.raises(TypeError, match="len: the number of batches is unknown"):
        len(batches)
    assert len(list(batches)) == 2


@pytest.mark.parametrize("taken", [0, 1, 3, 7])
def test_resumed_bar_continues_at_its_position(shown, taken):
    batches = PIPE.progress()
    for _ in range(taken):
        next(batches)
    state = batches.state()
    rest = values(batches)
    assert values(PIPE.progress(state)) == rest
    assert shown[1].arguments[1:3] == (7, taken)
    assert shown[1].numbers == list(range(taken + 1, 8))
    batches = PIPE.resume(state).progress()
    assert shown[2].arguments[2] == taken
    batches.close()


def test_bar_of_a_running_iteration_starts_at_its_position(shown):
    batches = iter(PIPE)
    next(batches), next(batches)
    assert len(list(batches.progress())) == 5
    assert shown[0].numbers == [3, 4, 5, 6, 7]


def test_resumed_bar_is_correct_on_a_different_number_of_ranks(shown):
    def pipe(rank, count):
        return hr.arrays({"x": list(range(48))}).shuffle(seed=1).shard(rank, count).batch(3)

    batches = iter(pipe(0, 2))
    for _ in range(4):
        next(batches)
    state = batches.state()
    batches.close()
    for count, position in ((4, 2), (1, 8), (2, 4)):
        list(pipe(0, count).progress(state))
        assert shown[-1].arguments[1:3] == (16 // count, position)
        assert shown[-1].numbers[-1] == 16 // count


def test_resumed_bar_counts_examples(shown):
    pipe = hr.arrays({"x": list(range(10))}).shuffle(seed=1)
    batches = iter(pipe)
    next(batches), next(batches)
    state = batches.state()
    batches.close()
    list(pipe.progress(state))
    assert shown[0].arguments[1:3] == (10, 2)
    assert shown[0].numbers[-1] == 10


def test_bar_includes_omitted_steps(shown):
    pipe = PIPE.without_steps([(1, 3)])
    assert len(list(pipe.progress())) == 5
    assert shown[0].arguments[1] == 7
    assert shown[0].numbers == [1, 4, 5, 6, 7]


def test_progress_keeps_the_methods_of_the_iteration(shown):
    with PIPE.progress() as batches:
        next(batches)
        assert batches.metrics()["headrace_batches_total"] == 1
        assert batches.epoch == 0
        with pytest.raises(AttributeError):
            batches.nothing  # noqa: B018
    assert shown[0].is_closed
    assert not batches.batches.is_open


def test_error_ends_the_bar(shown):
    def fail(example):
        if example["x"] == 5:
            raise ValueError("boom")
        return example

    batches = hr.arrays({"x": list(range(9))}).map(fail).batch(3).progress()
    with pytest.raises(ValueError, match="boom"):
        list(batches)
    assert shown[0].numbers == [1]
    assert shown[0].is_closed


def test_tqdm_shows_the_bar_in_a_terminal():
    pytest.importorskip("tqdm")
    with terminal() as stream:
        list(PIPE.progress(description="train"))
    assert "train: 100%" in stream.getvalue()
    assert "7/7" in stream.getvalue()


def test_tqdm_bar_starts_at_its_position():
    pytest.importorskip("tqdm")
    with terminal() as stream:
        bar = bars.loop_bar("train", 10, 4, "batches")
        bar.move_to(5, "waited 3%")
        bar.close()
    assert "4/10" in stream.getvalue()
    assert re.search(r"5/10.*waited 3%", stream.getvalue())


def test_tqdm_settings_of_the_program_are_unchanged():
    tqdm = pytest.importorskip("tqdm")
    before = tqdm.tqdm.monitor_interval
    with terminal():
        bars.loop_bar("", 1, 0, "batches").close()
    assert tqdm.tqdm.monitor_interval == before


def test_plain_line_shows_the_bar_without_tqdm(without_tqdm):
    with terminal() as stream:
        list(PIPE.progress(description="train"))
    last = stream.getvalue().split("\r")[-1]
    assert re.fullmatch(r"train: 7 of 7 batches, [\d.,e+]+/s, 0:00 left *\n", last)


def test_nothing_is_written_if_stderr_is_not_a_terminal(capsys):
    list(PIPE.progress())
    assert capsys.readouterr() == ("", "")


def test_long_loops_write_lines_if_stderr_is_not_a_terminal(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    bar = bars.LoopBar("train", 4000, 0, "batches")
    for number in range(1, 5):
        now[0] += 20.0
        bar.move_to(1000 * number)
    bar.close()
    bar.close()
    assert capsys.readouterr().err.splitlines() == [
        "train: 2,000 of 4,000 batches, 50/s, 0:40 left",
        "train: 4,000 of 4,000 batches, 50/s, 0:00 left",
        "train: 4,000 of 4,000 batches, 50/s, 0:00 left",
    ]


def test_description_cannot_control_the_terminal():
    with terminal() as stream:
        list(hr.arrays({"x": np.arange(2)}).progress(description="\x1b[31m"))
    assert "\x1b[31m" not in stream.getvalue()


def test_number_of_ranks_may_equal_the_earlier_batch_size(shown):
    def pipe(rank, count):
        return hr.arrays({"x": list(range(96))}).shard(rank, count).batch(4)

    batches = iter(pipe(0, 1))
    for _ in range(12):
        next(batches)
    state = batches.state()
    batches.close()
    list(pipe(0, 4).progress(state))
    assert shown[0].arguments[1:3] == (6, 3)
    assert shown[0].numbers[-1] == 6
