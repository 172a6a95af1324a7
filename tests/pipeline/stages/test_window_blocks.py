"""Windowed shuffles permute blocks of files: runs of complete records of similar size."""

import gzip
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example as case
from hypothesis import given as drawn
from hypothesis import strategies as st
from tests.archives import add_members
from tests.pipeline.conftest import LARGE_WAYS, same

import headrace as hr
from headrace.io.records import TFRecordWriter
from headrace.testing import assert_resumes

# Block sizes below and above the sizes of records and of files.
BLOCKS = (1, 37, 200, 10_000)
_ARCHIVE_BLOCKS = (300, 5000, 1_000_000)


def lines_of(count: int, file: int) -> Iterator[str]:
    """Lines of various lengths, some of them empty."""
    return (f"{file}-{n} " + "x" * (n * n % 90) if n % 7 else "" for n in range(count))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of every format: one empty, one without a last line end, one with a byte order mark."""
    directory = tmp_path_factory.mktemp("blocks")
    for file, count in enumerate((61, 0, 1, 40)):
        mark = "\ufeff" if file == 3 else ""
        text = mark + ("\r\n" if file == 3 else "\n").join(lines_of(count, file))
        (directory / f"{file}.txt").write_text(text, newline="")
        objects = (f'{{"text": "{line}"}}' if line else "  " for line in lines_of(count, file))
        (directory / f"{file}.jsonl").write_text(mark + "\n".join(objects), newline="")
        fields = (
            f'{n},"a\nb,""{line}"\n' + "\n" * (n % 3)
            for n, line in enumerate(lines_of(count, file))
        )
        (directory / f"{file}.csv").write_text(mark + "n,text\n" + "".join(fields), newline="")
        records = np.arange(3 * count, dtype=np.uint8).reshape(count, 3) + 50 * file
        (directory / f"{file}.fixed").write_bytes(b"header" + records.tobytes() + b"end")
        with TFRecordWriter(directory / f"{file}.tfrecord") as writer:
            for line in lines_of(count, file):
                writer.write(line.encode())
        with tarfile.open(directory / f"{file}.tar", "w") as archive:
            for n, line in enumerate(lines_of(count, file)):
                add_members(archive, ((f"{n}.a", line.encode()), (f"{n}.b", b"%d" % n)))
        with gzip.open(directory / f"{file}.gz", "wb") as packed:
            packed.write(text.encode())
    return directory


SOURCES: dict[str, Callable[[Path], hr.Pipeline]] = {
    "text_lines": lambda files: hr.text_lines(files / "*.txt"),
    "gzip": lambda files: hr.text_lines(files / "*.gz"),
    "json_lines": lambda files: hr.json_lines(files / "*.jsonl", {"text": str}),
    "csv": lambda files: hr.csv(files / "*.csv", {"n": int, "text": str}),
    "fixed": lambda files: hr.fixed_length_records(files / "*.fixed", 3, 6, 3),
    "tfrecords": lambda files: hr.tfrecords(files / "*.tfrecord"),
    "webdataset": lambda files: hr.webdataset(files / "*.tar"),
    "files": lambda files: hr.files(files / "*.txt"),
}


def plain(examples: Any) -> list[tuple[Any, ...]]:
    return [tuple(str(value) for value in example.values()) for example in examples]


def in_all_ways(pipeline: hr.Pipeline, epoch: int) -> list[dict[str, Any]]:
    """An epoch, which is the same for all numbers of threads and all budgets."""
    first, *others = (list(pipeline.options(**way).epoch(epoch)) for way in LARGE_WAYS)
    assert all(same(first, other) for other in others)
    return first


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", SOURCES)
def test_pieces_of_every_source_contain_each_record_once_and_resume(directory, kind):
    source = SOURCES[kind](directory)
    in_order = plain(source)
    for block_bytes in _ARCHIVE_BLOCKS if kind == "webdataset" else BLOCKS:
        shuffled = source.shuffle(1, 7, num_open=3, block_bytes=block_bytes)
        orders = [plain(in_all_ways(shuffled, epoch)) for epoch in range(2)]
        assert all(sorted(order) == sorted(in_order) for order in orders), block_bytes
        if kind not in ("gzip", "files") and block_bytes < 1000:
            assert orders[0] != orders[1]
    resumed = source.shuffle(9, 7, num_open=3, block_bytes=100).epochs(2)
    assert_resumes(resumed.batch(7), every=5)


def test_block_shuffle_mixes_sorted_files_differently_in_each_epoch(tmp_path):
    for file in range(200):
        (tmp_path / f"{file:03}.txt").write_text(f"{file:0199}\n" * 1000)
    shuffled = hr.text_lines(tmp_path).shuffle(window=10_000, seed=1, block_bytes=4096).batch(1000)
    firsts = []
    for epoch in (0, 1, 5):
        with iter(shuffled.epoch(epoch)) as batches:
            firsts.append([int(text) for text in next(batches)["text"]])
    assert all(len(set(files)) >= 150 for files in firsts), [len(set(files)) for files in firsts]
    assert sorted(firsts[0]) != sorted(firsts[1]) != sorted(firsts[2]) != sorted(firsts[0])


def pieces_of(lines: list[bytes], block_bytes: int) -> dict[int, list[bytes]]:
    """The lines that begin in each block of a file."""
    pieces: dict[int, list[bytes]] = {}
    start = 0
    for line in lines:
        pieces.setdefault(start // block_bytes, []).append(line)
        start += len(line) + 1
    return pieces


@pytest.mark.parametrize("block_bytes", [5, 64, 300])
def test_piece_contains_the_lines_that_start_in_its_bytes(tmp_path, block_bytes):
    lines = [line.encode() for line in lines_of(80, 0)]
    (tmp_path / "a.txt").write_bytes(b"".join(line + b"\n" for line in lines))
    shuffled = hr.text_lines(tmp_path).shuffle(1, 7, num_open=1, block_bytes=block_bytes)
    results = [bytes(example["text"]) for example in shuffled]
    pieces = pieces_of(lines, block_bytes)
    rest, order = results, []
    while rest:
        # The longest matching piece. Pieces of empty lines are equal.
        number = max(
            (n for n, piece in pieces.items() if rest[: len(piece)] == piece),
            key=lambda n: len(pieces[n]),
        )
        order.append(number)
        rest = rest[len(pieces.pop(number)) :]
    assert not pieces
    assert order != sorted(order)


@pytest.mark.parametrize(
    "kind", ["text_lines", "json_lines", "csv", "fixed", "tfrecords", "webdataset"]
)
def test_records_keep_their_numbers(directory, kind):
    source = SOURCES[kind](directory).with_origin()
    in_order = sorted(plain(source))
    for block_bytes in _ARCHIVE_BLOCKS if kind == "webdataset" else BLOCKS:
        shuffled = source.shuffle(1, 7, block_bytes=block_bytes)
        assert sorted(plain(shuffled)) == in_order, block_bytes


def test_draws_and_split_parts_match_the_ordered_source(directory):
    def draw(example, rng):
        return {"text": example["text"], "draw": rng.integers(2**40)}

    source = SOURCES["text_lines"](directory)
    for output in (source.map(draw, seed=3), *source.split(0.4, 0.6, seed=5)):
        assert sorted(plain(output.shuffle(1, 7, block_bytes=100))) == sorted(plain(output))


def test_errors_name_the_line(tmp_path):
    rows = [f"{n}\n" for n in range(500)]
    rows[333] = "x\n"
    (tmp_path / "a.csv").write_text("n\n" + "".join(rows))
    (tmp_path / "a.jsonl").write_text("".join(f'{{"n": {row.strip()}}}\n\n' for row in rows))
    for source, line in (
        (hr.csv(tmp_path / "a.csv", {"n": int}), 335),
        (hr.json_lines(tmp_path / "a.jsonl", {"n": int}), 667),
    ):
        shuffled = source.shuffle(10, 7, block_bytes=64)
        with pytest.raises(hr.errors.OpError, match=rf"a\.\w+: line {line}\b"):
            list(shuffled)
        skipping = source.skip_errors(5)
        reports = []
        for pipe in (skipping, skipping.shuffle(10, 7, block_bytes=64)):
            with iter(pipe) as batches:
                assert sorted(int(e["n"]) for e in batches) == [n for n in range(500) if n != 333]
                reports.append(batches.skipped)
        assert reports[0] == reports[1]
        assert reports[0][0].record_number == line - 1


def report(skipped) -> list[tuple[Any, ...]]:
    return sorted((s.file, s.record_number, s.offset_bytes, s.reason) for s in skipped)


@pytest.mark.parametrize("cut", [None, 700, 3])
def test_skipped_damaged_records_match_the_ordered_source(tables, tmp_path, cut):
    path = tmp_path / "damaged.tfrecord"
    path.write_bytes(
        (tables / "damaged" / "0.tfrecord").read_bytes()[: None if cut is None else -cut]
    )
    damaged = hr.tfrecords(path).parse({"number": int}).skip_errors(500)
    results, reports = [], []
    for pipe in (damaged, damaged.shuffle(20, 3, block_bytes=500)):
        with iter(pipe) as batches:
            results.append(sorted(int(example["number"]) for example in batches))
            reports.append(report(batches.skipped))
    assert results[0] == results[1]
    assert reports[0] == reports[1] != []
    in_all_ways(damaged.shuffle(20, 3, block_bytes=500), 1)
    assert_resumes(damaged.shuffle(20, 3, block_bytes=500).batch(20), every=3)


def test_csv_lines_lost_to_stray_quotes_match_the_ordered_source(tmp_path):
    rows = [f"{n},text {n}\n" for n in range(300)]
    rows[50], rows[51], rows[170] = '50,"text\n', '51,"te"xt\n', '170,"a\nb\nc",d\n'
    (tmp_path / "a.csv").write_text("n,text\n" + "".join(rows))
    source = hr.csv(tmp_path / "a.csv", {"n": int, "text": str}).skip_errors(50)
    results, reports = [], []
    for block_bytes in (None, 16, 100, 1000):
        shuffled = source if block_bytes is None else source.shuffle(9, 7, block_bytes=block_bytes)
        with iter(shuffled) as batches:
            results.append(sorted(int(example["n"]) for example in batches))
            reports.append(report(batches.skipped))
    assert results[0] == results[1] == results[2] == results[3]
    assert len(reports[0]) > 1
    assert reports[0] == reports[1] == reports[2] == reports[3]


@drawn(
    st.lists(st.sampled_from(["a", ",", '"', "\n", "\r\n", '"\n"', "b,c\n", "\n\n"]), max_size=40),
    st.integers(1, 12),
)
@case(["b,c\n", '"', "\n", '"', ",", "a", "\n", "b,c\n"], 4)
def test_records_of_any_text_in_blocks_match_the_ordered_source(
    tmp_path_factory, text, block_bytes
):
    path = tmp_path_factory.getbasetemp() / "any_text.csv"
    path.write_bytes("".join(text).encode())
    lines = hr.text_lines(path).with_origin()
    table = hr.csv(path, {"n": bytes, "m": bytes}, header=False).with_origin().skip_errors(100)
    for source in (lines, table):
        shuffled = source.shuffle(1, 7, num_open=2, block_bytes=block_bytes)
        with iter(source) as in_order, iter(shuffled) as blocks:
            assert sorted(plain(blocks)) == sorted(plain(in_order))
            assert report(blocks.skipped) == report(in_order.skipped)


def test_state_is_small_and_resumes_with_a_different_number_of_ranks(tmp_path):
    for file in range(3):
        (tmp_path / f"{file}.txt").write_text("".join(f"{file} {n}\n" for n in range(500)))

    def shuffled() -> hr.Pipeline:
        return hr.text_lines(tmp_path).shuffle(40, 3, num_open=3, block_bytes=200)

    full = plain(shuffled())
    with iter(shuffled().shard(1, 2).batch(1)) as batches:
        for _ in range(30):
            next(batches)
        state = json.dumps(batches.state())
    assert len(state) < 1500
    rests = []
    for index in range(3):
        rank = shuffled().shard(index, 3).batch(1)
        rests += [str(batch["text"][0]) for batch in rank.resume(json.loads(state))]
    assert sorted(rests) == sorted(text for (text,) in full[60:])


@pytest.mark.parametrize(
    "before",
    [
        lambda a, b: hr.concat([a, b]),
        lambda a, b: hr.mix([a, b], [1, 2], seed=1, stop="all"),
        lambda a, b: hr.concat([a, b.take(9)]),
    ],
    ids=["concat", "mix", "concat with take"],
)
def test_pieces_of_combined_sources_are_permuted(directory, before):
    lines, records = SOURCES["text_lines"](directory), SOURCES["tfrecords"](directory)
    both = before(lines, records.rename(record="text"))
    shuffled = both.shuffle(1, 7, block_bytes=100)
    assert sorted(plain(in_all_ways(shuffled, 1))) == sorted(plain(both))
    assert plain(shuffled) != plain(both)
    assert_resumes(shuffled.skip(3).take(80).batch(3), every=7)


def test_non_text_file_is_rejected_whichever_piece_comes_first(tmp_path):
    page = "<!DOCTYPE html>\n" + "<p>line</p>\n" * 200
    (tmp_path / "a.csv").write_text(page)
    shuffled = hr.csv(tmp_path / "a.csv", {"n": str}, header=False).shuffle(1, 7, block_bytes=50)
    for epoch in range(4):
        with (
            iter(shuffled.epoch(epoch)) as batches,
            pytest.raises(
                hr.errors.InvalidArgumentError,
                match=r"a\.csv: the file is an HTML page, expected lines",
            ),
        ):
            next(batches)


def test_file_that_changes_during_the_epoch_is_rejected(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{n}\n" for n in range(100_000)))
    shuffled = hr.text_lines(path).shuffle(1, 7, block_bytes=1000)
    with iter(shuffled.batch(1)) as batches:
        next(batches)
        path.write_text("other\n" * 100_000)
        with pytest.raises(hr.errors.OpError, match=r"a\.txt: the file changed while it was read"):
            list(batches)
    assert {bytes(example["text"]) for example in shuffled} == {b"other"}


def test_missing_file_is_reported_before_the_first_batch(tmp_path):
    (tmp_path / "a.txt").write_text("a\n")
    shuffled = hr.text_lines([tmp_path / "a.txt", tmp_path / "b.txt"]).shuffle(1, 7, block_bytes=9)
    with pytest.raises(hr.errors.NotFoundError, match=r"b\.txt"):
        next(iter(shuffled))


def test_state_with_a_different_block_size_is_rejected(directory):
    def shuffled(block_bytes: int | None) -> hr.Pipeline:
        source = SOURCES["text_lines"](directory)
        return source.shuffle(9, 7, block_bytes=block_bytes).batch(2)

    with iter(shuffled(100)) as batches:
        next(batches)
        state = batches.state()
    for other in (None, 200):
        with pytest.raises(ValueError, match=r"stage 1 is shuffle\(.*but it was shuffle\(.*100\)"):
            iter(shuffled(other).resume(state))


def test_describe_shows_the_size_of_pieces():
    shuffled = hr.text_lines("a").shuffle(9, 7, block_bytes=4 << 20)
    expected = (
        "it reads pieces of 4,194,304 bytes of the files of text_lines in a different order in "
        "each epoch, 16 at a time"
    )
    assert expected in shuffled.describe()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"window": 9, "block_bytes": 0},
            "shuffle: block_bytes is 0, expected an int of at least 1",
        ),
        ({"block_bytes": 9}, "block_bytes work only with a window"),
        (
            {"window": 9, "block_bytes": 9, "file_order": "sequential"},
            "block_bytes is 9, but file_order is 'sequential'",
        ),
    ],
)
def test_invalid_arguments_are_rejected(arguments, message):
    with pytest.raises(ValueError, match=message):
        hr.text_lines("a").shuffle(**arguments)
