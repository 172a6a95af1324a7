import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace.tf1 as tf

IAE = tf.errors.InvalidArgumentError

UNQUOTED = "Unquoted fields cannot have quotes/CRLFs inside"
INNER = "Quote inside a string has to be escaped by another quote"
UNENDED = "Quoted field has to end with quote followed by delim or end"


def required(dtype):
    return tf.constant([], dtype)


def strings(count):
    return [""] * count


class TestColumns:
    def test_column_types_follow_the_defaults_and_shapes_follow_the_records(self, run):
        records = tf.placeholder(tf.string, [None, 2])
        defaults = [[1.5], 2, "x", tf.constant([], tf.int64), np.float64(0)]
        columns = tf.decode_csv(records, defaults)
        assert [column.dtype.name for column in columns] == [
            *("float32", "int32", "string", "int64", "float64"),
        ]
        assert all(column.shape.as_list() == [None, 2] for column in columns)
        assert [column.name for column in columns[:2]] == ["DecodeCSV:0", "DecodeCSV:1"]
        values = run(columns, {records: [["1,2,a,3,4", ",,,5,"]]})
        assert [value.tolist() for value in values] == [
            *([[1, 1.5]], [[2, 2]], [[b"a", b"x"]], [[3, 5]], [[4, 0]]),
        ]

    def test_single_column_is_returned_in_a_list(self, run):
        assert run(tf.decode_csv("7", [[0]])) == [7]
        assert tf.io.decode_csv is tf.decode_csv

    def test_columns_without_records_are_empty(self, run):
        first, second = run(tf.decode_csv(np.empty([0, 3], object), [[0], [""]]))
        assert (first.shape, second.shape) == ((0, 3), (0, 3))

    def test_columns_can_be_selected(self, run):
        columns = tf.decode_csv('a,1,b,2,c"', [[0], [0]], select_cols=[1, 3])
        assert run(columns) == [1, 2]


class TestFields:
    @pytest.mark.parametrize(
        ("record", "options", "fields"),
        [
            ("a,b", {}, [b"a", b"b"]),
            (" a , ", {}, [b" a ", b" "]),
            (",", {}, [b"-", b"-"]),
            ("a,", {}, [b"a", b"-"]),
            ('"",""', {}, [b"-", b"-"]),
            ('"a,\r\nb",c', {}, [b"a,\r\nb", b"c"]),
            ('"""a""",""""', {}, [b'"a"', b'"']),
            ("\n\ra,\nb", {}, [b"a", b"b"]),
            ("a\tb,c", {"field_delim": "\t"}, [b"a", b"b,c"]),
            ('"a,b"', {"use_quote_delim": False}, [b'"a', b'b"']),
            ('NA,"NA"', {"na_value": "NA"}, [b"-", b"-"]),
            ("NA,nA", {"na_value": "nA"}, [b"NA", b"-"]),
            (b"\xff,\0", {}, [b"\xff", b"\0"]),
        ],
    )
    def test_fields_are_split(self, run, record, options, fields):
        assert run(tf.decode_csv(record, ["-", "-"], **options)) == fields

    @pytest.mark.parametrize(
        ("text", "dtype", "value"),
        [
            (" 12 ", tf.int32, 12),
            ("-0", tf.int32, 0),
            ("+7", tf.int64, 7),
            ("-9223372036854775808", tf.int64, -(2**63)),
            ("\t1e3", tf.float32, 1000),
            ("0x10", tf.float32, 16),
            ("0x1.8p1", tf.float64, 3),
            ("Inf", tf.float32, np.inf),
            ("-infinity", tf.float64, -np.inf),
            ("1e39", tf.float32, np.inf),
            ("1e39", tf.float64, 1e39),
            ("1e-400", tf.float64, 0),
        ],
    )
    def test_numeric_fields_are_parsed(self, run, text, dtype, value):
        assert run(tf.decode_csv(text, [required(dtype)])) == [value]

    def test_nan_fields_are_parsed(self, run):
        assert np.isnan(run(tf.decode_csv("nan,NaN(1)", [[0.0], [0.0]]))).all()


DAMAGED = [
    ("", strings(1), {}, "Expect 1 fields but have 0 in record 0"),
    ("\n", strings(1), {}, "Expect 1 fields but have 0 in record 0"),
    ("a", strings(2), {}, "Expect 2 fields but have 1 in record 0"),
    ("a,b,", strings(2), {}, "Expect 2 fields but have 3 in record 0"),
    ("a,b", strings(2), {"select_cols": [0, 3]}, "Expect 2 fields but have 1 in record 0"),
    (["a,b", "c"], strings(2), {}, "Expect 2 fields but have 1 in record 1"),
    ("a\n", strings(1), {}, f"{UNQUOTED}: record 0 is 'a\\n'. Strip the end of the line"),
    ("a\rb", strings(1), {"use_quote_delim": False}, UNQUOTED),
    ('a"b', strings(1), {}, UNQUOTED),
    (' "a"', strings(1), {}, UNQUOTED),
    ('"a"b', strings(1), {}, INNER),
    ('"a" ,b', strings(2), {}, INNER),
    ('"a', strings(1), {}, UNENDED),
    ('"', strings(1), {}, UNENDED),
    ('"a,', strings(1), {}, UNENDED),
    ('"a""', strings(1), {}, UNENDED),
    ("1,a", [[0], [0]], {}, "Field 1 in record 0 is not a valid int32: a"),
    (["1", "1.0"], [[0]], {}, "Field 0 in record 1 is not a valid int32: 1.0"),
    (" ", [[0]], {}, "Field 0 in record 0 is not a valid int32:  "),
    ("2147483648", [[0]], {}, "Field 0 in record 0 is not a valid int32: 2147483648"),
    ("0x1", [np.int64(0)], {}, "Field 0 in record 0 is not a valid int64: 0x1"),
    ("1_0", [[0.0]], {}, "Field 0 in record 0 is not a valid float: 1_0"),
    (b"\xff", [np.float64(0)], {}, "Field 0 in record 0 is not a valid double: \ufffd"),
    ("x" * 9999, [[0.0]], {}, "xxx... (9999 bytes)"),
    (["1", '""'], [[]], {}, "Field 0 is required but missing in record 1!"),
    (
        "1,",
        [[0.0], []],
        {},
        "Field 1 is required but missing in record 0! Give the field a default",
    ),
    ("NA", [[]], {"na_value": "NA"}, "Field 0 is required but missing in record 0!"),
    ("a", strings(1), {"field_delim": ""}, "field_delim should be only 1 char"),
    ("a", strings(1), {"field_delim": ",,"}, "field_delim should be only 1 char, got ',,'"),
    ("a", strings(1), {"field_delim": "é"}, "field_delim should be only 1 char"),
]


@pytest.mark.parametrize(("records", "defaults", "options", "words"), DAMAGED)
def test_error_describes_a_record_that_cannot_be_decoded(run, records, defaults, options, words):
    columns = tf.decode_csv(records, defaults, **options)
    with pytest.raises(IAE) as caught:
        run(columns)
    assert words in caught.value.message
    assert caught.value.op is columns[0].op


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1, 2], "There should only be 1 default per field but field 0 has 2"),
        ([[1]], "Each record default should be at most rank 1"),
    ],
)
def test_defaults_are_checked_when_known(run, hidden, value, words):
    with pytest.raises(IAE, match=words):
        run(tf.decode_csv("1", [hidden(value)]))


@pytest.mark.parametrize(
    ("defaults", "options", "error", "words"),
    [
        ([], {}, ValueError, "Attr 'OUT_TYPE' of 'DecodeCSV' Op passed list of length 0"),
        (5, {}, TypeError, "Expected list for 'record_defaults' argument to 'DecodeCSV' Op, not 5"),
        ([None], {}, TypeError, "have types .<NOT CONVERTIBLE TO TENSOR>. that are invalid"),
        ([True], {}, TypeError, "DataType bool not in list of allowed values: float32, float64"),
        ([[1, 2]], {}, ValueError, "must be a length-0 or length-1 vector, or a scalar"),
        ([[[1]]], {}, ValueError, "Shape must be at most rank 1 but is rank 2"),
        ([1], {"field_delim": 5}, TypeError, "Expected string for argument 'field_delim' not 5"),
        ([1], {"na_value": None}, TypeError, "Expected string for argument 'na_value' not None"),
        ([1, 1], {"select_cols": [1, 1]}, ValueError, "select_cols is not strictly increasing."),
        ([1], {"select_cols": [-1]}, ValueError, "select_cols contains negative values."),
        ([1], {"select_cols": [0, 1]}, ValueError, "Length of select_cols and record_defaults do"),
        ([1], {"select_cols": []}, ValueError, "Length of select_cols and record_defaults do"),
    ],
)
def test_invalid_arguments_are_rejected_at_once(defaults, options, error, words):
    with pytest.raises(error, match=words):
        tf.decode_csv("1,2", defaults, **options)


@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=6), min_size=2, max_size=5),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.sampled_from(",;\t|"),
)
def test_lines_written_by_the_csv_module_are_read(fields, quoting, delimiter):
    line = io.StringIO(newline="")
    writer = csv.writer(line, quoting=quoting, delimiter=delimiter)
    writer.writerow(fields)
    with tf.Graph().as_default(), tf.Session() as session:
        record = line.getvalue().removesuffix("\r\n")
        columns = tf.decode_csv(record, [""] * len(fields), field_delim=delimiter)
        assert session.run(columns) == [field.encode() for field in fields]


@given(st.lists(st.floats(width=32), min_size=1), st.integers(-(2**63), 2**63 - 1))
def test_numbers_round_trip(floats, integer):
    records = [f"{float(number)!r},{integer}" for number in floats]
    with tf.Graph().as_default(), tf.Session() as session:
        first, second = session.run(tf.decode_csv(records, [[0.0], np.int64(0)]))
    assert np.array_equal(first, np.array(floats, np.float32), equal_nan=True)
    assert second.tolist() == [integer] * len(floats)
