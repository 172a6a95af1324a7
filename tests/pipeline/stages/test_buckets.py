"""Batches of examples of similar lengths."""

import json

import numpy as np
import pytest
from tests.pipeline.conftest import NUM_EXAMPLES

from headrace import pipeline as hp


@pytest.fixture
def lists(records):
    """1,000 examples with lists of 0 to 3 integers."""
    return hp.tfrecords(records).parse({"list": hp.Ragged(int), "number": int})


def rows_of(lengths):
    """Examples whose component `x` has the shape (length, 2)."""
    return hp.iterable(
        lambda: (
            {"n": number, "x": np.full((length, 2), number, np.float32)}
            for number, length in enumerate(lengths)
        )
    )


def test_batch_contains_examples_of_one_bucket(lists, items_of):
    batches = items_of(lists.bucket_by_length("list", [1, 2], size=50))
    assert sorted(number for batch in batches for number in batch["number"]) == list(
        range(NUM_EXAMPLES)
    )
    for batch in batches:
        lengths = batch["number"] % 4
        assert len({0 if length <= 1 else length for length in lengths.tolist()}) == 1
        assert batch["list"].shape == (len(lengths), lengths.max())
        for row, length in zip(batch["list"], lengths, strict=True):
            assert row[:length].tolist() == list(range(length))
            assert not row[length:].any()
    sizes = [len(batch["number"]) for batch in batches]
    assert sizes == [50] * 20


def test_examples_keep_their_order_within_a_bucket(lists, items_of):
    for batch in items_of(lists.bucket_by_length("list", [1, 2], size=7)):
        assert (np.diff(batch["number"]) > 0).all()


def test_each_bucket_has_a_remainder(lists, items_of):
    few = lists.take(10)  # lengths 0 1 2 3 0 1 2 3 0 1: six up to 1, two of 2, two of 3
    sizes = [len(b["number"]) for b in items_of(few.bucket_by_length("list", [1, 2], size=4))]
    assert sizes == [4, 2, 2, 2]
    dropped = few.bucket_by_length("list", [1, 2], size=4, remainder="drop")
    assert [len(batch["number"]) for batch in items_of(dropped)] == [4]
    assert dropped.spec["number"].shape == (4,)
    padded = items_of(few.bucket_by_length("list", [1, 2], size=4, remainder="pad"))
    assert [len(batch["number"]) for batch in padded] == [4] * 4
    assert [int(batch["mask"].sum()) for batch in padded] == [4, 2, 2, 2]


def test_lists_are_padded_to_the_boundary_if_requested(lists, items_of):
    bucketed = lists.bucket_by_length("list", [2, 6], size=8, pad_to_boundary=True, values=-1)
    widths = {batch["list"].shape[1] for batch in items_of(bucketed)}
    assert widths == {2, 6}
    first = items_of(bucketed.take(1))[0]["list"]
    assert first[0].tolist() == [-1, -1]
    beyond = lists.bucket_by_length("list", [1], size=8, pad_to_boundary=True)
    assert {batch["list"].shape[1] for batch in items_of(beyond)} == {1, 3}


def test_max_elements_limits_the_size_of_a_batch(items_of):
    lengths = [3, 4, 1, 4, 2, 30, 4, 4, 3, 2, 2, 1, 9]
    bucketed = rows_of(lengths).bucket_by_length("x", [4], max_elements=24)
    batches = items_of(bucketed)
    assert sorted(n for batch in batches for n in batch["n"].tolist()) == list(range(13))
    for batch in batches:
        assert batch["x"].size <= 24 or len(batch["n"]) == 1
    assert [batch["n"].tolist() for batch in batches[:3]] == [[0, 1, 2], [5], [3, 4, 6]]
    to_boundary = items_of(
        rows_of(lengths).bucket_by_length("x", [4], max_elements=24, pad_to_boundary=True)
    )
    widths = {batch["x"].shape[1] for batch in to_boundary}
    assert widths == {4, 9, 30}
    both = rows_of([1] * 20).bucket_by_length("x", [4], size=3, max_elements=24)
    assert [len(batch["n"]) for batch in items_of(both)] == [3] * 6 + [2]


def test_elements_are_counted_on_all_padded_axes(items_of):
    shapes = [(2, 3), (1, 5), (2, 1), (3, 4), (1, 1), (2, 2)]
    arrays = hp.iterable(lambda: ({"x": np.ones(shape, np.float32)} for shape in shapes))
    batches = items_of(arrays.bucket_by_length("x", [3], max_elements=24))
    assert [batch["x"].shape for batch in batches] == [(2, 2, 5), (2, 3, 4), (2, 2, 2)]


def test_elements_of_nested_lists_include_their_padding(items_of, tmp_path):
    rows = [[[1] * 3], [[1], [1] * 2], [[1] * 6], [[1], [1]]]
    path = tmp_path / "lists.jsonl"
    path.write_text("\n".join(json.dumps({"x": row}) for row in rows))
    lists = hp.json_lines(path, columns={"x": hp.Ragged(int, ndim=2)})
    batches = items_of(lists.bucket_by_length("x", [2], max_elements=12))
    assert [batch["x"].shape for batch in batches] == [(2, 2, 3), (1, 1, 6), (1, 2, 1)]


def test_arrays_of_any_rank_are_padded_on_the_first_axis(items_of):
    [batch] = items_of(rows_of([2, 0, 3]).bucket_by_length("x", [3], size=3, values=7))
    assert batch["x"].shape == (3, 3, 2)
    assert batch["x"][0].tolist() == [[0, 0], [0, 0], [7, 7]]
    assert batch["x"][1].tolist() == [[7, 7]] * 3
    [padded] = items_of(rows_of([2, 0, 3]).padded_batch(3))
    assert padded["x"].shape == (3, 3, 2)


def test_each_epoch_ends_with_its_remainder(lists, items_of):
    once = items_of(lists.bucket_by_length("list", [1, 2], size=7))
    twice = items_of(lists.bucket_by_length("list", [1, 2], size=7).epochs(2))
    assert len(twice) == 2 * len(once)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "nothing"}, "there is no component 'nothing'"),
        ({"name": "number"}, "the component 'number' is a scalar"),
        ({"boundaries": []}, r"boundaries is \(\), expected at least one"),
        (
            {"boundaries": [3, 2]},
            r"boundaries is \(3, 2\), expected at least one number, in increasing order",
        ),
        ({"boundaries": [0]}, "a value in boundaries is 0, expected an int of at least 1"),
        ({"size": None}, "Pass size, max_elements or both"),
        ({"size": 0}, "size is 0"),
        ({"max_elements": -1}, "max_elements is -1"),
        ({"remainder": "never"}, "remainder is 'never'"),
        ({"remainder": "pad", "max_elements": 9}, "works only with size and without max_elements"),
    ],
)
def test_invalid_arguments_are_rejected(lists, arguments, message):
    with pytest.raises(ValueError, match=f"bucket_by_length: .*{message}"):
        lists.bucket_by_length(**{"name": "list", "boundaries": [2], "size": 3, **arguments})


def test_bucketing_batches_is_rejected(lists):
    with pytest.raises(
        ValueError, match="cannot come after batch, because it needs single examples"
    ):
        lists.padded_batch(3).bucket_by_length("list", [2], size=3)
