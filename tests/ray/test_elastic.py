"""Readers are added and removed while trainers continue."""

import numpy as np
import pytest
import ray
from tests.ray.conftest import images, numbers_of

import headrace as hr
import headrace.ray as hray

pytestmark = pytest.mark.usefixtures("cluster")


def num_alive(feed):
    return len(ray.get(feed._head.known.remote()).readers)


def test_order_stays_the_same_as_readers_come_and_go():
    pipe = images(32_000)
    with hray.serve(pipe, num_readers=1) as feed:
        trainers = [feed.batches(rank, 2) for rank in range(2)]
        inputs = []

        def steps(count):
            for _ in range(count):
                inputs.extend(next(trainer)["number"].tolist() for trainer in trainers)

        for change, count in ((feed.add_readers, 3), (feed.remove_readers, 2)):
            steps(20)
            change(count)
            while len({trainer._known.layout.version for trainer in trainers}) > 1 or (
                trainers[0]._known.layout.version != ray.get(feed._head.known.remote())[0].version
            ):
                steps(1)
        assert feed.num_readers == 2
        full = numbers_of(pipe)
        steps((len(full) - len(inputs)) // 2)
        assert inputs == full
        for trainer in trainers:
            assert next(trainer, None) is None
        assert num_alive(feed) == 2, "those that were removed have ended"


def test_last_reader_cannot_be_removed():
    with hray.serve(images(160), num_readers=2) as feed:
        with pytest.raises(ValueError, match="remove_readers: cannot remove 2 of 2"):
            feed.remove_readers(2)
        with pytest.raises(
            ValueError, match="add_readers: count is 0, expected an int of at least 1"
        ):
            feed.add_readers(0)
        assert feed.num_readers == 2
        assert "call it again after more batches" in feed.bottleneck()


def slow(batch):
    """Takes a processor for a while, longer than all else."""
    total = np.float64(0)
    for _ in range(60):
        total += np.sin(np.arange(20_000.0)).sum()
    return {"number": batch["number"], "total": total[None] * np.ones(len(batch["number"]))}


def test_autoscaling_adds_readers_for_waiting_trainers():
    pipe = hr.arrays({"number": np.arange(200_000)}).batch(10).map(slow)
    with hray.serve(pipe, num_readers=1, autoscale=(1, 3)) as feed:
        batches = iter(feed)
        while feed.num_readers == 1:
            next(batches)
        assert "trainers wait" in feed.bottleneck()
        last = int(next(batches)["number"][0])
        assert int(next(batches)["number"][0]) == last + 10
        batches.close()
