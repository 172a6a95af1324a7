"""Types inferred from the beginning of CSV files and JSON lines: they hold all values."""

import json
import re

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors

FAR = 60_000  # Records after the first block.


@pytest.fixture
def table(tmp_path):
    """Writes a CSV file with one column `a`."""

    def write(*fields):
        path = tmp_path / "a.csv"
        path.write_text("a,b\n" + "".join(f"{field},\n" for field in fields))
        return path

    return write


@pytest.fixture
def objects(tmp_path):
    """Writes JSON lines of these texts, of the key `a`; None for a line without it."""

    def write(*texts):
        path = tmp_path / "a.jsonl"
        lines = ("{}" if text is None else f'{{"a": {text}}}' for text in texts)
        path.write_text("\n".join(lines))
        return path

    return write


def column(pipeline):
    """The type of `a`, and its values."""
    values = [example["a"] for example in pipeline]
    dtype = pipeline.spec["a"].dtype
    return dtype, values


@pytest.mark.parametrize(
    ("fields", "dtype", "values"),
    [
        (["123456789", "5"], "int64", [123456789, 5]),
        (["-9223372036854775808", "9223372036854775807"], "int64", [-(2**63), 2**63 - 1]),
        # With a missing value: float64 if that is exact.
        (["123456789", ""], "float64", [123456789.0, np.nan]),
        (["1", "nan"], "float64", [1.0, np.nan]),
        (["0.5", "", "2"], "float32", [0.5, np.nan, 2]),
        (["3.1415927", "-1e-3"], "float32", [np.float32(3.1415927), np.float32(-1e-3)]),
        (["1700000001.25", "1"], "float64", [1700000001.25, 1]),
        (["0.5", "16777217"], "float64", [0.5, 16777217]),
        (["0.1000000000000000055511"], "float32", [np.float32(0.1)]),
        (["1e39"], "float64", [1e39]),
        (["true", "False"], "bool", [True, False]),
        ([" 12 ", "7"], "int64", [12, 7]),
        # Text that only looks like a number.
        (["01234", "10115"], str, ["01234", "10115"]),
        (["+4930", "112"], str, ["+4930", "112"]),
        (["1_000"], str, ["1_000"]),
        (["0x10"], str, ["0x10"]),
        (["1.2.3", "1"], str, ["1.2.3", "1"]),
        (["12345678901234567890", "1"], str, ["12345678901234567890", "1"]),
        (["0.5", "9007199254740993"], str, ["0.5", "9007199254740993"]),
        (["1e400"], str, ["1e400"]),
        (["nan"], str, ["nan"]),
        (["x", "", '""', "1"], str, ["x", "", "", "1"]),
        (["", ""], str, ["", ""]),
        (["true", ""], str, ["true", ""]),
        (["true", "1"], str, ["true", "1"]),
        (["1", "NA", "null"], str, ["1", "NA", "null"]),
    ],
)
def test_types_are_inferred_from_csv_fields(table, fields, dtype, values):
    found, given = column(hr.csv(table(*fields)))
    assert found == (dtype if dtype is str else np.dtype(dtype))
    assert given == values or np.array_equal(given, values, equal_nan=True)


def test_integers_with_gaps_stay_int64_if_something_fills_them(table):
    path = table("123456789", "")
    found, given = column(hr.csv(path, defaults={"a": -1}))
    assert (found, given) == (np.dtype(np.int64), [123456789, -1])
    # float64 would not hold it.
    path = table("9007199254740993", "", "4")
    with pytest.raises(
        errors.InvalidArgumentError, match=r"line 3: .*'a' is empty, expected int64"
    ):
        column(hr.csv(path))
    assert column(hr.csv(path).skip_errors(1)) == (np.dtype(np.int64), [9007199254740993, 4])
    assert column(hr.csv(path, defaults={"a": 0}))[1] == [9007199254740993, 0, 4]


def test_booleans_with_gaps_stay_bool_if_something_fills_them(table):
    found = column(hr.csv(table("true", ""), defaults={"a": False}))
    assert found == (np.dtype(np.bool_), [True, False])


def test_words_for_missing_values_are_recognised(table):
    path = table("123456789", "NA", '"null"', "")
    for words in (["NA", "null"], ("null", "NA")):
        found, given = column(hr.csv(path, na_values=words))
        assert found == np.float64
        assert np.array_equal(given, [123456789, np.nan, np.nan, np.nan], equal_nan=True)
    assert column(hr.csv(path, {"a": int}, na_values=["NA", "null"], defaults={"a": 7})) == (
        np.dtype(np.int64),
        [123456789, 7, 7, 7],
    )
    # Such a word may be a number or a text.
    assert np.isnan(column(hr.csv(table("-999", "1.5"), {"a": float}, na_values="-999"))[1][0])
    assert column(hr.csv(table("x", "NA"), na_values="NA"))[1] == ["x", ""]
    with pytest.raises(errors.InvalidArgumentError, match=r"line 3: .*'a' is 'NA', expected int64"):
        list(hr.csv(table("1", "NA"), {"a": int}, na_values="NA"))
    for wrong in (3, [b"NA"], {"NA": 1}, None):
        with pytest.raises(TypeError, match="csv: na_values is"):
            hr.csv(path, na_values=wrong)


@pytest.mark.parametrize("way", [{"num_threads": 1}, {"num_threads": 8}])
@pytest.mark.parametrize(
    ("usual", "late", "dtype"),
    [
        ("123", "1.5", "int64"),
        ("123", "01234", "int64"),
        ("123", "+7", "int64"),
        ("123", "9223372036854775808", "int64"),
        ("0.5", "3.14159265", "float32"),
        ("0.5", "16777217", "float32"),
        ("0.5", "x", "float32"),
        ("0.5", "007", "float32"),
        ("0.123456789", "9007199254740993", "float64"),
        ("0.123456789", "1e400", "float64"),
        ("true", "1", "bool"),
        ("true", "yes", "bool"),
    ],
)
def test_a_later_field_beyond_the_type_is_an_error(table, way, usual, late, dtype):
    path = table(*[usual] * FAR, late, usual)
    given = []
    message = (
        f"a.csv: line {FAR + 2}: the field of column 'a' is '{late}', expected {dtype}. The type "
        "was inferred from the first block. Give the types, with columns={...}."
    )
    with pytest.raises(errors.InvalidArgumentError, match=re.escape(message)):
        given.extend(len(batch["a"]) for batch in hr.csv(path).batch(100).options(**way))
    assert sum(given) == FAR
    with iter(hr.csv(path).skip_errors(1).batch(100).options(**way)) as batches:
        assert sum(len(batch["a"]) for batch in batches) == FAR + 1
    assert [one.record_number for one in batches.skipped] == [FAR + 1]
    assert message in batches.skipped[0].reason


def test_later_values_that_the_type_holds_are_read(table):
    path = table(*["0.5"] * FAR, "", "nan", "-inf", "2", "1e-3")
    found, given = column(hr.csv(path))
    expected = np.array([np.nan, np.nan, -np.inf, 2, 1e-3], np.float32)
    assert found == np.float32
    assert np.array_equal(given[FAR:], expected, equal_nan=True)
    assert column(hr.csv(table(*["x"] * FAR, "", "3")))[1][FAR:] == ["", "3"]


@pytest.mark.parametrize(
    ("word", "text", "more"),
    [
        (float, "1e39", "float32, which it does not hold; float64 holds more"),
        (float, "-1e400", "float32, which"),
        (float, "1e-50", "float32, which"),
        (np.float64, "1e400", "float64, which"),
        (np.float16, "70000", "float16, which"),
    ],
)
def test_a_float_type_rounds_numbers_and_refuses_other_text(tmp_path, table, word, text, more):
    with pytest.raises(errors.InvalidArgumentError, match=f"'a' is '{text}', expected {more}"):
        list(hr.csv(table("1", text), {"a": word}))
    rounded = ["123456789", "0.1", "1700000001.25", "inf", "nan", "0", "-0.0", "0e-400"]
    if word is float:
        [batch] = hr.csv(table(*rounded), {"a": float}).batch(10)
        assert np.array_equal(batch["a"], np.array(rounded, np.float32), equal_nan=True)
        (tmp_path / "b").write_text('{"a": 1e39}')
        with pytest.raises(errors.InvalidArgumentError, match=r"'a' is floating point `10{39}\.0`"):
            list(hr.json_lines(tmp_path / "b", {"a": float}))


@pytest.mark.parametrize(
    ("texts", "dtype", "values"),
    [
        (["123456789", "5"], "int64", [123456789, 5]),
        (["123456789", None], "float64", [123456789.0, np.nan]),
        (["123456789", "null"], "float64", [123456789.0, np.nan]),
        (["0.5", None, "2"], "float32", [0.5, np.nan, 2]),
        (["1700000001.25", "1"], "float64", [1700000001.25, 1]),
        (["0.5", "16777217"], "float64", [0.5, 16777217]),
        (["0.5", "NaN", "-Infinity"], "float32", [0.5, np.nan, -np.inf]),
        (["12345678901234567890", "1"], "uint64", [12345678901234567890, 1]),
        (['"01234"', None], str, ["01234", ""]),
        (["true", "false"], "bool", [True, False]),
    ],
)
def test_types_are_inferred_from_json_values(objects, texts, dtype, values):
    found, given = column(hr.json_lines(objects(*texts)))
    assert found == (dtype if dtype is str else np.dtype(dtype))
    assert given == values or np.array_equal(given, values, equal_nan=True)


def test_types_are_inferred_from_json_lists(objects):
    pipeline = hr.json_lines(objects("[1, 2]", None, "[]", "[0.1, 1700000001.25]"))
    assert pipeline.spec["a"] == hr.Spec(np.dtype(np.float64), (None,), is_ragged=True)
    assert [e["a"].tolist() for e in pipeline] == [[1, 2], [], [], [0.1, 1700000001.25]]
    pipeline = hr.json_lines(objects('["x"]', "null"))
    assert [e["a"].tolist() for e in pipeline] == [["x"], []]


@pytest.mark.parametrize("texts", [["0.5", "9007199254740993"], ["-1", "12345678901234567890"]])
def test_numbers_that_no_type_of_json_holds_are_refused(objects, texts):
    with pytest.raises(errors.InvalidArgumentError, match=r"line 2: 'a' is \d+, which .*columns="):
        column(hr.json_lines(objects(*texts)))


@pytest.mark.parametrize(
    ("usual", "late", "found", "dtype"),
    [
        ("123", "1.5", "floating point `1.5`", "int64"),
        ("123", "9223372036854775808", "integer `9223372036854775808`", "int64"),
        ("123", '"x"', 'string "x"', "int64"),
        ("123", "NaN", "NaN", "int64"),
        ("0.5", "3.14159265", "floating point `3.14159265`", "float32"),
        ("0.5", "16777217", "integer `16777217`", "float32"),
        ("0.123456789", "9007199254740993", "integer `9007199254740993`", "float64"),
    ],
)
def test_a_later_value_beyond_the_type_is_an_error(objects, usual, late, found, dtype):
    path = objects(*[usual] * FAR, late)
    message = (
        f"a.jsonl: line {FAR + 1}: 'a' is {found}, expected {dtype}. The type was inferred from "
        "the first block. Give the types, with columns={...}."
    )
    with pytest.raises(errors.InvalidArgumentError, match=re.escape(message)):
        list(hr.json_lines(path).batch(1000))
    batches = iter(hr.json_lines(path).skip_errors(1).batch(1000))
    assert sum(len(batch["a"]) for batch in batches) == FAR
    assert [one.record_number for one in batches.skipped] == [FAR]


def test_a_later_missing_integer_is_an_error(objects):
    path = objects(*["1"] * FAR, None)
    with pytest.raises(errors.InvalidArgumentError, match=r"there is no 'a', .*defaults=\{'a':"):
        list(hr.json_lines(path).batch(1000))


def test_unused_constants_are_not_errors(tmp_path):
    path = tmp_path / "a"
    rows = [{"n": n, "x": float("nan"), "t": "NaN", "y": [float("inf")]} for n in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert [int(e["n"]) for e in hr.json_lines(path, {"n": int})] == [0, 1, 2]
    assert [e["t"] for e in hr.json_lines(path, {"t": str})] == ["NaN"] * 3
    for columns in ({"x": float, "y": hr.Ragged(np.float64)}, None):
        for e in hr.json_lines(path, columns):
            assert np.isnan(e["x"])
            assert e["y"].tolist() == [np.inf]
    with pytest.raises(errors.InvalidArgumentError, match="line 1: 'x' is NaN, expected int64"):
        list(hr.json_lines(path, {"x": int}))
    with pytest.raises(errors.InvalidArgumentError, match="line 1: 'x' is NaN, expected str"):
        list(hr.json_lines(path, {"x": str}))
    path.write_text('{"n": 1, "x": Nan}\n{"n": 2, NaN: 3}')
    batches = iter(hr.json_lines(path, {"n": int}).skip_errors(2))
    assert list(batches) == []
    assert len(batches.skipped) == 2


@pytest.mark.parametrize("source", [hr.csv, hr.json_lines])
def test_inference_continues_where_the_first_files_are_empty(tmp_path, source):
    line = "5\n" if source is hr.csv else '{"a": 5}\n'
    head = "a\n" if source is hr.csv else "\n"
    for name, text in (("0", ""), ("1", head), ("2", head + line), ("3", "")):
        (tmp_path / name).write_text(text)
    assert [int(example["a"]) for example in source(tmp_path)] == [5]
    for name in "0123":
        (tmp_path / name).write_text("")
    assert list(source(tmp_path, {"a": int}).batch(2)) == []
    with pytest.raises(errors.InvalidArgumentError, match="and 3 more files have no"):
        list(source(tmp_path))
