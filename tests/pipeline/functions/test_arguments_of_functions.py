"""Functions that cannot be called with an example are rejected when the pipeline is defined."""

from functools import partial

import numpy as np
import pytest

import headrace as hr

NUMBERS = hr.arrays({"n": np.arange(4)})


def plain(example):
    return example


def drawn(example, rng):
    return {"n": example["n"] + rng.integers(2)}


def of_three(example, rng, kind):
    return example


@pytest.mark.parametrize(
    ("stage", "function", "options", "words"),
    [
        ("map", drawn, {}, r"map: drawn has two parameters, .* such as map\(drawn, seed=7\)"),
        ("flat_map", drawn, {}, r"such as flat_map\(drawn, seed=7\)"),
        ("filter", drawn, {}, "filter: drawn does not accept one argument, the example"),
        (
            "map",
            plain,
            {"seed": 7},
            r"plain accepts only one argument, .* Write plain\(example, rng\)",
        ),
        ("map", of_three, {}, "does not accept one argument, the example. Bind other arguments"),
        (
            "map",
            of_three,
            {"seed": 7},
            "does not accept two arguments, the example and a random generator",
        ),
        ("map", lambda: {}, {}, "does not accept one argument"),
    ],
)
def test_wrong_function_arguments_are_rejected(stage, function, options, words):
    with pytest.raises(TypeError, match=words):
        getattr(NUMBERS, stage)(function, **options)


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (drawn, {"seed": 7}),
        (partial(of_three, kind="a"), {"seed": 7}),
        (lambda *arguments: arguments[0], {"seed": 7}),
        (lambda example, scale=2: {"n": example["n"] * scale}, {}),
        (dict, {}),
        (hr.native(lambda example: example), {}),
    ],
    ids=["with a generator", "partial", "of any number", "with a default", "type", "native"],
)
def test_any_callable_is_accepted(function, options):
    assert len(list(NUMBERS.map(function, **options))) == 4
