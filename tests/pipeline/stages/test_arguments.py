"""Invalid arguments and names are rejected by the call."""

import numpy as np
import pytest

import headrace as hr
from headrace import pipeline as hp


@pytest.fixture
def rows():
    return hp.arrays({"n": np.arange(3), "x": np.zeros((3, 2))})


@pytest.fixture
def unknown(rows):
    """Unknown components, from a Python function."""
    return rows.map(lambda e: e)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda p: p.select(["n", "x"]), TypeError, r"\['n', 'x'\] is not the name of a component"),
        (
            lambda p: p.select("n", "n"),
            ValueError,
            "the names are .*, expected at least one name and no duplicates",
        ),
        (lambda p: p.rename(), ValueError, "rename: the names are .*, expected at least one"),
        (lambda p: p.rename(a=1), TypeError, "rename: 1 is not the name of a component"),
        (lambda p: p.rename(n="a", x="a"), ValueError, "rename: .*no duplicates"),
        (lambda p: p.parse(["n"]), TypeError, "parse: features is .*, expected a dict"),
        (
            lambda p: p.parse({1: int}),
            TypeError,
            "parse: features is .*, expected a dict",
        ),
        (
            lambda p: p.bucket_by_length("x", 3, size=2),
            TypeError,
            "boundaries is 3, expected",
        ),
        (lambda p: p.bucket_by_length(1, [3], size=2), TypeError, "1 is not the name"),
        (
            lambda p: p.bucket_by_length("x", [3], size=2, pad_to_boundary=1),
            TypeError,
            "pad_to_boundary is 1, expected a bool",
        ),
        (lambda p: p.pack(3, [1]), TypeError, "pack: 1 is not the name of a component"),
        (lambda p: p.flat_map(len, seed=-1), ValueError, "flat_map: seed is -1, expected an int"),
        (hp.concat, TypeError, r"expected a list of pipelines, such as concat\(\[a, b\]\)"),
        (hp.mix, TypeError, "mix: got .*, expected a list of pipelines"),
        (lambda p: hp.zip([p], strict=1), TypeError, "zip: strict is 1, expected a bool"),
        (lambda p: hp.mix([p], weights=2), TypeError, "mix: weights is 2, expected numbers"),
        (lambda p: hp.mix([p], weights=["a"]), TypeError, "mix: weights is .*, expected numbers"),
        (
            lambda _: hp.fixed_length_records("a", True),
            ValueError,
            "record_bytes is True, expected an int of at least 1",
        ),
    ],
)
def test_arguments_are_checked_at_the_call(make, error, message, rows):
    with pytest.raises(error, match=message):
        make(rows)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: p.select("n", "x").select("typo"),
        lambda p: p.select("n", "x").filter(lambda e: True).take(3).rename(typo="y"),
        lambda p: p.select("n", "x").batch(2).select("typo"),
        lambda p: p.select("n", "x").bucket_by_length("typo", [3], size=2),
        lambda p: p.select("n", "x").padded_batch(2, values={"typo": 0}),
        lambda p: p.select("n", "x").pack(3, "typo"),
        lambda p: p.pack(3, "x").select("typo"),
        lambda p: p.select("n", "x").parse({"n": int}),
        lambda p: hp.concat([p.select("n", "x")]).select("typo"),
        lambda p: hp.zip([p.select("n"), p.select("x")]).select("typo"),
    ],
)
def test_names_are_checked_as_early_as_possible(make, unknown):
    with pytest.raises(ValueError, match=r"there is no component '(typo|record)', expected one of"):
        make(unknown)


def test_existing_names_are_accepted(unknown):
    chosen = unknown.select("n", "x").rename(x="y").batch(2, remainder="pad").select("y", "mask")
    assert list(chosen.spec) == ["y", "mask"]
    assert len(list(chosen)) == 2
    # A later function returns other components.
    again = unknown.select("n").map(lambda e: {"z": e["n"]}).select("z")
    assert [int(example["z"]) for example in again] == [0, 1, 2]


def test_function_output_names_are_checked_when_iteration_starts(unknown):
    with pytest.raises(ValueError, match="there is no component 'typo', expected one of 'n'"):
        next(iter(unknown.select("typo")))


def test_requested_parquet_columns_are_checked_at_the_call(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="there is no component 'typo', expected one of 'a', 'b'"):
        hp.parquet(tmp_path / "a.parquet", ["a", "b"]).select("typo")


def test_engine_threads_exclude_python_function_threads(rows):
    text = rows.map(lambda e: e).options(num_threads=8).describe()
    assert "num_threads does not apply to Python functions, which have their own threads" in text
    native = rows.map(hr.native(lambda e: {"n": e["n"] + 1})).options(num_threads=8)
    assert "Python" not in native.describe()
