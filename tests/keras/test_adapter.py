"""Pipelines as data of Keras 3."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

PROGRAM = Path(__file__).with_name("keras_epochs.py")


def numbers_of(pipe, epochs):
    return [batch["n"].tolist() for epoch in epochs for batch in pipe.epoch(epoch)]


@pytest.fixture
def pipes():
    def examples(num):
        return hr.arrays({"n": np.arange(num)}).shuffle(seed=3)

    return {
        "known": examples(10).batch(4),
        "two": examples(6).batch(4),
        "single": examples(3).batch(4),
        "unknown": examples(10).filter(lambda example: example["n"] != 7).batch(4),
        "unknown single": examples(4).filter(lambda example: example["n"] != 2).batch(4),
        "validation": examples(5).batch(3),
    }


@pytest.mark.timeout(400)
@pytest.mark.parametrize("backend", ["torch", "jax", "tensorflow"])
def test_fit_trains_on_consecutive_epochs(backend, pipes):
    if find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        env=os.environ | {"KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    results = json.loads(done.stdout.splitlines()[-1])
    for name in ("known", "two", "single", "unknown", "unknown single"):
        assert results[name] == [numbers_of(pipes[name], range(5)), 5], name
        if backend == "jax" and f"distributed {name}" in results:
            assert results[f"distributed {name}"] == [numbers_of(pipes[name], range(3)), 3], name
    known, validation = pipes["known"], pipes["validation"]
    # Keras ends its second epoch early, at the end of the data's first epoch.
    assert results["two steps"][0] == numbers_of(known, range(2))[:5]
    # TensorFlow reads the rest of the next epoch ahead.
    assert results["two steps"][1] == (2 if backend == "tensorflow" else 1)
    assert results["continued"] == [numbers_of(known, (4, 5)), 6]
    expected = [
        step
        for epoch in range(2)
        for step in (*numbers_of(known, [epoch]), *numbers_of(validation, [epoch]))
    ]
    assert results["validated"] == [expected, 2]


PIPE = hr.arrays({"image": np.zeros((4, 2), np.float32), "label": [0, 1, 2, 3]})


def test_values_have_the_structure_that_keras_expects():
    pipe = hr.arrays({"a": [1], "b": [2], "c": [3]}).batch(1)

    def first(**names):
        return next(hr.keras.adapter(pipe, **names).get_numpy_iterator())

    assert first(x="a", y="b") == (1, 2)
    assert first(x=("a",), y=("b",), sample_weight="c") == (1, 2, 3)
    assert first(x=("a", "b"), y="c") == ((1, 2), 3)
    assert first(x="a", y=()) == (1,)
    assert first(x="a", y=(), sample_weight="c") == (1, None, 3)


def test_adapter_has_a_length_and_a_batch_size_if_known():
    data = hr.keras.adapter(PIPE.batch(3))
    assert (data.num_batches, data.batch_size) == (2, 3)
    data = hr.keras.adapter(PIPE.filter(lambda example: True).batch(3))
    assert (data.num_batches, data.batch_size) == (None, 3)


@pytest.mark.parametrize(
    ("pipe", "names", "error", "words"),
    [
        ([1], {}, TypeError, "pipe is a list, expected a pipeline"),
        (PIPE, {}, ValueError, r"the pipeline has no batches. Call batch\(size\)"),
        (PIPE.epochs(2).batch(2), {}, ValueError, "Keras starts the epochs. Remove it"),
        (PIPE.batch(2), {"x": "picture"}, ValueError, "no component 'picture', only 'image'"),
        (PIPE.batch(2), {"sample_weight": "w"}, ValueError, "no component 'w'"),
        (PIPE.batch(2), {"x": ()}, ValueError, "x has no names"),
    ],
)
def test_unusable_pipelines_are_rejected(pipe, names, error, words):
    with pytest.raises(error, match=words):
        hr.keras.adapter(pipe, **names)
