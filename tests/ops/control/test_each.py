"""A function applied to each element of a list in native functions."""

from typing import NamedTuple

import numpy as np
import pytest
from tests.pipeline.conftest import LARGE_WAYS, same

import headrace as hr
from headrace import ops
from headrace.core import errors
from headrace.testing import assert_resumes

NUM_EXAMPLES = 40


class Halves(NamedTuple):
    whole: ops.constant
    half: ops.constant


def rows(count=NUM_EXAMPLES):
    """Lists of 1 to 3 words and boxes, or of none."""
    lengths = np.arange(1, count + 1) % 4
    examples = [
        {
            "n": n,
            "words": [f"{n}-{i}" * (i + 1) for i in range(length)],
            "boxes": np.arange(4 * length, dtype=np.float32).reshape(length, 4),
        }
        for n, length in enumerate(lengths)
    ]
    return hr.iterable(examples)


def items_of(pipe):
    first, *others = (list(pipe.options(**way)) for way in LARGE_WAYS)
    assert all(same(first, other) for other in others)
    return first


def call(function, **components):
    return hr.native(function)(components)


def test_results_of_equal_shape_are_stacked():
    boxes = np.arange(12, dtype=np.float32).reshape(3, 4)
    result = call(lambda e: {"y": ops.each(lambda box: box[2:] - box[:2], e["boxes"])}, boxes=boxes)
    assert np.array_equal(result["y"], boxes[:, 2:] - boxes[:, :2])
    result = call(lambda e: {"y": ops.each(lambda n: n * n, e["x"])}, x=np.array([1, 2, 3]))
    assert result["y"].tolist() == [1, 4, 9]


def test_results_of_different_lengths_are_joined():
    def bytes_of(word):
        letters = ops.decode_raw(word, "uint8")
        return {"letters": letters, "lengths": ops.shape(letters)[0]}

    def spelled(example):
        return ops.each(bytes_of, example["words"], join="letters")

    words = np.array([b"one", b"", b"three"], object)
    result = call(spelled, words=words)
    assert bytes(result["letters"]) == b"onethree"
    assert result["lengths"].tolist() == [3, 0, 5]
    empty = call(spelled, words=words[:0])
    assert (empty["letters"].shape, empty["lengths"].shape) == ((0,), (0,))
    assert empty["letters"].dtype == np.uint8


def test_results_keep_their_structure():
    def halves(x):
        return {"both": Halves(x, x / 2.0), "pair": (x + 1.0, ops.constant(7))}

    def function(example):
        result = ops.each(halves, example["x"])
        assert isinstance(result["both"], Halves)
        return {**result["both"]._asdict(), "more": result["pair"][0], "seven": result["pair"][1]}

    result = call(function, x=np.array([2.0, 4.0], np.float32))
    assert {name: value.tolist() for name, value in result.items()} == {
        "whole": [2, 4],
        "half": [1, 2],
        "more": [3, 5],
        "seven": [7, 7],
    }


def test_several_lists_are_passed_by_name():
    def function(example):
        pairs = {"word": example["words"], "n": example["n"]}
        return {"y": ops.each(lambda e: ops.substr(e["word"], 0, e["n"]), pairs)}

    words = np.array([b"abc", b"def"], object)
    lengths = np.array([1, 2], np.int32)
    assert call(function, words=words, n=lengths)["y"].tolist() == [b"a", b"de"]
    with pytest.raises(
        errors.InvalidArgumentError, match="one list has 2 elements, another 1, expected"
    ):
        call(function, words=words, n=lengths[:1])


def test_each_function_can_capture_values_and_be_native_and_nested():
    @hr.native
    def shifted(x):
        return x + 1

    def function(example):
        limit, scale = example["limit"], ops.constant(10, "int64")

        def of_row(row):
            return ops.each(lambda x: ops.minimum(shifted(x) * scale, limit), row)

        return {"y": ops.each(of_row, example["rows"])}

    result = call(function, rows=np.arange(6).reshape(2, 3), limit=45)
    assert result["y"].tolist() == [[10, 20, 30], [40, 45, 45]]
    # An element or a value from outside can be a result itself.
    result = call(lambda e: {"y": ops.each(lambda x: (e["k"], x)[0], e["x"])}, x=np.arange(2), k=5)
    assert result["y"].tolist() == [5, 5]
    assert call(lambda e: {"y": ops.each(lambda x: x, e["x"])}, x=np.arange(2))["y"].tolist() == [
        0,
        1,
    ]


def test_each_resumes_with_any_number_of_threads():
    @hr.native
    def function(example):
        letters = ops.each(lambda word: ops.decode_raw(word, "uint8"), example["words"], join=True)
        areas = ops.each(lambda box: (box[2] - box[0]) * (box[3] - box[1]), example["boxes"])
        return {"letters": letters, "areas": areas, "total": ops.reduce_sum(areas) + 1.0}

    pipe = rows().shuffle(window=9, seed=1).map(function)
    assert pipe.spec["letters"] == hr.Spec(np.dtype(np.uint8), (None,))
    batched = pipe.batch(8, ragged="offsets")
    for batch in items_of(batched):
        counts = np.diff(batch["areas.offsets"])
        assert batch["areas.values"].tolist() == [4.0] * counts.sum()
        assert batch["total"].tolist() == (4 * counts + 1).tolist()
        assert len(batch["letters.values"]) == batch["letters.offsets"][-1]
    assert_resumes(batched)


def test_elements_draw_different_numbers():
    @hr.native
    def draws(example):
        one = ops.each(lambda _: ops.random_uniform([]), example["x"])
        nested = ops.each(
            lambda row: ops.each(lambda _: ops.random_uniform([]), row), example["xx"]
        )
        return {"one": one, "nested": nested, "whole": ops.random_uniform([])}

    data = hr.arrays({"x": np.zeros((20, 3)), "xx": np.zeros((20, 2, 2))})
    batches = items_of(data.map(draws, seed=7).batch(10))
    drawn = [value for batch in batches for array in batch.values() for value in array.ravel()]
    assert len(set(drawn)) == len(drawn) == 20 * (3 + 4 + 1)
    with pytest.raises(ValueError, match=r"map needs a seed\. Write map\(f, seed=7\)"):
        data.map(draws)


def test_errors_name_the_element_and_the_record():
    @hr.native
    def decode(example):
        return {"x": ops.each(lambda image: ops.decode_image(image)[0, 0], example["images"])}

    lists = [[PNG], [PNG, b"nothing"]]
    pipe = hr.iterable(lambda: ({"images": images} for images in lists)).map(decode)
    with pytest.raises(
        errors.InvalidArgumentError, match=r"Unable to decode.*\[element 1 of the list\]"
    ):
        list(pipe)
    skipping = pipe.skip_errors(1)
    assert len(list(skipping)) == 1


def test_images_must_be_resized_to_be_stacked():
    def images(e):
        return {"y": ops.each(lambda size: ops.zeros(ops.stack([size, 2, 3])), e["sizes"])}

    words = r"shape \[3,2,3\] for element 0 of the list, but \[4,2,3\] for element 1, .*Resize or"
    with pytest.raises(errors.InvalidArgumentError, match=words):
        call(images, sizes=np.array([3, 4]))
    assert call(images, sizes=np.array([3, 3]))["y"].shape == (2, 3, 2, 3)
    with pytest.raises(
        errors.InvalidArgumentError, match=r"no elements, so the shape.*ensure_shape"
    ):
        call(images, sizes=np.zeros(0, np.int64))


def test_invalid_arguments_are_rejected():
    with pytest.raises(TypeError, match="each: got 3, expected a function of one element"):
        call(lambda e: {"y": ops.each(3, e["x"])}, x=np.arange(2))
    with pytest.raises(TypeError, match=r"each: the function returned \(\), expected tensors"):
        call(lambda e: {"y": ops.each(lambda _: (), e["x"])}, x=np.arange(2))
    with pytest.raises(ValueError, match="each: got a scalar of type int64, expected a list"):
        call(lambda e: {"y": ops.each(lambda x: x, e["x"])}, x=3)
    with pytest.raises(ValueError, match="each: got an empty dict, expected at least one list"):
        call(lambda e: {"y": ops.each(lambda x: e["x"], {})}, x=3)
    with pytest.raises(ValueError, match="each: works only in native functions"):
        ops.each(lambda x: x, np.arange(2))
    nested = hr.json_lines("x", columns={"x": hr.Ragged(int, ndim=2)})
    with pytest.raises(TypeError, match="lists of lists"):
        nested.map(hr.native(lambda e: {"y": ops.each(lambda x: x, e["x"])}))


def test_results_to_join_are_checked():
    def joined(join, function=lambda x: {"a": x, "b": x[0]}):
        return call(lambda e: {"y": ops.each(function, e["x"], join)["a"]}, x=np.ones((2, 3)))["y"]

    assert joined("a").shape == joined(["a"]).shape == (6,)
    assert joined(()).shape == joined(False).shape == joined(None).shape == (2, 3)
    with pytest.raises(ValueError, match="join contains 'c', but the results are 'a', 'b'"):
        joined("c")
    with pytest.raises(ValueError, match="the result 'b' has no axis along which to join it"):
        joined(True)
    with pytest.raises(
        ValueError, match=r"number of axes of the result 'a' is unknown.*ensure_shape"
    ):
        call(
            lambda e: ops.each(lambda x: {"a": ops.decode_image(x)}, e["x"], True),
            x=np.array([PNG], object),
        )


def test_values_cannot_leave_the_function():
    kept = []

    def function(example):
        ops.each(lambda x: kept.append(x + 1) or x, example["x"])
        return {"y": kept[0] + 1}

    with pytest.raises(ValueError, match="while loop"):
        call(function, x=np.arange(2))


PNG = hr.native(lambda e: {"y": ops.encode_png(e["x"])})({"x": np.full((2, 2, 3), 9, np.uint8)})[
    "y"
]
