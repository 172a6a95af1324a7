"""One warning names a function that draws from the global generator of the process."""

import logging
import random
from importlib.util import find_spec

import numpy as np
import pytest

import headrace as hr


@pytest.fixture(autouse=True)
def messages(caplog):
    """Collects the texts of warnings."""
    caplog.set_level(logging.WARNING, "headrace.pipeline")

    def take():
        results = [record.message for record in caplog.records]
        caplog.clear()
        return results

    return take


def draws_python(example):
    return {"n": example["n"] + random.random()}


def draws_numpy(example):
    return {"n": example["n"] + np.random.normal()}


def keeps_at_random(example):
    return random.random() < 0.5


def makes_at_random(example):
    return [example] * random.randrange(3)


def draws_with_a_seed_too(example, rng):
    return {"n": example["n"] + rng.random() + random.random()}


NUMBERS = hr.arrays({"n": np.arange(100.0)})


@pytest.mark.parametrize(
    ("pipe", "where", "generator"),
    [
        (NUMBERS.map(draws_python), "map(draws_python)", "random"),
        (NUMBERS.map(draws_numpy).batch(5), "map(draws_numpy)", "numpy.random"),
        (NUMBERS.filter(keeps_at_random), "filter(keeps_at_random)", "random"),
        (NUMBERS.flat_map(makes_at_random), "flat_map(makes_at_random)", "random"),
        (NUMBERS.map(draws_with_a_seed_too, seed=1), "map(draws_with_a_seed_too)", "random"),
    ],
)
def test_warning_names_a_function_that_draws_from_a_global_generator_once(
    pipe, where, generator, messages
):
    list(pipe)
    [text] = messages()
    assert text.startswith(f"{where}: the function uses the global random generator of {generator}")
    assert "map(f, seed=7) passes as the second argument: f(example, rng)" in text
    list(pipe.options(num_threads=1))
    assert not [text for text in messages() if "uses the global random generator" in text]


def test_no_warning_for_functions_without_global_draws(messages):
    own = np.random.default_rng(1)

    def draws_from_its_own(example):
        return {"n": example["n"] + own.random()}

    def draws_from_what_it_is_given(example, rng):
        return {"n": example["n"] + rng.random()}

    list(NUMBERS.map(draws_from_its_own))
    list(NUMBERS.map(draws_from_what_it_is_given, seed=1))
    list(NUMBERS.filter(lambda example: example["n"] > 5))
    assert messages() == []


def test_draws_in_the_training_loop_cause_no_warning(messages):
    def is_innocent(example):
        return example

    for _ in NUMBERS.map(is_innocent):
        random.random()
        np.random.normal()
    assert messages() == []


@pytest.mark.skipif(find_spec("torchvision") is None, reason="torchvision is not installed")
def test_warning_names_a_torchvision_transform(messages):
    torch = pytest.importorskip("torch")
    transforms = pytest.importorskip("torchvision.transforms.v2")
    flip = transforms.RandomHorizontalFlip()

    def flipped(example):
        return {"n": flip(torch.from_numpy(np.full((1, 4, 4), example["n"]))).numpy()}

    list(NUMBERS.map(flipped).batch(10))
    [text] = messages()
    assert "flipped): the function uses the global random generator of torch" in text


@pytest.mark.skipif(find_spec("albumentations") is None, reason="albumentations is not installed")
def test_albumentations_transform_can_be_seeded_from_the_generator(messages, monkeypatch):
    monkeypatch.setenv("NO_ALBUMENTATIONS_UPDATE", "1")
    albumentations = pytest.importorskip("albumentations")
    images = np.random.default_rng(0).integers(0, 256, (20, 8, 8, 3), np.uint8)

    def batches():
        transform = albumentations.Compose([albumentations.RandomBrightnessContrast(p=0.9)])

        def brightened(example, rng):
            transform.set_random_seed(int(rng.integers(2**32)))
            return {"image": transform(image=example["image"])["image"]}

        pipe = hr.arrays({"image": images}).map(brightened, seed=7).batch(5)
        return [batch["image"] for epoch in (0, 1) for batch in pipe.epoch(epoch)]

    first, second = batches(), batches()
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))
    assert not np.array_equal(first[0], first[4])
    assert messages() == []
