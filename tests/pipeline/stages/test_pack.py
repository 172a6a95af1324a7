"""Lists packed into rows of equal length."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.conftest import LARGE_WAYS, same

import headrace as hr
from headrace.core import errors
from headrace.testing import assert_resumes


def texts(lengths):
    """One example per length. Token `i` of example `n` is 100 n + i, counted from 1."""

    def examples():
        for number, length in enumerate(lengths):
            tokens = 100 * number + np.arange(1, length + 1)
            yield {"tokens": tokens, "weights": tokens.astype(np.float32) / 2}

    return hr.iterable(examples)


def first_fit(lengths, length, max_open):
    """The numbers of the examples of each row, by first fit as documented."""
    rows, open_rows = [], []

    def used(row):
        return sum(lengths[number] for number in row)

    for number, expected in enumerate(lengths):
        if expected == 0:
            continue
        for row in open_rows:
            if used(row) + expected <= length:
                break
        else:
            if len(open_rows) == max_open:
                fullest = max(open_rows, key=used)
                open_rows.remove(fullest)
                rows.append(fullest)
            row = []
            open_rows.append(row)
        row.append(number)
        if used(row) == length:
            open_rows.remove(row)
            rows.append(row)
    return rows + open_rows


def numbers_of(row):
    """The numbers of the examples of a row, in order."""
    return [int(row["tokens"][row["segment_ids"] == s][0]) // 100 for s in range(1, segments(row))]


def segments(row):
    return int(row["segment_ids"].max()) + 1


def test_row_contains_its_examples_in_sequence():
    packed = list(texts([3, 2, 4, 1]).pack(6, ["tokens", "weights"]))
    first, second = packed
    assert first["tokens"].tolist() == [1, 2, 3, 101, 102, 301]
    assert first["segment_ids"].tolist() == [1, 1, 1, 2, 2, 3]
    assert first["positions"].tolist() == [0, 1, 2, 0, 1, 0]
    assert first["weights"].tolist() == [0.5, 1.0, 1.5, 50.5, 51.0, 150.5]
    assert second["tokens"].tolist() == [201, 202, 203, 204, 0, 0]
    assert second["segment_ids"].tolist() == [1, 1, 1, 1, 0, 0]
    assert second["positions"].tolist() == [0, 1, 2, 3, 0, 0]


@pytest.mark.parametrize("is_split", [False, True])
def test_rows_are_padded_with_the_chosen_values(is_split):
    values = {"tokens": 7, "weights": np.float32(-0.5)}
    packed = texts([3, 2, 4]).pack(5, ["weights", "tokens"], is_split, values=values)
    row = list(packed)[1]
    assert row["tokens"].tolist() == [201, 202, 203, 204, 7]
    assert row["weights"].tolist() == [100.5, 101, 101.5, 102, -0.5]
    assert row["segment_ids"].tolist() == [1, 1, 1, 1, 0]
    assert row["positions"].tolist() == [0, 1, 2, 3, 0]
    assert_resumes(packed)


def test_one_value_pads_all_packed_components_and_none_pads_with_zeros():
    both = ["tokens", "weights"]
    row = next(iter(texts([2]).pack(4, both, values=-100)))
    assert row["tokens"].tolist() == [1, 2, -100, -100]
    assert row["weights"].tolist() == [0.5, 1, -100, -100]
    row = next(iter(texts([2]).pack(4, both, values={"tokens": -100, "weights": None})))
    assert row["tokens"].tolist() == [1, 2, -100, -100]
    assert row["weights"].tolist() == [0.5, 1, 0, 0]


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"tokens": 0.5}, ValueError, "values has 0.5 for 'tokens', expected a value that int64"),
        (0.5, ValueError, "values has 0.5 for 'tokens', expected a value that int64 can represent"),
        ({"tokens": "a"}, ValueError, "values has 'a' for 'tokens'"),
        ("a", ValueError, "there is no list of strings to pad"),
        ({"name": 1}, ValueError, "entry for 'name', expected only packed components: 'tokens'"),
        ({"tokens": [1]}, TypeError, "expected a number, a string, or a dict"),
    ],
)
@pytest.mark.parametrize("is_known", [True, False])
def test_values_that_do_not_fit_are_rejected(values, error, words, is_known):
    if is_known:
        rows = hr.arrays({"tokens": np.ones((3, 2), np.int64), "name": ["a", "b", "c"]})
    else:
        rows = texts([1]).map(lambda e: {"tokens": e["tokens"], "name": "a"})
    with pytest.raises(error, match=words):
        next(iter(rows.pack(4, "tokens", along="name", values=values)))


def test_state_resumes_only_with_the_same_padding():
    state = iter(texts([3, 2]).pack(4, ["tokens", "weights"])).state()
    texts([3, 2]).pack(4, ["tokens", "weights"], values=0).resume(state)
    with pytest.raises(ValueError, match="when the state was saved"):
        texts([3, 2]).pack(4, ["tokens", "weights"], values=-100).resume(state)


def test_spec_is_available_before_iteration():
    packed = texts([3]).pack(6, ["weights", "tokens"])
    assert packed.spec == {
        "weights": hr.Spec(np.dtype(np.float32), (6,)),
        "tokens": hr.Spec(np.dtype(np.int64), (6,)),
        "segment_ids": hr.Spec(np.dtype(np.int32), (6,)),
        "positions": hr.Spec(np.dtype(np.int32), (6,)),
    }
    assert {name: array.dtype for name, array in next(iter(packed)).items()} == {
        name: spec.dtype for name, spec in packed.spec.items()
    }


@given(
    lengths=st.lists(st.integers(0, 20), max_size=120),
    max_open=st.integers(1, 6),
    way=st.sampled_from(LARGE_WAYS),
)
def test_examples_are_placed_by_first_fit(lengths, max_open, way):
    lengths = [1, *lengths]
    packed = texts(lengths).pack(20, ["tokens", "weights"], max_open=max_open).options(**way)
    rows = list(packed)
    assert [numbers_of(row) for row in rows] == first_fit(lengths, 20, max_open)
    tokens = sorted(int(token) for row in rows for token in row["tokens"] if token)
    assert tokens == [100 * n + i for n, length in enumerate(lengths) for i in range(1, length + 1)]


@given(lengths=st.lists(st.integers(0, 50), max_size=60))
def test_long_lists_are_split_if_requested(lengths):
    rows = list(texts([1, *lengths]).pack(8, ["tokens", "weights"], split=True))
    results = {}
    for row in rows:
        for token, position in zip(row["tokens"], row["positions"], strict=True):
            if token:
                results[int(token)] = int(position)
    assert results == {
        100 * n + i + 1: i for n, length in enumerate([1, *lengths]) for i in range(length)
    }
    assert all((row["segment_ids"] > 0).sum() == (row["tokens"] > 0).sum() for row in rows)


def test_lists_of_parsed_examples_are_packed(records):
    parsed = hr.tfrecords(records).parse({"list": hr.Ragged(int)})
    tokens = [int(token) for example in parsed for token in example["list"]]
    packed = list(parsed.shuffle(window=50, seed=1).pack(16, "list").batch(8))
    assert packed[0]["list"].shape == (8, 16)
    filled = [batch["segment_ids"] > 0 for batch in packed]
    results = [
        int(t) for batch, mask in zip(packed, filled, strict=True) for t in batch["list"][mask]
    ]
    assert sorted(results) == sorted(tokens)


def test_fixed_length_vectors_are_packed():
    pipe = hr.arrays({"x": np.arange(12, dtype=np.uint8).reshape(4, 3)}).pack(7, "x")
    assert [row["x"].tolist() for row in pipe] == [[0, 1, 2, 3, 4, 5, 0], [6, 7, 8, 9, 10, 11, 0]]


def test_packed_rows_resume_exactly():
    lengths = np.random.default_rng(1).integers(0, 30, 700).tolist()
    for split in (False, True):
        pipe = texts(lengths).pack(29 - 10 * split, ["tokens", "weights"], split, max_open=7)
        assert_resumes(pipe.epochs(2).batch(4), every=9)
    ways = [list(pipe.options(**way)) for way in LARGE_WAYS]
    assert all(same(ways[0], other) for other in ways)


def test_state_is_small():
    lengths = np.random.default_rng(1).integers(1, 30, 20_000).tolist()
    batches = iter(texts(lengths).pack(1000, ["tokens", "weights"], max_open=40))
    # About 66 examples fit into a row.
    sizes = [len(json.dumps(batches.state())) for _ in batches]
    assert 600 < max(sizes) < 1000 + 16 * 66 * 40


def test_statistics_include_the_share_of_padding():
    batches = iter(texts([3, 2, 4, 1]).pack(6, ["tokens", "weights"]))
    assert len(list(batches)) == 2
    shares = {stage.name: stage.padding for stage in batches.statistics().stages}
    assert shares["pack"] == 2 / 12
    assert shares["iterable(texts.<locals>.examples)"] is None


def test_error_for_an_oversized_list_names_its_example():
    batches = iter(texts([3, 2, 9, 1]).pack(5, ["tokens", "weights"]))
    assert next(batches)["tokens"].tolist() == [1, 2, 3, 101, 102]
    message = r"pack: an example has 9 elements, expected at most 5. Use split=.*example 2\]"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        next(batches)


@pytest.mark.parametrize("split", [False, True])
def test_unequal_lengths_are_rejected(split):
    pipe = hr.iterable(lambda: ({"a": range(n), "b": range(3)} for n in (3, 2)))
    message = r"pack: one component of an example has 2 elements, another 3, .*example 1\]"
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(pipe.pack(5, ["a", "b"], split))


def test_invalid_arguments_are_rejected():
    pipe = hr.arrays({"x": np.zeros((2, 3)), "y": np.zeros((2, 3)), "z": np.zeros(2)})
    two = pipe.select("x", "y")
    for call, message in (
        (lambda: two.pack(0, "x"), "pack: length is 0, expected an int of at least 1"),
        (lambda: two.pack(4, "x", max_open=0), "pack: max_open is 0, expected"),
        (lambda: two.pack(4, []), "pack: the names are .*, expected at least one"),
        (lambda: two.pack(4, ["x", "x"]), "pack: the names are .*, expected at least one name"),
        (lambda: two.pack(4, "q"), "pack: there is no component 'q'"),
        (
            lambda: two.pack(4, "x"),
            "pack: the component 'y' is neither packed nor in along. Drop it with select",
        ),
        (lambda: pipe.select("z").pack(4, "z"), "the component 'z' is .*, expected lists of num"),
        (lambda: two.batch(2).pack(4, ["x", "y"]), "pack: cannot come after batch"),
        (
            lambda: two.rename(x="positions").pack(4, ["positions", "y"]),
            "there is already a component 'positions'",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="pack: split is 1, expected a bool"):
        two.pack(4, ["x", "y"], 1)
    with pytest.raises(TypeError, match="the number of examples after pack is unknown"):
        len(two.pack(4, ["x", "y"]))


@hr.native
def reshaped(example):
    return {"x": hr.ops.reshape(example["x"], example["shape"])}


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize(
    "shapes", [[[6], [2, 3], [6]], [[6], [1, 6, 1], [6]], [[2, 3], [2, 3], [2, 3]]]
)
def test_non_vector_component_is_an_error_with_its_example(shapes, split):
    def examples():
        for shape in shapes:
            yield {"x": np.arange(6), "shape": np.array(shape, np.int32)}

    pipe = hr.iterable(examples).map(reshaped)
    assert pipe.spec["x"].shape is None
    number = next(number for number, shape in enumerate(shapes) if len(shape) > 1)
    shape = re.escape(json.dumps(shapes[number], separators=(",", ":")))
    message = (
        rf"pack: the component 'x' of an example has shape {shape}, "
        rf"expected a vector. Flatten it in map with reshape\(-1\), or filter the example out"
        rf".*example {number}\]"
    )
    with pytest.raises(errors.InvalidArgumentError, match=message):
        list(pipe.pack(8, "x", split))


@pytest.mark.parametrize("split", [False, True])
def test_scalar_of_unknown_rank_is_rejected(split):
    def examples():
        yield {"x": np.arange(1), "shape": np.zeros(0, np.int32)}

    pipe = hr.iterable(examples).map(reshaped)
    with pytest.raises(errors.InvalidArgumentError, match=r"component 'x' .* has shape \[\], exp"):
        list(pipe.pack(8, "x", split))


@pytest.mark.parametrize("split", [False, True])
def test_vectors_of_unknown_rank_are_packed(split):
    pipe = hr.iterable([{"x": np.arange(n), "shape": np.array([n], np.int32)} for n in (2, 1, 3)])
    rows = list(pipe.map(reshaped).pack(4, "x", split))
    assert [row["x"].tolist() for row in rows] == [[0, 1, 0, 0], [0, 1, 2, 0]]


def documents(lengths):
    """The examples of `texts`, each with a number and a name."""
    return texts(lengths).map(_named)


def _named(example):
    number = int(example["tokens"][0]) // 100 if len(example["tokens"]) else -1
    return {**example, "number": number, "name": f"n{number}"}


def test_other_components_are_kept_once_per_document():
    packed = documents([3, 2, 4, 0, 1]).pack(
        6, ["tokens", "weights"], along=["name", "number"], cu_seqlens=True
    )
    first, second = packed
    assert first["tokens"].tolist() == [1, 2, 3, 101, 102, 401]
    assert first["number"].tolist() == [0, 1, 4]
    assert list(first["name"]) == ["n0", "n1", "n4"]
    assert first["cu_seqlens"].tolist() == [0, 3, 5, 6]
    assert first["cu_seqlens"].dtype == np.int32
    assert (list(second["name"]), second["cu_seqlens"].tolist()) == (["n2"], [0, 4])
    assert packed.spec["number"] == hr.Spec(np.dtype(np.int64), (None,), True)
    assert packed.spec["name"] == hr.Spec(str, (None,), True)
    assert packed.spec["cu_seqlens"] == hr.Spec(np.dtype(np.int32), (None,), True)
    assert list(packed.spec) == list(first)


def test_each_piece_of_a_split_list_keeps_the_other_components():
    packed = (
        documents([7, 2])
        .select("tokens", "weights", "number")
        .pack(3, ["tokens", "weights"], split=True, along="number", cu_seqlens=True)
    )
    assert [(row["number"].tolist(), row["cu_seqlens"].tolist()) for row in packed] == [
        ([0], [0, 3]),
        ([0], [0, 3]),
        ([0, 1], [0, 1, 3]),
    ]


def test_packed_rows_with_lists_can_be_batched_and_resume():
    lengths = np.random.default_rng(1).integers(0, 30, 300).tolist()
    packed = (
        documents([1, *lengths])
        .select("tokens", "weights", "number")
        .pack(40, ["tokens", "weights"], along="number", cu_seqlens=True, max_open=5)
    )
    for row in packed:
        ends = row["cu_seqlens"]
        assert len(ends) == len(row["number"]) + 1
        assert (
            np.repeat(np.arange(1, len(ends)), np.diff(ends)).tolist()
            == row["segment_ids"][: ends[-1]].tolist()
        )
    assert_resumes(packed.padded_batch(4), every=7)


def squares(row):
    return int((np.diff(row["cu_seqlens"]).astype(np.int64) ** 2).sum())


@pytest.mark.parametrize("world", [2, 8])
def test_ranks_receive_rows_of_equal_cost(world):
    lengths = np.random.default_rng(1).integers(1, 200, 6000).tolist()
    packed = texts(lengths)
    plain = list(packed.pack(256, ["tokens", "weights"], cu_seqlens=True))
    balanced = list(packed.pack(256, ["tokens", "weights"], cu_seqlens=True, balance=world))
    assert sorted(row["tokens"].tolist() for row in plain) == sorted(
        row["tokens"].tolist() for row in balanced
    )

    def spread(rows, step):
        size = step * world
        costs = [
            [squares(row) for row in rows[n : n + size]] for n in range(0, len(rows) - size, size)
        ]
        sums = [[sum(step[rank::world]) for rank in range(world)] for step in costs]
        return np.mean([max(of_ranks) / np.mean(of_ranks) - 1 for of_ranks in sums])

    for step in (1, 4, 8):
        assert spread(balanced, step) < 0.35 * spread(plain, step)


def test_balanced_rows_resume_exactly():
    lengths = np.random.default_rng(1).integers(0, 30, 900).tolist()
    for split in (False, True):
        pipe = texts([1, *lengths]).pack(
            29 - 10 * split, ["tokens", "weights"], split, max_open=7, balance=3
        )
        assert_resumes(pipe.epochs(2).batch(4), every=9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"along": "tokens"}, "'tokens' is both in names and in along"),
        ({"along": "other"}, "other"),
        ({"balance": 0}, "balance is 0"),
    ],
)
def test_components_that_cannot_be_kept_are_rejected(arguments, words):
    lists = hr.arrays({"tokens": np.zeros((2, 3)), "list": np.zeros((2, 3)), "n": np.zeros(2)})
    with pytest.raises(ValueError, match=words):
        lists.pack(6, "tokens", **arguments)
