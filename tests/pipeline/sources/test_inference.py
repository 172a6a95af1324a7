"""Types inferred from the start of CSV files and JSON lines can hold all values."""

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
    """Writes JSON lines with these texts for the key `a`, or without it for None."""

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
        (["1", "nan"], "float64", [1.0, np.nan]),
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
        (["true", "1"], str, ["true", "1"]),
        (["1", "NA", "null"], str, ["1", "NA", "null"]),
    ],
)
def test_types_are_inferred_from_csv_fields(table, fields, dtype, values):
    results, inputs = column(hr.csv(table(*fields)))
    assert results == (dtype if dtype is str else np.dtype(dtype))
    assert inputs == values or np.array_equal(inputs, values, equal_nan=True)


@pytest.mark.parametrize(
    ("value", "word"),
    [("123456789", "int64"), ("9007199254740993", "int64"), ("0.5", "float32"), ("true", "bool")],
)
def test_empty_field_is_an_error_unless_filled(table, objects, value, word):
    message = f"line 3: the field of column 'a' is empty, expected {word}. .*defaults=.*Nullable"
    path = table(value, "")
    with pytest.raises(errors.InvalidArgumentError, match=message):
        column(hr.csv(path))
    filled = column(hr.csv(path, defaults={"a": 0}))
    assert (filled[0], filled[1][1]) == (np.dtype(word), 0)
    message = f"line 2: 'a' is missing or null, expected {word}. .*defaults=.*Nullable"
    for gap in (None, "null"):
        path = objects(value, gap)
        with pytest.raises(errors.InvalidArgumentError, match=message):
            column(hr.json_lines(path))
        filled = column(hr.json_lines(path, defaults={"a": 0}))
        assert (filled[0], filled[1][1]) == (np.dtype(word), 0)


def test_filled_integer_columns_remain_int64(table):
    path = table("123456789", "")
    results, inputs = column(hr.csv(path, defaults={"a": -1}))
    assert (results, inputs) == (np.dtype(np.int64), [123456789, -1])
    # float64 would not hold it.
    path = table("9007199254740993", "", "4")
    assert column(hr.csv(path).skip_errors(1)) == (np.dtype(np.int64), [9007199254740993, 4])
    assert column(hr.csv(path, defaults={"a": 0}))[1] == [9007199254740993, 0, 4]


def test_filled_boolean_columns_remain_bool(table):
    result = column(hr.csv(table("true", ""), defaults={"a": False}))
    assert result == (np.dtype(np.bool_), [True, False])


def test_na_values_are_recognised(table):
    path = table("123456789", "NA", '"null"', "")
    for words in (["NA", "null"], ("null", "NA")):
        results, inputs = column(hr.csv(path, na_values=words, defaults={"a": -1}))
        assert (results, inputs) == (np.int64, [123456789, -1, -1, -1])
    assert column(hr.csv(path, {"a": int}, na_values=["NA", "null"], defaults={"a": 7})) == (
        np.dtype(np.int64),
        [123456789, 7, 7, 7],
    )
    # Such a word may be a number or a text.
    gap = hr.csv(table("-999", "1.5"), {"a": hr.Nullable(float)}, na_values="-999")
    assert [bool(example["a_mask"]) for example in gap] == [False, True]
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
def test_later_field_that_does_not_fit_the_inferred_type_is_an_error(
    table, way, usual, late, dtype
):
    path = table(*[usual] * FAR, late, usual)
    inputs = []
    message = (
        f"a.csv: line {FAR + 2}: the field of column 'a' is '{late}', expected {dtype}. The type "
        "was inferred from the first block. Set another type with dtypes={'a': ...}."
    )
    with pytest.raises(errors.InvalidArgumentError, match=re.escape(message)):
        inputs.extend(len(batch["a"]) for batch in hr.csv(path).batch(100).options(**way))
    assert sum(inputs) == FAR
    with iter(hr.csv(path).skip_errors(1).batch(100).options(**way)) as batches:
        assert sum(len(batch["a"]) for batch in batches) == FAR + 1
    assert [one.record_number for one in batches.skipped] == [FAR + 1]
    assert message in batches.skipped[0].reason


def test_later_values_that_fit_the_inferred_type_are_read(table):
    path = table(*["0.5"] * FAR, "", "nan", "-inf", "2", "1e-3")
    results, inputs = column(hr.csv(path, defaults={"a": np.nan}))
    expected = np.array([np.nan, np.nan, -np.inf, 2, 1e-3], np.float32)
    assert results == np.float32
    assert np.array_equal(inputs[FAR:], expected, equal_nan=True)
    assert column(hr.csv(table(*["x"] * FAR, "", "3")))[1][FAR:] == ["", "3"]


@pytest.mark.parametrize(
    ("word", "text", "more"),
    [
        (float, "1e39", "float32, which cannot represent it; np.float64 has a larger range"),
        (float, "1700000001", "float32, which cannot represent it; np.float64 has a larger range"),
        (float, "1700000001.0", "float32, which"),
        (float, "-16777217", "float32, which"),
        (np.float64, "9007199254740993", "float64, which cannot represent it exactly"),
        (np.float16, "2049", "float16, which"),
        (float, "-1e400", "float32, which"),
        (float, "1e-50", "float32, which"),
        (np.float64, "1e400", "float64, which"),
        (np.float16, "70000", "float16, which"),
    ],
)
def test_float_types_round_numbers_and_reject_non_numeric_text(tmp_path, table, word, text, more):
    with pytest.raises(errors.InvalidArgumentError, match=f"'a' is '{text}', expected {more}"):
        list(hr.csv(table("1", text), {"a": word}))
    rounded = ["16777218", "1e30", "0.1", "1700000001.25", "inf", "nan", "0", "-0.0", "0e-400"]
    if word is float:
        [batch] = hr.csv(table(*rounded), {"a": float}).batch(10)
        assert np.array_equal(batch["a"], np.array(rounded, np.float32), equal_nan=True)
        (tmp_path / "b").write_text('{"a": 1e39}')
        with pytest.raises(errors.InvalidArgumentError, match=r"'a' is floating point `10{39}\.0`"):
            list(hr.json_lines(tmp_path / "b", {"a": float}))


@pytest.mark.parametrize(
    ("word", "text", "message"),
    [
        (
            float,
            "1700000001",
            "integer `1700000001`, expected float32, which cannot represent it",
        ),
        (float, "1700000001.0", "floating point `1700000001.0`, expected float32, which cannot"),
        (np.float64, "9007199254740993", "integer `9007199254740993`, expected float64, which"),
        (np.float64, "-18446744073709551617", "integer `-18446744073709551617`, expected float64"),
        (np.uint64, "18446744073709551617", "integer `18446744073709551617`, expected uint64"),
    ],
)
def test_json_integers_are_exact_or_rejected(objects, word, text, message):
    for kind in (word, hr.Ragged(word)):
        path = objects(text if kind is word else f"[0, {text}]")
        with pytest.raises(errors.InvalidArgumentError, match=re.escape(message.split(", exp")[0])):
            list(hr.json_lines(path, {"a": kind}))
    with pytest.raises(errors.InvalidArgumentError, match=re.escape(message)):
        list(hr.json_lines(objects(text), {"a": word}))


def test_json_floats_with_integer_values_are_read(objects):
    texts = ["16777218", "1e30", "18446744073709551616", "36893488147419103232"]
    path = objects(*texts)
    inputs = [float(row["a"]) for row in hr.json_lines(path, {"a": np.float64})]
    assert inputs == list(map(float, texts))


@pytest.mark.parametrize("text", ["18446744073709551617", "[1, -9223372036854775809]"])
def test_integer_with_more_than_64_bits_is_not_inferred(objects, text):
    path = objects("1", text) if text[0] != "[" else objects(text)
    with pytest.raises(
        errors.InvalidArgumentError, match=r"line \d: 'a' has the integer .*hr.Json"
    ):
        hr.json_lines(path).spec  # noqa: B018
    rows = [row["a"] for row in hr.json_lines(path, dtypes={"a": hr.Json})]
    assert rows[-1] == json.loads(text)
    assert [row["a"] for row in hr.json_lines(objects("1e30", "0.5"))] == [1e30, 0.5]


@pytest.mark.parametrize(
    ("texts", "dtype", "values"),
    [
        (["123456789", "5"], "int64", [123456789, 5]),
        (["1700000001.25", "1"], "float64", [1700000001.25, 1]),
        (["0.5", "16777217"], "float64", [0.5, 16777217]),
        (["0.5", "NaN", "-Infinity"], "float32", [0.5, np.nan, -np.inf]),
        (["12345678901234567890", "1"], "uint64", [12345678901234567890, 1]),
        (['"01234"', '""'], str, ["01234", ""]),
        (["true", "false"], "bool", [True, False]),
    ],
)
def test_types_are_inferred_from_json_values(objects, texts, dtype, values):
    results, inputs = column(hr.json_lines(objects(*texts)))
    assert results == (dtype if dtype is str else np.dtype(dtype))
    assert inputs == values or np.array_equal(inputs, values, equal_nan=True)


def test_types_are_inferred_from_json_lists(objects):
    path = objects("[1, 2]", None, "[]", "[0.1, 1700000001.25]")
    pipeline = hr.json_lines(path, defaults={"a": []})
    assert pipeline.spec["a"] == hr.Spec(np.dtype(np.float64), (None,), is_ragged=True)
    assert [e["a"].tolist() for e in pipeline] == [[1, 2], [], [], [0.1, 1700000001.25]]
    pipeline = hr.json_lines(objects('["x"]', "null"), defaults={"a": []})
    assert [e["a"].tolist() for e in pipeline] == [["x"], []]


@pytest.mark.parametrize("texts", [["0.5", "9007199254740993"], ["-1", "12345678901234567890"]])
def test_json_numbers_that_fit_no_type_are_rejected(objects, texts):
    with pytest.raises(errors.InvalidArgumentError, match=r"line 2: 'a' is \d+, which .*dtypes="):
        column(hr.json_lines(objects(*texts)))


@pytest.mark.parametrize(
    ("usual", "late", "actual", "dtype"),
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
def test_later_json_value_that_does_not_fit_the_inferred_type_is_an_error(
    objects, usual, late, actual, dtype
):
    path = objects(*[usual] * FAR, late)
    message = (
        f"a.jsonl: line {FAR + 1}: 'a' is {actual}, expected {dtype}. The type was inferred from "
        "the first block. Set another type with dtypes={'a': ...}."
    )
    with pytest.raises(errors.InvalidArgumentError, match=re.escape(message)):
        list(hr.json_lines(path).batch(1000))
    batches = iter(hr.json_lines(path).skip_errors(1).batch(1000))
    assert sum(len(batch["a"]) for batch in batches) == FAR
    assert [one.record_number for one in batches.skipped] == [FAR]


def test_later_missing_integer_is_an_error(objects):
    path = objects(*["1"] * FAR, None)
    with pytest.raises(
        errors.InvalidArgumentError, match=r"'a' is missing or null, .*defaults=\{'a':"
    ):
        list(hr.json_lines(path).batch(1000))


def test_nan_and_infinity_in_unused_keys_are_not_errors(tmp_path):
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
def test_inference_continues_if_the_first_files_are_empty(tmp_path, source):
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
