"""Mixtures with names, and with weights that change."""

import json

import numpy as np
import pytest
from tests.pipeline.generated.mixtures import check_changes

import headrace as hr
from headrace.core import errors
from headrace.testing import assert_resumes


def numbers(first, count):
    return hr.arrays({"n": np.arange(first, first + count)})


def of_parts(pipe):
    """The number of examples of each part per 100 examples. Parts have 1,000 examples."""
    results = [int(example["n"]) // 1000 for example in pipe]
    return [
        np.bincount(results[n : n + 100], minlength=2).tolist() for n in range(0, len(results), 100)
    ]


def two(**arguments):
    return hr.mix({"web": numbers(0, 1000), "books": numbers(1000, 1000)}, seed=3, **arguments)


def test_part_names_do_not_change_the_draws():
    plain = hr.mix([numbers(0, 1000), numbers(1000, 1000)], weights=[3, 1], seed=3)
    named = two(weights={"books": 1, "web": 3})
    assert [int(e["n"]) for e in named] == [int(e["n"]) for e in plain]


def test_weights_change_at_the_scheduled_positions():
    schedule = {0: {"web": 1, "books": 0}, 200: {"web": 0, "books": 1}, 300: {"web": 9, "books": 1}}
    result = of_parts(two(schedule=schedule).take(500))
    assert result[:3] == [[100, 0], [100, 0], [0, 100]]
    assert all(80 < web < 98 for web, _ in result[3:])
    assert_resumes(two(schedule=schedule).take(400).batch(8), every=7)


def test_schedule_restarts_in_each_epoch():
    pipe = two(schedule={0: [1, 0], 50: [0, 1]}).take(100).epochs(2)
    results = [int(example["n"]) // 1000 for example in pipe]
    assert results == ([0] * 50 + [1] * 50) * 2
    assert_resumes(pipe.batch(7), every=5)


def lists(first, count, length):
    def examples():
        for number in range(first, first + count):
            yield {"n": number, "tokens": np.arange(length)}

    return hr.iterable(examples)


def broken(example):
    raise AssertionError("a part with the weight 0 is read")


@pytest.mark.parametrize("factor", [5e-324, 1e-300, 1e308, 1.7e308])
def test_only_the_ratios_of_weights_matter(factor):
    expected = [int(example["n"]) for example in two(weights=[1, 1]).take(100)]
    assert [int(e["n"]) for e in two(weights=[factor, factor]).take(100)] == expected
    parts = {"web": lists(0, 50, 10), "books": lists(1000, 50, 10)}
    by_tokens = hr.mix(parts, {"web": factor, "books": factor}, unit=("tokens", "tokens"))
    assert of_parts(by_tokens) == [[50, 50]]
    with pytest.raises(ValueError, match="a weight is too large"):
        two(weights=[10**400, 1])


def test_weights_of_tokens_need_no_seed(caplog):
    parts = {"web": lists(0, 50, 10), "books": lists(1000, 50, 20)}
    pipe = hr.mix(parts, unit=("tokens", "tokens"))
    everything = [int(example["n"]) for example in pipe]
    for rank in range(2):
        assert [int(example["n"]) for example in pipe.shard(rank, 2)] == everything[rank::2]
    assert [int(example["n"]) for example in pipe] == everything
    assert "random numbers" not in caplog.text


def test_nothing_is_drawn_from_a_part_with_weight_0():
    parts = {"web": numbers(0, 1000), "books": numbers(1000, 1000).filter(broken)}
    for stop in ("first", "all"):
        pipe = hr.mix(parts, weights={"web": 2, "books": 0}, seed=3, stop=stop)
        assert [int(example["n"]) for example in pipe] == list(range(1000))
        assert_resumes(pipe.batch(300))
    assert of_parts(hr.mix(list(parts.values())[::-1], weights=[0, 1], seed=3)) == [[100, 0]] * 10


def test_part_with_weight_0_affects_neither_length_nor_description(tmp_path):
    paths = [tmp_path / f"{number}.txt" for number in range(4)]
    for path in paths:
        path.write_text("a\n" * 10)
    parts = [hr.text_lines(paths[:2]), hr.text_lines(paths[2:])]
    for weights in ({"weights": [1, 0]}, {"schedule": {0: [1, 0], 5: [2, 0]}}):
        assert len(hr.mix([numbers(0, 9), numbers(0, 5)], stop="all", **weights)) == 9
        mixed = hr.mix(parts, stop="all", seed=3, **weights).shuffle(window=20, seed=1)
        assert "of 2 files" in mixed.describe()
        assert mixed.count() == 20
    with pytest.raises(TypeError, match="unknown until they are read"):
        len(hr.mix(parts, seed=3, weights=[1, 0]))


def test_weight_of_a_part_can_become_0_on_resume():
    batches = iter(two(weights=[1, 1], stop="all").batch(100))
    taken = [int(n) for n in next(batches)["n"]]
    changed = two(weights=[1, 0], stop="all").batch(100)
    rest = [
        int(n) for batch in changed.resume(batches.state(), allow={"weights"}) for n in batch["n"]
    ]
    assert sorted(n for n in taken + rest if n < 1000) == list(range(1000))
    assert all(n < 1000 for n in rest)


def test_weights_can_be_shares_of_tokens():
    parts = {"short": lists(0, 1000, 3), "long": lists(1000, 1000, 50)}
    pipe = hr.mix(parts, {"short": 1, "long": 3}, seed=1, unit=("tokens", "tokens")).take(600)
    tokens = {0: 0, 1: 0}
    for number, example in enumerate(pipe):
        tokens[int(example["n"]) // 1000] += len(example["tokens"])
        if number > 100:
            assert abs(tokens[1] / sum(tokens.values()) - 0.75) < 0.05
    assert_resumes(pipe.padded_batch(8), every=11)


def test_counts_cover_consumed_examples():
    pipe = two(weights=[3, 1])
    batches = iter(pipe)
    assert batches.counts == {"web": 0, "books": 0}
    results = {"web": 0, "books": 0}
    for example in batches:
        results["books" if example["n"] >= 1000 else "web"] += 1
        assert batches.counts == results
        if sum(results.values()) == 50:
            break
    for stage in (
        lambda p: p.batch(8),
        lambda p: p.shuffle(window=20, seed=1).batch(8).map(lambda b: b),
        lambda p: p.filter(lambda e: e["n"] % 3 == 0).batch(5),
    ):
        with iter(stage(pipe)) as batches:
            results = {"web": 0, "books": 0}
            for _ in range(9):
                for number in next(batches)["n"]:
                    results["books" if number >= 1000 else "web"] += 1
                assert batches.counts == results


def test_packed_rows_are_counted_as_documents():
    parts = {"short": lists(0, 100, 3), "long": lists(1000, 100, 10)}
    pipe = hr.mix(parts, seed=1).pack(20, "tokens", along="n").map(lambda row: row)
    with iter(pipe) as rows:
        results = {"short": 0, "long": 0}
        for _ in range(10):
            for number in next(rows)["n"]:
                results["long" if number >= 1000 else "short"] += 1
            assert rows.counts == results


def test_counts_continue_after_a_resume():
    pipe = two(weights=[3, 1]).batch(8)
    with iter(pipe) as batches:
        for _ in range(5):
            next(batches)
        before, state = batches.counts, json.loads(json.dumps(batches.state()))
    assert sum(before.values()) == 40
    resumed = pipe.resume(state)
    assert resumed.counts == before
    full = iter(pipe)
    for _ in range(6):
        next(full)
    next(resumed)
    assert resumed.counts == full.counts


def test_counts_after_unbatch_are_rejected():
    pipe = two().batch(4).unbatch().batch(3)
    batches = iter(pipe)
    next(batches)
    with pytest.raises(errors.FailedPreconditionError, match="unbatch splits batches"):
        _ = batches.counts
    assert next(pipe.resume(batches.state()))["n"].tolist() == next(batches)["n"].tolist()


def test_unnamed_parts_are_counted_by_number():
    batches = iter(hr.mix([numbers(0, 10), numbers(1000, 10)], seed=1))
    next(batches)
    assert sorted(batches.counts) == ["0", "1"]
    assert iter(numbers(0, 3)).counts == {}


@pytest.mark.parametrize("number", range(30))
def test_changing_a_mix_loses_and_duplicates_nothing(number):
    check_changes(number)


def state_of(pipe, count=3):
    with iter(pipe) as batches:
        for _ in range(count):
            next(batches)
        return batches.state()


def test_different_parts_are_rejected_unless_allowed():
    state = state_of(two().batch(8))
    one = hr.mix({"web": numbers(0, 1000)}, seed=3).batch(8)
    with pytest.raises(
        ValueError,
        match=r"the parts of mix are 'web', but they were 'web', 'books'.*allow=\{'parts'\}",
    ):
        one.resume(state)
    results = [
        int(n) for batch in one.resume(state, allow={"parts", "weights"}) for n in batch["n"]
    ]
    assert results == list(range(1000 - len(results), 1000))


def test_added_part_starts_at_its_beginning():
    state = state_of(two().batch(8))
    three = hr.mix(
        {"code": numbers(2000, 20), "web": numbers(0, 1000), "books": numbers(1000, 1000)},
        seed=3,
        stop="all",
    )
    with pytest.raises(ValueError, match=r"mix"):
        two(stop="all").batch(8).resume(state)
    state = state_of(two(stop="all").batch(8))
    batches = three.batch(8).resume(state, allow={"parts", "weights"})
    results = [int(n) for batch in batches for n in batch["n"]]
    assert [n for n in results if n >= 2000] == list(range(2000, 2020))
    assert len(results) == 2020 - 24
    assert batches.counts == {"code": 20, "web": 1000, "books": 1000}


def test_changes_before_a_window_are_rejected():
    pipe = two(weights=[1, 1]).shuffle(window=20, seed=1).batch(8)
    other = two(weights=[1, 9]).shuffle(window=20, seed=1).batch(8)
    with pytest.raises(ValueError, match=r"holds examples back.*into the parts"):
        other.resume(state_of(pipe), allow={"weights"})
    list(pipe.resume(state_of(pipe)))


def test_changes_before_shard_and_epochs_are_rejected():
    def rank(weights):
        return two(weights=weights).epochs(2).shard(0, 2).batch(4)

    state = state_of(rank([1, 1]))
    with pytest.raises(ValueError, match="epochs and shard follow mix"):
        rank([1, 9]).resume(state, allow={"weights"})


def test_changed_mix_has_no_digest():
    state = state_of(two(weights=[1, 1]).batch(8))
    batches = two(weights=[1, 9]).batch(8).resume(state, allow={"weights"})
    next(batches)
    with pytest.raises(errors.FailedPreconditionError, match="different parts or weights"):
        batches.digest()
    again = two(weights=[1, 9]).batch(8).resume(batches.state())
    assert next(again)["n"].tolist() == next(batches)["n"].tolist()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"weights": {"web": 1}}, "expected the names of the pipelines: 'web', 'books'"),
        ({"weights": [1]}, "there are 1 weights, expected one for each"),
        ({"schedule": {5: [1, 1]}}, "no weights for the beginning"),
        ({"schedule": {}}, "no weights for the beginning"),
        ({"schedule": {0: [0, 0]}}, "not all of them 0"),
        ({"schedule": {-1: [1, 1], 0: [1, 1]}}, "a position in schedule is -1"),
        ({"schedule": {0: [1, 1]}, "weights": [1, 1]}, "cannot be used together"),
        ({"unit": "tokens"}, "unit is 'tokens'"),
        ({"unit": ("tokens", "x")}, "the component 'x', expected one of 'n'"),
        ({"unit": ("tokens", "n")}, "expected a list"),
    ],
)
def test_mix_arguments_are_checked(arguments, words):
    with pytest.raises(ValueError, match=words):
        two(**arguments)


def test_named_weights_need_named_parts():
    with pytest.raises(ValueError, match="the pipelines have no names"):
        hr.mix([numbers(0, 5)], weights={"a": 1})
    with pytest.raises(TypeError, match="not a valid name for a part"):
        hr.mix({1: numbers(0, 5)})


@pytest.mark.parametrize("world", [1, 2])
def test_changed_mix_loses_nothing_before_its_first_batch(world):
    def part(number):
        return hr.arrays({"n": np.arange(60) + 1000 * number}).shuffle(window=5, seed=number)

    def mixed(*names):
        return hr.mix({name: part(int(name)) for name in names}, seed=3, stop="all")

    first = iter(mixed("1", "2").shard(0, 1).batch(3))
    example = [n for _ in range(12) for n in next(first)["n"].tolist()]
    state = first.state()
    for rank in range(world):
        changed = mixed("1").shard(rank, world).batch(3).resume(state, allow={"parts", "weights"})
        again = mixed("1").shard(0, 1).batch(3).resume(changed.state())
        rest = [n for batch in again for n in batch["n"].tolist()]
        assert [n for n in example + rest if n < 2000] == [int(e["n"]) for e in part(1)]


def test_changed_mix_without_a_global_order_loses_nothing_before_its_first_batch():
    def mixed(*firsts):
        parts = {str(first): numbers(first, 60).shard(0, 1) for first in firsts}
        return hr.mix(parts, seed=3, stop="all").batch(3)

    first = iter(mixed(0, 1000))
    example = [n for _ in range(12) for n in next(first)["n"].tolist()]
    changed = mixed(0).resume(first.state(), allow={"parts", "weights"})
    rest = [n for batch in mixed(0).resume(changed.state()) for n in batch["n"].tolist()]
    assert [n for n in example + rest if n < 1000] == list(range(60))


def test_adding_or_removing_shards_in_parts_is_rejected():
    def mixed(*, has_second, has_shard):
        second = numbers(1000, 60)
        parts = {"a": numbers(0, 60), "b": second.shard(0, 1) if has_shard else second}
        return hr.mix(parts if has_second else {"a": parts["a"]}, seed=3).batch(3)

    first = iter(mixed(has_second=True, has_shard=True))
    next(first)
    with pytest.raises(ValueError, match="a part with its own shard"):
        mixed(has_second=False, has_shard=True).resume(first.state(), allow={"parts", "weights"})
    first = iter(mixed(has_second=False, has_shard=False))
    next(first)
    with pytest.raises(ValueError, match="a part with its own shard"):
        mixed(has_second=True, has_shard=True).resume(first.state(), allow={"parts", "weights"})
