"""Windows of consecutive examples, compared with a plain NumPy reference."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.conftest import LARGE_WAYS, example, pq, same

import headrace as hr
from headrace.core import errors
from headrace.io.records import TFRecordWriter
from headrace.testing import assert_resumes

NEEDS_PARQUET = pytest.mark.skipif(pq is None, reason="needs pyarrow")


def columns_of(lengths, seed=0):
    """A column of episode numbers, one of row numbers and one of vectors."""
    rng = np.random.default_rng(seed)
    episodes = np.repeat(np.arange(len(lengths)), lengths)
    n = np.arange(len(episodes))
    return {"episode": episodes, "n": n, "state": rng.normal(size=(len(n), 3)).astype(np.float32)}


def reference(columns, length, stride=1, within=None, pad=None):
    """The windows of columns, as a user would write them with NumPy."""
    num_rows = len(next(iter(columns.values())))
    is_dict = isinstance(length, Mapping)
    offsets = {
        name: np.asarray(list(length[name]) if is_dict else range(length))
        for name in (length if is_dict else columns)
    }
    borders = [0, num_rows]
    if within is not None:
        values = np.asarray(columns[within])
        borders += (1 + np.flatnonzero(values[1:] != values[:-1])).tolist()
    reached = np.concatenate([[0], *offsets.values()])
    for first, end in pairwise(sorted(set(borders))):
        starts = range(first, end)
        if pad is None:
            starts = range(first - reached.min(), end - reached.max())
        for start in starts[::stride]:
            window = {}
            for name, column in columns.items():
                if name not in offsets:
                    window[name] = column[start]
                    continue
                rows = start + offsets[name]
                values = np.asarray(column)[np.clip(rows, first, end - 1)]
                if pad == "zero":
                    values[(rows < first) | (rows >= end)] = type(values.flat[0])()
                window[name] = values
            if pad is not None:
                for name in length if is_dict else [None]:
                    rows = start + (np.arange(length) if name is None else offsets[name])
                    mark = "is_pad" if name is None else f"{name}_is_pad"
                    window[mark] = (rows < first) | (rows >= end)
            yield window


@dataclass
class Arguments:
    """The arguments of a call."""

    length: Any
    stride: int
    within: str | None
    pad: str | None

    def windows(self, pipe):
        return pipe.windows(self.length, self.stride, self.within, self.pad)

    def expected(self, columns):
        return list(reference(columns, self.length, self.stride, self.within, self.pad))


OFFSETS = st.lists(st.integers(-6, 8), min_size=1, max_size=5, unique=True)
ARGUMENTS = st.builds(
    Arguments,
    st.integers(1, 12) | st.fixed_dictionaries({"n": OFFSETS}, optional={"state": OFFSETS}),
    st.integers(1, 9),
    st.sampled_from([None, "episode", "episode"]),
    st.sampled_from([None, "repeat", "zero"]),
)
LENGTHS = st.lists(st.integers(1, 20), max_size=12)


def check(pipe, columns, arguments):
    """Compares the windows of a pipeline over these columns, in sequence and shuffled."""
    expected = arguments.expected(columns)
    windows = arguments.windows(pipe)
    assert same(list(windows), expected)
    shuffled = windows.shuffle(seed=3)
    numbers = list(hr.arrays({"i": np.arange(len(expected))}).shuffle(seed=3))
    assert same(list(shuffled), [expected[row["i"]] for row in numbers])
    assert len(shuffled) == len(expected)


@given(lengths=LENGTHS, arguments=ARGUMENTS)
def test_windows_of_arrays_match_numpy(lengths, arguments):
    columns = columns_of(lengths)
    check(hr.arrays(columns), columns, arguments)


@given(lengths=LENGTHS, arguments=ARGUMENTS)
def test_windows_after_native_stages_match_numpy(lengths, arguments):
    columns = columns_of(lengths)

    @hr.native
    def halved(row):
        return {**row, "state": row["state"] * 0.5}

    pipe = hr.arrays({**columns, "other": columns["n"]}).map(halved)
    pipe = pipe.select("episode", "n", "state").rename(state="x").rename(x="state")
    check(pipe, {**columns, "state": columns["state"] * np.float32(0.5)}, arguments)


@NEEDS_PARQUET
def test_windows_of_parquet_match_numpy(tmp_path):
    lengths = np.random.default_rng(5).integers(1, 90, 40)
    columns = columns_of(lengths)
    paths = hr.arrays(columns).write(str(tmp_path / "{shard}.parquet"), num_shards=3)

    @hr.native
    def with_shape(row):
        return {**row, "state": hr.ops.reshape(row["state"], [3])}

    for within in (None, "episode"):
        for arguments in (
            Arguments(5, 1, within, None),
            Arguments({"n": [-3, 0], "state": range(7)}, 2, within, "repeat"),
        ):
            check(hr.parquet(paths).map(with_shape), columns, arguments)


def test_windows_of_csv_match_numpy(tmp_path):
    lengths = np.random.default_rng(6).integers(1, 60, 30)
    columns = columns_of(lengths)
    del columns["state"]
    rows = np.stack(list(columns.values()), axis=1)
    for number, part in enumerate(np.array_split(rows, 4)):
        text = "".join(f"{episode},{n}\n" for episode, n in part)
        (tmp_path / f"{number}.csv").write_text("episode,n\n" + text)
    pipe = hr.csv(tmp_path)
    for within in (None, "episode"):
        for arguments in (
            Arguments(4, 3, within, None),
            Arguments({"n": [1, -2]}, 1, within, "zero"),
        ):
            check(pipe, columns, arguments)


def test_windows_of_records_match_numpy(tmp_path, items_of):
    with TFRecordWriter(tmp_path / "a.tfrecord") as writer:
        for number in range(300):
            writer.write(example(number))
    parsed = hr.tfrecords(tmp_path).parse({"number": int, "text": bytes})
    columns = {
        "number": np.arange(300),
        "text": np.array([b"text %d" % number for number in range(300)], object),
    }
    expected = list(reference(columns, 3, pad="zero"))
    windows = items_of(parsed.windows(3, pad="zero"), LARGE_WAYS)
    assert windows[-1]["text"].tolist() == [b"text 299", b"", b""]
    assert all(
        one[name].tolist() == other[name].tolist()
        for one, other in zip(windows, expected, strict=True)
        for name in one
    )
    shuffled = items_of(parsed.windows(3, pad="zero").shuffle(seed=1), LARGE_WAYS)
    assert sorted(int(window["number"][0]) for window in shuffled) == list(range(300))
    assert all(same([window], [windows[window["number"][0]]]) for window in shuffled)


def test_windows_of_iterables_and_compressed_files_are_read_in_sequence(tmp_path):
    columns = columns_of([5, 1, 9, 30])
    arguments = Arguments(4, 1, "episode", "repeat")
    rows = [{name: column[n] for name, column in columns.items()} for n in range(45)]
    assert same(list(arguments.windows(hr.iterable(lambda: rows))), arguments.expected(columns))
    del columns["state"]
    paths = hr.arrays(columns).write(tmp_path / "rows.jsonl.gz")
    assert same(list(arguments.windows(hr.json_lines(paths))), arguments.expected(columns))


@pytest.mark.parametrize("kind", [str, bytes, bool, np.uint8, "datetime64[s]"])
def test_episodes_are_named_by_strings_bools_and_times(kind):
    names = np.array([0, 0, 0, 1, 1, 0, 0, 0, 0])
    values = names.astype(kind)
    if kind in (str, bytes):
        values = np.array(
            [kind(f"{n}", "ascii") if kind is bytes else f"{n}" for n in names], object
        )
    pipe = hr.arrays({"episode": values, "n": np.arange(9)}).windows(2, within="episode")
    starts = [0, 1, 3, 5, 6, 7]
    assert [int(window["n"][0]) for window in pipe] == starts
    assert sorted(int(window["n"][0]) for window in pipe.shuffle(seed=1)) == starts


def test_batches_of_windows_are_stacked(items_of):
    columns = columns_of([40, 3, 60])
    expected = list(reference(columns, 8, within="episode"))
    pipe = hr.arrays(columns).windows(8, within="episode")
    assert pipe.spec["state"] == hr.Spec(np.dtype(np.float32), (8, 3))
    batches = items_of(pipe.batch(16, remainder="drop"), LARGE_WAYS)
    for number, batch in enumerate(batches):
        group = expected[16 * number :][:16]
        assert np.array_equal(batch["state"], np.stack([window["state"] for window in group]))
    assert len(batches) == len(expected) // 16


def windows_of_all_kinds():
    columns = columns_of([30, 2, 1, 17, 50])
    pipe = hr.arrays(columns)
    yield pipe.windows(5, within="episode")
    yield pipe.windows({"n": [-4, 0, 2], "state": [0]}, 3, "episode", "repeat")
    yield pipe.windows(7, 2, pad="zero")
    yield pipe.filter(lambda row: row["n"] % 7 != 3).windows({"n": [-2, -1]}, 1, "episode", "zero")
    yield pipe.windows(3).windows(2, 4)


@pytest.mark.parametrize("number", range(5))
def test_windows_resume_from_every_state(number):
    windows = list(windows_of_all_kinds())[number]
    assert_resumes(windows.take(70), every=3)
    assert_resumes(windows.shuffle(20, seed=4).batch(4), every=3)
    assert_resumes(windows.shard(1, 3).batch(4).epochs(2))
    if number != 3:
        assert_resumes(windows.shuffle(seed=4).shard(0, 2).batch(3).epochs(2), every=2)


def test_ranks_share_the_windows_and_resume_on_a_different_number_of_ranks():
    pipe = hr.arrays(columns_of([30, 2, 1, 17, 50])).windows(4, within="episode")
    for order in (pipe, pipe.shuffle(seed=5), pipe.shuffle(9, seed=5)):
        whole = [window["n"].tolist() for window in order]
        parts = [order.shard(rank, 3) for rank in range(3)]
        shares = [[window["n"].tolist() for window in part] for part in parts]
        assert shares == [whole[rank::3] for rank in range(3)]
        iteration = iter(parts[0].batch(2))
        for _ in range(4):
            next(iteration)
        state = json.loads(json.dumps(iteration.state()))
        for rank in range(2):
            rest = [b["n"][:, 0].tolist() for b in order.shard(rank, 2).batch(2).resume(state)]
            starts = [start for batch in rest for start in batch]
            assert starts == [window[0] for window in whole[24 + rank :: 2]]


def test_digest_is_the_same_for_every_number_of_ranks():
    pipe = hr.arrays(columns_of([30, 2, 1, 17, 50])).windows(4, within="episode").shuffle(seed=5)

    def digest(pipe):
        with iter(pipe) as batches:
            for _ in range(4):
                next(batches)
            return batches.digest()

    assert digest(pipe.shard(0, 2).batch(3)) == digest(pipe.batch(6))


def test_random_draws_of_windows_differ_and_do_not_depend_on_their_order():
    def drawn(window, rng):
        return {"n": window["n"][0], "draw": rng.integers(2**62)}

    pipe = hr.arrays(columns_of([30, 20])).windows(4, within="episode")
    draws = {int(row["n"]): int(row["draw"]) for row in pipe.map(drawn, seed=1)}
    shuffled = pipe.shuffle(seed=2).map(drawn, seed=1)
    assert {int(row["n"]): int(row["draw"]) for row in shuffled} == draws
    assert len(set(draws.values())) == len(draws) == 27 + 17


def test_windows_are_cached_and_split():
    pipe = hr.arrays(columns_of([30, 20])).windows(4, within="episode")
    expected = [window["n"].tolist() for window in pipe]
    cached = pipe.cache().shuffle(seed=1).epochs(2)
    assert sorted(window["n"].tolist() for window in cached) == sorted(expected * 2)
    train, other = pipe.split(0.7, 0.3)
    parts = [[window["n"].tolist() for window in part] for part in (train, other)]
    assert sorted([*parts[0], *parts[1]]) == expected
    assert [
        sorted(w["n"].tolist() for w in part.shuffle(seed=1)) for part in (train, other)
    ] == parts


def test_windows_of_cached_python_results_are_shuffled():
    columns = columns_of([30, 20])
    pipe = hr.arrays(columns).map(lambda row: {**row, "n": row["n"] + 1}).cache()
    check(pipe, {**columns, "n": columns["n"] + 1}, Arguments(4, 1, "episode", None))


def test_parts_of_concat_and_mix_have_separate_windows():
    one, other = columns_of([9, 4]), columns_of([3, 8], seed=1)
    parts = [hr.arrays(columns).windows(3, within="episode") for columns in (one, other)]
    expected = [*reference(one, 3, within="episode"), *reference(other, 3, within="episode")]
    assert same(list(hr.concat(parts)), expected)
    shuffled = list(hr.concat(parts).shuffle(seed=1))
    assert len(shuffled) == len(expected)
    mixed = list(hr.mix(parts, [0.5, 0.5], seed=1, stop="all"))
    key = lambda window: (window["n"].tolist(), window["state"].tolist())  # noqa: E731
    for windows in (shuffled, mixed):
        assert same(sorted(windows, key=key), sorted(expected, key=key))


def test_windows_span_files_without_within(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(
            "".join(f"{n}\n" for n in range(3 * number, 3 * number + 3))
        )
    lines = hr.text_lines(tmp_path)
    windows = [b"".join(window["text"]).decode() for window in lines.windows(4)]
    assert windows == ["0123", "1234", "2345", "3456", "4567", "5678"]
    shuffled = [b"".join(window["text"]).decode() for window in lines.windows(4).shuffle(seed=2)]
    assert sorted(shuffled) == windows


def test_results_in_any_order_do_not_reorder_the_rows_of_a_window(tmp_path):
    for number in range(30):
        (tmp_path / f"{number:02}.txt").write_text(f"{number}\n" * (200 if number == 0 else 1))
    pipe = hr.text_lines(tmp_path).windows(2).options(deterministic=False, num_threads=4)
    pairs = sorted({tuple(map(int, window["text"])) for window in pipe})
    assert pairs == [(0, 0), *((n, n + 1) for n in range(29))]


def test_skipped_records_come_before_windows(tmp_path):
    def fail(row):
        if row["n"] == 4:
            raise ValueError("four")
        return row

    rows = hr.arrays({"n": np.arange(8)}).map(fail)
    pipe = rows.skip_errors(1).windows(3)
    windows = [window["n"].tolist() for window in pipe]
    assert windows == [[0, 1, 2], [1, 2, 3], [2, 3, 5], [3, 5, 6], [5, 6, 7]]
    assert_resumes(pipe)
    with pytest.raises(ValueError, match="four"):
        list(rows.windows(3).skip_errors(9))


def test_windows_that_fail_in_a_later_stage_are_skipped():
    def fail(window):
        if 4 in window["n"]:
            raise ValueError("four")
        return window

    pipe = hr.arrays({"n": np.arange(8)}).windows(2).map(fail).skip_errors(2)
    assert [window["n"].tolist() for window in pipe] == [[0, 1], [1, 2], [2, 3], [5, 6], [6, 7]]
    shuffled = hr.arrays({"n": np.arange(8)}).windows(2).shuffle(seed=1).map(fail).skip_errors(2)
    assert len(list(shuffled)) == 5


def test_length_is_known_if_the_source_has_a_length():
    columns = columns_of([30, 2, 1, 17, 50])
    pipe = hr.arrays(columns)
    assert len(pipe.windows(7, 3)) == len(list(pipe.windows(7, 3))) == 32
    assert len(pipe.windows(7, within="episode", pad="zero")) == 100
    assert len(pipe.windows(7, 2, "episode")) == len(list(pipe.windows(7, 2, "episode")))
    assert len(pipe.windows(101)) == 0
    with pytest.raises(TypeError, match="unknown until they are read"):
        len(hr.iterable([{"n": 1, "e": 2}]).windows(2, within="e"))
    filtered = pipe.filter(lambda row: row["n"] > 3).windows(2, within="episode")
    with pytest.raises(TypeError, match="unknown"):
        len(filtered)
    assert filtered.count() == len(list(filtered))


def test_episodes_are_found_by_reading_one_column(tmp_path):
    calls = []

    def note(row):
        calls.append(row)
        return row

    cached = hr.arrays(columns_of([30, 20])).map(note).cache()
    pipe = cached.windows(4, within="episode").shuffle(seed=1)
    for _ in range(2):
        assert len(list(pipe)) == 44
    assert len(calls) in (50, 51)


def write_episodes(path, episodes, modified_s):
    path.write_text("episode,n\n" + "".join(f"{e},{n}\n" for n, e in enumerate(episodes)))
    os.utime(path, (modified_s, modified_s))


def test_episodes_are_found_again_when_files_change(tmp_path):
    path = tmp_path / "rows.csv"
    write_episodes(path, [0] * 5 + [1] * 4, 1)
    pipe = hr.csv(path).windows(3, within="episode")
    shuffled = pipe.shuffle(seed=1)
    assert len(pipe) == len(list(shuffled)) == len(list(pipe)) == 5
    for modified, episodes in ((2, [0] * 9), (3, [0] * 3 + [1] * 6)):
        write_episodes(path, episodes, modified)
        starts = sorted(int(window["n"][0]) for window in shuffled)
        assert starts == [int(window["n"][0]) for window in pipe]
        assert len(pipe) == len(shuffled) == len(starts)


def test_resume_rejects_different_episodes(tmp_path):
    path = tmp_path / "rows.csv"
    write_episodes(path, [0] * 5 + [1] * 4, 1)
    batches = iter(hr.csv(path).windows(2, within="episode").shuffle(seed=1).batch(2))
    next(batches)
    state = batches.state()
    write_episodes(path, [0] * 9, 2)
    pipe = hr.csv(path).windows(2, within="episode").shuffle(seed=1).batch(2)
    with pytest.raises(ValueError, match=r"the episodes of windows.* have changed"):
        pipe.resume(state)


def test_windows_in_a_shuffle_window_release_their_blocks(items_of):
    columns = {"n": np.arange(3000), "x": np.zeros((3000, 50))}
    pipe = hr.arrays(columns).windows(10).shuffle(300, seed=1).batch(7)
    batches = items_of(pipe, ({"num_threads": 1}, {"num_threads": 2, "memory_bytes": 4_000_000}))
    starts = np.concatenate([batch["n"][:, 0] for batch in batches])
    assert sorted(starts.tolist()) == list(range(2991))
    assert all((np.diff(batch["n"], axis=1) == 1).all() for batch in batches)


def test_shape_that_differs_between_examples_is_an_error():
    rows = [{"x": np.zeros(2 + (n == 5))} for n in range(8)]
    pipe = hr.iterable(rows).map(lambda row: row).windows(3)
    with pytest.raises(errors.InvalidArgumentError, match="'x' differs in shape between examples"):
        list(pipe)


ARRAYS = hr.arrays(columns_of([30, 20]))


@pytest.mark.parametrize(
    ("error", "text", "make"),
    [
        (ValueError, "length is 0, expected an int of at least 1", lambda: ARRAYS.windows(0)),
        (ValueError, "length is 2.5, expected an int", lambda: ARRAYS.windows(2.5)),
        (ValueError, "stride is 0", lambda: ARRAYS.windows(2, 0)),
        (
            ValueError,
            "pad is 'mean', expected 'repeat', 'zero' or None",
            lambda: ARRAYS.windows(2, pad="mean"),
        ),
        (ValueError, "the dict of offsets is empty", lambda: ARRAYS.windows({})),
        (ValueError, "expected different ints", lambda: ARRAYS.windows({"n": [0, 0]})),
        (TypeError, "expected ints such as range(50)", lambda: ARRAYS.windows({"n": [0.5]})),
        (TypeError, "expected ints such as range(50)", lambda: ARRAYS.windows({"n": 5})),
        (ValueError, "'m'", lambda: ARRAYS.windows({"m": [0]})),
        (ValueError, "'m'", lambda: ARRAYS.windows(2, within="m")),
        (TypeError, "within is 3", lambda: ARRAYS.windows(2, within=3)),
        (ValueError, "within='state' is", lambda: ARRAYS.windows(2, within="state")),
        (ValueError, "cannot come after shuffle", lambda: ARRAYS.shuffle(seed=1).windows(2)),
        (ValueError, "Write windows before shard", lambda: ARRAYS.shard(0, 2).windows(2)),
        (ValueError, "Call unbatch() first", lambda: ARRAYS.batch(2).windows(2)),
        (
            ValueError,
            "Write split(...) after windows",
            lambda: ARRAYS.split(0.5, 0.5)[0].windows(2),
        ),
        (ValueError, "Write epochs(...) after", lambda: ARRAYS.epochs(2).windows(2)),
        (
            ValueError,
            "Call windows(...) on each part",
            lambda: hr.mix([ARRAYS, ARRAYS], [1, 1]).windows(2),
        ),
        (
            ValueError,
            "map calls a Python function for each example of a window. Write cache()",
            lambda: ARRAYS.map(dict).windows(2).shuffle(seed=1),
        ),
        (
            ValueError,
            "windows follows concat. Call windows(...) on each part",
            lambda: hr.concat([ARRAYS, ARRAYS]).windows(2).shuffle(seed=1),
        ),
        (
            ValueError,
            "filter does not turn each example into exactly one",
            lambda: ARRAYS.filter(bool).windows(2).shuffle(seed=1),
        ),
        (
            ValueError,
            "there is already a component 'n_is_pad'",
            lambda: ARRAYS.rename(state="n_is_pad").windows({"n": [0]}, pad="zero"),
        ),
        (
            ValueError,
            "which has no fixed shape. Pad or reshape it in map before windows",
            lambda: hr.json_lines("a.jsonl", {"x": hr.Ragged(int)}).windows(2),
        ),
    ],
)
def test_wrong_calls_raise_helpful_errors(error, text, make):
    with pytest.raises(error, match=re.escape(text)):
        make()
