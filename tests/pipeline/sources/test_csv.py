"""CSV files: their columns and values, and invalid files."""

import csv
import gzip
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import pipeline as hp
from headrace.core import errors


@pytest.fixture
def written(tmp_path):
    """Writes files 0.csv, 1.csv, … of these texts, and returns their directory."""

    def write(*texts):
        for number, text in enumerate(texts):
            data = text if isinstance(text, bytes) else text.encode()
            (tmp_path / f"{number}.csv").write_bytes(data)
        return tmp_path

    return write


def rows(pipeline):
    return [tuple(example.values()) for example in pipeline]


def test_columns_are_selected_by_name(written):
    files = written("a,b,c\n1,2.5,x\n", "c,a,extra,b\ny,7,?,0.5\n")
    pipeline = hp.csv(files, {"b": float, "a": int, "c": str})
    assert rows(pipeline) == [(2.5, 1, "x"), (0.5, 7, "y")]
    assert pipeline.spec == {
        "b": hp.Spec(np.dtype(np.float32), ()),
        "a": hp.Spec(np.dtype(np.int64), ()),
        "c": hp.Spec(str, ()),
    }


def test_columns_are_named_in_order_without_a_header(written):
    files = written("1;2\n3;4", "\r\n5;6\r\n")
    pipeline = hp.csv(files, {"x": np.int8, "y": np.float64}, header=False, delimiter=";")
    [batch] = pipeline.batch(10)
    assert batch["x"].tolist() == [1, 3, 5]
    assert batch["y"].tolist() == [2, 4, 6]
    assert [batch[name].dtype for name in "xy"] == [np.int8, np.float64]


def test_quoted_fields_can_contain_delimiters_line_ends_and_quotes(written):
    files = written('a,b\n"1","x,\r\n""y"""\n2,""\n')
    assert rows(hp.csv(files, {"a": int, "b": bytes})) == [(1, b'x,\r\n"y"'), (2, b"")]


def test_byte_order_mark_is_skipped(written):
    assert rows(hp.csv(written("\ufeffa\n1\n"), {"a": int})) == [(1,)]


def test_files_without_records_yield_no_examples(written):
    assert rows(hp.csv(written("", "\n\n", "a\n", "a\n3"), {"a": int})) == [(3,)]


@pytest.mark.parametrize("word", [np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float64])
def test_numbers_of_any_type_are_read(written, word):
    values = ["0", "7", " 12 ", '"100"']
    if np.dtype(word).kind == "f":
        values += ["-1.5", "1e2", "inf"]
    [batch] = hp.csv(written("a\n" + "\n".join(values)), {"a": word}).batch(10)
    expected = [float(value.strip(' "')) for value in values]
    assert batch["a"].dtype == word
    assert batch["a"].tolist() == expected


def test_integers_are_read_up_to_their_limits(written):
    limits = np.iinfo(np.uint64).max, np.iinfo(np.int64).min
    files = written(f"a,b\n{limits[0]},{limits[1]}")
    assert rows(hp.csv(files, {"a": np.uint64, "b": int})) == [limits]


def test_boolean_words_are_read(written):
    [batch] = hp.csv(written("a\ntrue\nFALSE\n1\n0\n"), {"a": bool}).batch(9)
    assert batch["a"].tolist() == [True, False, True, False]
    assert batch["a"].dtype == np.bool_


def test_empty_field_needs_a_default(written):
    files = written('a,b,c,d\n,,,\n"",1,z,0\n')
    columns = {"a": float, "b": int, "c": str, "d": hp.Feature(float, default=4)}
    result = rows(hp.csv(files, columns, defaults={"a": np.nan, "b": -1, "c": "none"}))
    assert np.isnan([result[0][0], result[1][0]]).all()
    assert [row[1:] for row in result] == [(-1, "none", 4), (1, "z", 0)]
    message = r"line 2: the field of column 'a' is empty, expected float32.*hr.Nullable"
    for types in (columns, None):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            rows(hp.csv(files, types, dtypes=None if types else {"a": float}))


def test_empty_field_of_a_nullable_column_has_a_mask(written):
    files = written('a,b,c,d,e\n,,,,\n1.5,2,true,"",z\n')
    types = {"a": float, "b": int, "c": bool, "d": str, "e": bytes}
    columns = {name: hp.Nullable(word) for name, word in types.items()}
    for pipeline in (hp.csv(files, columns), hp.csv(files, dtypes=columns)):
        [batch] = pipeline.batch(2)
        assert list(batch) == [f"{name}{end}" for name in "abcde" for end in ("", "_mask")]
        assert all(batch[f"{name}_mask"].tolist() == [False, True] for name in "abcde")
        values = [batch[name].tolist() for name in "abcde"]
        assert values == [[0, 1.5], [0, 2], [False, True], ["", ""], [b"", b"z"]]
    [batch] = hp.csv(files, {"b": hp.Nullable(int)}, defaults={"b": -1}).batch(2)
    assert (batch["b"].tolist(), batch["b_mask"].tolist()) == ([-1, 2], [False, True])


def test_types_of_some_columns_can_be_set(written):
    files = written("a,b,c\n01,2,3\n", "a,b,c\n4,5,6\n")
    pipeline = hp.csv(files, dtypes={"b": str, "c": float})
    assert [spec.dtype for spec in pipeline.spec.values()] == [str, str, np.float32]
    assert rows(pipeline) == [("01", "2", 3), ("4", "5", 6)]
    with pytest.raises(
        ValueError,
        match=r"a type for 'd', which is not a column. The columns are 'a', 'b', 'c'",
    ):
        rows(hp.csv(files, dtypes={"d": str}))
    with pytest.raises(
        ValueError, match=r"csv: columns already has the types .* Put all types into"
    ):
        hp.csv(files, {"a": int}, dtypes={"b": str})
    with pytest.raises(TypeError, match=r"dtypes is .*, expected a dict of types"):
        hp.csv(files, dtypes=["a"])
    with pytest.raises(
        ValueError, match=r"the mask of the hr.Nullable column 'a' would be called 'a_mask'"
    ):
        rows(hp.csv(written("a,a_mask\n1,2\n"), dtypes={"a": hp.Nullable(int)}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a\tb\n1\t2\n",
            r"one column ('a\tb') and contains '\t', expected names separated by ','.",
        ),
        ("a\tb\n1\t2\n", r'delimiter with delimiter="\t", or the types with columns'),
        ("a;b\n1;2\n", "and contains ';'"),
        ("a|b\n1|2\n", "and contains '|'"),
        ("id\tname, first\n1\tx, y\n", "2 columns and contains"),
    ],
)
def test_file_with_the_wrong_delimiter_is_rejected(written, text, message):
    with pytest.raises(errors.InvalidArgumentError, match=re.escape(message)):
        hp.csv(written(text)).spec  # noqa: B018
    name = text.splitlines()[0].split(",")[0]
    assert list(hp.csv(written(text), {name: str}).spec) == [name]


EARLIER = "earlier values are numbers or booleans"
INEXACT = (
    "makes the column 'a' str, because neither int64 nor float64 represents it and all earlier "
    "values exactly"
)
MIXED = "makes the column 'a' a mix of numbers and booleans, so it is str"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (["9007199254740993", "1.5"], INEXACT),
        (["1.5", "9007199254740993"], INEXACT),
        (["9007199254740993", "nan"], INEXACT),
        (["1.5", "9" * 20], INEXACT),
        (["true", "1"], MIXED),
        (["1", "true"], MIXED),
        (["true", "007"], f"is text, so the column 'a' is str, but {EARLIER}"),
    ],
)
def test_log_explains_why_a_column_is_str(written, caplog, fields, why):
    assert hp.csv(written("\n".join(["a", *fields]))).spec["a"].dtype is str
    [record] = caplog.records
    assert f"line 3: '{fields[1]}' {why}. Correct the line" in record.getMessage()


def test_line_that_turns_a_column_into_str_is_logged(written, caplog):
    files = written("a,b,c,d\n1,true,x,1\n2,false,y,1\nn/a,no,z,99999999999999999999\n")
    assert [spec.dtype for spec in hp.csv(files).spec.values()] == [str] * 4
    results = [record.getMessage() for record in caplog.records]
    assert [text.split(":", 1)[1].split("0.csv: ")[1] for text in results] == [
        f"line 4: '{value}' is {why}. Correct the line, or set the type with "
        f"dtypes={{'{name}': ...}}."
        for name, value, why in (
            ("a", "n/a", f"text, so the column 'a' is str, but {EARLIER}"),
            ("b", "no", f"text, so the column 'b' is str, but {EARLIER}"),
            ("d", "9" * 20, "too large for int64, so the column 'd' is str"),
        )
    ]
    caplog.clear()
    assert hp.csv(files, dtypes={"a": str, "b": str, "d": str}).spec["a"].dtype is str
    assert not caplog.records


def test_columns_are_inferred_from_the_first_block(written):
    files = written(
        "int,float,flag,text,holes,empty\n1,2,true,x,,\n-3,0.5,False,é,4,\n", "not read, for this"
    )
    pipeline = hp.csv(files)
    specs = dict(pipeline.spec)
    assert [spec.dtype for spec in specs.values()] == [
        np.int64,
        np.float32,
        np.bool_,
        str,
        np.int64,
        str,
    ]
    described = pipeline.batch(2).describe()
    assert (
        "csv: the columns are inferred from the first block of the first file with records"
        in described
    )
    assert "component 'int': Spec(int64, (None,))" in described
    filled = hp.csv(files, defaults={"holes": 7}).select("int", "text", "holes").take(2)
    assert [list(row.values()) for row in filled] == [[1, "x", 7], [-3, "é", 4]]


def test_non_text_bytes_are_inferred_as_bytes(written):
    assert rows(hp.csv(written(b"a\n\xff\n"))) == [(b"\xff",)]


def test_inference_without_a_record_is_an_error(written):
    with pytest.raises(errors.InvalidArgumentError, match=r"csv: .*0.csv has no records to infer"):
        hp.csv(written("a,b\n")).spec  # noqa: B018
    with pytest.raises(
        errors.InvalidArgumentError, match=r"0.csv and 1 more files have no records"
    ):
        list(hp.csv(written("a,b\n", "")))
    assert rows(hp.csv(written("", "a\n", "a\n5\n"))) == [(5,)]


def test_names_are_checked_once_the_columns_are_inferred(written):
    pipeline = hp.csv(written("a\n1\n")).select("b")
    with pytest.raises(ValueError, match="there is no component 'b', expected one of 'a'"):
        list(pipeline)
    with pytest.raises(ValueError, match="defaults has a value for 'b', which is not a column"):
        list(hp.csv(written("a\n1\n"), defaults={"b": 3}))


def test_compressed_records_can_be_longer_than_a_block(written):
    text = "x" * 300_000
    data = "a,b\n" + f'1,"{text}\n"\n' * 5
    files = written(gzip.compress(data.encode()))
    assert rows(hp.csv(files, {"a": int, "b": str})) == [(1, text + "\n")] * 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\nx,2\n", r"0.csv: line 3: the field of column 'a' is 'x', expected int64"),
        (
            "a,b\n\n1,2\n,2\n",
            r"line 4: the field of column 'a' is empty.* defaults=\{'a': \.\.\.\}",
        ),
        (
            'a,b\n"1\n\n",2\n1,2,3\n',
            r"line 5: got 3 fields, expected 2; the record is '1,2,3'",
        ),
        (
            'a,c,b\n1,"\n\n",2\n1,2\n',
            r"line 5: got 2 fields, expected 3; the record is '1,2'",
        ),
        ("a,b\n1,2,3\n", r"line 2: got 3 fields, expected 2"),
        ("a,b\n1,2,\n", r"line 2: got 3 fields, expected 2"),
        ('a,b\n1,2"\n', r"line 2: Unquoted fields cannot have quotes"),
        ('a,b\n1,"2\n3,4\n', r"line 2: a quote in line 2 opens a field that is never closed"),
        ("a,c\n1,2\n", r"0.csv: line 1: the header has no column 'b', only a, c\. Correct"),
        ("a,b,a\n1,2,3\n", r"line 1: the header has two columns 'a', expected one"),
        ("a,b\n300000000000000000000,2", r"'300000000000000000000', expected int64"),
        ("a,b\n1.5,2", r"'1.5', expected int64"),
    ],
)
def test_error_for_an_invalid_field_names_file_line_and_column(written, text, message):
    with pytest.raises(errors.InvalidArgumentError, match=f"(?s){message}"):
        list(hp.csv(written(text), {"a": int, "b": np.int8}))


def test_non_utf_8_text_is_an_error(written):
    with pytest.raises(errors.InvalidArgumentError, match=r"line 3: .*expected str"):
        list(hp.csv(written(b"a\nx\n\xff\n"), {"a": str}))


def test_error_follows_the_preceding_batches(written):
    text = "a\n" + "1\n" * 1000 + "x\n" + "1\n" * 10
    batches = iter(hp.csv(written(text), {"a": int}).batch(100))
    assert sum(len(next(batches)["a"]) for _ in range(10)) == 1000
    with pytest.raises(errors.InvalidArgumentError, match="line 1002"):
        next(batches)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"columns": {}}, ValueError, "columns is empty"),
        ({"columns": ["a"]}, TypeError, "expected a dict of types"),
        ({"columns": {"a": list}}, TypeError, "csv: the column 'a': .* is not a valid type"),
        ({"columns": {"a": complex}}, TypeError, "complex numbers are not supported"),
        ({"columns": {"a": hp.Ragged(int)}}, ValueError, "a CSV field holds a single value"),
        ({"header": False}, ValueError, "the columns need names and types"),
        ({"delimiter": ""}, ValueError, "delimiter is '', expected one ASCII character"),
        ({"delimiter": '"'}, ValueError, "delimiter is"),
        ({"compression": "rar"}, ValueError, "csv: compression is 'rar'"),
        (
            {"columns": {"a": int}, "defaults": {"b": 1}},
            ValueError,
            "a value for 'b', which is not a column",
        ),
        ({"columns": {"a": int}, "defaults": {"a": 1.5}}, ValueError, "default of 'a' is 1.5"),
        ({"columns": {"a": np.int8}, "defaults": {"a": 300}}, ValueError, "default of 'a' is 300"),
        ({"columns": {"a": str}, "defaults": {"a": 3}}, ValueError, "default of 'a' is 3"),
        ({"columns": {"a": int}, "defaults": [1]}, TypeError, "expected a dict of values"),
    ],
)
def test_invalid_arguments_are_rejected_at_once(arguments, error, message):
    with pytest.raises(error, match=message):
        hp.csv("nowhere.csv", **arguments)


FIELD = st.text(st.sampled_from('ab,"\né '), max_size=5)


@given(
    table=st.lists(st.tuples(FIELD, FIELD), max_size=20),
    line_end=st.sampled_from(["\n", "\r\n"]),
    has_all_quotes=st.booleans(),
)
def test_tables_written_by_the_csv_module_are_read(tmp_path, table, line_end, has_all_quotes):
    text = io.StringIO()
    quoting = csv.QUOTE_ALL if has_all_quotes else csv.QUOTE_MINIMAL
    csv.writer(text, lineterminator=line_end, quoting=quoting).writerows([("a", "b"), *table])
    path = tmp_path / "table.csv"
    path.write_bytes(text.getvalue().encode())
    pipeline = hp.csv(path, {"a": str, "b": str}, defaults={"a": "", "b": ""})
    assert rows(pipeline) == table
