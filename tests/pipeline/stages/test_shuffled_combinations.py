"""Full shuffles after zip, and after concat of the parts of a split."""

import collections

import numpy as np
import pytest
from tests.pipeline.conftest import LARGE_WAYS, same

import headrace as hr
from headrace.core import errors
from headrace.testing import assert_resumes

COUNT = 300


@pytest.fixture
def lines(tmp_path):
    """Text files with the numbers from 0."""
    paths = [tmp_path / f"{number}.txt" for number in range(3)]
    numbers = iter(range(COUNT))
    for path, count in zip(paths, (170, 1, COUNT - 171), strict=True):
        path.write_text("".join(f"{next(numbers)}\n" for _ in range(count)))
    return paths


def sources(lines):
    """Sources of the same numbers, each with a different way to access records."""
    table = {"n": np.arange(COUNT)}
    return {
        "lines": hr.text_lines(lines).map(lambda e: {"n": np.int64(e["text"])}),
        "csv": hr.csv(lines, {"n": int}, header=False),
        "arrays": hr.arrays(table),
        "indexed": hr.indexed([{"n": n} for n in range(COUNT)]),
        "cached": hr.text_lines(lines).map(lambda e: {"n": np.int64(e["text"])}).cache(),
        "concat": hr.concat(
            [hr.arrays({"n": np.arange(100)}), hr.arrays({"n": np.arange(100, 300)})]
        ),
        "zip": hr.zip([hr.arrays(table), hr.arrays({"m": np.arange(COUNT)})]).select("n"),
    }


NAMES = ("lines", "csv", "arrays", "indexed", "cached", "concat", "zip")


def numbers(pipe):
    return [int(example["n"]) for example in pipe]


@pytest.mark.parametrize("other", NAMES)
@pytest.mark.parametrize("name", ["lines", "arrays", "concat"])
def test_pairs_stay_together(lines, name, other):
    one, two = sources(lines)[name], sources(lines)[other].rename(n="m")
    pipe = hr.zip([one, two]).map(lambda e: {"n": e["n"], "m": e["m"]}).shuffle(seed=3)
    results = [(int(e["n"]), int(e["m"])) for e in pipe]
    assert all(n == m for n, m in results)
    order = [n for n, _ in results]
    assert sorted(order) == list(range(COUNT)) != order
    assert order == numbers(hr.arrays({"n": np.arange(COUNT)}).shuffle(seed=3))
    assert pipe.count() == COUNT
    if other != "cached":  # The number of lines in a cache is unknown in advance.
        assert len(pipe) == COUNT
    other_epoch = numbers(pipe.epoch(1))
    assert sorted(other_epoch) == list(range(COUNT))
    assert other_epoch != order


@pytest.mark.parametrize("name", NAMES)
def test_folds_are_shuffled_together(lines, name):
    source = sources(lines)[name]
    parts = source.split(0.2, 0.3, 0.5, seed=4)
    pipe = hr.concat([parts[2], parts[0]]).shuffle(seed=3)
    expected = numbers(parts[2]) + numbers(parts[0])
    permuted = hr.arrays({"n": np.asarray(expected)}).shuffle(seed=3)
    assert numbers(pipe) == numbers(permuted)
    assert numbers(pipe.epochs(2)) == numbers(permuted.epochs(2))
    assert not set(expected) & set(numbers(parts[1]))
    for way in LARGE_WAYS:
        assert numbers(pipe.options(**way)) == numbers(permuted)
    assert_resumes(pipe.batch(40))


def test_nested_splits_and_splits_of_pairs_are_shuffled(lines):
    pairs = hr.zip([sources(lines)["lines"], sources(lines)["concat"].rename(n="m")])
    train, _, test = pairs.split(0.4, 0.2, 0.4, seed=1)
    inner, _ = train.split(0.5, 0.5, seed=9)
    pipe = hr.concat([test, inner.select("n", "m")]).shuffle(seed=3)
    results = [(int(e["n"]), int(e["m"])) for e in pipe]
    assert all(n == m for n, m in results)
    assert [n for n, _ in results] != sorted(n for n, _ in results)
    assert sorted(n for n, _ in results) == sorted(numbers(test) + numbers(inner))
    assert_resumes(pipe.batch(25))
    # Parts of two splits side by side.
    left, right = (hr.arrays({x: np.arange(COUNT)}).split(0.3, 0.7, seed=5)[0] for x in "nm")
    both = hr.zip([left, right]).shuffle(seed=3)
    assert all(e["n"] == e["m"] for e in both)
    assert sorted(numbers(both)) == numbers(left)


def test_pairs_resume_exactly_and_with_a_different_number_of_ranks(lines):
    pairs = hr.zip([sources(lines)["lines"], sources(lines)["concat"].rename(n="m")])
    pipe = pairs.shuffle(seed=3).map(lambda e: {"n": e["n"], "s": e["n"] - e["m"]}).epochs(2)
    assert_resumes(pipe.batch(70))
    full = numbers(pipe)
    ranks = [iter(pipe.shard(rank, 2).batch(10)) for rank in range(2)]
    for rank in ranks:
        next(rank)
    rest = pipe.shard(0, 1).batch(10).resume(ranks[0].state())
    assert [int(n) for batch in rest for n in batch["n"]] == full[20:]


def test_stateful_functions_see_only_pairs():
    class Counting:
        def __init__(self):
            self.count = 0

        def __call__(self, example):
            self.count += 1
            return {"n": example["n"], "calls": self.count}

        def state(self):
            return self.count

        def restore(self, state):
            self.count = state

    long = hr.arrays({"n": np.arange(90)}).map(Counting())
    short = hr.arrays({"m": np.arange(40)})
    pipe = hr.zip([long, short], strict=False).shuffle(seed=3).epochs(2)
    assert [int(e["calls"]) for e in pipe] == list(range(1, 81))
    assert all(e["n"] == e["m"] for e in pipe)
    assert len(pipe) == 80
    assert_resumes(pipe.batch(30))


def test_unequal_lengths_are_an_error():
    pipe = hr.zip([hr.arrays({"n": np.arange(5)}), hr.arrays({"m": np.arange(7)})]).shuffle(seed=1)
    with pytest.raises(
        errors.InvalidArgumentError, match=r"pipeline 0 ends after 5 examples, pip.* 1"
    ):
        list(pipe)


def test_pairs_stay_together_in_a_nondeterministic_pipeline(lines):
    many = [path for path in lines for _ in range(8)]
    left = hr.text_lines(many)
    right = hr.text_lines(many).rename(text="other").map(lambda e: {"other": e["other"]})
    for pipe in (hr.zip([left, right]), hr.zip([left, right]).shuffle(seed=1)):
        results = list(pipe.options(deterministic=False, num_threads=4))
        assert len(results) == 8 * COUNT
        assert all(example["text"] == example["other"] for example in results)


def test_errors_name_the_stage_that_cannot_be_shuffled(lines):
    one, two = hr.text_lines(lines), hr.arrays({"m": np.arange(COUNT)})
    for pipe, words in (
        (
            hr.zip([one, two.filter(lambda e: True)]),
            "filter does not turn each example into exactly one",
        ),
        (
            hr.zip([one, hr.iterable(lambda: [{"m": 1}])]),
            "iterable yields its examples only in order",
        ),
        (hr.concat([two.split(0.5, 0.5)[0], two.take(3)]), "take does not turn each example"),
        (
            hr.concat([two, two]).split(0.5, 0.5)[0].cache(),
            "cache stores only some of the examples",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            pipe.shuffle(seed=1)
    shuffled = hr.zip([one, two]).shuffle(seed=1)
    with pytest.raises(ValueError, match="a full shuffle of zip, because the order"):
        shuffled.skip_errors(3)


def test_lengths_and_descriptions_are_available(lines):
    parts = hr.arrays({"n": np.arange(COUNT)}).split(*[0.2] * 5, seed=0)
    train = hr.concat([parts[0], parts[2], parts[3], parts[4]]).shuffle(seed=1)
    assert len(train) == COUNT - len(parts[1]) == train.count()
    pairs = hr.zip([hr.text_lines(lines), hr.text_lines(lines).rename(text="other")]).shuffle(
        seed=1
    )
    assert "shuffle(" in pairs.describe()
    list(pairs)
    assert len(pairs) == COUNT
    nested = hr.concat(
        [hr.concat([hr.text_lines(lines), hr.text_lines(lines[:1])]), hr.text_lines(lines)]
    )
    nested = nested.options(index="memory").shuffle(seed=1)
    assert len(list(nested)) == len(nested) == 2 * COUNT + 170


def test_every_order_of_three_pairs_is_equally_likely():
    seen = collections.Counter()
    pairs = hr.zip([hr.arrays({"n": np.arange(3)}), hr.arrays({"m": np.arange(3)})])
    for seed in range(600):
        seen[tuple(numbers(pairs.shuffle(seed=seed).options(num_threads=1)))] += 1
    assert len(seen) == 6
    assert min(seen.values()) > 60


def test_disk_cache_of_a_part_is_shuffled(lines, tmp_path):
    parts = sources(lines)["lines"].cache(directory=tmp_path / "c").split(0.3, 0.3, 0.4, seed=2)
    pipe = hr.concat([parts[0], parts[2]]).shuffle(seed=3)
    expected = sorted(numbers(parts[0]) + numbers(parts[2]))
    first = numbers(pipe)
    assert sorted(first) == expected
    assert numbers(pipe) == first
    assert same(list(pipe.batch(7)), list(pipe.batch(7)))
