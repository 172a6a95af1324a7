"""The checks that users run on their own pipelines."""

import numpy as np
import pytest

import headrace as hr
from headrace.core import errors
from headrace.testing import assert_resumes, assert_same_order


@pytest.fixture
def numbers():
    return hr.arrays({"number": np.arange(200), "x": np.full((200, 2), np.nan)})


def test_assert_resumes_and_assert_same_order_pass_for_a_deterministic_pipeline(numbers):
    pipe = numbers.filter(lambda e: e["number"] % 3).shuffle(window=20, seed=3).epochs(2).batch(8)
    assert_resumes(pipe)
    assert_resumes(pipe, every=7)
    assert_same_order(pipe)


def test_assert_resumes_compares_text_and_unbatched_examples(tmp_path):
    (tmp_path / "a").write_text("".join(f"line {number}\n" for number in range(30)))
    assert_resumes(hr.text_lines(tmp_path / "a").shuffle(seed=3), every=10)


class Counting:
    """A function whose result depends on the number of its calls."""

    def __init__(self):
        self.count = 0

    def __call__(self, example):
        self.count += 1
        return {"number": np.array([example["number"], self.count])}


def test_first_difference_is_reported(numbers):
    pipe = numbers.select("number").map(Counting()).batch(50)
    with pytest.raises(AssertionError, match=r"after a resume at batch 0: batch 0 differs in 'num"):
        assert_resumes(pipe)
    with pytest.raises(
        AssertionError,
        match=r"with 2 threads instead of 1: batch 0 .* element \[0, 1\] is \d+, expected \d+",
    ):
        assert_same_order(pipe, [1, 2])


def test_missing_or_extra_batch_is_reported():
    lengths = iter([2, 3, 3, 2])

    def examples():
        return ({"number": number} for number in range(next(lengths)))

    pipe = hr.iterable(examples).batch(1)
    pipe.spec  # noqa: B018
    with pytest.raises(AssertionError, match="batch 2 is one too many: there should be no more"):
        assert_same_order(pipe, [1, 2])


def test_pipeline_without_an_order_is_rejected(numbers):
    with pytest.raises(errors.FailedPreconditionError, match="deterministic=False"):
        assert_resumes(numbers.options(deterministic=False))
    with pytest.raises(ValueError, match="every is 0, expected at least 1"):
        assert_resumes(numbers, every=0)
    with pytest.raises(ValueError, match="num_threads is empty"):
        assert_same_order(numbers, [])


class Failing:
    """A function that fails at a different example in each run."""

    def __init__(self):
        self.count = 0

    def __call__(self, example):
        self.count += 1
        if example["number"] in (3, 4):
            raise LookupError(f"call {self.count // 200}")
        return example


def test_skipped_examples_are_compared(numbers):
    pipe = numbers.select("number").filter(lambda e: e["number"] != 7).skip_errors(5).batch(50)
    assert_resumes(pipe)
    failing = numbers.select("number").map(Failing()).skip_errors(5).batch(50)
    with pytest.raises(AssertionError, match="skipped example 0 is arrays, record 3: "):
        assert_same_order(failing)
