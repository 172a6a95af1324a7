"""Windows of time series, for Keras."""

import numpy as np
import pytest

from headrace.keras import timeseries_dataset_from_array as windows_of


def rows(data):
    return [row for batch in data for row in np.asarray(batch).tolist()]


def test_windows_follow_the_stride_and_the_sampling_rate():
    data = windows_of(np.arange(99), None, 10, sequence_stride=3, sampling_rate=2)
    expected = [list(range(start, start + 20, 2)) for start in range(0, 81, 3)]
    assert rows(data) == expected
    assert (len(data), data.batch_size) == (1, 128)


def test_each_window_has_the_target_of_its_first_step():
    series = np.arange(20, dtype=np.float32).reshape(10, 2)
    data = windows_of(series, np.arange(10) * 10, 3, sequence_stride=2, batch_size=3)
    batches = list(data)
    assert [targets.tolist() for _, targets in batches] == [[0, 20, 40], [60]]
    assert batches[0][0].dtype == np.float32
    assert batches[1][0].tolist() == [series[6:9].tolist()]


def test_index_range_limits_the_steps():
    data = windows_of(np.arange(10), np.arange(10), 2, start_index=3, end_index=7, batch_size=None)
    pairs = [(window.tolist(), int(target)) for window, target in data]
    assert pairs == [([3, 4], 3), ([4, 5], 4), ([5, 6], 5)]
    assert rows(windows_of(np.arange(6), None, 3, end_index=4)) == [[0, 1, 2], [1, 2, 3]]


def test_lists_have_tensorflow_types():
    window, target = next(iter(windows_of([1, 2, 3], [0.5, 1.5, 2.5], 2)))
    assert (window.dtype, target.dtype) == (np.int32, np.float32)
    assert next(iter(windows_of(np.arange(3.0), None, 2))).dtype == np.float64


def test_shuffled_windows_stay_with_their_targets():
    data = windows_of(np.arange(50), np.arange(50), 3, shuffle=True, seed=4, batch_size=7)
    epochs = [[pair for batch in data for pair in zip(*batch, strict=True)] for _ in range(2)]
    orders = [[int(target) for _, target in epoch] for epoch in epochs]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(48))
    assert all(window.tolist() == [n, n + 1, n + 2] for epoch in epochs for window, n in epoch)


def test_long_windows_need_no_extra_memory():
    data = windows_of(np.arange(2_000_000), None, 1_000_000, sampling_rate=2, batch_size=1)
    window = next(iter(data))
    assert (window.shape, window[0, -1]) == ((1, 1_000_000), 1_999_998)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sequence_length": 11}, "sequence_length is 11, expected a positive number, "),
        ({"sequence_length": 0}, "sequence_length is 0"),
        ({"sequence_stride": 0}, "sequence_stride is 0, expected a positive number below"),
        ({"sampling_rate": 10}, "sampling_rate is 10, expected a positive number below"),
        ({"sampling_rate": 9}, "no window of sequence_length=3 with sampling_rate=9"),
        ({"start_index": -1}, "start_index is -1, expected 0 or more"),
        ({"start_index": 10}, "start_index is 10, expected 0 or more, below the length"),
        ({"start_index": 5, "end_index": 5}, "end_index is 5, expected more than start_index=5"),
        ({"end_index": 10}, "end_index is 10, expected more than start_index=0 and less"),
        ({"targets": [1] * 6, "start_index": 2}, "targets has 4 steps from start_index=2 on"),
        ({"data": 5}, "data is 5, expected an array with a time axis"),
        ({"format": "grain"}, "format is 'grain', expected 'tf'"),
    ],
)
def test_errors_name_the_wrong_argument(arguments, words):
    with pytest.raises(ValueError, match=words):
        windows_of(**{"data": np.arange(10), "targets": None, "sequence_length": 3} | arguments)
