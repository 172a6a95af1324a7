"""Unclosed quotes in CSV files: the rows that are lost, and the error."""

import csv
import io
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.conftest import WAYS

import headrace as hr
from headrace.core import errors
from headrace.testing import assert_resumes

COLUMNS = {"number": int, "text": str}


def write(path: Path, lines: list[str]) -> list[int]:
    """Writes a table, and returns the offset of each line, including the header."""
    path.write_text("".join(["number,text\n", *lines]))
    lengths = [len(line.encode()) for line in ["number,text\n", *lines]]
    return list(accumulate(lengths, initial=0))


def numbered(count: int) -> list[str]:
    return [f"{number},text {number}\n" for number in range(count)]


def run(pipeline):
    """Returns all sorted numbers and the skipped records, equal for all ways to run it."""
    first, *others = (once(pipeline.options(**way)) for way in WAYS)
    assert all(other == first for other in others)
    return first


def once(pipeline):
    with iter(pipeline) as batches:
        numbers = sorted(int(example["number"]) for example in batches)
        return numbers, batches.skipped


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_stray_quote_costs_one_line(tmp_path, is_shuffled):
    lines = numbered(50_000)
    # The first quote is never closed, and the second is closed by the quote that begins another
    # field.
    lines[40_000] = '40000,"text\n'
    lines[7] = '7,"text\n'
    lines[9_000] = '9000,"9,000"\n'
    begins = write(tmp_path / "a.csv", lines)
    source = hr.csv(tmp_path / "a.csv", COLUMNS)
    source = source.shuffle(seed=3) if is_shuffled else source
    numbers, skipped = run(source.skip_errors(2))
    assert numbers == [number for number in range(50_000) if number not in (7, 40_000)]
    results = sorted((one.record_number, one.offset_bytes, one.num_lost) for one in skipped)
    assert results == [(8, begins[8], 1), (40_001, begins[40_001], 1)]
    assert [one.stage for one in skipped] == ["csv", "csv"]
    assert skipped[0].reason.startswith(
        f"{tmp_path}/a.csv: line 9: a quote in line 9 opens a field, and the next quote, in line "
        "9002, is not followed by a delimiter or a line end; 1 line (8 bytes) is not a record. "
    )
    assert len(list(source.skip_errors(0.001))) == 49_998


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_error_for_a_stray_quote_names_the_line(tmp_path, is_shuffled):
    lines = numbered(3000)
    lines[2000] = '2000,"text\n'
    write(tmp_path / "a.csv", lines)
    pipeline = hr.csv(tmp_path / "a.csv", COLUMNS)
    pipeline = pipeline.shuffle(seed=3) if is_shuffled else pipeline
    inputs = []
    with pytest.raises(
        errors.InvalidArgumentError, match=r"a.csv: line 2002: a quote in line 2002"
    ):
        inputs.extend(pipeline)
    assert len(inputs) == (0 if is_shuffled else 2000)


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_lost_lines_count_towards_the_budget(tmp_path, is_shuffled):
    lines = numbered(2000)
    # Text of five lines, one of them blank, with a quote that is not doubled.
    lines[1500] = '1500,"one\ntwo "2"\n\nthree\nfour"\n'
    begins = write(tmp_path / "a.csv", lines)
    source = hr.csv(tmp_path / "a.csv", COLUMNS)
    source = source.shuffle(seed=3) if is_shuffled else source
    numbers, [skipped] = run(source.skip_errors(4))
    assert numbers == [number for number in range(2000) if number != 1500]
    assert (skipped.record_number, skipped.offset_bytes) == (1501, begins[1501])
    assert skipped.num_lost == 4
    lost = f"4 lines ({len(lines[1500])} bytes) up to the next record are not records."
    assert lost in skipped.reason
    with pytest.raises(
        errors.InvalidArgumentError,
        match="0 examples were skipped before these 4, and the budget is 3",
    ):
        list(source.skip_errors(3))
    # 4 of 1,504 are more than 0.25 % where the line is met, and of 2,003 less where all were read.
    if is_shuffled:
        assert len(list(source.skip_errors(0.0025))) == 1999
    else:
        with pytest.raises(errors.InvalidArgumentError, match="0 of 1500 examples were skipped"):
            list(source.skip_errors(0.0025))
    with pytest.raises((errors.InvalidArgumentError, errors.SkippedExamples)):
        list(source.skip_errors(0.0019))


def test_lines_inside_a_field_of_a_wrong_type_count_as_lost(tmp_path):
    lines = numbered(100)
    # It is closed and has two fields. Only a field's type shows that it is not a record.
    lines[50] = '"50,a\n51,b\n52,",c\n'
    write(tmp_path / "a.csv", lines)
    numbers, [skipped] = run(hr.csv(tmp_path / "a.csv", COLUMNS).skip_errors(3))
    assert numbers == [number for number in range(100) if number != 50]
    assert (skipped.record_number, skipped.num_lost) == (51, 3)


def test_file_that_starts_with_a_stray_quote_resumes(tmp_path):
    lines = numbered(40)
    for number in (0, 1, 17, 39):
        lines[number] = f'{number},"text\n'
    write(tmp_path / "a.csv", lines)
    write(tmp_path / "b.csv", numbered(5))
    source = hr.csv([tmp_path / "a.csv", tmp_path / "b.csv"], COLUMNS)
    for pipeline in (
        source.skip_errors(9).batch(3),
        source.shuffle(seed=3).skip_errors(9).epochs(2).batch(3),
        source.skip_errors(9).shuffle(window=7, seed=3).batch(3),
    ):
        assert_resumes(pipeline)
        assert_resumes(pipeline.options(num_threads=8))
    numbers, skipped = run(source.skip_errors(9))
    assert len(numbers) == 36 + 5
    # The second line does not fit either.
    results = [(one.record_number, one.num_lost) for one in skipped]
    assert results == [(1, 2), (18, 1), (40, 1)]


def test_resumed_report_counts_the_lost_records(tmp_path):
    lines = numbered(100)
    lines[10] = '10,"one\ntwo "2"\nthree"\n'
    lines[60] = '60,"text\n'
    write(tmp_path / "a.csv", lines)
    pipeline = hr.csv(tmp_path / "a.csv", COLUMNS).skip_errors(3).batch(5)
    with iter(pipeline) as batches:
        [next(batches) for _ in range(4)]
        state = batches.state()
    assert [one.num_lost for one in pipeline.resume(state).skipped] == [3]
    with pytest.raises(errors.InvalidArgumentError, match="3 examples were skipped before this"):
        list(pipeline.resume(state))


def test_multiline_field_is_limited_to_16_mebibytes(tmp_path):
    lines = numbered(1_200_000)
    lines[5] = '5,"text\n'
    write(tmp_path / "a.csv", lines)
    assert (tmp_path / "a.csv").stat().st_size > 17 << 20
    pipeline = hr.csv(tmp_path / "a.csv", COLUMNS).batch(100_000).options(memory_bytes=64 << 20)
    with pytest.raises(errors.InvalidArgumentError, match="line 7: a quote in line 7 opens"):
        list(pipeline)
    pipeline = hr.csv(tmp_path / "a.csv", COLUMNS).skip_errors(1).batch(100_000)
    assert sum(len(batch["number"]) for batch in pipeline) == 1_199_999


def test_blank_lines_within_an_invalid_record_count(tmp_path):
    write(tmp_path / "a.csv", ["1,a\n", '2x"0,"\n', " \n", "\n", '"\n', "3,b\n"])
    numbers, [skipped] = run(hr.csv(tmp_path / "a.csv", COLUMNS).skip_errors(3))
    assert numbers == [1, 3]
    assert (skipped.record_number, skipped.num_lost) == (2, 3)


FIELD = st.text(st.sampled_from('ab,"\n '), max_size=6)


@given(
    rows=st.lists(st.tuples(st.integers(0, 99), FIELD), min_size=1, max_size=12),
    strays=st.lists(st.integers(0, 200), max_size=3),
)
def test_all_lines_lost_to_stray_quotes_are_reported(tmp_path, rows, strays):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("number", "text"), *rows])
    written = text.getvalue()
    head, body = written[:12], written[12:]
    for position in strays:
        body = body[: position % (len(body) + 1)] + '"' + body[position % (len(body) + 1) :]
    path = tmp_path / "a.csv"
    path.write_text(head + body, newline="")
    source = hr.csv(path, {"number": bytes, "text": bytes}).with_origin()
    results = []
    for pipeline in (source, source.shuffle(seed=1)):
        with iter(pipeline.skip_errors(10**6)) as batches:
            inputs = sorted((int(e["record_number"]), e["number"], e["text"]) for e in batches)
        skipped = sorted((s.record_number, s.offset_bytes, s.num_lost) for s in batches.skipped)
        results.append((inputs, skipped))
    assert results[0] == results[1]
    inputs, skipped = results[0]
    lines = [line for line in body.split("\n") if line.strip("\r")]
    kept = sum(1 + _lines_within(number) + _lines_within(text) for _, number, text in inputs)
    assert kept + sum(lost for *_, lost in skipped) >= len(lines)
    if not strays:
        assert [(int(n), t.decode()) for _, n, t in inputs] == rows
        assert not skipped


def _lines_within(field: bytes) -> int:
    return field.count(b"\n")


def test_files_without_stray_quotes_are_read_normally(tmp_path):
    lines = [f'{number},"a ""{number}""\n\n, b"\n' for number in range(20_000)]
    write(tmp_path / "a.csv", lines)
    [batch] = hr.csv(tmp_path / "a.csv", COLUMNS).batch(20_000)
    assert batch["number"].tolist() == list(range(20_000))
    assert batch["text"].tolist() == [f'a "{number}"\n\n, b' for number in range(20_000)]
    assert batch["number"].dtype == np.int64
