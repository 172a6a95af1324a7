"""Padding along every axis whose size may differ."""

import numpy as np
import pytest
from tests.pipeline.conftest import LARGE_WAYS, same

import headrace as hr
from headrace.core import errors
from headrace.testing import assert_resumes

SHAPES = [(2, 3, 1), (0, 2, 2), (1, 1, 4), (3, 2, 2), (2, 0, 1)]


def masks(dtype=np.float32):
    random = np.random.default_rng(3)
    return [random.integers(1, 9, shape).astype(dtype) for shape in SHAPES]


def padded(arrays, fill=0, multiples=()):
    """The arrays, stacked and padded by hand."""
    largest = np.max([array.shape for array in arrays], axis=0)
    multiples = [*multiples, *[1] * (len(largest) - len(multiples))]
    pairs = zip(largest, multiples, strict=True)
    shape = [-(-size // multiple) * multiple for size, multiple in pairs]
    batch = np.full((len(arrays), *shape), fill, arrays[0].dtype)
    for row, array in zip(batch, arrays, strict=True):
        row[tuple(map(slice, array.shape))] = array
    return batch


def examples(arrays):
    return hr.iterable(lambda: ({"n": n, "mask": array} for n, array in enumerate(arrays)))


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.float64, np.complex64])
@pytest.mark.parametrize("fill", [0, 1])
def test_all_axes_match_manual_padding(dtype, fill):
    arrays = masks(dtype)
    for size in (1, 2, 5):
        batches = list(examples(arrays).padded_batch(size, values={"mask": bool(fill) or fill}))
        assert len(batches) == -(-len(arrays) // size)
        for number, batch in enumerate(batches):
            expected = padded(arrays[number * size :][:size], fill)
            assert same([{"mask": batch["mask"]}], [{"mask": expected}])


def test_strings_are_padded_on_all_axes():
    words = [np.array([["a", "b"]], object), np.array([["c"], ["d"]], object)]
    (batch,) = examples(words).padded_batch(2, values={"mask": "-"})
    assert batch["mask"].tolist() == [[["a", "b"], ["-", "-"]], [["c", "-"], ["d", "-"]]]


def test_multiple_of_applies_to_the_first_axis_or_to_each_named_axis():
    arrays = masks()
    pipe = examples(arrays)
    (batch,) = pipe.padded_batch(5, multiple_of=4)
    assert same([batch], [{"n": np.arange(5), "mask": padded(arrays, 0, [4])}])
    for multiples, expected in ((8, [8]), ([1, 8], [1, 8]), ((2, 1, 8), [2, 1, 8]), ((), [])):
        (batch,) = pipe.padded_batch(5, -1, {"mask": multiples})
        assert same([batch], [{"n": np.arange(5), "mask": padded(arrays, -1, expected)}])
    (again,) = pipe.padded_batch(5, multiple_of={"mask": np.array(4)[()]})
    assert again["mask"].shape == (5, 4, 3, 4)


def test_axes_of_known_size_are_unchanged(tmp_path):
    @hr.native
    def image(example):
        n = example["n"]
        shape = hr.ops.stack([n + 1, 3 - n, hr.ops.constant(2, "int64")])
        return {"image": hr.ops.ensure_shape(hr.ops.fill(shape, n), (None, None, 2))}

    pipe = hr.arrays({"n": np.arange(3)}).map(image)
    (batch,) = pipe.padded_batch(3, -1, {"image": (4, 4)})
    arrays = [np.full((n + 1, 3 - n, 2), n) for n in range(3)]
    assert same([batch], [{"image": padded(arrays, -1, (4, 4))}])
    with pytest.raises(ValueError, match=r"multiple_of\['image'\] is 8 for axis 2, but that axis"):
        pipe.padded_batch(3, multiple_of={"image": (1, 1, 8)})
    assert pipe.padded_batch(3).spec["image"].shape == (None, None, None, 2)


def test_axis_of_known_size_can_come_first():
    @hr.native
    def image(example):
        n = example["n"]
        shape = hr.ops.stack([hr.ops.constant(3, "int64"), n + 1])
        return {"n": n, "image": hr.ops.ensure_shape(hr.ops.fill(shape, n), (3, None))}

    pipe = hr.arrays({"n": np.arange(2)}).map(image)
    arrays = [np.full((3, n + 1), n) for n in range(2)]
    for multiple_of, multiples in ((8, ()), ({"image": (1, 8)}, (1, 8))):
        (batch,) = pipe.padded_batch(2, multiple_of=multiple_of)
        assert same([{"image": batch["image"]}], [{"image": padded(arrays, 0, multiples)}])
    lists = pipe.map(lambda e: {**e, "l": np.arange(e["n"] + 1)}).map(with_first_axis)
    (batch,) = lists.bucket_by_length("l", [5], size=2, pad_to_boundary=True)
    assert (batch["image"].shape, batch["l"].shape) == ((2, 3, 2), (2, 5))


@hr.native
def with_first_axis(example):
    return {**example, "image": hr.ops.ensure_shape(example["image"], (3, None))}


def test_buckets_are_padded_on_all_axes():
    arrays = masks()
    batches = list(examples(arrays).bucket_by_length("mask", [1], size=2, values=-1))
    expected = [arrays[1:3], [arrays[0], arrays[3]], [arrays[4]]]
    assert same([{"m": b["mask"]} for b in batches], [{"m": padded(e, -1)} for e in expected])
    bounded = examples(arrays).bucket_by_length("mask", [2, 6], size=5, pad_to_boundary=True)
    assert [b["mask"].shape for b in bounded] == [(4, 2, 3, 4), (1, 6, 2, 2)]


@pytest.mark.parametrize("remainder", ["keep", "drop", "pad"])
def test_batches_do_not_depend_on_threads_and_resume(remainder):
    rows = hr.arrays({"n": np.arange(60)}).shuffle(window=20, seed=2)
    pipe = rows.map(lambda e: {"x": np.full((e["n"] % 4, 1 + e["n"] % 3), e["n"])})
    pipe = pipe.padded_batch(7, -1, {"x": (2, 4)}, remainder)
    expected = list(pipe)
    assert {batch["x"].shape[1] % 2 for batch in expected} == {0}
    assert {batch["x"].shape[2] for batch in expected} == {4}
    for way in LARGE_WAYS:
        assert same(list(pipe.options(**way)), expected)
    assert_resumes(pipe)


def test_added_examples_consist_of_padding():
    rows = [{"ids": [1, 2], "words": ["a"], "boxes": np.ones((1, 2), np.float32), "label": 5}]
    values = {"ids": -100, "words": "<pad>", "boxes": -1}
    for pipe in (
        hr.iterable(rows).padded_batch(2, values, remainder="pad"),
        hr.iterable(rows).bucket_by_length("ids", [4], size=2, values=values, remainder="pad"),
    ):
        (batch,) = pipe
        assert batch["ids"].tolist() == [[1, 2], [-100, -100]]
        assert batch["words"].tolist() == [["a"], ["<pad>"]]
        assert batch["boxes"].tolist() == [[[1, 1]], [[-1, -1]]]
        assert (batch["label"].tolist(), batch["mask"].tolist()) == ([5, 0], [True, False])


def test_examples_of_different_ranks_are_an_error():
    pipe = examples([np.zeros((2, 2)), np.zeros(3)]).padded_batch(2)
    with pytest.raises(errors.InvalidArgumentError, match=r"'mask'.*\[2,2\].*\[3\].*as many dim"):
        list(pipe)


def test_invalid_multiples_are_rejected_at_the_call():
    pipe = hr.tfrecords("x").parse({"ids": hr.Ragged(int), "x": hr.Feature(int, (2,))})
    for multiple_of, error, words in (
        (
            {"id": 8},
            ValueError,
            "multiple_of has an entry for 'id', expected one of the components 'ids', 'x'",
        ),
        ({"ids": 0}, ValueError, r"multiple_of\['ids'\] is 0, expected an int of at least 1"),
        ({"ids": (1, 8)}, ValueError, r"multiple_of\['ids'\] has 2 numbers, expected at most one"),
        ({"x": 2}, ValueError, r"multiple_of\['x'\] is 2 for axis 0, but that axis"),
        ({3: 8}, TypeError, "multiple_of has the key 3, expected the names"),
        (0, ValueError, "multiple_of is 0, expected an int of at least 1"),
    ):
        with pytest.raises(error, match=words):
            pipe.padded_batch(2, multiple_of=multiple_of)
