"""Random draws of functions depend only on the seed, the epoch and the example's position."""

import numpy as np
import pytest
from tests.pipeline.conftest import LARGE_WAYS

import headrace as hr
from headrace import pipeline as hp
from headrace.pipeline.functions.random_generators import Generators


def draw(example, rng):
    return {**example, "draw": rng.integers(2**62)}


def draws_of(pipeline):
    """The draws for each number, one per occurrence."""
    return [
        (int(number), int(drawn))
        for example in pipeline
        for number, drawn in zip(
            np.ravel(example["number"]), np.ravel(example["draw"]), strict=True
        )
    ]


@pytest.fixture
def numbers(records):
    return hp.tfrecords(records).parse({"number": int})


def test_each_example_has_its_own_draws(numbers, items_of):
    drawn = draws_of(items_of(numbers.map(draw, seed=7).batch(64)))
    assert [number for number, _ in drawn] == list(range(1000))
    assert len({value for _, value in drawn}) == 1000
    assert drawn != draws_of(numbers.map(draw, seed=8))


def test_each_epoch_has_different_draws(numbers, items_of):
    drawn = draws_of(items_of(numbers.map(draw, seed=7).epochs(2)))
    assert len({value for _, value in drawn}) == 2000
    assert drawn == draws_of(numbers.epochs(2).map(draw, seed=7))
    epochs = [draws_of(numbers.map(draw, seed=7).epoch(number)) for number in range(2)]
    assert epochs == [drawn[:1000], drawn[1000:]]


@pytest.mark.parametrize(
    "stages",
    [
        lambda p: p.shuffle(window=100, seed=3),
        lambda p: p.shard(1, 3),
        lambda p: p.skip(10).take(800),
        lambda p: p.filter(lambda e: e["number"] % 3 == 1),
        lambda p: p.map(lambda e: e).shuffle(window=10, seed=5),
    ],
)
def test_draws_stay_with_their_example(numbers, stages, items_of):
    drawn = dict(draws_of(numbers.map(draw, seed=7)))
    some = draws_of(items_of(stages(numbers).map(draw, seed=7), LARGE_WAYS))
    assert 0 < len(some) <= 1000
    assert all(drawn[number] == value for number, value in some)


def test_array_rows_and_iterable_examples_have_positions(items_of):
    rows = hp.arrays({"number": np.arange(300)})
    drawn = draws_of(items_of(rows.map(draw, seed=7)))
    assert len({value for _, value in drawn}) == 300
    assert sorted(draws_of(items_of(rows.shuffle(seed=1).map(draw, seed=7)))) == drawn
    yielded = hp.iterable(lambda: ({"number": number} for number in range(300)))
    assert (
        len({value for _, value in draws_of(items_of(yielded.map(draw, seed=7).epochs(2)))}) == 600
    )


def test_examples_of_one_flat_map_call_have_different_draws(numbers, items_of):
    several = numbers.take(100).flat_map(lambda example: [example] * 3).map(draw, seed=7)
    assert len({value for _, value in draws_of(items_of(several))}) == 300
    twice = numbers.take(10).flat_map(lambda e: [e] * 2).flat_map(lambda e: [e] * 3)
    shuffled = twice.shuffle(window=9, seed=1).map(draw, seed=7)
    drawn = draws_of(items_of(shuffled, LARGE_WAYS))
    assert len({value for _, value in drawn}) == 60


def test_flat_map_draws_like_map(numbers, items_of):
    def both(example, rng):
        return [{**draw(example, rng), "part": part} for part in range(2)]

    drawn = draws_of(items_of(numbers.flat_map(both, seed=7), LARGE_WAYS))
    mapped = dict(draws_of(numbers.map(draw, seed=7)))
    assert [value for _, value in drawn[::2]] == list(mapped.values())
    assert len({value for _, value in drawn}) == 2000
    shuffled = draws_of(
        items_of(numbers.shuffle(window=50, seed=1).flat_map(both, seed=7), LARGE_WAYS)
    )
    assert sorted(shuffled) == sorted(drawn)
    state = iter(numbers.flat_map(both, seed=7)).state()
    with pytest.raises(ValueError, match="the seed of flat_map is 8, but it was 7 when the state"):
        numbers.flat_map(both, seed=8).resume(state)


def test_native_flat_map_draws_with_a_seed(numbers, items_of):
    @hr.native
    def both(example):
        drawn = hr.ops.random_uniform([2])
        return {"number": hr.ops.stack([example["number"]] * 2), "draw": drawn}

    with pytest.raises(ValueError, match="draws random numbers, so map needs a seed"):
        numbers.flat_map(both)
    rows = [(row["number"], row["draw"]) for row in items_of(numbers.flat_map(both, seed=7))]
    assert len({drawn for _, drawn in rows}) > 1990
    some = numbers.shard(1, 3).flat_map(both, seed=7)
    assert {(row["number"], row["draw"]) for row in some} <= set(rows)


def test_parts_of_a_concat_have_their_own_draws(numbers, items_of):
    both = hp.concat([numbers.take(50), numbers.take(50)]).map(draw, seed=7)
    assert len({value for _, value in draws_of(items_of(both))}) == 100


def test_draws_of_a_batch_depend_on_its_number(numbers, items_of):
    def draw_once(batch, rng):
        return {"number": batch["number"][:1], "draw": rng.integers(2**62, size=1)}

    drawn = draws_of(items_of(numbers.batch(100).map(draw_once, seed=7).epochs(2)))
    assert len({value for _, value in drawn}) == 20
    some = draws_of(items_of(numbers.batch(100).shard(1, 3).map(draw_once, seed=7)))
    assert some == drawn[1:10:3]
    unbatched = numbers.batch(100).unbatch().map(draw, seed=7)
    assert len({value for _, value in draws_of(items_of(unbatched))}) == 1000


def test_draws_match_numpy_philox(numbers):
    [(_, drawn)] = draws_of(numbers.skip(5).take(1).map(draw, seed=7))
    key, counter = np.array([7, 0], np.uint64), np.array([0, 5, 0, 0], np.uint64)
    assert drawn == np.random.Generator(np.random.Philox(key=key, counter=counter)).integers(2**62)


def test_exception_note_names_the_batch_number(numbers):
    def fail(batch):
        if batch["number"][0] >= 300:
            raise ValueError("too large")
        return batch

    with pytest.raises(ValueError, match="too large") as caught:
        list(numbers.batch(100).map(fail))
    assert caught.value.__notes__[0].endswith(", at batch 3")


def test_invalid_seeds_are_rejected(numbers):
    with pytest.raises(ValueError, match="map: seed is -1, expected an int of at least 0"):
        numbers.map(draw, seed=-1)
    with pytest.raises(TypeError):
        list(numbers.map(draw))


def test_spawned_generators_depend_only_on_the_position():
    def spawned(*position):
        rng = Generators(7).at(*position)
        return [child.integers(2**60) for child in (*rng.spawn(2), *rng.spawn(1))]

    assert len(set(spawned(0, 1, 2, 3))) == 3
    assert spawned(0, 1, 2, 3) == spawned(0, 1, 2, 3)
    assert not set(spawned(0, 1, 2, 3)) & set(spawned(1, 1, 2, 3) + spawned(0, 1, 3, 2))
    assert not set(spawned(0, 1, 2, 3)) & {Generators(7).at(0, 1, 2, 3).integers(2**60)}


def test_draws_depend_on_key_and_counter():
    key, counter = np.array([7, 3], np.uint64), np.array([0, 5, 6, 2**40], np.uint64)
    expected = np.random.Generator(np.random.Philox(key=key, counter=counter)).random(9)
    assert Generators(7).at(3, 5, 6, 2**40).random(9).tolist() == expected.tolist()


def test_one_generator_object_is_reused_for_all_examples():
    generators = Generators(7)
    outputs = []
    for number in range(6):
        rng = generators.at(1, number, 0, 0)
        outputs.append((id(rng), rng.integers(2**32, dtype=np.uint32), rng.random(3).tolist()))
        other = Generators(7).at(1, number, 0, 0)
        assert outputs[-1][1:] == (other.integers(2**32, dtype=np.uint32), other.random(3).tolist())
        assert rng.spawn(2)[1].random() == other.spawn(2)[1].random()
        del rng, other
    assert len({rng for rng, *_ in outputs}) == 1


@pytest.mark.parametrize(
    "keep",
    [
        lambda rng: rng,
        lambda rng: rng.bit_generator,
        lambda rng: rng.bit_generator.seed_seq,
        lambda rng: rng.random,
    ],
    ids=["the generator", "its bit generator", "its seed sequence", "a method"],
)
def test_kept_generator_stays_with_its_example(numbers, keep):
    kept = {}

    def draw_and_keep(example, rng):
        kept[int(example["number"])] = (rng.bit_generator.state["state"]["counter"], keep(rng))
        return {**example, "draw": rng.integers(2**62)}

    output = draws_of(numbers.map(draw_and_keep, seed=7))
    assert output == draws_of(numbers.map(draw, seed=7))
    assert len({id(holder) for _, holder in kept.values()}) == len(kept) == len(output)


def test_kept_generator_continues_the_draws_of_its_example():
    first, expected = [], []
    for example in hr.arrays({"n": np.arange(5)}).map(
        lambda example, rng: first.append(rng) or example, seed=3
    ):
        del example
    for number, rng in enumerate(first):
        expected.append(Generators(3).at(0, number, 0, 0).random())
        assert rng.random() == expected[-1]
    assert len(set(expected)) == 5
