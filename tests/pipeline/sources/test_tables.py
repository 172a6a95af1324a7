"""The tables that `arrays` accepts besides a dict of arrays."""

import numpy as np
import pytest

from headrace import pipeline as hp


@pytest.mark.parametrize("make", [list, np.array, lambda values: np.array(values, ">i8")])
def test_unnamed_array_is_called_x(make):
    pipeline = hp.arrays(make([3, 1, 2]))
    assert [row["x"] for row in pipeline] == [3, 1, 2]
    assert repr(pipeline.spec) == "{'x': Spec(int64, ())}"


COLUMNS = {"n": [1, 2], "x": [0.5, float("nan")], "s": ["a", "ü"]}


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_table_has_one_component_per_column(package):
    library = pytest.importorskip(package)
    make = library.table if package == "pyarrow" else library.DataFrame
    pipeline = hp.arrays(make(COLUMNS))
    specs = {"n": "Spec(int64, ())", "x": "Spec(float64, ())", "s": "Spec(str, ())"}
    assert {name: repr(spec) for name, spec in pipeline.spec.items()} == specs
    (batch,) = pipeline.batch(2)
    assert {name: np.asarray(column).tolist() for name, column in batch.items() if name != "x"} == {
        "n": [1, 2],
        "s": ["a", "ü"],
    }
    assert np.array_equal(batch["x"], COLUMNS["x"], equal_nan=True)


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_missing_values_are_rejected_unless_nan_can_replace_them(package):
    library = pytest.importorskip(package)
    if package == "pandas":
        table = library.DataFrame({"n": library.array([1, None], dtype="Int64")})
    else:
        table = (library.table if package == "pyarrow" else library.DataFrame)({"n": [1, None]})
    with pytest.raises(ValueError, match=r"the column 'n' has 1 missing values\. Fill them in"):
        hp.arrays(table)


def test_arrow_record_batch_is_accepted_as_a_table():
    pa = pytest.importorskip("pyarrow")
    batch = pa.record_batch({"name": ["a", "b"], "is_good": [True, False], "n": [1, 2]})
    assert [dict(example) for example in hp.arrays(batch)] == [
        {"name": "a", "is_good": True, "n": 1},
        {"name": "b", "is_good": False, "n": 2},
    ]


def test_duplicate_column_names_are_rejected():
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    with pytest.raises(ValueError, match="Rename one"):
        hp.arrays(table)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (([1], [2]), TypeError, "arrays: got tuple, expected a dict such as"),
        (3, TypeError, "arrays: got int, expected a dict"),
        ({1: [2]}, TypeError, "the name 1 is not a string"),
        ({}, ValueError, "there are no arrays, expected at least one"),
        ([[1], [2, 3]], ValueError, "'x' is a list whose items have different lengths"),
        (
            np.float32(1),
            ValueError,
            "'x' is a scalar, expected an array with one row for each example",
        ),
    ],
)
def test_unsupported_types_are_rejected(value, error, message):
    with pytest.raises(error, match=message):
        hp.arrays(value)
