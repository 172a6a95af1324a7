"""Trainers on Ray get the same batches as one machine."""

import json
import pickle

import numpy as np
import pytest
import ray
from tests.pipeline.conftest import same
from tests.ray.conftest import images, numbers_of

import headrace as hr
import headrace.ray as hray

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture(scope="module")
def pipe():
    return images()


@pytest.fixture(scope="module")
def feed(cluster, pipe):
    with hray.serve(pipe, num_readers=3) as output:
        yield output


@pytest.mark.parametrize("world", [1, 2, 5])
def test_each_trainer_gets_its_shard_of_one_order(feed, pipe, world):
    trainers = [feed.batches(rank, world) for rank in range(world)]
    inputs = [[] for _ in trainers]
    for step in range(len(pipe) // world + 1):
        for rank, trainer in enumerate(trainers):
            if (batch := next(trainer, None)) is not None:
                inputs[rank].append(batch)
        assert step or all(inputs)
    for rank, batches in enumerate(inputs):
        assert same(batches, list(pipe.shard(rank, world)))


def test_arrays_are_views_of_the_object_store_unless_copied(feed):
    with feed.batches() as batches:
        batch = next(batches)
        assert not batch["pixels"].flags.writeable
        assert not batch["pixels"].flags.owndata
    with feed.batches(copy=True) as batches:
        assert next(batches)["pixels"].flags.writeable


@pytest.mark.parametrize("kind", ["numpy", "arrow"])
def test_strings_are_delivered_unchanged(kind):
    words = [b"", b"a", "\N{GREEK SMALL LETTER ALPHA}".encode(), b"word " * 9] * 10
    strings = {"bytes": words, "text": [word.decode() for word in words]}
    pipe = hr.arrays({**strings, "n": np.arange(40)}).batch(7).options(strings=kind)
    with hray.serve(pipe, num_readers=2) as feed:
        inputs, uninterrupted = list(feed), list(pipe)
    if kind == "numpy":
        assert same(inputs, uninterrupted)
    else:
        for name in uninterrupted[0]:
            assert [one[name].tolist() for one in inputs] == [
                one[name].tolist() for one in uninterrupted
            ]
        assert str(inputs[0]["text"].type) == "large_string"


def test_batch_lists_are_delivered_as_lists():
    rows = hr.arrays({"n": np.arange(20)}).map(
        lambda e: {**e, "x": np.full((e["n"] % 4, 300), e["n"]), "name": f"{e['n']}"}
    )
    pipe = rows.batch(6, lists=("n", "x", "name"))
    with hray.serve(pipe, num_readers=2) as feed:
        assert same(list(feed), list(pipe))
        with feed.batches(copy=True) as batches:
            assert all(array.flags.writeable for batch in batches for array in batch["x"])


@pytest.mark.parametrize(("readers", "world"), [(1, 1), (2, 3), (4, 2)])
def test_state_works_with_any_number_of_readers_and_trainers(feed, pipe, readers, world):
    full = numbers_of(pipe)
    trainers = [feed.batches(rank, 2) for rank in range(2)]
    for trainer in trainers:
        for _ in range(37):
            next(trainer)
    states = [json.loads(json.dumps(trainer.state())) for trainer in trainers]
    for trainer in trainers:
        trainer.close()
    assert states[0]["next"] == states[1]["next"] == 74
    with hray.serve(pipe, num_readers=readers) as other:
        rest = [other.batches(rank, world, state=states[rank % 2]) for rank in range(world)]
        ranks = [numbers_of(trainer) for trainer in rest]
    assert all(ranks[rank] == full[74 + rank :: world] for rank in range(world))


def test_state_before_the_first_and_after_the_last_batch(feed, pipe):
    batches = feed.batches()
    state = batches.state()
    uninterrupted = numbers_of(batches)
    assert uninterrupted == numbers_of(pipe)
    assert numbers_of(feed.batches(state=state)) == uninterrupted
    assert numbers_of(feed.batches(state=batches.state())) == []


def test_numbered_epochs_are_served(cluster):
    pipe = hr.arrays({"number": np.arange(100)}).shuffle(seed=1).batch(8)
    with hray.serve(pipe, num_readers=2) as feed:
        for epoch in (0, 4):
            batches = feed.batches(epoch=epoch)
            first = [next(batches) for _ in range(3)]
            rest = list(feed.batches(state=batches.state(), epoch=9))
            assert same([*first, *rest], list(pipe.epoch(epoch)))


def test_feed_can_be_passed_to_other_processes(feed, pipe):
    @ray.remote(num_cpus=0)
    def train(feed, rank):
        return [batch["number"].tolist() for batch in feed.batches(rank, 2)]

    value = ray.get([train.remote(feed, rank) for rank in range(2)])
    assert value == [numbers_of(pipe.shard(rank, 2)) for rank in range(2)]


def test_credits_bound_the_batches_in_flight(feed, pipe):
    size = sum(component.nbytes for component in next(iter(pipe)).values())
    with feed.batches(credit_bytes=5 * size) as batches:
        for _ in range(20):
            next(batches)
            assert len(batches._window.under_way) <= 5
        assert len(batches._window.under_way) == 5


def test_damage_is_reported_to_trainers(tables):
    pipe = hr.tfrecords(tables / "damaged").parse({"number": int}).skip_errors(1000).batch(9)
    alone = iter(pipe)
    expected = list(alone)
    with hray.serve(pipe, num_readers=2) as feed:
        batches = iter(feed)
        assert same(list(batches), expected)
    assert alone.skipped
    assert batches.skipped == alone.skipped


def test_pipeline_error_is_raised_at_its_batch(cluster):
    def fail(example):
        if example["number"] == 55:
            raise LookupError("at 55")
        return example

    pipe = hr.arrays({"number": np.arange(100)}).map(fail).batch(10)
    with hray.serve(pipe, num_readers=2) as feed:
        batches = iter(feed)
        inputs = [next(batches) for _ in range(5)]
        with pytest.raises(LookupError, match="at 55"):
            next(batches)
        assert numbers_of(inputs) == [list(range(n, n + 10)) for n in range(0, 50, 10)]
        state = batches.state()
        again = feed.batches(state=state)
        with pytest.raises(LookupError, match="at 55"):
            next(again)


def test_unsupported_pipeline_is_rejected(feed, pipe):
    with pytest.raises(TypeError, match="serve: got list, expected a pipeline"):
        hray.serve([], 2)
    with pytest.raises(ValueError, match="yields examples, expected batches"):
        hray.serve(hr.arrays({"n": [1]}), 2)
    with pytest.raises(ValueError, match=r"serve: autoscale is \(3, 2\), expected the minimum"):
        hray.serve(pipe, 2, autoscale=(3, 2))
    with pytest.raises(
        ValueError, match="rank is 2, expected a number less than world, which is 2"
    ):
        feed.batches(2, 2)
    with pytest.raises(ValueError, match="the state does not come from FeedBatches"):
        feed.batches(state=iter(pipe).state())
    state = {**feed.batches().state(), "version": 9}
    with pytest.raises(ValueError, match="the state has version 9, expected 1"):
        feed.batches(state=state)


def test_feed_is_pickled_by_its_handles(feed, pipe):
    other = pickle.loads(ray.cloudpickle.dumps(feed))
    assert other.num_readers == 3


@hr.native
def doubled(example):
    return {"number": example["number"] * 2}


def test_work_repeated_by_every_reader_is_reported(cluster, caplog):
    numbers = hr.arrays({"number": np.arange(8)})
    native = numbers.map(doubled)
    for pipe, expected in (
        (native.shuffle(4, seed=1).epochs(2).batch(2), []),
        (native.shuffle(4, seed=1).filter(bool).batch(2), ["map(doubled), filter(bool)"]),
        (numbers.map(dict).shuffle(4, seed=1).batch(2), ["map(dict)"]),
        (numbers.map(dict).batch(2), []),
        (numbers.filter(bool).map(dict).batch(2).take(3), ["filter(bool), map(dict), batch(2"]),
    ):
        caplog.clear()
        with hray.serve(pipe, num_readers=1):
            results = [record.getMessage() for record in caplog.records]
        assert len(results) == len(expected)
        assert all(words in text for words, text in zip(expected, results, strict=True))
