"""The components of Parquet files, written by pyarrow; and errors in such files."""

import subprocess
import sys

import numpy as np
import pytest

from headrace import pipeline as hp
from headrace.core import errors

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def written(tmp_path):
    """Writes tables as 0.parquet, 1.parquet, … and returns their directory."""

    def write(*tables, **options):
        for number, table in enumerate(tables):
            output = table if isinstance(table, pa.Table) else pa.table(table)
            pq.write_table(output, tmp_path / f"{number}.parquet", **options)
        return tmp_path

    return write


COLUMNS = {
    "i": pa.array(range(10), pa.int16()),
    "f": pa.array([None, *range(9)], pa.float64()),
    "b": pa.array([True, False] * 5),
    "s": pa.array([f"é{n}" for n in range(10)]),
    "y": pa.array([b"\xff" * n for n in range(10)], pa.binary()),
    "d": pa.array(["x", "y"] * 5).dictionary_encode(),
    "l": pa.array([[1] * n for n in range(10)], pa.list_(pa.int32())),
    "t": pa.array([["a", "bc"][: n % 3] for n in range(10)]),
    "v": pa.array([[n, -n] for n in range(10)], pa.list_(pa.float32(), 2)),
}


def test_columns_of_all_types_are_read(written, items_of):
    files = written(COLUMNS, COLUMNS, row_group_size=3)
    message = r"row 0, in row group 0: the column 'f' has a null, expected a value. .*hr.Nullable"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(hp.parquet(files))
    pipeline = hp.parquet(files, defaults={"f": np.nan})
    assert {name: repr(spec) for name, spec in pipeline.spec.items()} == {
        "i": "Spec(int16, ())",
        "f": "Spec(float64, ())",
        "b": "Spec(bool, ())",
        "s": "Spec(str, ())",
        "y": "Spec(bytes, ())",
        "d": "Spec(str, ())",
        "l": "Spec(int32, (None,), ragged)",
        "t": "Spec(str, (None,), ragged)",
        "v": "Spec(float32, (2,))",
    }
    examples = items_of(pipeline.select("i", "b", "s", "y", "d", "l", "t", "v"))
    assert len(examples) == 20
    last = examples[-1]
    assert [last[name] for name in "ibsyd"] == [9, False, "é9", b"\xff" * 9, "y"]
    assert [last[name].tolist() for name in "ltv"] == [[1] * 9, [], [9, -9]]
    assert examples[2]["t"].tolist() == ["a", "bc"]
    [batch] = pipeline.select("f", "i").batch(20)
    assert np.isnan(batch["f"][[0, 10]]).all()
    assert batch["f"][1:10].tolist() == list(range(9))
    assert batch["i"].dtype == np.int16


def test_only_the_requested_columns_are_read(written):
    rows = list(hp.parquet(written(COLUMNS), ["s", "i"]).take(2))
    assert rows == [{"s": "é0", "i": 0}, {"s": "é1", "i": 1}]


def test_epochs_read_the_files_again(written):
    pipeline = hp.parquet(written({"n": list(range(9000))}), ["n"]).batch(1000).epochs(2)
    assert [int(batch["n"][0]) for batch in pipeline] == [*range(0, 9000, 1000)] * 2


def test_empty_files_have_no_rows(written):
    empty = pa.table({"n": pa.array([], pa.int64())})
    assert [row["n"] for row in hp.parquet(written(empty, {"n": [3]}, empty))] == [3]


@pytest.mark.parametrize(
    ("tables", "columns", "message"),
    [
        (
            [{"a": [1, None, 3]}],
            None,
            r"0.parquet: row 1, in row group 0: .* 'a' has a null",
        ),
        ([{"a": [[1], None]}], None, "row 1, .* the column 'a' has a null"),
        (
            [{"a": [{"b": b"x"}]}],
            None,
            "the column 'a' is struct<b: binary>, which contains binary",
        ),
        ([{"a": [1]}], ["b"], "there is no column 'b', expected one of 'a'"),
        (
            [{"a": [1]}, {"a": ["x"]}],
            None,
            r"1.parquet: the column 'a' is string, expected int64, as in the first file",
        ),
        ([{"a": [1]}, {"b": [1]}], None, "1.parquet: there is no column 'a'"),
    ],
)
def test_error_for_an_invalid_value_names_file_and_column(written, tables, columns, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(hp.parquet(written(*tables), columns))


def test_non_parquet_file_is_an_error(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 100)
    with pytest.raises(errors.InvalidArgumentError, match=r"a: .* Is it a Parquet file\?"):
        list(hp.parquet(tmp_path / "a"))


def test_invalid_arguments_are_rejected_at_once():
    with pytest.raises(TypeError, match="columns is 'a', expected a list of names"):
        hp.parquet("a", "a")
    with pytest.raises(ValueError, match="columns is empty"):
        hp.parquet("a", [])


WITHOUT_PYARROW = """
import sys; sys.modules['pyarrow'] = None
import importlib.util as util; found = util.find_spec
util.find_spec = lambda name: None if name == 'pyarrow' else found(name)
import headrace as hr
"""


def without_pyarrow(program):
    command = [sys.executable, "-c", WITHOUT_PYARROW + program]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_parquet_is_read_without_pyarrow(written):
    path = written({"a": [1, 2]}) / "0.parquet"
    program = f"print([int(example['a']) for example in hr.parquet({str(path)!r})])"
    assert without_pyarrow(program) == "[1, 2]\n"


def test_page_checksum_mismatch_is_an_error(written):
    table = {"s": pa.array(["abc" * 10 + str(n) for n in range(10)])}
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    path = written(table, **options) / "0.parquet"
    data = bytearray(path.read_bytes())
    data[data.index(b"abc5")] ^= 1
    path.write_bytes(data)
    with pytest.raises(errors.DataLossError, match=r"0.parquet: .*checksum.* copy it again"):
        list(hp.parquet(path))


def test_error_for_a_damaged_footer_names_the_file(written):
    path = written({"s": pa.array(["x"])}) / "0.parquet"
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[-8:-4], "little")
    data[-8 - size : -8] = b"\xff" * size
    path.write_bytes(data)
    with pytest.raises(errors.DataLossError, match=r"(?s)0.parquet: .*The file is damaged"):
        list(hp.parquet(path))


def test_error_for_non_text_strings_names_file_and_column(written):
    broken = pa.array([b"x", b"\xff"]).view(pa.string())
    path = written({"s": broken}) / "0.parquet"
    with pytest.raises(errors.DataLossError, match=r"0.parquet: row 0, .* the column 's'"):
        list(hp.parquet(path))


def test_duplicate_column_names_are_rejected(tmp_path):
    table = pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "b", "a"])
    pq.write_table(table, tmp_path / "0.parquet")
    message = r"0.parquet: there are 2 columns 'a', expected one.*columns=\['b'\]"
    for columns in (None, ["a"], ["b", "a"]):
        with pytest.raises(errors.InvalidArgumentError, match=message.replace("'b'", ".*")):
            list(hp.parquet(tmp_path, columns))
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(hp.parquet(tmp_path))
    assert [int(example["b"]) for example in hp.parquet(tmp_path, ["b"])] == [2]
    # The same for a later file.
    pq.write_table(pa.table({"a": [5]}), tmp_path / "0.parquet")
    pq.write_table(table, tmp_path / "1.parquet")
    with pytest.raises(errors.InvalidArgumentError, match=r"1.parquet: there are 2 columns 'a'"):
        list(hp.parquet(tmp_path))
