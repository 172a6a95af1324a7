"""Columns of JSON lines with objects, nested lists, missing values and times."""

import datetime
import importlib
import json
import warnings
from importlib.util import find_spec

import numpy as np
import pytest

import headrace as hr
from headrace import testing
from headrace.core import errors


@pytest.fixture
def lines(tmp_path):
    """Writes objects, or texts, as lines and returns the path."""

    def write(*rows):
        texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path = tmp_path / "a.jsonl"
        path.write_text("\n".join(texts))
        return path

    return write


CHAT = [
    {"id": 1, "messages": [{"role": "user", "content": "é"}, {"role": "assistant", "content": ""}]},
    {"id": 2, "messages": []},
    {"id": 3, "messages": [{"role": "user", "content": "x", "calls": [{"n": [1.5, None]}]}]},
]


def test_chat_data_becomes_python_objects(lines):
    pipe = hr.json_lines(lines(*CHAT), {"id": int, "messages": hr.Json})
    assert list(pipe) == CHAT
    [batch] = pipe.batch(3)
    assert batch["messages"] == [row["messages"] for row in CHAT]
    sizes = pipe.map(lambda row: {**row, "size": len(row["messages"])})
    assert [(row["messages"], row["size"]) for row in sizes] == [
        (row["messages"], len(row["messages"])) for row in CHAT
    ]
    assert sizes.spec["messages"] == hr.Spec(hr.Json, ())
    testing.assert_resumes(sizes.shuffle(seed=7).batch(2))


def test_any_json_value_becomes_an_object(lines):
    values = ["x", 1, 2**70, -0.5, True, None, [], {}, [[1], {"NaN": "NaN"}], "\\u0000NaN"]
    texts = ['{"a": [NaN, {"b": -Infinity}]}', '{"a": 1e400}']
    pipe = hr.json_lines(lines(*[{"a": value} for value in values], *texts), {"a": hr.Json})
    results = [row["a"] for row in pipe]
    assert results[: len(values)] == values
    assert np.isnan(results[len(values)][0])
    assert results[len(values)][1] == {"b": -float("inf")}


def test_objects_are_text_in_native_functions(lines):
    @hr.native
    def both(example):
        return {"a": example["a"], "b": example["a"]}

    pipe = hr.json_lines(lines({"a": {"k": [1, 2]}}), {"a": hr.Json}).map(both)
    assert list(pipe) == [{"a": {"k": [1, 2]}, "b": {"k": [1, 2]}}]


def test_nested_lists_are_ragged(lines):
    rows = [{"a": [[1, 2], []], "b": [[["x"]]]}, {"a": [], "b": [[]]}]
    columns = {"a": hr.Ragged(np.int16, ndim=2), "b": hr.Ragged(str, ndim=3)}
    results = list(hr.json_lines(lines(*rows), columns))
    assert [[inner.tolist() for inner in row["a"]] for row in results] == [row["a"] for row in rows]
    assert results[0]["a"][0].dtype == np.int16
    [batch] = hr.json_lines(lines(*rows), columns).padded_batch(2)
    assert batch["a"].tolist() == [[[1, 2], [0, 0]], [[0, 0], [0, 0]]]
    for text, words in [
        ('{"a": [1], "b": []}', "'a' is a list that contains integer `1`, expected list of"),
        ('{"a": [[[1]]], "b": []}', "'a' is a list of lists of lists, expected"),
        ('{"a": [null], "b": []}', "'a' is a list that contains null, expected"),
    ]:
        with pytest.raises(errors.InvalidArgumentError, match=f"a.jsonl: line 1: {words}"):
            list(hr.json_lines(lines(text), columns))


def test_missing_values_have_a_mask(lines):
    columns = {
        "a": hr.Nullable(int),
        "s": hr.Nullable(str),
        "o": hr.Nullable(hr.Json),
        "m.l": hr.Nullable(hr.Ragged(float)),
    }
    rows = [{"a": 1, "s": "x", "o": [1], "m": {"l": [0.5]}}, {"a": None, "m": None}]
    pipe = hr.json_lines(lines(*rows), columns)
    assert list(pipe.spec) == [name + end for name in columns for end in ("", "_mask")]
    [batch] = pipe.padded_batch(2)
    assert all(batch[f"{name}_mask"].tolist() == [True, False] for name in columns)
    assert batch["a"].tolist() == [1, 0]
    assert batch["s"].tolist() == ["x", ""]
    assert batch["o"] == [[1], None]
    assert batch["m.l"].tolist() == [[0.5], [0]]
    defaults = {"a": 9, "o": {"none": True}}
    [batch] = hr.json_lines(lines(*rows), columns, defaults=defaults).padded_batch(2)
    assert (batch["a"].tolist(), batch["o"]) == ([1, 9], [[1], {"none": True}])
    assert batch["o_mask"].tolist() == [True, False]


def test_missing_object_is_an_error_and_null_is_none(lines):
    path = lines({"o": None}, {})
    rows = iter(hr.json_lines(path, {"o": hr.Json}).batch(1))
    assert next(rows)["o"] == [None]
    message = r"line 2: 'o' is missing or null, expected JSON. Set a default with def"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        next(rows)
    filled = hr.json_lines(path, {"o": hr.Json}, defaults={"o": {"k": 1}})
    assert [row["o"] for row in filled] == [{"k": 1}, {"k": 1}]


def test_times_are_parsed_from_text(lines):
    path = lines({"t": "2024-01-02T03:04:05.5Z"}, {"t": "2024-01-02 05:04+02:00"}, {"t": "noon"})
    rows = iter(hr.json_lines(path, {"t": "datetime64[ms]"}).batch(1))
    assert next(rows)["t"][0] == np.datetime64("2024-01-02T03:04:05.500")
    assert next(rows)["t"].tolist() == [datetime.datetime(2024, 1, 2, 3, 4)]
    message = "line 3: 't' is string \"noon\", expected datetime64.ms.. Correct it"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        next(rows)
    with pytest.raises(TypeError, match=r"'t' is .*timedelta64.*which JSON does not support"):
        hr.json_lines(path, {"t": "timedelta64[s]"})
    with pytest.raises(
        errors.InvalidArgumentError, match=r"line 1: 't' is .*, expected datetime64.s"
    ):
        list(hr.json_lines(path, {"t": "datetime64[s]"}))


def test_objects_returned_by_functions_are_checked(lines):
    path = lines({"a": {"k": 1}})
    pipe = hr.json_lines(path, {"a": hr.Json})
    for value, words in [
        ({1: 2}, "the key 1 is not a string"),
        ({"k": b"x"}, "bytes cannot be converted"),
    ]:
        with pytest.raises(TypeError, match=f"component 'a' is hr.Json, .*{words}"):
            list(pipe.map(lambda row, value=value: {"a": value}))
    arguments = pipe.map(lambda row: {"a": {"n": np.int64(3), "l": np.arange(2)}})
    assert list(arguments) == [{"a": {"n": 3, "l": [0, 1]}}]


def test_objects_pass_through_processes_threads_and_batched_functions(lines):
    pipe = hr.json_lines(lines(*CHAT), {"id": int, "messages": hr.Json})
    expected = [{**row, "n": len(row["messages"])} for row in CHAT]
    for options in ({"num_threads": 2}, {"num_processes": 1}):
        assert list(pipe.map(counted, **options)) == expected
    batches = pipe.batch(2).map(longest)
    assert [batch["messages"] for batch in batches] == [
        [row["messages"] for row in CHAT[:2]],
        [row["messages"] for row in CHAT[2:]],
    ]
    assert [batch["most"].tolist() for batch in batches] == [2, 1]
    flat = pipe.flat_map(lambda row: [{"m": message} for message in row["messages"]])
    assert [row["m"] for row in flat] == [m for row in CHAT for m in row["messages"]]
    kept = pipe.filter(lambda row: bool(row["messages"]))
    assert [row["id"] for row in kept] == [1, 3]


def counted(row):
    return {**row, "n": len(row["messages"])}


def longest(batch):
    return {"messages": batch["messages"], "most": np.array(max(map(len, batch["messages"])))}


def test_iterables_can_yield_objects(lines):
    rows = [{"a": {"k": n}, "n": n} for n in range(5)]
    assert list(hr.iterable(lambda: iter(rows))) == rows


def test_nested_values_are_inferred_like_parquet(lines, tmp_path):
    rows = [
        {
            "id": n,
            "meta": {"lang": "de", "tags": ["a"]},
            "messages": [{"role": "user", "content": "x"}] * (n % 3),
            "deep": [[1], [2, n]] if n else [],
            "deeper": [[["a"], []]] * n,
            "words": ["w"] * n,
        }
        for n in range(5)
    ]
    pipe = hr.json_lines(lines(*rows))
    assert pipe.spec["meta"] == pipe.spec["messages"] == hr.Spec(hr.Json, ())
    assert pipe.spec["deep"] == hr.Spec(np.dtype(np.int64), (None, None), is_ragged=True)
    assert pipe.spec["deeper"] == hr.Spec(str, (None, None, None), is_ragged=True)
    results = list(pipe)
    assert [row["messages"] for row in results] == [row["messages"] for row in rows]
    assert [row["meta"] for row in results] == [row["meta"] for row in rows]
    assert [[inner.tolist() for inner in row["deep"]] for row in results] == [
        row["deep"] for row in rows
    ]
    testing.assert_resumes(pipe.padded_batch(2))
    if find_spec("pyarrow") is None:
        return
    table = importlib.import_module("pyarrow").Table.from_pylist(rows)
    importlib.import_module("pyarrow.parquet").write_table(table, tmp_path / "a.parquet")
    assert hr.parquet(tmp_path / "a.parquet").spec == pipe.spec


def test_missing_inferred_object_is_none(lines):
    path = lines({"a": {"b": 1}, "l": [[1]]}, {"l": None}, {"a": None, "l": []})
    pipe = hr.json_lines(path, defaults={"l": []})
    assert [row["a"] for row in pipe] == [{"b": 1}, None, None]
    assert [len(row["l"]) for row in pipe] == [1, 0, 0]
    filled = hr.json_lines(lines({"a": {"b": 1}}, {"a": None}, {}), defaults={"a": {"b": 0}})
    assert [row["a"] for row in filled] == [{"b": 1}, {"b": 0}, {"b": 0}]


def test_mixed_lists_are_inferred_as_objects(lines):
    for values in ([[1, None]], [[1], {"a": 2}], [[1, [2]]], [[[[[1]]]]], [[1, "a"]], [[], [{}]]):
        pipe = hr.json_lines(lines(*[{"a": value} for value in values]))
        if values == [[1], {"a": 2}]:
            with pytest.raises(errors.InvalidArgumentError, match="not the same type as before"):
                list(pipe)
            continue
        assert pipe.spec["a"].dtype is hr.Json
        assert [row["a"] for row in pipe] == values


def test_key_missing_from_every_line_causes_one_warning_at_the_end(lines):
    path = lines({"id": 1, "m": {"x": 1}}, {"id": 2, "m": {"x": None}})
    columns = {"id": int, "m.x": hr.Nullable(int), "m.y": hr.Nullable(int), "d": int}
    pipe = hr.json_lines(path, columns, defaults={"d": 3}).epochs(2)
    with pytest.warns(UserWarning, match="no line has a value") as caught:
        rows = list(pipe)
    assert [row["d"] for row in rows] == [3] * 4
    [warning] = caught
    assert str(warning.message) == (
        "json_lines: no line has a value for 'm.y', 'd' (4 lines read), so they are always null "
        "or the default. For comparison, one line has 'id', 'm.x', 'm'. Correct the names, or "
        "remove those that the files do not have."
    )
    assert warning.filename == __file__


def test_key_present_in_some_line_causes_no_warning(lines):
    path = lines(*[{"id": 1}] * 9_000, {"id": 2, "x": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pipe = hr.json_lines(path, {"id": int, "x": hr.Nullable(int)})
        assert sum(len(batch["id"]) for batch in pipe.batch(1_000)) == 9_001
