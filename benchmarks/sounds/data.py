"""WAV files of two seconds, one channel of 16 bits: a few tones each, and noise."""

import math
import wave
from pathlib import Path

import numpy as np

from benchmarks.sounds.work import (
    FLOOR,
    HOP,
    NUM_BANDS,
    NUM_CLASSES,
    NUM_FFT,
    NUM_SAMPLES,
    SAMPLE_RATE,
    sums_of,
)


def make(home: Path, count: int) -> list[int]:
    """Writes sounds into directories of classes; returns sums over them."""
    rng = np.random.default_rng(16)
    seconds = np.arange(NUM_SAMPLES) / SAMPLE_RATE
    filters = mel_filters()
    sums = [0, 0, 0]
    for number in range(count):
        label = int(rng.integers(0, NUM_CLASSES))
        tones = rng.uniform(80, 7000, (4, 1)) * (1 + 0.05 * np.sin(3 * seconds))
        sound = np.sin(2 * math.pi * np.cumsum(tones, axis=1) / SAMPLE_RATE).sum(axis=0) / 6
        samples = ((sound + rng.normal(0, 0.02, NUM_SAMPLES)) * 2**15).astype("<i2")
        path = home / str(label) / f"{number:05}.wav"
        path.parent.mkdir(exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, SAMPLE_RATE, 0, "NONE", ""))
            file.writeframes(samples.tobytes())
        bands = bands_of(samples.astype(np.float32) / 2**15, filters)
        made = sums_of((bands[None], np.array([label])))[1:]
        sums = [a + b for a, b in zip(sums, made, strict=True)]
    return sums


def bands_of(samples: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Returns the logarithms of the energies of bands, float32, (80, frames), by NumPy alone."""
    padded = np.pad(samples, NUM_FFT // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, NUM_FFT)[::HOP]
    window = np.hanning(NUM_FFT + 1)[:-1]
    energies = np.abs(np.fft.rfft(frames * window)) ** 2
    return np.log(np.maximum(filters @ energies.T, FLOOR)).astype(np.float32)


def mel_filters() -> np.ndarray:
    """Returns the weight of each frequency in each band, as Slaney's Auditory Toolbox has them."""
    step = math.log(6.4) / 27
    most = 15 + math.log(SAMPLE_RATE / 2 / 1000) / step
    mels = np.linspace(0, most, NUM_BANDS + 2)
    edges = np.where(mels < 15, mels * 200 / 3, 1000 * np.exp((mels - 15) * step))
    frequencies = np.fft.rfftfreq(NUM_FFT, 1 / SAMPLE_RATE)
    low, middle, high = (edges[begin : begin + NUM_BANDS, None] for begin in range(3))
    rising = (frequencies - low) / (middle - low)
    falling = (high - frequencies) / (high - middle)
    return np.maximum(0, np.minimum(rising, falling)) * 2 / (high - low)
