"""JSON lines: their keys and values, and invalid lines."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import pipeline as hp
from headrace.core import errors


@pytest.fixture
def written(tmp_path):
    """Writes files 0, 1, … of these texts, and returns their directory."""

    def write(*texts):
        for number, text in enumerate(texts):
            data = text if isinstance(text, bytes) else text.encode()
            (tmp_path / str(number)).write_bytes(data)
        return tmp_path

    return write


def values(pipeline):
    return [
        [v.tolist() if isinstance(v, np.ndarray) else v for v in example.values()]
        for example in pipeline
    ]


def test_each_key_is_a_component(written):
    line = '{"a": 1, "b": 2.5, "c": "\\u00e9\\n", "d": true, "other": {"a": [{}]}}\n'
    pipeline = hp.json_lines(written(line), {"d": bool, "c": str, "b": float, "a": np.uint8})
    assert values(pipeline) == [[True, "é\n", 2.5, 1]]
    assert [spec.dtype for spec in pipeline.spec.values()] == [np.bool_, str, np.float32, np.uint8]


def test_lists_are_ragged_or_have_a_fixed_shape(written):
    text = (
        '{"a": [1, 2], "b": [[1, 2], [3, 4.5]], "s": ["x"]}\n'
        '{"s": [], "b": [[0, 0], [0, 0]], "a": []}'
    )
    columns = {"a": hp.Ragged(int), "b": hp.Feature(float, (2, 2)), "s": hp.Ragged(bytes)}
    pipeline = hp.json_lines(written(text), columns)
    texts = hp.json_lines(written(text), {"s": hp.Ragged(str)})
    assert values(texts) == [[["x"]], [[]]]
    assert values(pipeline) == [
        [[1, 2], [[1, 2], [3, 4.5]], [b"x"]],
        [[], [[0, 0], [0, 0]], []],
    ]
    [batch] = pipeline.padded_batch(2)
    assert batch["a"].tolist() == [[1, 2], [0, 0]]
    assert batch["b"].shape == (2, 2, 2)


def test_dotted_names_reach_into_objects(written):
    text = '{"m": {"id": 1, "x": {"y": 2}}, "a.b": 3}\n{"a.b": 4, "m": {"x": {"y": 5}, "id": 6}}'
    columns = {"m.x.y": int, "m.id": int, "a.b": int}
    assert values(hp.json_lines(written(text), columns)) == [[2, 1, 3], [5, 6, 4]]


def test_missing_or_null_value_has_a_default(written):
    text = '{"a": null, "m": null}\n\n  \n{"l": [1], "m": {"id": 5}, "a": 2, "s": "x"}'
    columns = {"a": int, "m.id": int, "l": hp.Ragged(float), "s": str}
    pipeline = hp.json_lines(
        written(text), columns, defaults={"a": 7, "m.id": -1, "l": [0.5, 1], "s": "é"}
    )
    assert values(pipeline) == [[7, -1, [0.5, 1], "é"], [2, 5, [1], "x"]]


def test_keys_are_inferred_from_the_first_block(written):
    text = (
        '{"i": 1, "f": 1, "t": "x", "b": false, "l": [], "o": {"a": 1}, "n": null}\n'
        '{"f": 0.5, "i": -2, "l": [1, 2], "late": "y", "b": true, "t": "z"}\n'
    )
    pipeline = hp.json_lines(written(text), defaults={"late": ""})
    assert pipeline.spec == {
        "i": hp.Spec(np.dtype(np.int64), ()),
        "f": hp.Spec(np.dtype(np.float32), ()),
        "t": hp.Spec(str, ()),
        "b": hp.Spec(np.dtype(np.bool_), ()),
        "l": hp.Spec(np.dtype(np.int64), (None,), is_ragged=True),
        "o": hp.Spec(hp.Json, ()),
        "late": hp.Spec(str, ()),
    }
    assert values(pipeline.select("i", "f", "t", "b", "l", "late")) == [
        [1, 1, "x", False, [], ""],
        [-2, 0.5, "z", True, [1, 2], "y"],
    ]
    assert "inferred from the first block" in pipeline.describe()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": "x"}\n', "line 2: 'a' is \"x\", which is not the same type as before"),
        ('{"a": null}', "has no objects to infer the columns from"),
        ("", "json_lines: .*0 has no lines to infer the columns from"),
    ],
)
def test_columns_that_cannot_be_inferred_are_an_error(written, text, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        hp.json_lines(written(text)).spec  # noqa: B018


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\n{"a": 1}\n{"b": 1}', r"0: line 3: 'a' is missing or null.*defaults=\{'a': "),
        ('{"a": null}', "line 1: 'a' is missing or null, expected int8"),
        ('{"a": "1"}', "line 1: 'a' is string \"1\", expected int8"),
        ('{"a": 1.0}', "'a' is floating point `1.0`, expected int8"),
        ('{"a": 300}', "'a' is integer `300`, expected int8"),
        ('{"a": true}', "'a' is boolean `true`, expected int8"),
        ('{"a": [1]}', "'a' is a list, expected int8"),
        ('{"a": {"b": 1}}', r"'a' is an object \(read its values with names such as 'key.inner'\)"),
        ('{"a": 1, "a": 2}', "'a' is given twice"),
        ('{"a": 1', "line 1: EOF while parsing an object at column 7, expected a JSON object"),
        ('{"a": 1} x', "line 1: trailing characters at column 10"),
        ("[1]", "line 1: invalid type: sequence, expected an object"),
    ],
)
def test_error_for_an_invalid_line_names_file_and_line(written, text, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(hp.json_lines(written(text), {"a": np.int8}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "b": [1, 2]}', "'a' is integer `1`, expected list of int64"),
        ('{"a": [1, "x"], "b": [1, 2]}', "'a' is a list that contains string \"x\""),
        ('{"a": [[1]], "b": [1, 2]}', "'a' is a list of lists, expected list of int64"),
        ('{"a": [null], "b": [1, 2]}', "'a' is a list that contains null"),
        ('{"a": [], "b": [1]}', "'b' is a list of 1, expected int64"),
        ('{"a": [], "b": [1, 2, 3]}', "'b' is a list of 3"),
    ],
)
def test_lists_of_a_wrong_shape_are_rejected(written, text, message):
    columns = {"a": hp.Ragged(int), "b": hp.Feature(int, (2,))}
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(hp.json_lines(written(text), columns))


def test_non_object_on_a_dotted_path_is_an_error(written):
    with pytest.raises(errors.InvalidArgumentError, match=r"line 1: .* expected an object"):
        list(hp.json_lines(written('{"m": 3}'), {"m.id": int}, defaults={"m.id": 0}))


def test_compressed_lines_are_read(written):
    text = "".join(f'{{"n": {n}}}\n' for n in range(100_000))
    pipeline = hp.json_lines(written(gzip.compress(text.encode())))
    assert sum(batch["n"].sum() for batch in pipeline.batch(1000)) == sum(range(100_000))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"columns": {"m": int, "m.id": int}}, ValueError, "cannot be both an object and a value"),
        ({"columns": {}}, ValueError, "json_lines: columns is empty"),
        ({"columns": {"a": hp.Ragged(complex)}}, TypeError, "complex numbers are not supported"),
        ({"columns": {"a": hp.Ragged(int)}, "defaults": {"a": 1}}, ValueError, "default of 'a'"),
        ({"columns": {"a": int}, "defaults": {"a": [1]}}, ValueError, "default of 'a'"),
        ({"compression": 3}, ValueError, "json_lines: compression is 3"),
    ],
)
def test_invalid_arguments_are_rejected_at_once(arguments, error, message):
    with pytest.raises(error, match=message):
        hp.json_lines("nowhere", **arguments)


ROW = st.fixed_dictionaries(
    {
        "i": st.integers(-(2**63), 2**63 - 1),
        "f": st.floats(allow_nan=False, allow_infinity=False),
        "s": st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        "b": st.booleans(),
        "l": st.lists(st.integers(-5, 5), max_size=3),
    }
)


@given(rows=st.lists(ROW, min_size=1, max_size=8))
def test_lines_written_by_the_json_module_are_read(tmp_path, rows):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = {"i": int, "f": np.float64, "s": str, "b": bool, "l": hp.Ragged(int)}
    assert values(hp.json_lines(path, columns)) == [[row[name] for name in columns] for row in rows]


HALVES = [r"\ud83d", r"\udc00 x", r"\uDC00\ud83d\ude00", r"\u00e9\ud83d!"]


@pytest.mark.parametrize("half", HALVES)
def test_lone_surrogate_is_read_as_bytes_or_json(tmp_path, half):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"n": 1, "a": "{half}", "b": "é"}}\n')
    expected = json.loads(f'"{half}"')
    [row] = hp.json_lines(path, {"n": int, "a": bytes, "b": str})
    assert row["a"] == expected.encode("utf-8", "surrogatepass")
    assert (row["n"], row["b"]) == (1, "é")
    [row] = hp.json_lines(path, {"a": hp.Json})
    assert row["a"] == expected
    assert [row["n"] for row in hp.json_lines(path, {"n": int})] == [1]
    message = (
        r"line 1: half of a surrogate pair at column \d+, expected text: .*as bytes or as hr.Json"
    )
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(hp.json_lines(path, {"a": str}))


@pytest.mark.parametrize("half", HALVES)
def test_lone_surrogates_in_lists_are_read_as_bytes(tmp_path, half):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"l": ["{half}", "é"], "m": [["x"], ["{half}"]], "n": NaN}}\n')
    expected = json.loads(f'"{half}"').encode("utf-8", "surrogatepass")
    columns = {"l": hp.Ragged(bytes), "m": hp.Ragged(bytes, ndim=2), "n": float}
    [row] = hp.json_lines(path, columns)
    assert row["l"].tolist() == [expected, "é".encode()]
    assert [part.tolist() for part in row["m"]] == [[b"x"], [expected]]
    with pytest.raises(errors.InvalidArgumentError, match=r"half of a surrogate pair .*as bytes"):
        list(hp.json_lines(path, {"l": hp.Ragged(str)}))
    with pytest.raises(errors.InvalidArgumentError, match="'n' is NaN, expected bytes"):
        list(hp.json_lines(path, {"l": hp.Ragged(bytes), "n": bytes}))


def test_columns_are_inferred_despite_lone_surrogates_in_json(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"o": {"k": "\\ud83d"}, "l": ["\\ud83d"], "n": 1}\n')
    with pytest.raises(errors.InvalidArgumentError, match="line 1: half of a surrogate pair"):
        list(hp.json_lines(path))
    for kind, expected in ((hp.Ragged(bytes), [b"\xed\xa0\xbd"]), (hp.Json, ["\ud83d"])):
        [row] = hp.json_lines(path, dtypes={"l": kind})
        assert (row["o"], list(row["l"]), row["n"]) == ({"k": "\ud83d"}, expected, 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"a": 1e400}', "number out of range at column 11, expected a JSON object in each line"),
        (b'{"n": 1, "a": ["\\ud83d"]}', r"half of a surrogate pair at column \d+.*hr.Json"),
        (b'{"a": "\xff"}', "invalid unicode code point at column"),
        (b"hello", "expected value at column 1, expected a JSON object in each line: hello"),
        (
            b"[1]",
            "invalid type: sequence.*expected a JSON object in each line.*headrace.json_array",
        ),
    ],
)
def test_error_of_the_first_line_is_raised_if_no_columns_can_be_inferred(tmp_path, line, message):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n" + line + b"\n")
    with pytest.raises(errors.InvalidArgumentError, match=rf"a\.jsonl: line 2: {message}"):
        hp.json_lines(path).spec  # noqa: B018
    path.write_bytes(line + b'\n{"a": 1}\n')
    assert hp.json_lines(path).spec["a"].dtype == np.int64


def test_types_of_some_keys_can_be_set(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1, "b": 18446744073709551617, "c": 2}\n{"a": 3, "b": "x", "c": null}\n')
    pipeline = hp.json_lines(path, dtypes={"b": hp.Json, "c": hp.Nullable(np.int8), "d": hp.Json})
    with pytest.raises(errors.InvalidArgumentError, match="line 1: 'd' is missing"):
        list(pipeline)
    rows = list(hp.json_lines(path, dtypes={"b": hp.Json, "c": hp.Nullable(np.int8)}))
    assert [list(row) for row in rows] == [["a", "b", "c", "c_mask"]] * 2
    assert [row["b"] for row in rows] == [18446744073709551617, "x"]
    assert [bool(row["c_mask"]) for row in rows] == [True, False]
    with pytest.raises(
        ValueError, match="json_lines: columns already has the types of all columns"
    ):
        hp.json_lines(path, {"a": int}, dtypes={"b": hp.Json})
