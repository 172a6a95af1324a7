import numpy as np
import pytest

import headrace as hr
from headrace import ops

IMAGES = np.random.default_rng(2).integers(0, 256, (3, 12, 14, 3), np.uint8)


def crop(image):
    return ops.random_crop(image, [6, 6, 3])


@hr.native
def both(example):
    functions = {"query": crop, "keys": (crop, 4), "whole": lambda image: image}
    return ops.views(example["image"], functions)


def test_views_have_names_and_independent_random_numbers():
    for example in hr.arrays({"image": IMAGES}).map(both, seed=3):
        assert list(example) == ["query", "keys", "whole"]
        assert example["keys"].shape == (4, 6, 6, 3)
        views = [example["query"], *example["keys"]]
        assert len({view.tobytes() for view in views}) > 1
    assert np.array_equal(example["whole"], IMAGES[2])


def test_views_are_the_same_after_a_resume():
    pipe = hr.arrays({"image": IMAGES}).shuffle(seed=1).map(both, seed=3)
    expected = list(pipe.options(num_threads=1).epoch(0))
    running = pipe.epoch(0)
    rows = [next(running)]
    rows += pipe.resume(running.state())
    for one, other in zip(expected, rows, strict=True):
        assert np.array_equal(one["keys"], other["keys"])


@pytest.mark.parametrize(
    ("functions", "error", "message"),
    [
        ({}, ValueError, "views: there are no functions"),
        ({"a": 3}, TypeError, "views: 'a' is 3, expected a function of the image"),
        ({"a": (crop, 0)}, ValueError, "views: 'a' has 0 views, expected a positive integer"),
    ],
)
def test_invalid_arguments_are_rejected(functions, error, message):
    native = hr.native(lambda e: ops.views(e["image"], functions))
    with pytest.raises(error, match=message):
        hr.arrays({"image": IMAGES}).map(native, seed=3)
