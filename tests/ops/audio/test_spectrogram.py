"""Log-mel spectrograms compared with their definition in NumPy."""

import numpy as np
import pytest

import headrace as hr

SOUND = np.random.default_rng(5).normal(0, 0.1, 3000).astype(np.float32)
SOUND += np.sin(np.arange(3000) * 0.3, dtype=np.float32)


def computed(samples: np.ndarray, sample_rate: int = 16_000, **options) -> np.ndarray:
    function = hr.native(
        lambda e: {"y": hr.ops.log_mel_spectrogram(e["x"], sample_rate, **options)}
    )
    return function({"x": samples})["y"]


def to_mel(frequency, scale):
    if scale == "htk":
        return 2595 * np.log10(1 + frequency / 700)
    above = 15 + np.log(np.maximum(frequency, 1) / 1000) * 27 / np.log(6.4)
    return np.where(frequency < 1000, frequency * 3 / 200, above)


def from_mel(mel, scale):
    if scale == "htk":
        return 700 * (10 ** (mel / 2595) - 1)
    return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))


def bank(rate, n_fft, n_mels, f_min, f_max, scale, norm):
    low, high = to_mel(np.array(f_min), scale), to_mel(np.array(f_max), scale)
    edges = from_mel(np.linspace(low, high, n_mels + 2), scale)
    frequencies = np.fft.rfftfreq(n_fft, 1 / rate)
    rising = (frequencies - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - frequencies) / np.diff(edges)[1:, None]
    weights = np.maximum(0, np.minimum(rising, falling))
    return weights * (2 / (edges[2:] - edges[:-2]))[:, None] if norm else weights


def model(
    samples,
    rate=16_000,
    n_fft=400,
    hop_length=160,
    n_mels=80,
    win_length=None,
    f_min=0.0,
    f_max=None,
    power=2,
    mel_scale="slaney",
    norm="slaney",
    center=True,
    pad_mode="reflect",
    log="natural",
    floor=1e-10,
):
    length = n_fft if win_length is None else win_length
    window = np.zeros(n_fft)
    first = (n_fft - length) // 2
    window[first : first + length] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    padded = np.pad(samples.astype(np.float64), n_fft // 2, pad_mode) if center else samples
    count = (len(padded) - n_fft) // hop_length + 1
    frames = np.stack([padded[i * hop_length :][:n_fft] * window for i in range(count)])
    energy = np.abs(np.fft.rfft(frames)) ** power
    filters = bank(rate, n_fft, n_mels, f_min, f_max or rate / 2, mel_scale, norm)
    mel = np.maximum(filters @ energy.T, floor)
    decibels = (10 if power == 2 else 20) * np.log10(mel)
    return {"natural": np.log(mel), "log10": np.log10(mel), "db": decibels}[log]


OPTIONS = {
    "defaults": {},
    "librosa": {"n_fft": 512, "hop_length": 128, "n_mels": 40, "pad_mode": "constant", "log": "db"},
    "torchaudio": {"n_mels": 40, "hop_length": 200, "mel_scale": "htk", "norm": None},
    "magnitude": {"power": 1, "log": "db", "n_mels": 20},
    "short window": {"n_fft": 512, "win_length": 301, "log": "log10"},
    "uncentred": {"center": False, "f_min": 60.0, "f_max": 7600.0, "n_mels": 64},
    "odd": {"n_fft": 401, "hop_length": 37, "n_mels": 30},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_bands_match_the_definition(name):
    options = OPTIONS[name]
    results, expected = computed(SOUND, **options), model(SOUND, **options)
    assert results.shape == expected.shape
    scale = {"db": 10 / np.log(10)}.get(options.get("log", ""), 1.0)
    np.testing.assert_allclose(results, expected, atol=2e-3 * scale)
    loud = expected > expected.max() - 4 * scale
    np.testing.assert_allclose(results[loud], expected[loud], atol=2e-5 * scale)


def test_silence_equals_the_floor():
    quiet = computed(np.zeros(500, np.float32), log="log10", floor=1e-8)
    np.testing.assert_allclose(quiet, -8)


def test_nan_in_the_sound_stays_nan():
    sound = SOUND.copy()
    sound[0] = np.nan
    assert np.isnan(computed(sound)[:, 0]).all()


def test_sounds_that_are_too_short_are_rejected():
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"more than half of n_fft \(200\)"):
        computed(SOUND[:200])
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"at least n_fft \(400\)"):
        computed(SOUND[:399], center=False)
    assert computed(SOUND[:1], pad_mode="constant").shape == (80, 1)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"n_mels": 200}, ValueError, r"band 0 of 200 would always be empty: with n_fft=400"),
        ({"win_length": 401}, ValueError, "win_length is 401, expected 1 to 400"),
        ({"n_fft": 400.0}, TypeError, "n_fft is 400.0, expected an integer"),
        ({"hop_length": 0}, ValueError, "hop_length is 0, expected 1"),
        ({"f_max": 9000.0}, ValueError, "f_max is 9000.0, expected 0 <= f_min < f_max <= 8000.0"),
        ({"mel_scale": "mel"}, ValueError, "mel_scale is 'mel', expected 'slaney', 'htk'"),
        ({"power": 3}, ValueError, "power is 3, expected 1, 2"),
        ({"floor": 0.0}, ValueError, "floor is 0.0, expected a positive number"),
    ],
)
def test_arguments_are_checked_at_the_call(options, error, text):
    with pytest.raises(error, match=text):
        computed(SOUND, **options)


def test_multichannel_sound_is_rejected():
    with pytest.raises(ValueError, match="rank 1"):
        computed(np.zeros((500, 2), np.float32))
