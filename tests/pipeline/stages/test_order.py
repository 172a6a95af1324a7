"""The order of a pipeline depends only on its description, its data and its seeds."""

import numpy as np
import pytest
from tests.pipeline.conftest import NUM_EXAMPLES

from headrace import pipeline as hp
from headrace.core import errors


def order(pipeline):
    return [int(number) for batch in pipeline for number in np.ravel(batch["number"])]


@pytest.fixture
def numbers(records):
    return hp.tfrecords(records).parse({"number": int})


def test_window_moves_examples_by_less_than_its_size(numbers):
    def in_window(window, seed):
        return order(numbers.shuffle(window, seed, num_open=1, file_order="sequential"))

    shuffled = in_window(100, 7)
    assert sorted(shuffled) == list(range(NUM_EXAMPLES))
    assert all(number < position + 100 for position, number in enumerate(shuffled))
    assert shuffled != sorted(shuffled)
    assert in_window(100, 7) == shuffled
    assert in_window(100, 8) != shuffled
    assert in_window(1, 8) == list(range(NUM_EXAMPLES))


def test_each_epoch_has_its_own_order(numbers):
    shuffled = numbers.shuffle(window=100, seed=7)
    epochs = [order(shuffled.epoch(number)) for number in range(3)]
    assert order(shuffled.epochs(3)) == epochs[0] + epochs[1] + epochs[2]
    assert epochs[0] == order(shuffled)
    assert len({tuple(epoch) for epoch in epochs}) == 3


def test_full_shuffle_is_a_permutation():
    pipeline = hp.arrays({"number": np.arange(5000)}).shuffle(seed=3)
    shuffled = order(pipeline.batch(64))
    assert sorted(shuffled) == list(range(5000))
    assert np.mean(np.abs(np.array(shuffled) - np.arange(5000))) > 1000
    assert order(pipeline.epoch(1)) != shuffled


def test_omitted_seed_is_drawn_once(numbers):
    shuffled = numbers.shuffle(window=100)
    assert order(shuffled) == order(shuffled)
    assert order(shuffled) != order(numbers.shuffle(window=100))


def chi_square(counts):
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("window", [None, 10])
def test_all_positions_are_equally_likely(window):
    """The chi-square statistic over 1,000 seeds: its 0.9999 quantile for 9 degrees is 33.7."""
    positions = np.zeros((10, 10))
    for seed in range(1000):
        pipeline = hp.arrays({"number": np.arange(10)}).shuffle(window, seed)
        for position, number in enumerate(order(pipeline.options(num_threads=1))):
            positions[number, position] += 1
    assert max(chi_square(row) for row in positions) < 33.7


def test_shards_follow_one_global_order(numbers):
    shuffled = numbers.shuffle(window=100, seed=7)
    full = order(shuffled)
    for count in (2, 5):
        shards = [order(shuffled.shard(index, count)) for index in range(count)]
        assert shards == [full[index::count] for index in range(count)]


def test_error_for_an_oversized_window_reports_the_required_memory(tmp_path):
    path = tmp_path / "a"
    path.write_bytes((b"x" * 99 + b"\n") * 50_000)
    pipeline = hp.text_lines(path).shuffle(window=40_000).options(memory_bytes=1_000_000)
    message = r"shuffle\(window=40000\) needs about .* bytes, expected at most the 1000000"
    with pytest.raises(errors.ResourceExhaustedError, match=message):
        next(iter(pipeline))
