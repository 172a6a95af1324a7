"""Resampling compared with the definition of `torchaudio.functional.resample`."""

import math

import numpy as np
import pytest

import headrace as hr


def resampled(samples: np.ndarray, orig_freq: int, new_freq: int) -> np.ndarray:
    function = hr.native(lambda e: {"y": hr.ops.resample(e["x"], e["rate"], new_freq)})
    return function({"x": samples, "rate": np.int32(orig_freq)})["y"]


def model(samples: np.ndarray, orig_freq: int, new_freq: int) -> np.ndarray:
    """Returns the weighted sums of all samples, in float64."""
    divisor = math.gcd(orig_freq, new_freq)
    orig, new = orig_freq // divisor, new_freq // divisor
    base = min(orig, new) * 0.99
    count = -(-len(samples) * new // orig)
    times = np.arange(len(samples))[None, :] / orig - np.arange(count)[:, None] / new
    times = np.clip(times * base, -6, 6)
    weights = np.sinc(times) * np.cos(times * np.pi / 12) ** 2 * base / orig
    return weights @ samples.astype(np.float64)


@pytest.mark.parametrize(
    ("orig_freq", "new_freq"), [(44_100, 16_000), (16_000, 44_100), (8000, 16_000), (3, 2), (7, 9)]
)
@pytest.mark.parametrize("length", [1, 5, 300, 1001])
def test_samples_match_the_definition(orig_freq, new_freq, length):
    samples = np.random.default_rng(length).uniform(-1, 1, length).astype(np.float32)
    result = resampled(samples, orig_freq, new_freq)
    expected = model(samples, orig_freq, new_freq)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, atol=2e-6)


def test_each_channel_is_resampled_separately():
    samples = np.random.default_rng(3).uniform(-1, 1, (200, 3)).astype(np.float32)
    both = resampled(samples, 3, 4)
    for channel in range(3):
        alone = resampled(np.ascontiguousarray(samples[:, channel]), 3, 4)
        np.testing.assert_array_equal(both[:, channel], alone)


def test_equal_rates_change_nothing():
    samples = np.random.default_rng(3).normal(size=99).astype(np.float32)
    np.testing.assert_array_equal(resampled(samples, 8000, 8000), samples)


def test_rates_and_shapes_are_checked():
    samples = np.zeros(5, np.float32)
    text = r"resample: new_freq is 0, expected 1 to 1,000,000 samples per second"
    with pytest.raises(ValueError, match=text):
        resampled(samples, 8000, 0)
    text = r"the sample rate is 0, expected 1 to 1000000"
    with pytest.raises(hr.errors.InvalidArgumentError, match=text):
        resampled(samples, 0, 8000)
    with pytest.raises(ValueError, match=r"expected \(samples,\) or \(samples, channels\)"):
        resampled(np.zeros((2, 2, 2), np.float32), 8000, 4000)
