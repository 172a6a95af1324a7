"""Parts for training and validation: disjoint, complete, and the same in all epochs."""

import json
import logging
import pickle
from itertools import chain

import numpy as np
import pytest
from tests.split_hashes import hash_of

import headrace as hr
from headrace.testing import assert_resumes

NUM = 1_000


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Pipelines of the same numbers from sources of several kinds, in order."""
    directory = tmp_path_factory.mktemp("numbers")
    for index in range(4):
        numbers = range(index * NUM // 4, (index + 1) * NUM // 4)
        (directory / f"{index}.txt").write_text("".join(f"{number}\n" for number in numbers))
        (directory / f"{index}.csv").write_text("n\n" + "".join(f"{n}\n" for n in numbers))
        values = np.arange(numbers.start, numbers.stop, dtype="<i8")
        (directory / f"{index}.bin").write_bytes(values.tobytes())

    def of_text(example):
        return {"n": np.int64(int(example["text"]))}

    def of_record(example):
        return {"n": np.frombuffer(example["record"], "<i8")[0]}

    arrays = hr.arrays({"n": np.arange(NUM)})
    return {
        "arrays": arrays,
        "text_lines": hr.text_lines(f"{directory}/*.txt").map(of_text),
        "csv": hr.csv(f"{directory}/*.csv", {"n": int}),
        "fixed": hr.fixed_length_records(f"{directory}/*.bin", 8).map(of_record),
        "iterable": hr.iterable(lambda: ({"n": np.int64(n)} for n in range(NUM))),
        "filtered": arrays.filter(lambda e: e["n"] % 2 == 0),
        "concat": hr.concat([hr.arrays({"n": half}) for half in np.split(np.arange(NUM), 2)]),
        "cached": arrays.cache(),
    }


KINDS = ["arrays", "text_lines", "csv", "fixed", "iterable", "filtered", "concat", "cached"]


def numbers(batches):
    return [int(example["n"]) for example in batches]


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_disjoint_complete_and_in_order(sources, kind):
    pipe = sources[kind]
    parts = [numbers(part) for part in pipe.split(0.8, 0.1, 0.1, seed=1)]
    assert all(part == sorted(part) for part in parts)
    assert sorted(chain.from_iterable(parts)) == numbers(pipe)
    shares = [len(part) / len(numbers(pipe)) for part in parts]
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_the_same_in_all_epochs_and_after_shuffles(sources, kind):
    pipe = sources[kind]
    parts = [set(numbers(part)) for part in pipe.split(0.7, 0.3, seed=2)]
    for shuffled in (pipe.shuffle(window=50, seed=4), pipe.epochs(1)):
        for epoch in range(3):
            for part, expected in zip(shuffled.split(0.7, 0.3, seed=2), parts, strict=True):
                result = numbers(part._start(epoch))
                assert set(result) == expected
                assert len(result) == len(expected)


@pytest.mark.parametrize("kind", ["arrays", "text_lines", "csv", "fixed", "concat"])
@pytest.mark.parametrize("options", [{"num_threads": 1}, {"num_threads": 4, "memory_bytes": 1}])
def test_shuffled_part_follows_the_order_of_the_full_shuffle(sources, kind, options):
    pipe = sources[kind]
    full = pipe.shuffle(seed=5)
    for index, part in enumerate(pipe.split(0.6, 0.4)):
        members = set(numbers(part))
        shuffled = part.shuffle(seed=5)
        for epoch in range(2):
            expected = [n for n in numbers(full.epoch(epoch)) if n in members]
            assert numbers(shuffled.options(**options).epoch(epoch)) == expected
            behind = full.split(0.6, 0.4)[index]
            assert numbers(behind.options(**options).epoch(epoch)) == expected


def test_part_supports_all_other_stages_and_resumes(sources):
    def doubled(example, rng):
        return {"n": example["n"] * 2, "noise": rng.normal()}

    for kind in ("arrays", "csv", "iterable", "filtered"):
        train, _ = sources[kind].take(60).split(0.5, 0.5, seed=3)
        assert_resumes(train.map(doubled, seed=1).shuffle(window=7, seed=1).epochs(2).batch(4))
    train, _ = sources["text_lines"].take(60).split(0.5, 0.5, seed=3)
    assert_resumes(train.map(doubled, seed=1).epochs(2).batch(4))
    train, _ = sources["arrays"].split(0.1, 0.9, seed=3)
    assert_resumes(train.map(doubled, seed=1).shuffle(seed=1).epochs(2).batch(9))


def test_ranks_share_a_part(sources):
    train, held_out = sources["fixed"].split(0.9, 0.1, seed=1)
    shuffled = train.shuffle(seed=2)
    ranks = [numbers(shuffled.shard(rank, 4)) for rank in range(4)]
    assert sorted(chain.from_iterable(ranks)) == numbers(train)
    assert not set(chain.from_iterable(ranks)) & set(numbers(held_out))


def test_examples_of_one_record_stay_in_one_part(sources):
    twins = sources["arrays"].flat_map(lambda e: [e, {"n": -1 - e["n"]}])
    for part in twins.split(0.5, 0.5):
        results = set(numbers(part))
        assert results == {-1 - n for n in results}


def test_parts_depend_on_the_seed_and_not_on_the_process(sources):
    first, _ = sources["arrays"].split(0.5, 0.5, seed=1)
    other, _ = sources["arrays"].split(0.5, 0.5, seed=2)
    assert 200 < len(set(numbers(first)) & set(numbers(other))) < 300
    assert numbers(pickle.loads(pickle.dumps(first))) == numbers(first)
    # The results of earlier versions.
    assert numbers(first)[:8] == [0, 1, 4, 5, 7, 9, 11, 12]


def test_state_of_a_different_part_is_rejected(sources):
    first, second = (part.batch(10) for part in sources["arrays"].split(0.5, 0.5, seed=1))
    batches = iter(first)
    next(batches)
    state = json.loads(json.dumps(batches.state()))
    with pytest.raises(ValueError, match=r"stage 1 is split\(1, .*\), but it was split\(0, "):
        second.resume(state)
    (other, _) = sources["arrays"].split(0.5, 0.5, seed=2)
    with pytest.raises(ValueError, match="the seed of split is 2, but it was 1 when the state"):
        other.batch(10).resume(state)


def test_pipeline_that_cannot_be_split_is_rejected(sources):
    pipe = sources["arrays"]
    for shares in ((1.0,), (0.5, 0.4), (1.5, -0.5), (0.0, 1.0), ()):
        with pytest.raises(ValueError, match=r"split: the fractions are .* that add up to 1"):
            pipe.split(*shares)
    with pytest.raises(
        TypeError, match=r"split: one of the fractions is '0\.5', expected a number"
    ):
        pipe.split("0.5", 0.5)
    for by in (None, "n"):
        with pytest.raises(ValueError, match="1e-30 is too small for any example"):
            pipe.split(1e-30, 1 - 1e-30, by=by)
    with pytest.raises(ValueError, match=r"split: the fractions are .*inf"):
        pipe.split(10**400, 0.5)
    with pytest.raises(ValueError, match="split: seed is -1, expected an int of at least 0"):
        pipe.split(0.5, 0.5, seed=-1)
    for grouped in (pipe.batch(4), pipe.batch(4).unbatch(), hr.concat([pipe.batch(4)])):
        with pytest.raises(
            ValueError, match="split: cannot come after batch, which combines examples"
        ):
            grouped.split(0.5, 0.5)
    with pytest.raises(ValueError, match=r"write cache\(\) before split"):
        pipe.split(0.5, 0.5)[0].cache().shuffle()


class TestOneOrder:
    def test_shuffle_or_mix_before_a_shard_requires_a_seed(self, sources):
        pipe = sources["arrays"]
        unseeded = {
            "shuffle": pipe.shuffle(),
            "mix": hr.mix([pipe, pipe]),
        }
        for name, ordered in unseeded.items():
            with pytest.raises(ValueError, match=f"shard: {name} before it has no seed, so each"):
                ordered.batch(4).shard(0, 2)
            assert len(numbers(ordered.shard(0, 1))) == len(numbers(ordered))
        with pytest.raises(ValueError, match="shuffle before it has no seed"):
            hr.concat([pipe.shuffle(window=5), pipe]).shard(0, 2)
        pipe.shard(0, 2).shuffle(window=5)


class TestWarnings:
    @pytest.fixture(autouse=True)
    def _messages(self, caplog):
        caplog.set_level(logging.WARNING, "headrace.pipeline")
        self.log = caplog

    def messages(self):
        results = [record.message for record in self.log.records]
        self.log.clear()
        return results

    def test_iterating_a_shuffled_pipeline_again_warns_once(self, sources):
        def noisy(example, rng):
            return {"n": example["n"]}

        for pipe, name in (
            (sources["arrays"].shuffle(seed=1).batch(10), "shuffle"),
            (sources["arrays"].map(noisy, seed=1), "map"),
        ):
            list(pipe)
            assert self.messages() == []
            list(pipe)
            [text] = self.messages()
            assert text.startswith(f"{name}: this is another iteration of epoch 0")
            assert "the same order and random numbers" in text
            list(pipe)
            assert self.messages() == []

    def test_loops_over_epochs_do_not_warn(self, sources):
        ordered = sources["arrays"].batch(10)
        shuffled = sources["arrays"].shuffle(seed=1).batch(10)
        several = sources["arrays"].shuffle(seed=1).epochs(2).batch(10)
        for pipe in (ordered, several):
            list(pipe)
            list(pipe)
        next(iter(shuffled))
        list(shuffled)
        for epoch in range(2):
            list(shuffled.epoch(epoch))
        assert self.messages() == []

    def test_take_and_skip_after_a_shuffle_warn_about_leaks_between_epochs(self, sources):
        shuffled = sources["arrays"].shuffle(seed=1)
        for part in (shuffled.take(900), shuffled.skip(100), shuffled.batch(10).take(90)):
            part.epochs(2)
            [text] = self.messages()
            assert text.startswith(("take(", "skip("))
            assert "pipe.split(0.9, 0.1)" in text
            loop = part.batch(10)
            list(loop.epoch(0))
            assert self.messages() == []
            list(loop.epoch(1))
            list(loop.epoch(2))
            assert len(self.messages()) == 1

    def test_pipeline_without_leaks_does_not_warn(self, sources):
        pipe = sources["arrays"]
        pipe.take(900).shuffle(window=9, seed=1).epochs(2)
        pipe.shuffle(seed=1).epochs(2).take(900)
        pipe.shuffle(seed=1).take(900).epochs(1)
        # Ranks that need the same number of examples.
        pipe.shuffle(seed=1).take(999).shard(0, 3).epochs(2)
        for part in pipe.split(0.9, 0.1):
            part.shuffle(seed=1).epochs(2)
        assert self.messages() == []


def _others():
    return hr.arrays({"n": np.arange(10_000, 10_010)})


COMBINATIONS = {
    "concat": lambda part: hr.concat([_others(), part]),
    "mix": lambda part: hr.mix([part, _others()], seed=1, stop="all"),
    "zip": lambda part: hr.zip([hr.arrays({"k": np.arange(NUM)}), part], strict=False),
    "deep": lambda part: hr.concat([_others(), hr.mix([_others(), part], seed=2, stop="all")]),
    "cached": lambda part: hr.concat([_others(), part.cache()]).cache(),
    "cached outside": lambda part: hr.mix([hr.concat([part]).cache(), _others()], stop="all"),
}


@pytest.mark.parametrize("combination", COMBINATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_part_inside_a_combination_has_the_same_examples(sources, kind, combination):
    pipe = sources[kind]
    train, held_out = pipe.split(0.5, 0.5, seed=1)
    combine = COMBINATIONS[combination]
    alone = set(numbers(train))
    for way in ({"num_threads": 1}, {"num_threads": 3, "memory_bytes": 400_000}):
        output = combine(train).options(**way)
        for epoch in (0, 1):
            results = {number for number in numbers(output.epoch(epoch)) if number < NUM}
            assert results == alone
            assert results.isdisjoint(numbers(held_out))


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_shuffled_part_inside_a_combination_has_the_same_examples(sources, combination):
    train, _ = sources["csv"].split(0.5, 0.5, seed=1)
    output = COMBINATIONS[combination](train.shuffle(seed=5))
    assert {n for n in numbers(output) if n < NUM} == set(numbers(train))


def test_split_of_deeply_nested_combinations_is_rejected():
    pipe = hr.arrays({"n": np.arange(20)})
    for _ in range(8):
        pipe = hr.concat([pipe])
    train, held_out = pipe.split(0.5, 0.5)
    assert sorted(numbers(train) + numbers(held_out)) == list(range(20))
    with pytest.raises(ValueError, match="split: combinations are nested 9 levels deep, but"):
        list(hr.concat([train]))
    with pytest.raises(ValueError, match="split: combinations are nested 9 levels deep, but"):
        hr.concat([pipe]).split(0.5, 0.5)


LENGTHS = (7, 3, 1, 12, 5, 2, 9, 4, 8, 6)


def rows_of_episodes(values):
    """Columns of numbers, and of the values of their episodes."""
    return {"n": np.arange(sum(LENGTHS)), "episode": np.repeat(np.asarray(values), LENGTHS)}


class TestByValue:
    VALUES = pytest.mark.parametrize(
        "values",
        [list(range(10)), [-(10**i) for i in range(10)], [f"episode {n} é" for n in range(10)]],
        ids=["small", "large", "texts"],
    )

    @VALUES
    def test_parts_are_chosen_by_a_keyed_hash_of_the_value(self, values):
        rows = rows_of_episodes(values)
        pipe = hr.arrays(rows)
        parts = pipe.split(0.5, 0.3, 0.2, seed=4, by="episode")
        bounds = [round(end * 2**62) for end in (0, 0.5, 0.8)] + [2**62]
        for number, part in enumerate(parts):
            expected = [
                n
                for n, value in zip(rows["n"].tolist(), rows["episode"].tolist(), strict=True)
                if bounds[number] <= hash_of(value, 4) < bounds[number + 1]
            ]
            assert numbers(part) == expected
            assert len(part) == part.count() == len(expected)

    def test_parts_have_the_requested_shares_of_values(self):
        pipe = hr.arrays({"n": np.arange(4000), "user": np.arange(4000) // 2})
        parts = pipe.split(0.8, 0.2, by="user")
        assert [len(part) / 4000 for part in parts] == pytest.approx([0.8, 0.2], abs=0.03)
        other, _ = pipe.split(0.8, 0.2, seed=1, by="user")
        assert numbers(other) != numbers(parts[0])

    @pytest.mark.parametrize("options", [{"num_threads": 1}, {"num_threads": 4, "memory_bytes": 1}])
    def test_full_shuffle_keeps_its_order_and_resumes(self, options):
        pipe = hr.arrays(rows_of_episodes(range(10)))
        full = pipe.shuffle(seed=5)
        for part in pipe.split(0.6, 0.4, by="episode"):
            members = set(numbers(part))
            shuffled = part.shuffle(seed=5).options(**options)
            for epoch in range(2):
                expected = [n for n in numbers(full.epoch(epoch)) if n in members]
                assert numbers(shuffled.epoch(epoch)) == expected
            assert len(shuffled) == len(members)
            assert_resumes(part.shuffle(seed=5).epochs(2).batch(7))
            ranks = [numbers(part.shuffle(seed=5).shard(rank, 3)) for rank in range(3)]
            assert sorted(chain.from_iterable(ranks)) == sorted(members)

    @pytest.mark.parametrize("length", [3, {"n": [-2, 0, 1]}, {"n": [1], "episode": [-1, 0]}])
    @pytest.mark.parametrize("pad", [None, "repeat", "zero"])
    @pytest.mark.parametrize("values", [range(10), [0, 1] * 5])
    def test_part_contains_the_windows_of_its_episodes(self, length, pad, values):
        pipe = hr.arrays(rows_of_episodes(values))
        whole = list(pipe.windows(length, 2, "episode", pad))
        start = 1 if isinstance(length, dict) and "episode" in length else 0
        found = []
        for part in pipe.split(0.5, 0.5, seed=1, by="episode"):
            members = {int(row["episode"]) for row in part}
            windows = part.windows(length, 2, "episode", pad)
            expected = [
                window["n"].tolist()
                for window in whole
                if int(np.ravel(window["episode"])[start]) in members
            ]
            assert [window["n"].tolist() for window in windows] == expected
            shuffled = windows.shuffle(seed=2)
            assert sorted(w["n"].tolist() for w in shuffled) == sorted(expected)
            assert_resumes(windows.shuffle(seed=2).batch(3))
            found += expected
        assert len(found) == len(whole)

    def test_windows_must_stay_within_the_values(self):
        part, _ = hr.arrays(rows_of_episodes(range(10))).split(0.5, 0.5, by="episode")
        for within in (None, "n"):
            with pytest.raises(
                ValueError, match=r"after split\(by='episode'\), .*within='episode'"
            ):
                part.windows(2, within=within)
        with pytest.raises(ValueError, match=r"its value at offset 0\. Add 0 to the offsets"):
            part.windows({"episode": [1]}, within="episode", pad="zero")

    def test_part_supports_other_sources_and_stages(self, tmp_path):
        rows = rows_of_episodes(range(10))
        lines = [f"{n},{episode}\n" for n, episode in zip(*rows.values(), strict=True)]
        path = tmp_path / "rows.csv"
        path.write_text("n,episode\n" + "".join(lines))
        expected = numbers(hr.arrays(rows).split(0.5, 0.5, by="episode")[0])
        part, _ = hr.csv(path).split(0.5, 0.5, by="episode")
        assert numbers(part) == expected
        with pytest.raises(
            TypeError, match=r"len: the number of examples .* is unknown until they are"
        ):
            len(part)
        assert part.count() == len(expected)
        doubled, _ = (
            hr.csv(path).map(lambda e: {**e, "n": 2 * e["n"]}).split(0.5, 0.5, by="episode")
        )
        assert numbers(doubled) == [2 * n for n in expected]
        assert_resumes(doubled.shuffle(window=7, seed=1).epochs(2).batch(4))
        assert sorted(numbers(part.cache().shuffle(window=4, seed=1))) == expected
        drawn = part.epochs(2)
        assert numbers(drawn) == expected * 2

    def test_parts_of_parts_are_disjoint(self):
        pipe = hr.arrays(rows_of_episodes(range(10)))
        train, rest = pipe.split(0.5, 0.5, by="episode")
        validation, test = rest.split(0.5, 0.5, seed=1, by="episode")
        parts = [train, validation, test]
        assert sorted(chain.from_iterable(map(numbers, parts))) == numbers(pipe)
        assert len(validation) == len(numbers(validation))
        records, _ = rest.split(0.5, 0.5)
        assert set(numbers(records)) < set(numbers(rest))

    def test_random_access_within_a_combination_is_rejected(self):
        part, _ = hr.arrays(rows_of_episodes(range(10))).split(0.5, 0.5, by="episode")
        expected = sorted(numbers(part))
        with pytest.raises(ValueError, match=r"split\(by='episode'\) must read examples to divide"):
            hr.concat([part]).shuffle(seed=1)
        with pytest.raises(ValueError, match=r"split\(by='episode'\) must read examples to divide"):
            part.sample(by="episode", seed=1)
        assert sorted(numbers(hr.concat([part.shuffle(seed=1)]))) == expected
        assert sorted(numbers(hr.concat([part.cache()]).shuffle(seed=1))) == expected

    def test_state_of_a_split_by_a_different_component_is_rejected(self):
        rows = rows_of_episodes(range(10))
        pipe = hr.arrays({**rows, "user": rows["episode"]})
        first, _ = pipe.split(0.5, 0.5, by="episode")
        other, _ = pipe.split(0.5, 0.5, by="user")
        batches = iter(first.batch(10))
        next(batches)
        state = json.loads(json.dumps(batches.state()))
        batches.close()
        with pytest.raises(ValueError, match=r"stage 1 is split\(.*'user'\), but it was split\("):
            other.batch(10).resume(state)

    def test_wrong_components_are_rejected(self):
        pipe = hr.arrays({"x": np.zeros((3, 2)), "y": np.zeros(3), "n": np.zeros(3, int)})
        for name in ("x", "y"):
            with pytest.raises(ValueError, match=f"split: by='{name}' is Spec.*a single integer"):
                pipe.split(0.5, 0.5, by=name)
        with pytest.raises(ValueError, match=r"split: there is no component 'm', expected one of"):
            pipe.split(0.5, 0.5, by="m")
        with pytest.raises(TypeError, match="split: by is 3, expected the name of a component"):
            pipe.split(0.5, 0.5, by=3)
        with pytest.raises(ValueError, match="split: cannot come after batch"):
            pipe.batch(2).split(0.5, 0.5, by="n")
