"""Statistics of shuffles: full ones compared with NumPy's, windows with their distribution."""

import numpy as np
import pytest

from headrace import pipeline as hp

NUM_SEEDS = 1000


def order(pipeline):
    [batch] = pipeline.batch(10_000).options(num_threads=1)
    return np.ravel(batch["number"]).astype(np.int64)


def rows(count):
    return hp.arrays({"number": np.arange(count)})


def chi_square(counts, expected):
    return float(((counts - expected) ** 2 / expected).sum())


def test_all_positions_of_an_example_in_files_are_equally_likely(tmp_path):
    """The chi-square statistic over 1,000 seeds: its 0.9999 quantile for 9 degrees is 33.7."""
    for file in range(2):
        lines = [b"%d\n" % number for number in range(5 * file, 5 * file + 5)]
        (tmp_path / f"{file}").write_bytes(b"".join(lines))
    lines = hp.text_lines(tmp_path).rename(text="number")
    positions = np.zeros((10, 10))
    for seed in range(NUM_SEEDS):
        shuffled = order(lines.shuffle(seed=seed))
        positions[shuffled, np.arange(10)] += 1
    assert max(chi_square(row, NUM_SEEDS / 10) for row in positions) < 33.7


STATISTICS = {
    "fixed points": lambda order: (order == np.arange(len(order))).sum(),
    "neighbours that stay neighbours": lambda order: (np.diff(order) == 1).sum(),
    "ascents": lambda order: (np.diff(order) > 0).sum(),
    "displacement": lambda order: np.abs(order - np.arange(len(order))).mean(),
    "serial correlation": lambda order: (order[1:] * order[:-1]).mean(),
    "cycles": lambda order: len(set(map(min, _cycles(order)))),
    "even ones in the first half": lambda order: (order[: len(order) // 2] % 2 == 0).sum(),
    "first half that stays there": lambda order: (order[: len(order) // 2] < len(order) // 2).sum(),
}


def _cycles(order):
    left = set(range(len(order)))
    while left:
        cycle, position = [], min(left)
        while position in left:
            left.remove(position)
            cycle.append(position)
            position = int(order[position])
        yield cycle


@pytest.mark.parametrize("count", [64, 100, 129])
def test_full_shuffle_is_statistically_like_a_numpy_permutation(count):
    """Means over many seeds differ by less than 4.5 standard errors, and variances by a third."""
    ours = [order(rows(count).shuffle(seed=seed)) for seed in range(NUM_SEEDS)]
    random = np.random.default_rng(0)
    theirs = [random.permutation(count) for _ in range(NUM_SEEDS)]
    for name, statistic in STATISTICS.items():
        one, other = (
            np.array([statistic(output) for output in all_made]) for all_made in (ours, theirs)
        )
        error = np.sqrt((one.var() + other.var()) / NUM_SEEDS)
        assert abs(one.mean() - other.mean()) < 4.5 * error, name
        assert 0.66 < one.var() / other.var() < 1.5, name


def test_epochs_of_one_seed_are_independent():
    """The correlation of two random orders of 1,000 has a standard deviation of 0.03."""
    pipeline = rows(1000).shuffle(seed=3)
    [*batches] = pipeline.batch(1000).epochs(30).options(num_threads=1)
    orders = [batch["number"] for batch in batches]
    correlations = np.corrcoef(orders)[np.triu_indices(30, 1)]
    assert np.abs(correlations).max() < 0.16
    assert abs(correlations.mean()) < 0.01


def test_time_in_a_window_is_geometrically_distributed():
    """The first example leaves at place k with probability (1 - 1/w)^k / w.

    The 0.9999 quantile of chi-square for 8 degrees is 31.8.
    """
    window, num_bins = 5, 8
    results = [
        int(np.flatnonzero(order(rows(60).shuffle(window, seed)) == 0)[0])
        for seed in range(NUM_SEEDS)
    ]
    counts = np.bincount(np.minimum(results, num_bins), minlength=num_bins + 1)
    likely = (1 - 1 / window) ** np.arange(num_bins) / window
    expected = np.append(likely, (1 - 1 / window) ** num_bins) * NUM_SEEDS
    assert chi_square(counts, expected) < 31.8
