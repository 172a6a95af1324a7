"""Columns of every type of Parquet and Arrow, with nulls; pyarrow is the oracle."""

import datetime
import decimal
import json
import random

import numpy as np
import pytest
from tests.pipeline.sources.tables.written_tables import (
    FORMATS,
    MISSING,
    TABLE_TYPES,
    plain,
    random_table,
)

import headrace as hr
from headrace import testing
from headrace.core import errors

pa = pytest.importorskip("pyarrow")

CHAT = [
    {
        "id": n,
        "messages": [
            {"role": "user", "content": f"é {n}", "tools": None},
            {"role": "assistant", "content": "", "tools": [{"name": "f", "arguments": [1.5, 2]}]},
        ][: n % 3],
    }
    for n in range(7)
]


@pytest.fixture(params=FORMATS)
def written(request, tmp_path):
    """Writes tables as 0, 1, … in a format and returns the function that reads their directory."""

    def write(*tables, **options):
        for number, table in enumerate(tables):
            output = table if isinstance(table, pa.Table) else pa.table(table)
            FORMATS[request.param].write(output, tmp_path / f"{number}.{request.param}", **options)
        return lambda *args, **kwargs: FORMATS[request.param].read(tmp_path, *args, **kwargs)

    return write


@pytest.mark.parametrize("name", TABLE_TYPES)
@pytest.mark.parametrize("null_share", [0, 0.3])
def test_columns_of_every_type_match_pyarrow(written, name, null_share):
    kind, word = TABLE_TYPES[name]
    table = random_table({name: kind}, 60, null_share, random.Random(name))
    read = written(table)
    columns = {name: hr.Nullable(word) if word is not hr.Json else word}
    expected = [row[name] for row in table.to_pylist()]
    if word is hr.Json:
        assert [plain(row[name], kind) for row in read(columns)] == [
            plain(x, kind) for x in expected
        ]
        return
    for row, value in zip(read(columns), expected, strict=True):
        assert row[f"{name}_mask"] == (value is not None)
        if value is not None:
            assert plain(row[name], kind) == plain(value, kind)


@pytest.mark.parametrize("name", TABLE_TYPES)
def test_omitted_types_are_inferred(written, name):
    kind, word = TABLE_TYPES[name]
    table = random_table({name: kind}, 20, 0, random.Random(name))
    read = written(table)
    has_no_type = kind in (pa.null(), pa.list_(pa.null()))
    if pa.types.is_decimal(kind) or has_no_type:
        message = rf"the column '{name}' is .*, expected a type for it.*Set .* with dtypes="
        with pytest.raises(errors.InvalidArgumentError, match=message):
            list(read())
        return
    rows = [plain(row[name], kind) for row in read()]
    assert rows == [plain(row[name], kind) for row in table.to_pylist()]
    arguments = read({name: word}).spec[name]
    assert read().spec[name].shape == arguments.shape


def test_chat_data_becomes_python_objects_in_functions_and_batches(written):
    read = written({name: [row[name] for row in CHAT] for name in ("id", "messages")})

    def longer(example):
        messages = [*example["messages"], {"role": "user", "content": "more", "tools": None}]
        return {**example, "longer": messages, "count": len(messages)}

    pipe = read({"id": int, "messages": hr.Json}).map(longer)
    assert [(row["id"], row["messages"]) for row in pipe] == [
        (row["id"], row["messages"]) for row in CHAT
    ]
    [batch] = pipe.batch(10)
    assert batch["messages"] == [row["messages"] for row in CHAT]
    assert [len(row) for row in batch["longer"]] == batch["count"].tolist()
    assert pipe.spec["messages"] == hr.Spec(hr.Json, ())
    assert repr(pipe.spec["longer"]) == "Spec(Json, ())"
    assert "Json" in pipe.describe()
    testing.assert_resumes(pipe.shuffle(5, 7).batch(2))


def test_objects_are_text_in_native_functions(written):
    read = written({"messages": [row["messages"] for row in CHAT]})

    @hr.native
    def sized(example):
        return {"messages": example["messages"], "again": example["messages"]}

    row = next(iter(read({"messages": hr.Json}).map(sized).skip(1).take(1)))
    assert row["messages"] == row["again"] == CHAT[1]["messages"]


def test_structs_are_read_by_dotted_names(written):
    metas = [None, {"lang": "de", "inner": {"n": 1}}, {"lang": None, "inner": None}]
    turns = [[{"who": "a"}, {"who": "b"}], [], [{"who": "c"}]]
    read = written({"meta": metas, "turns": turns, "a.b": [1, 2, 3]})
    columns = {"meta.lang": hr.Nullable(str), "meta.inner.n": hr.Nullable(int), "a.b": int}
    rows = list(read(columns))
    assert [row["meta.lang"] for row in rows] == ["", "de", ""]
    assert [bool(row["meta.lang_mask"]) for row in rows] == [False, True, False]
    assert [(row["meta.inner.n"], row["a.b"]) for row in rows] == [(0, 1), (1, 2), (0, 3)]
    lists = [row["turns.who"].tolist() for row in read({"turns.who": hr.Ragged(str)})]
    assert lists == [["a", "b"], [], ["c"]]
    assert list(read(["a.b", "turns.who"]).spec) == ["a.b", "turns.who"]
    with pytest.raises(errors.InvalidArgumentError, match=r"no column 'meta.x', .*'meta.lang'"):
        list(read(["meta.x"]))


def test_nested_lists_become_lists_of_arrays_and_are_padded(written):
    deep = [[[1], []], [], [[2, 3], [4]]]
    deeper = [[[["a"]]], [[]], []]
    read = written(
        {"ids": deep, "texts": pa.array(deeper, pa.list_(pa.list_(pa.list_(pa.string()))))}
    )
    pipe = read({"ids": hr.Ragged(np.int32, ndim=2), "texts": hr.Ragged(str, ndim=3)})
    assert repr(pipe.spec["ids"]) == "Spec(int32, (None, None), ragged)"
    rows = list(pipe)
    assert [[inner.tolist() for inner in row["ids"]] for row in rows] == deep
    assert all(inner.dtype == np.int32 for row in rows for inner in row["ids"])
    results = [[[inner.tolist() for inner in outer] for outer in row["texts"]] for row in rows]
    assert results == deeper
    [batch] = pipe.padded_batch(3, values={"ids": -1, "texts": "-"})
    assert batch["ids"].shape == (3, 2, 2)
    assert batch["ids"].tolist() == [
        [[1, -1], [-1, -1]],
        [[-1, -1], [-1, -1]],
        [[2, 3], [4, -1]],
    ]
    assert batch["texts"].tolist() == [[[["a"]]], [[["-"]]], [[["-"]]]]
    kept = pipe.map(lambda example: {**example, "n": len(example["ids"])})
    assert [[inner.tolist() for inner in row["ids"]] for row in kept] == deep
    with pytest.raises(ValueError, match="'ids' is a list whose length varies"):
        pipe.batch(2)
    testing.assert_resumes(pipe.shuffle(3, 7).padded_batch(2))


def test_null_error_names_file_row_and_column_with_both_remedies(written):
    read = written({"a": [n if n != 5 else None for n in range(9)]})
    message = (
        r"0\.\w+: row 5.*: the column 'a' has a null, expected a value. Set a default with "
        r"defaults={'a': \.\.\.}, or read it as hr.Nullable\(\.\.\.\), which adds a mask."
    )
    batches = iter(read().batch(5))
    assert next(batches)["a"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(errors.InvalidArgumentError, match=message):
        next(batches)
    with iter(read().skip_errors(1)) as rows:
        assert [int(row["a"]) for row in rows] == [0, 1, 2, 3, 4, 6, 7, 8]
        assert [one.record_number for one in rows.skipped] == [5]


def test_nulls_can_have_defaults_or_a_mask(written):
    when = [datetime.datetime(2024, 1, 2), None]
    columns = {"a": [1, None], "f": [0.5, None], "s": ["x", None], "w": when, "l": [[1], None]}
    read = written({**columns, "o": [{"k": 1}, None]})
    defaults = {"a": 7, "f": 9.5, "s": "-", "w": np.datetime64("NaT"), "l": [8], "o": {"k": 2}}
    last = list(read(defaults=defaults))[1]
    assert (last["a"], last["f"], last["s"], last["l"].tolist()) == (7, 9.5, "-", [8])
    assert np.isnat(last["w"])
    assert last["o"] == {"k": 2}
    columns = {
        "a": hr.Nullable(int),
        "f": hr.Nullable(np.float64),
        "s": hr.Nullable(bytes),
        "w": hr.Nullable("datetime64[s]"),
        "l": hr.Nullable(hr.Ragged(int)),
        "o": hr.Nullable(hr.Json),
    }
    [batch] = read(columns).padded_batch(2)
    assert list(batch) == [name + end for name in columns for end in ("", "_mask")]
    assert all(batch[f"{name}_mask"].tolist() == [True, False] for name in columns)
    assert (batch["a"].tolist(), batch["f"].tolist()) == ([1, 0], [0.5, 0])
    assert (batch["s"].tolist(), batch["o"]) == ([b"x", b""], [{"k": 1}, None])
    assert batch["w"].tolist() == [when[0], datetime.datetime(1970, 1, 1)]
    assert batch["l"].tolist() == [[1], [0]]
    masked = read({"a": hr.Nullable(int)}, defaults={"a": 7}).batch(2)
    assert {k: v.tolist() for k, v in next(iter(masked)).items()} == {
        "a": [1, 7],
        "a_mask": [True, False],
    }
    with pytest.raises(
        ValueError, match=r"the mask of the hr.Nullable column 'a' would be called 'a_mask'"
    ):
        read({"a": hr.Nullable(int), "a_mask": bool})
    with pytest.raises(ValueError, match="a value for 'a_mask', which is not a column"):
        read({"a": hr.Nullable(int)}, defaults={"a_mask": True})


def test_error_for_a_null_in_a_list_suggests_json(written):
    read = written({"l": [[1], [2, None]], "f": [[1.5], [None]]})
    for name, word in (("l", int), ("f", float)):
        message = (
            rf"row 1.*'{name}' has a list that contains a null.*with dtypes={{'{name}': hr.Json}}"
        )
        with pytest.raises(errors.InvalidArgumentError, match=message):
            list(read({name: hr.Nullable(hr.Ragged(word))}))
    assert [row["l"] for row in read({"l": hr.Json})] == [[1], [2, None]]


def test_values_are_converted_exactly_or_rejected(written):
    read = written(
        {
            "i": pa.array([1, 300], pa.int64()),
            "n": pa.array([1, 1_700_000_001], pa.int32()),
            "m": pa.array([1, 2**53 + 1], pa.int64()),
            "g": pa.array([0.1, 1_700_000_001.0], pa.float64()),
            "e": pa.array([decimal.Decimal("0.50"), decimal.Decimal("16777217.00")]),
            "t": pa.array([1_000_000_000, 5], pa.timestamp("ns")),
            "y": pa.array([b"a", b"\xff"], pa.binary()),
            "d": pa.array([decimal.Decimal("0.10"), decimal.Decimal("-12345678901234.56")]),
            "w": ["2024-01-02T03:04:05Z", "no"],
        }
    )
    for name, word, first, text in [
        ("i", np.int16, 1, None),
        ("i", float, 1.0, None),
        ("i", np.uint8, 1, "'i' is 300, expected uint8"),
        (
            "n",
            float,
            1.0,
            "'n' is 1700000001, expected float32, which cannot represent it; np.float64",
        ),
        ("n", np.float64, 1.0, None),
        ("m", np.float64, 1.0, "'m' is 9007199254740993, expected float64, which cannot"),
        ("g", float, 0.1, "'g' is 1700000001, expected float32, which cannot represent it"),
        ("e", float, 0.5, "'e' is 16777217.00, expected float32, which cannot represent it"),
        ("t", "datetime64[us]", np.datetime64("1970-01-01T00:00:01"), "'t' is 5 ns, which cannot"),
        ("y", str, "a", "'y' is .*which is not UTF-8, expected str"),
        ("d", np.float64, 0.1, None),
        ("d", str, "0.10", None),
        ("w", "datetime64[s]", np.datetime64("2024-01-02T03:04:05"), "'w' is .*no.*, expected dat"),
    ]:
        rows = iter(read({name: word}).batch(1))
        assert next(rows)[name][0] == (np.float32(first) if word is float else first)
        if text is None:
            next(rows)
        else:
            with pytest.raises(errors.InvalidArgumentError, match=f"row 1.*: the column {text}"):
                next(rows)
    assert [row["d"] for row in read({"d": str})] == ["0.10", "-12345678901234.56"]
    for name, word, text in [
        ("i", str, "is int64, expected str"),
        ("y", int, "is binary, expected int64"),
        ("t", int, r"is timestamp\[ns\], expected int64"),
        ("d", int, "is decimal128.*, expected int64"),
        ("i", hr.Ragged(int), "is int64, expected list of int64"),
    ]:
        with pytest.raises(errors.InvalidArgumentError, match=f"the column '{name}' {text}"):
            list(read({name: word}))


def test_fixed_length_lists_become_arrays_if_requested(written):
    read = written({"v": [[1, 2], [3, 4], [5]]})
    batches = iter(read({"v": hr.Feature(np.int8, (2,))}).batch(2))
    assert next(batches)["v"].tolist() == [[1, 2], [3, 4]]
    with pytest.raises(
        errors.InvalidArgumentError, match=r"row 2.*'v' has a list of length 1, expected"
    ):
        next(batches)


def test_files_can_reorder_or_lack_columns(written):
    first = pa.table({"a": [1], "b": ["x"]})
    read = written(first, first.select(["b", "a"]), first.select(["b"]))
    message = r"2\.\w+: there is no column 'a', as in .*0\.\w+, expected .*defaults={'a'"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(read())
    rows = list(read(defaults={"a": -1}))
    assert [(int(row["a"]), row["b"]) for row in rows] == [(1, "x"), (1, "x"), (-1, "x")]
    masks = [bool(r["a_mask"]) for r in read({"a": hr.Nullable(int)}, defaults={"a": 0})]
    assert masks == [True, True, False]


def test_error_for_types_that_differ_between_files_has_a_remedy(written):
    read = written({"a": pa.array([1], pa.int32())}, {"a": pa.array([2], pa.int64())})
    message = r"1\.\w+: the column 'a' is int64, expected int32, as in the first file.*dtypes={"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(read())
    assert [int(row["a"]) for row in read({"a": int})] == [1, 2]


def test_error_for_binary_in_structs_lists_the_fields_to_read(written):
    read = written({"image": [{"bytes": b"\xff", "path": None}]})
    message = r"'image' is struct<.*, which contains binary, .*columns={'image.bytes': ...}"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(read())
    assert list(read({"image.bytes": bytes})) == [{"image.bytes": b"\xff"}]


def test_maps_become_objects_and_a_duplicate_key_is_an_error(written):
    kind = pa.map_(pa.string(), pa.int64())
    read = written({"m": pa.array([[("a", 1), ("b", None)], [], [("a", 1), ("a", 2)]], kind)})
    rows = iter(read({"m": hr.Json}).batch(2))
    assert next(rows)["m"] == [{"a": 1, "b": None}, {}]
    with pytest.raises(errors.InvalidArgumentError, match=r"row 2.*a map has the key 'a' twice"):
        next(rows)


def test_arrow_and_torch_receive_objects_and_times(written):
    table = {"o": [{"a": [1]}, None], "t": pa.array([1, 2], pa.timestamp("us")), "l": [[[1]], []]}
    read = written(table)
    arrow = read().to_arrow().read_all()
    assert [json.loads(text) for text in arrow["o"].to_pylist()] == table["o"]
    assert arrow["t"].to_pylist() == table["t"].to_pylist()
    assert arrow["l"].to_pylist() == table["l"]
    torch = pytest.importorskip("torch")
    [batch] = read().padded_batch(2).to_torch()
    assert batch["o"] == table["o"]
    assert batch["t"].dtype == torch.int64
    assert batch["l"].tolist() == [[[1]], [[0]]]


def test_missing_values_in_objects_are_none(written):
    read = written({"o": [{"x": MISSING}, {"x": 1.5}]})
    assert [row["o"]["x"] for row in read()] == [None, 1.5]


def test_all_null_column_is_filled_like_other_missing_values(written):
    read = written({"a": pa.nulls(2), "l": [[], []], "n": [1, 2]})
    words = {"a": hr.Nullable(int), "n": int}
    with pytest.raises(errors.InvalidArgumentError, match=r"'a' is null, .*hr.Json or hr.Nullable"):
        list(read())
    with pytest.raises(errors.InvalidArgumentError, match="'a' has a null, expected a value"):
        list(read({"a": int}))
    for pipe in (read(words), read(["a", "n"], dtypes={"a": words["a"]})):
        [batch] = pipe.batch(2)
        assert (batch["a"].tolist(), batch["a_mask"].tolist()) == ([0, 0], [False, False])
    for word, value in [(str, ""), (hr.Feature(float, (2,)), [0, 0]), (hr.Ragged(int, ndim=2), [])]:
        rows = [row["a"] for row in read({"a": hr.Nullable(word)})]
        assert [row if isinstance(row, (str, list)) else row.tolist() for row in rows] == [
            value
        ] * 2
    assert [row["a"] for row in read({"a": int}, defaults={"a": 5})] == [5, 5]
    # A list without values may have any type.
    assert [row["l"].tolist() for row in read({"l": hr.Ragged(int)})] == [[], []]


def test_types_of_some_columns_can_be_set(written):
    prices = [decimal.Decimal("0.10"), decimal.Decimal("2.50")]
    read = written({"n": [1, 2], "price": prices, "s": ["a", "b"]})
    pipe = read(dtypes={"price": str})
    assert list(pipe.spec) == ["n", "price", "s"]
    assert [(int(r["n"]), r["price"], r["s"]) for r in pipe] == [(1, "0.10", "a"), (2, "2.50", "b")]
    rows = list(read(["price", "n"], dtypes={"price": np.float64, "n": hr.Nullable(np.int8)}))
    assert [list(row) for row in rows] == [["price", "n", "n_mask"]] * 2
    assert rows[1]["price"] == 2.5
    with pytest.raises(errors.InvalidArgumentError, match=r"'price' is decimal.*dtypes={'price'"):
        list(read())
    with pytest.raises(ValueError, match="a type for 'x', which is not a column"):
        list(read(["price"], dtypes={"price": str, "x": int}))
    with pytest.raises(ValueError, match="columns already has the types of all columns"):
        read({"n": int}, dtypes={"price": str})
