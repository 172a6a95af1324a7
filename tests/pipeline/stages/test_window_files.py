"""Windowed shuffles read several files at a time, in a different order in each epoch."""

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.pipeline.conftest import LARGE_WAYS, same

import headrace as hr
from headrace.testing import assert_resumes

# Examples of a source with files, each with its file number and its position in the file.
SIZES = (5, 0, 3, 8, 1, 4)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    for file, size in enumerate(SIZES):
        text = "".join(f"{file} {place}\n" for place in range(size))
        (tmp_path / f"{file}.txt").write_text(text)
    return tmp_path


def pair_of(example):
    file, place = example["text"].split()
    return {"file": int(file), "place": int(place)}


def pairs(pipeline: hr.Pipeline) -> list[tuple[int, int]]:
    return [(int(example["file"]), int(example["place"])) for example in pipeline]


def in_all_ways(pipeline: hr.Pipeline, epoch: int) -> list[dict[str, Any]]:
    """An epoch, which is the same for all numbers of threads and all budgets."""
    first, *others = (list(pipeline.options(**way).epoch(epoch)) for way in LARGE_WAYS)
    assert all(same(first, other) for other in others)
    return first


def of(lines: Path) -> hr.Pipeline:
    return hr.text_lines(lines).map(pair_of)


def in_turn(files: list[int], num_open: int) -> list[tuple[int, int]]:
    """Yields one example of each open file in turn. When a file ends, the next one replaces it."""
    coming = [[(file, place) for place in range(SIZES[file])] for file in files]
    slots, results = [coming.pop(0) if coming else [] for _ in range(num_open)], []
    while any(slots) or coming:
        for number in range(num_open):
            while not slots[number] and coming:
                slots[number] = coming.pop(0)
            if slots[number]:
                results.append(slots[number].pop(0))
    return results


def test_class_sorted_files_are_mixed_differently_in_each_epoch(tmp_path):
    for file in range(200):
        (tmp_path / f"{file:03}.txt").write_text(f"{file}\n" * 1000)
    shuffled = hr.text_lines(tmp_path).shuffle(window=10_000, seed=1).batch(1000)
    firsts = []
    for epoch in (0, 1, 5):
        with iter(shuffled.epoch(epoch)) as batches:
            firsts.append({int(text) for text in next(batches)["text"]})
    assert all(len(files) >= 16 for files in firsts), [len(files) for files in firsts]
    assert firsts[0] != firsts[1] != firsts[2] != firsts[0]
    assert len(set.union(*firsts)) > 30
    in_order = (
        hr.text_lines(tmp_path).shuffle(10_000, 1, num_open=1, file_order="sequential").batch(1000)
    )
    with iter(in_order.epoch(5)) as batches:
        assert {int(text) for text in next(batches)["text"]} <= set(range(11))


@pytest.mark.parametrize("num_open", [1, 2, 3, 6, 16])
def test_open_files_take_turns_example_by_example(lines, items_of, num_open):
    shuffled = (
        hr.text_lines(lines).shuffle(1, 7, num_open=num_open, file_order="sequential").map(pair_of)
    )
    assert pairs(items_of(shuffled, LARGE_WAYS)) == in_turn(list(range(6)), num_open)
    assert pairs(shuffled.epoch(3)) == pairs(shuffled)


def test_two_open_files_take_turns(lines):
    shuffled = of(lines).shuffle(1, 7, num_open=2, file_order="sequential").take(12)
    # File 1 is empty, so file 2 replaces it. File 3 follows file 2, and file 4 follows file 0.
    assert pairs(shuffled) == [
        *[(0, 0), (2, 0), (0, 1), (2, 1), (0, 2), (2, 2), (0, 3), (3, 0), (0, 4), (3, 1)],
        *[(4, 0), (3, 2)],
    ]


@pytest.mark.parametrize("num_open", [1, 3, 16])
def test_each_epoch_permutes_the_files(lines, num_open):
    one_by_one = of(lines).shuffle(1, 7, num_open=1)
    shuffled = of(lines).shuffle(1, 7, num_open=num_open)
    orders = set()
    for epoch in range(6):
        files = list(dict.fromkeys(file for file, _ in pairs(one_by_one.epoch(epoch))))
        assert sorted(files) == [0, 2, 3, 4, 5]
        orders.add(tuple(files))
        result = pairs(in_all_ways(shuffled, epoch))
        if num_open == 1:
            assert result == in_turn(files, 1)
        assert sorted(result) == sorted(in_turn(files, num_open))
    assert len(orders) > 3
    assert pairs(of(lines).shuffle(1, 8, num_open=1)) != pairs(one_by_one)


FORMATS: dict[str, Callable[[Path], hr.Pipeline]] = {
    "tfrecords": lambda files: hr.tfrecords(files / "*.tfrecord").parse({"n": int}),
    "gzip": lambda files: hr.tfrecords(files / "*.gz").parse({"n": int}),
    "text_lines": lambda files: hr.text_lines(files / "*.txt").map(lambda e: {"n": int(e["text"])}),
    "csv": lambda files: hr.csv(files / "*.csv").select("n"),
    "json_lines": lambda files: hr.json_lines(files / "*.jsonl").select("n"),
    "fixed": lambda files: hr.fixed_length_records(files / "*.fixed", 8).map(
        lambda e: {"n": int(np.frombuffer(e["record"], np.int64)[0])}
    ),
    "webdataset": lambda files: hr.webdataset(files / "*.tar").map(lambda e: {"n": int(e["n"])}),
    "image_folder": lambda files: hr.image_folder(files / "images").map(
        lambda e: {"n": int(e["data"])}
    ),
    "files": lambda files: hr.files(files / "images" / "*" / "*").map(
        lambda e: {"n": int(e["data"])}
    ),
}
if find_spec("pyarrow"):
    FORMATS["parquet"] = lambda files: hr.parquet(files / "*.parquet")


def numbers(pipeline: hr.Pipeline) -> list[int]:
    return [int(example["n"]) for example in pipeline]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", FORMATS)
def test_every_file_source_permutes_its_files_and_resumes(generated_files, kind):
    source = FORMATS[kind](generated_files)
    shuffled = source.shuffle(1, 7, num_open=2)
    orders = [numbers(in_all_ways(shuffled, epoch)) for epoch in range(8)]
    assert all(sorted(order) == list(range(97)) for order in orders)
    assert len(set(map(tuple, orders))) > 1
    assert_resumes(source.shuffle(9, 7, num_open=2).epochs(2).batch(7), every=3)


def test_different_number_of_ranks_resumes(lines):
    def rank(index: int, count: int) -> hr.Pipeline:
        return of(lines).shuffle(4, 3, num_open=3).shard(index, count).batch(1)

    full = pairs(of(lines).shuffle(4, 3, num_open=3))
    with iter(rank(1, 2)) as batches:
        for _ in range(3):
            next(batches)
        state = json.loads(json.dumps(batches.state()))
    rests = [batch for index in range(3) for batch in rank(index, 3).resume(state)]
    assert sorted(pair for batch in rests for pair in pairs_of(batch)) == sorted(full[6:])


def test_damaged_records_are_skipped_at_the_same_position(tables, items_of):
    damaged = hr.tfrecords(tables / "damaged").parse({"number": int}).skip_errors(100)
    shuffled = damaged.shuffle(20, 3)
    results = [int(example["number"]) for example in items_of(shuffled, LARGE_WAYS)]
    in_order = damaged.shuffle(20, 3, num_open=1, file_order="sequential")
    assert sorted(results) == sorted(int(example["number"]) for example in in_order)
    reports = []
    for way in LARGE_WAYS:
        with iter(shuffled.options(**way)) as batches:
            for _ in batches:
                pass
            reports.append(batches.skipped)
    assert reports[0] == reports[1] == reports[2]
    assert_resumes(shuffled.batch(50))


def test_error_names_the_damaged_file(tmp_path):
    for file in range(3):
        (tmp_path / f"{file}.csv").write_text("n\n1\n2\n" + ("x\n" if file == 1 else ""))
    with pytest.raises(hr.errors.OpError, match=r"1.csv: line 4"):
        list(hr.csv(tmp_path, {"n": int}).shuffle(2, 7))


def test_files_of_concat_are_permuted_together(lines):
    parts = [of(lines), of(lines).map(lambda e: {**e, "file": e["file"] + 10})]
    shuffled = hr.concat(parts).shuffle(1, 7, num_open=1)
    orders = [list(dict.fromkeys(file for file, _ in pairs(shuffled.epoch(n)))) for n in range(4)]
    assert all(sorted(files) == [0, 2, 3, 4, 5, 10, 12, 13, 14, 15] for files in orders)
    assert any(files != sorted(files, key=lambda file: file // 10) for files in orders)
    assert_resumes(shuffled.shuffle(5, 1).batch(3))


def test_files_of_each_part_of_mix_are_permuted(lines):
    parts = [of(lines), of(lines).map(lambda e: {**e, "file": e["file"] + 10})]
    mixed = hr.mix(parts, [1, 1], seed=1, stop="all").shuffle(1, 7, num_open=1)
    result = pairs(mixed)
    first = list(dict.fromkeys(file for file, _ in result if file < 10))
    second = list(dict.fromkeys(file - 10 for file, _ in result if file >= 10))
    assert sorted(first) == sorted(second) == [0, 2, 3, 4, 5]
    assert first != [0, 2, 3, 4, 5] or second != [0, 2, 3, 4, 5]
    assert_resumes(mixed.batch(3))


@pytest.mark.parametrize(
    "ordered",
    [
        lambda p: p.take(9),
        lambda p: p.skip(2),
        lambda p: p.shard(1, 2),
        lambda p: p.batch(2).unbatch(),
        lambda p: p.cache(),
    ],
    ids=["take", "skip", "shard", "batch", "cache"],
)
def test_files_stay_in_order_before_order_dependent_stages(lines, ordered):
    source = ordered(of(lines))
    assert pairs(source.shuffle(1, 7)) == pairs(source)


def test_parts_of_zip_with_one_seed_stay_paired(lines):
    left, right = of(lines), of(lines).rename(file="other", place="there")
    for example in hr.zip([left.shuffle(3, 7), right.shuffle(3, 7)]):
        assert (example["file"], example["place"]) == (example["other"], example["there"])


def test_pairs_of_zip_stay_together(lines):
    left, right = of(lines), of(lines).rename(file="other", place="there")
    for example in hr.zip([left, right]).shuffle(3, 7):
        assert (example["file"], example["place"]) == (example["other"], example["there"])


def test_parts_of_a_split_stay_disjoint_after_a_window(generated_files):
    for kind, source in FORMATS.items():
        one, other = source(generated_files).split(0.5, 0.5, seed=3)
        shuffled = numbers(one.shuffle(5, 7).epoch(2))
        assert sorted(shuffled) == numbers(one), kind
        assert sorted([*shuffled, *numbers(other)]) == list(range(97)), kind


def pairs_of(batch) -> list[tuple[int, int]]:
    return list(zip(batch["file"].tolist(), batch["place"].tolist(), strict=True))


def test_describe_shows_which_files_are_permuted(lines):
    text = hr.text_lines("a")
    described = text.filter(lambda e: True).shuffle(9, 7).describe()
    assert (
        "shuffle(9, 7, 16, 'shuffled'): it reads the files of text_lines in a different order in "
        "each epoch, 16 at a time"
    ) in described
    in_order = text.shuffle(9, 7, num_open=1, file_order="sequential").describe()
    assert "it reads the files of text_lines in their order, one at a time" in in_order
    assert (
        "the window gets the examples in their original order"
        in text.take(5).shuffle(9, 7).describe()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"window": 9, "num_open": 0}, "shuffle: num_open is 0, expected an int of at least 1"),
        ({"window": 9, "num_open": 10_001}, "num_open is 10001, expected at most 10,000"),
        (
            {"window": 9, "file_order": "sorted"},
            "shuffle: file_order is 'sorted', expected 'shuffled'",
        ),
        ({"num_open": 4}, "num_open, file_order and block_bytes work only with a window"),
        ({"file_order": "sequential"}, "Remove them, or pass a window"),
    ],
)
def test_invalid_arguments_are_rejected(arguments, message):
    with pytest.raises(ValueError, match=message):
        hr.text_lines("a").shuffle(**arguments)
