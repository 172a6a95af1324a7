"""Rows of tables selected by conditions, and columns named by directories."""

import datetime
import functools
import random
from decimal import Decimal
from operator import eq, ge, lt, ne

import numpy as np
import pytest
from tests.pipeline.sources.tables.written_tables import FORMATS

import headrace as hr
from headrace import testing
from headrace.core import errors

pa = pytest.importorskip("pyarrow")
pc = pytest.importorskip("pyarrow.compute")


def table(num_rows=200, seed=7):
    draws = random.Random(seed)

    def some(values):
        return [None if draws.random() < 0.1 else value for value in values]

    return pa.table(
        {
            "n": list(range(num_rows)),
            "i": pa.array(some([draws.randrange(9) for _ in range(num_rows)]), pa.int8()),
            "f": pa.array(some([draws.choice([0.5, float("nan"), n]) for n in range(num_rows)])),
            "s": some([draws.choice("abc") for _ in range(num_rows)]),
            "b": some([draws.random() < 0.5 for _ in range(num_rows)]),
            "t": pa.array(
                some([datetime.datetime(2000, 1, 1 + n % 28) for n in range(num_rows)]),
                pa.timestamp("ms"),
            ),
        }
    )


CONDITIONS = [
    [("i", ">=", 4)],
    [("i", "!=", 4), ("n", "<", 77)],
    [("n", "<=", 12.5)],
    [("f", ">", 3), ("s", "==", "a")],
    [("s", "in", ["a", "c"])],
    [("i", "not in", [1, 2, 3])],
    [("b", "==", True), ("t", "<", np.datetime64("2000-01-15"))],
    [("t", "==", datetime.datetime(2000, 1, 3))],
    [("n", ">", 10**9)],
]
OPS = {"==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater"}


def expected(rows, conditions):
    mask = pa.array([True] * len(rows))
    for name, op, value in conditions:
        column = rows[name]
        if op in ("in", "not in"):
            met = pc.is_in(column, pa.array(value, column.type))
            met = pc.invert(met) if op == "not in" else met
            met = pc.and_(met, pc.is_valid(column))
        else:
            function = getattr(pc, OPS.get(op, "greater_equal"))
            scalar = pa.scalar(value.item() if isinstance(value, np.generic) else value)
            met = pc.fill_null(function(column, scalar), False)
        mask = pc.and_(mask, met.combine_chunks() if hasattr(met, "combine_chunks") else met)
    return rows.filter(mask)["n"].to_pylist()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("number", range(len(CONDITIONS)))
def test_rows_that_meet_all_conditions_are_read(tmp_path, name, number):
    conditions = CONDITIONS[number]
    FORMATS[name].write(table(), tmp_path / "0")
    FORMATS[name].write(table(50, 8), tmp_path / "1")
    pipe = FORMATS[name].read(tmp_path, ["n"], conditions)
    requested = expected(table(), conditions) + expected(table(50, 8), conditions)
    assert [int(row["n"]) for row in pipe] == requested
    origins = [(int(r["record_number"]), int(r["n"])) for r in pipe.with_origin()]
    assert all(record == n for record, n in origins)
    with pytest.raises(TypeError, match="len"):
        len(pipe)
    if len(requested) > 20:
        assert [int(row["n"]) for row in pipe.skip(15).take(5)] == requested[15:20]
        assert sorted(int(row["n"]) for row in pipe.shuffle(seed=7)) == sorted(requested)
        testing.assert_resumes(pipe.shuffle(9, 7).batch(4), every=3)


def test_row_groups_without_matching_rows_are_not_read(tmp_path):
    path = tmp_path / "a.parquet"
    FORMATS["parquet"].write(pa.table({"n": list(range(100)), "s": ["x" * 99] * 100}), path)
    data = bytearray(path.read_bytes())
    group = pa.parquet.read_metadata(path).row_group(0).column(1)
    start = group.dictionary_page_offset or group.data_page_offset
    data[start : start + 20] = bytes(20)
    path.write_bytes(data)
    assert [int(r["n"]) for r in hr.parquet(path, ["n", "s"], [("n", ">=", 30)])] == list(
        range(30, 100)
    )
    with pytest.raises(errors.DataLossError, match="row group 0"):
        list(hr.parquet(path, ["n", "s"], [("n", ">=", 20)]))


def test_null_in_an_unselected_row_is_ignored(tmp_path):
    FORMATS["parquet"].write(pa.table({"a": [1, None, 3], "k": [0, 1, 0]}), tmp_path / "a")
    assert [int(r["a"]) for r in hr.parquet(tmp_path, ["a"], [("k", "==", 0)])] == [1, 3]
    message = r"row 1, in row group 0: the column 'a' has a null"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(hr.parquet(tmp_path, ["a"], [("k", "<=", 1)]))


def test_conditions_that_do_not_fit_the_type_are_rejected(tmp_path):
    FORMATS["parquet"].write(pa.table({"a": [1], "s": ["x"], "l": [[1]]}), tmp_path / "a")
    for condition, kind, message in [
        (("a", "==", "x"), TypeError, "on 'a', which is .*int64.*compares with 'x', expected a"),
        (("s", "<", 3), TypeError, "on 's'.*expected a string"),
        (
            ("l", "==", 3),
            TypeError,
            "on 'l' does not work.*Conditions need columns of single values",
        ),
        (("z", "==", 3), errors.InvalidArgumentError, "there is no column 'z'"),
    ]:
        with pytest.raises(kind, match=message):
            list(hr.parquet(tmp_path, where=[condition]))
    for where, kind, message in [
        ([("a", "=", 1)], ValueError, "uses '=', expected one of ==, !="),
        ([("a", "==", None)], ValueError, "compares with None, but nulls never match a condition"),
        ([("a", "==", float("nan"))], ValueError, "compares with nan, which never matches"),
        ([("a", "in", [1, np.float32("nan")])], ValueError, "which never matches"),
        ([("a", ">=", np.datetime64("NaT"))], ValueError, "which never matches. Use filter"),
        ([("a", "<", Decimal("nan"))], ValueError, "which never matches"),
        ([("a", "in", 3)], TypeError, "expected a list of values"),
        ("a > 3", TypeError, "expected a list of conditions, such as"),
    ]:
        with pytest.raises(kind, match=message):
            hr.parquet(tmp_path, where=where)


@pytest.fixture
def partitioned(tmp_path):
    """Files in directories of years and languages."""
    for year, lang in [("2019", "de"), ("2020", "__HIVE_DEFAULT_PARTITION__"), ("2021", "e%20n")]:
        directory = tmp_path / f"year={year}" / f"lang={lang}"
        directory.mkdir(parents=True)
        FORMATS["parquet"].write(pa.table({"n": [int(year), 0]}), directory / "a.parquet")
    return tmp_path


def test_partition_directories_become_columns(partitioned):
    paths = partitioned / "**" / "*.parquet"
    message = r"lang=__HIVE.*: the column 'lang' is null, according to the directory name"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(hr.parquet(paths))
    pipe = hr.parquet(paths, defaults={"lang": "?"})
    assert list(pipe.spec) == ["n", "year", "lang"]
    rows = [(int(row["n"]), int(row["year"]), row["lang"]) for row in pipe]
    langs = {2019: "de", 2020: "?", 2021: "e n"}
    assert rows == [(n, year, lang) for year, lang in langs.items() for n in (year, 0)]
    assert pipe.spec["year"].dtype == np.int64
    assert [row["year"] for row in hr.parquet(paths, {"year": str})][::2] == [
        "2019",
        "2020",
        "2021",
    ]
    masks = [bool(row["lang_mask"]) for row in hr.parquet(paths, {"lang": hr.Nullable(str)})]
    assert masks == [True, True, False, False, True, True]
    assert len(hr.parquet(paths, ["year"])) == 6


def test_conditions_on_directories_skip_files(partitioned):
    (partitioned / "year=2019" / "lang=de" / "a.parquet").write_bytes(b"not Parquet")
    where = [("year", ">=", 2020), ("n", ">", 0)]
    for columns in (["n", "year"], {"n": int, "year": int}):
        rows = hr.parquet(partitioned / "**" / "*.parquet", columns, where)
        assert [(int(r["n"]), int(r["year"])) for r in rows] == [(2020, 2020), (2021, 2021)]
    none = hr.parquet(partitioned / "**" / "*.parquet", {"n": int}, [("year", "==", 1)])
    assert list(none) == []
    with pytest.raises(TypeError, match="'year' is 2019 in the name of a directory"):
        list(hr.parquet(partitioned / "**" / "*.parquet", {"n": int}, [("year", "==", "2020")]))


PRICES = ["-10.01", "-10.00", "-0.50", "0.00", "0.10", "19.99", "20.00", "12345678901234567.89"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", [pa.decimal128(21, 2), pa.decimal256(40, 2)])
def test_decimals_are_compared_exactly(tmp_path, name, kind):
    values = [Decimal(price) for price in PRICES]
    FORMATS[name].write(
        pa.table({"price": pa.array([*values, None], kind), "n": list(range(len(values) + 1))}),
        tmp_path / "a",
    )
    for other in (Decimal("0.1"), Decimal("19.990"), Decimal("12345678901234567.9"), -10, 0, 19.99):
        exact = Decimal(str(other))
        for op, compare in [("==", eq), ("!=", ne), ("<", lt), (">=", ge)]:
            rows = FORMATS[name].read(tmp_path / "a", ["n"], where=[("price", op, other)])
            met = [n for n, one in enumerate(values) if compare(one, exact)]
            assert [row["n"] for row in rows] == met
        where = [("price", "in", [other, values[0]])]
        met = [n for n, one in enumerate(values) if one in (exact, values[0])]
        assert [row["n"] for row in FORMATS[name].read(tmp_path / "a", ["n"], where=where)] == met
    for wrong in ("1", True, Decimal("inf")):
        with pytest.raises(TypeError, match="decimal column 'price' compares with"):
            list(FORMATS[name].read(tmp_path / "a", ["n"], where=[("price", "==", wrong)]))
    FORMATS[name].write(pa.table({"price": ["1"], "n": [1]}), tmp_path / "b")
    paths = [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(
        errors.InvalidArgumentError, match=r"b: the column 'price' is .*decimals as"
    ):
        list(FORMATS[name].read(paths, ["n"], where=[("price", "==", 1)]))


def test_only_directories_below_the_path_become_columns(tmp_path):
    root = tmp_path / "seed=1" / "run=7"
    for year in (2020, 2021):
        directory = root / f"year={year}"
        directory.mkdir(parents=True)
        FORMATS["parquet"].write(pa.table({"seed": [year]}), directory / "a.parquet")

    def rows_of(paths):
        return [{name: int(x) for name, x in row.items()} for row in hr.parquet(paths)]

    both = [{"seed": year, "year": year} for year in (2020, 2021)]
    alone = [{"seed": year} for year in (2020, 2021)]
    files = [root / f"year={year}" / "a.parquet" for year in (2020, 2021)]
    assert rows_of(files) == alone
    assert rows_of([file.parent for file in files]) == alone
    assert rows_of([file.parent / "*.parquet" for file in files]) == alone
    assert rows_of(root / "year=2020" / "*") == alone[:1]
    for paths in (root, f"{root}/", root / "*" / "*.parquet", root / "**", root / "year=*" / "a.*"):
        assert rows_of(paths) == both
    assert rows_of(f"{root}/year={{2020,2021}}/a.parquet") == both
    message = "the column 'seed' differs from the value in the directory name"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        rows_of(tmp_path / "seed=*" / "**")
    for where, count in (([("year", "==", 2020)], 1), ([("seed", ">", 2000)], 2)):
        assert len(list(hr.parquet(root, where=where))) == count


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("1", pa.array([1], pa.int32()), 1),
        ("1", pa.array([1], pa.uint8()), 1),
        ("1", pa.array(["01"]).dictionary_encode(), 1),
        ("01", pa.array(["01"]), 1),
        ("a", pa.array(["a"], pa.large_string()), "a"),
        ("2024-01-02", pa.array([19724], pa.date32()), "2024-01-02"),
        ("true", pa.array([True]), "true"),
        ("0.5", pa.array([0.5], pa.float32()), "0.5"),
    ],
)
def test_directory_name_can_repeat_a_column_of_any_type(tmp_path, name, text, values, expected):
    directory = tmp_path / f"key={text}"
    directory.mkdir()
    FORMATS[name].write(pa.table({"key": values, "n": [3]}), directory / f"a.{name}")
    [row] = FORMATS[name].read(tmp_path)
    assert (row["key"], row["n"]) == (expected, 3)


@pytest.mark.parametrize("name", FORMATS)
def test_null_in_a_directory_name_contradicts_a_value(tmp_path, name):
    directory = tmp_path / "key=__HIVE_DEFAULT_PARTITION__"
    directory.mkdir()
    read = functools.partial(FORMATS[name].read, tmp_path, {"key": hr.Nullable(int)})
    FORMATS[name].write(pa.table({"key": pa.array([None], pa.int64())}), directory / f"a.{name}")
    assert [row["key_mask"] for row in read()] == [False]
    FORMATS[name].write(pa.table({"key": [3]}), directory / f"a.{name}")
    with pytest.raises(errors.InvalidArgumentError, match="differs from the value in the direc"):
        list(read())


@pytest.mark.parametrize("name", FORMATS)
def test_column_that_repeats_the_directory_name_must_have_the_same_values(tmp_path, name):
    for year, lang in (("2020", "de"), ("2021", "en")):
        directory = tmp_path / f"year={year}" / f"lang={lang}"
        directory.mkdir(parents=True)
        table = pa.table({"year": [int(year)] * 2, "lang": [lang] * 2, "n": [1, 2]})
        FORMATS[name].write(table, directory / f"a.{name}")
    rows = [tuple(row.values()) for row in FORMATS[name].read(tmp_path, ["year", "lang", "n"])]
    assert rows == [(2020, "de", 1), (2020, "de", 2), (2021, "en", 1), (2021, "en", 2)]
    table = pa.table({"year": [2021, 1], "lang": ["en", "en"], "n": [1, 2]})
    FORMATS[name].write(table, tmp_path / "year=2021" / "lang=en" / f"a.{name}")
    assert len(list(FORMATS[name].read(tmp_path, ["lang", "n"]))) == 4
    message = rf"year=2021.*a\.{name}.*the column 'year' differs from the value in the directory"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(FORMATS[name].read(tmp_path, ["year", "n"]))


def test_relative_pattern_can_start_with_the_partitions(tmp_path, monkeypatch):
    directory = tmp_path / "year=2020"
    directory.mkdir()
    FORMATS["parquet"].write(pa.table({"n": [1]}), directory / "a.parquet")
    monkeypatch.chdir(tmp_path)
    for paths in ("*/*.parquet", "./*/*.parquet", "year=*/a.parquet", "**", "."):
        assert [row["year"] for row in hr.parquet(paths)] == [2020]
    assert list(hr.parquet("year=2020/a.parquet").spec) == ["n"]
