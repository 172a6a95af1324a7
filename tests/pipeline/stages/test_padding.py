"""Padding values of lists."""

import numpy as np
import pytest

from headrace import pipeline as hp


@pytest.fixture
def lists():
    """Lists of 0 to 2 items of several types, and a scalar that is never padded."""
    rows = [[], [1], [1, 2]]
    return hp.iterable(
        lambda: (
            {
                "n": row,
                "x": np.array(row, np.float32),
                "b": np.array(row, np.uint8),
                "s": ["ä"] * len(row),
                "is": [True] * len(row),
                "one": np.uint8(7),
            }
            for row in rows
        )
    )


def test_none_pads_with_zeros_and_empty_strings(lists):
    for stage in (
        lists.padded_batch(3),
        lists.padded_batch(3, values=None),
        lists.padded_batch(3, values={"n": None}),
        lists.bucket_by_length("n", [9], size=3),
    ):
        (batch,) = stage
        assert {name: column.tolist() for name, column in batch.items()} == {
            "n": [[0, 0], [1, 0], [1, 2]],
            "x": [[0, 0], [1, 0], [1, 2]],
            "b": [[0, 0], [1, 0], [1, 2]],
            "s": [["", ""], ["ä", ""], ["ä", "ä"]],
            "is": [[False, False], [True, False], [True, True]],
            "one": [7, 7, 7],
        }


def test_value_pads_components_of_its_kind(lists):
    (batch,) = lists.select("n", "x", "s", "one").padded_batch(3, values=-1)
    assert batch["n"].tolist() == batch["x"].tolist() == [[-1, -1], [1, -1], [1, 2]]
    assert batch["s"].tolist() == [["", ""], ["ä", ""], ["ä", "ä"]]
    (batch,) = lists.padded_batch(3, values="<pad>")
    assert batch["n"].tolist() == [[0, 0], [1, 0], [1, 2]]
    assert batch["s"].tolist()[1] == ["ä", "<pad>"]
    values = {"x": 0.5, "s": b"?", "is": True, "b": np.uint8(255)}
    (batch,) = lists.padded_batch(3, values=values)
    assert [batch[name].tolist()[1][1] for name in values] == [0.5, "?", True, 255]
    (batch,) = lists.select("x").padded_batch(3, values=float("-inf"))
    assert batch["x"].tolist()[0] == [-np.inf, -np.inf]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"typo": 0}, "values has an entry for 'typo', expected one of the components 'n', 'x'"),
        ({"n": 0.5}, "values has 0.5 for 'n', expected a value that int64 can represent exactly"),
        (0.5, "values has 0.5 for 'n', expected a value that int64 can represent exactly"),
        ({"b": 256}, "values has 256 for 'b', expected a value that uint8 can represent exactly"),
        ({"b": -1}, "values has -1 for 'b'"),
        ({"is": 2}, "values has 2 for 'is', expected a value that bool can represent exactly"),
        ({"x": 1e300}, "values has 1e.300 for 'x', expected a value that float32 can represent"),
        ({"x": "a"}, "values has 'a' for 'x'"),
        ({"s": 1}, "values has 1 for 's', expected a value that str can represent"),
        ({"n": 2j}, "values has 2j for 'n'"),
    ],
)
@pytest.mark.parametrize("is_known", [True, False])
def test_values_of_the_wrong_type_are_rejected_at_once(values, message, is_known, lists):
    expected = hp.arrays(
        {
            "n": np.zeros((3, 2), np.int64),
            "x": np.zeros((3, 2), np.float32),
            "b": np.zeros((3, 2), np.uint8),
            "s": np.full((3, 2), "a"),
            "is": np.zeros((3, 2), bool),
        }
    )
    for make in (
        lambda p: p.padded_batch(2, values=values),
        lambda p: p.bucket_by_length("n", [9], size=2, values=values),
    ):
        if is_known and not isinstance(values, float):
            with pytest.raises(ValueError, match=message):
                make(expected)
        # The components of a Python function are not known before.
        elif not is_known:
            with pytest.raises(ValueError, match=message):
                list(make(lists))


@pytest.mark.parametrize("values", [[0], object(), {"n": [1, 2]}, {1: 2}])
def test_invalid_values_are_rejected(values, lists):
    with pytest.raises(TypeError, match="padded_batch: values has"):
        lists.padded_batch(2, values=values)


@pytest.mark.parametrize(
    ("dtype", "shape", "default"),
    [(int, (), 0.5), (np.uint8, (), 300), (bytes, (), 1), (float, (3,), [1, 2])],
)
def test_feature_defaults_that_do_not_fit_are_rejected(dtype, shape, default):
    with pytest.raises(ValueError, match=r"Feature: default is .*, expected .* or a scalar"):
        hp.Feature(dtype, shape, default)


def test_feature_defaults_that_fit_are_accepted():
    assert hp.Feature(int, (2,), 3.0).default == 3.0
    assert hp.Feature(float, (), 1e-3).default == 1e-3
    assert hp.Feature(str, (2,), "ab").default == "ab"


def test_string_that_pads_no_component_is_rejected():
    lists = hp.iterable([{"x": [1, 2]}, {"x": [3]}])
    with pytest.raises(ValueError, match="values is 's', but there is no list of strings to pad"):
        list(lists.padded_batch(2, values="s"))
