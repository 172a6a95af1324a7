"""Loops of PyTorch over functions in worker processes: workers kept between epochs, and states."""

import gc
import json
import os
from pathlib import Path

import numpy as np
import pytest
from tests.calls import wait_until
from tests.pipeline.workers import picklable

import headrace as hr

torch = pytest.importorskip("torch")


def pipeline(num_processes=2):
    rows = hr.arrays({"n": np.arange(64), "x": np.ones((64, 3), np.float32)}).shuffle(seed=1)
    return rows.map(picklable.with_process, num_processes=num_processes).batch(8)


def is_there(process):
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def processes(batches):
    return {number for batch in batches for number in batch["process"].tolist()}


def numbers(batches):
    return [batch["n"].tolist() for batch in batches]


@pytest.mark.parametrize("way", ["loader", "DataLoader"])
def test_workers_are_kept_between_epochs(way):
    train = pipeline().to_torch()
    loop = train if way == "loader" else torch.utils.data.DataLoader(train, batch_size=None)
    epochs = [list(loop) for _ in range(3)]
    expected = processes(batch for epoch in epochs for batch in epoch)
    assert 1 <= len(expected) <= 2
    assert os.getpid() not in expected
    assert all(map(is_there, expected)), "they wait for the next epoch"
    orders = [[n for batch in numbers(epoch) for n in batch] for epoch in epochs]
    assert all(sorted(order) == list(range(64)) for order in orders)
    assert orders[0] != orders[1] != orders[2]


def test_workers_exit_with_the_loader():
    train = pipeline().to_torch()
    expected = processes(train)
    assert all(map(is_there, expected))
    del train
    gc.collect()
    wait_until(lambda: not any(map(is_there, expected)))


def test_full_epoch_follows_an_unfinished_one():
    train = pipeline().to_torch()
    for batch in train:
        assert batch["n"].tolist() == numbers(pipeline(0))[0]
        break
    assert numbers(train) == numbers(pipeline(0).epoch(1))


def test_state_resumes_with_a_different_number_of_workers():
    train = pipeline().to_torch()
    train.set_epoch(1)
    with iter(train) as batches:
        first = [next(batches)["n"].tolist() for _ in range(3)]
        state = json.loads(json.dumps(train.state_dict()))
    full = numbers(pipeline(0).epoch(1))
    assert first == full[:3]
    for number in (0, 1, 3):
        other = pipeline(number).to_torch()
        other.load_state_dict(state)
        assert numbers(other) == full[3:]


def test_validation_within_an_epoch_has_its_own_workers():
    train, held_out = pipeline().to_torch(), pipeline().take(4).to_torch()
    seen = []
    for _ in range(2):
        for number, batch in enumerate(train):
            seen.append(batch["n"].tolist())
            if number == 4:
                assert len(list(held_out)) == 4
    assert seen == [*numbers(pipeline(0).epoch(0)), *numbers(pipeline(0).epoch(1))]
