"""Computes log-mel spectrograms of sounds with NumPy, with new random noise in each epoch."""

import os
import tempfile
import wave
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # The calling threads already use the cores.

import numpy as np
from callers import compare
from numpy.typing import NDArray

import headrace as hr

RATE, WINDOW, STEP, BANDS = 16_000, 400, 160, 64


def write(folder: Path, count: int) -> None:
    """Writes sounds of one second, with a rising tone: WAV, 16 bits."""
    seconds = np.arange(RATE) / RATE
    for number in range(count):
        tone = np.sin(2 * np.pi * (200 + 20 * number + 300 * seconds) * seconds)
        with wave.open(str(folder / f"{number:04}.wav"), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes((8_000 * tone).astype("<i2").tobytes())


def mel_bands() -> NDArray[np.float32]:
    """Returns the weights of the frequencies in each band: float32, (frequencies, bands)."""
    highest = 2595 * np.log10(1 + RATE / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, highest, BANDS + 2) / 2595) - 1)
    frequencies = np.linspace(0, RATE / 2, WINDOW // 2 + 1)[:, None]
    lower, centre, upper = edges[:-2], edges[1:-1], edges[2:]
    rising = (frequencies - lower) / (centre - lower)
    falling = (upper - frequencies) / (upper - centre)
    return np.maximum(np.minimum(rising, falling), 0).astype(np.float32)


BAND_WEIGHTS = mel_bands()
HANN = np.hanning(WINDOW).astype(np.float32)


def log_mel(example: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Returns the energies of a sound after adding noise: float32, (frames, bands)."""
    samples = np.frombuffer(example["data"], "<i2", offset=44).astype(np.float32) / 32768
    samples += rng.normal(0, 0.01, len(samples)).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(samples, WINDOW)[::STEP]
    power = np.abs(np.fft.rfft(frames * HANN)) ** 2
    return {"energies": np.log(power.astype(np.float32) @ BAND_WEIGHTS + 1e-6)}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), 256)
        sounds = hr.files(f"{folder}/*.wav").shuffle(seed=1)
        compare(lambda callers: sounds.map(log_mel, seed=7, **callers).batch(32), __doc__)
