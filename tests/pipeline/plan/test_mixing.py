"""Estimates in `describe()` of how well shuffles mix."""

import gzip
import re

import pytest

import headrace as hr


def shuffle_line(pipe: hr.Pipeline) -> str:
    """The line of the shuffle."""
    return next(line for line in pipe.describe().splitlines() if line.startswith("shuffle("))


def num_files(pipe: hr.Pipeline) -> int:
    """The estimated number of files."""
    match = re.search(
        r"its first 1,000 examples come from about (\d+) of 200 files$", shuffle_line(pipe)
    )
    assert match, shuffle_line(pipe)
    return int(match[1])


def of_files(pipe: hr.Pipeline) -> int:
    """The actual number of files that the first examples come from."""
    with iter(pipe.batch(1000)) as batches:
        return len(set(next(batches)["text"].tolist()))


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """Files of equal lines, with indexes."""
    directory = tmp_path_factory.mktemp("classes")
    for file in range(200):
        (directory / f"{file:03}.txt").write_text(f"{file:0199}\n" * 100)
    next(iter(hr.text_lines(directory).shuffle(seed=1)))
    return directory


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"window": 10_000},
        {"window": 100, "num_open": 4},
        {"window": 10_000, "block_bytes": 4096},
        {"window": 1000, "block_bytes": 4096},
        {"window": 2000, "num_open": 1, "file_order": "sequential"},
        {"window": 10, "num_open": 64},
    ],
)
def test_estimated_number_of_files_is_close_to_the_actual_number(classes, arguments):
    pipe = hr.text_lines(classes).shuffle(seed=1, **arguments)
    assert num_files(pipe) == pytest.approx(of_files(pipe), rel=0.1, abs=1)


def test_estimate_includes_the_files_of_all_parts(classes):
    some = [hr.text_lines(classes / f"{digit}*.txt") for digit in (0, 1)]
    for pipe in (hr.concat(some), hr.mix(some, seed=1)):
        shuffled = pipe.shuffle(window=1000, block_bytes=4096, seed=1)
        assert num_files(shuffled) == pytest.approx(of_files(shuffled), rel=0.12)


def test_describe_reads_nothing_without_an_index(tmp_path):
    for file in range(20):
        (tmp_path / f"{file}.txt").write_text(f"{file:0199}\n" * 100)
    pipe = hr.text_lines(tmp_path)
    unknown = "until there are index files"
    assert shuffle_line(pipe.shuffle(seed=1)).endswith(
        f"; it is unknown how many of 20 files its first 1,000 examples come from {unknown}"
    )
    assert shuffle_line(pipe.shuffle(window=100, seed=1)).endswith(
        "; its first 1,000 examples come from at least 16 of 20 files (the exact number is "
        "unknown until there are index files)"
    )
    at_least = shuffle_line(pipe.shuffle(window=100, seed=1, num_open=4, block_bytes=400))
    assert "come from at least 4 of 20 files" in at_least
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".txt"] * 20


def test_compressed_files_never_have_an_index(tmp_path):
    for file in range(20):
        (tmp_path / f"{file}.gz").write_bytes(gzip.compress(b"a\n" * 100))
    line = shuffle_line(hr.text_lines(tmp_path, compression="gzip").shuffle(window=100, seed=1))
    assert line.endswith(
        "its first 1,000 examples come from at least 16 of 20 files (the exact number is unknown)"
    )


def test_fixed_length_records_are_counted_from_sizes(tmp_path):
    for file in range(4):
        (tmp_path / f"{file}.bin").write_bytes(bytes(30))
    pipe = hr.fixed_length_records(tmp_path, 3).shuffle(window=5, seed=1)
    assert shuffle_line(pipe).endswith("; its examples come from about 4 of 4 files")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Files of 10 row groups, and a class for each file."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    directory = tmp_path_factory.mktemp("tables")
    for file in range(200):
        table = pa.table({"text": [f"{file:03}"] * 100, "row": range(100)})
        pq.write_table(table, directory / f"{file:03}.parquet", row_group_size=10)
    return directory


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"window": 10_000},
        {"window": 100, "num_open": 4},
        {"window": 1000, "num_open": 64},
        {"window": 2000, "num_open": 1, "file_order": "sequential"},
    ],
)
def test_row_groups_are_counted_from_footers(tables, arguments):
    pipe = hr.parquet(tables).shuffle(seed=1, **arguments)
    assert num_files(pipe) == pytest.approx(of_files(pipe), rel=0.12, abs=1)


def test_number_of_rows_with_a_condition_is_unknown(tables):
    few = hr.parquet(tables, where=[("text", "<", "040")])
    unknown = "the exact number is unknown"
    assert shuffle_line(few.shuffle(window=100, seed=1)).endswith(
        f"; its first 1,000 examples come from at least 13 of 40 files ({unknown})"
    )
    assert shuffle_line(few.shuffle(seed=1)).endswith(
        "; it is unknown how many of 40 files its first 1,000 examples come from"
    )
    none = hr.parquet(tables, where=[("text", "<", "000")])
    assert shuffle_line(none.shuffle(window=100, seed=1)).endswith("16 at a time")


def test_describe_ignores_missing_files(tmp_path):
    assert shuffle_line(hr.text_lines(tmp_path / "*.txt").shuffle(window=5, seed=1)).endswith(
        "16 at a time"
    )
    assert shuffle_line(hr.text_lines("gs://nowhere/*").shuffle(window=5, seed=1)).endswith(
        "16 at a time"
    )


def test_unshuffled_order_has_no_estimate(classes):
    lines = hr.text_lines(classes)
    for pipe in (lines.take(50), lines.shuffle(5, 1), hr.arrays({"n": [1, 2]})):
        assert "files its" not in pipe.shuffle(7, 1).describe().splitlines()[-2]
    assert "come from" not in shuffle_line(
        hr.text_lines(classes / "000.txt").shuffle(window=5, seed=1)
    )


def test_describe_reports_that_a_window_over_blocks_needs_an_index():
    off = {"index": "off"}
    blocks = {"window": 5, "seed": 1, "block_bytes": 100}
    refused = (
        "which is not possible, because options(index='off') forbids scanning the files for the "
        "borders of blocks"
    )
    assert refused in shuffle_line(hr.tfrecords("a").shuffle(**blocks).options(**off))
    assert refused not in shuffle_line(hr.tfrecords("a").shuffle(**blocks))
    assert refused not in shuffle_line(hr.text_lines("a").shuffle(**blocks).options(**off))
    assert refused not in shuffle_line(hr.tfrecords("a").shuffle(window=5, seed=1).options(**off))
