"""Reads WAV files with a Python function, and pads sounds of different lengths to batches.

You can use any format that a Python library reads in this way. `hr.files` reads the bytes of each
file, a function converts them to arrays, and `bucket_by_length` reduces padding.
"""

import io
import tempfile
import wave
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr

RATE = 8_000


def write(folder: Path, count: int) -> None:
    """Writes tones of 0.1 to 0.5 seconds: WAV, 16 bits."""
    rng = np.random.default_rng(1)
    for number in range(count):
        seconds = np.arange(rng.integers(RATE // 10, RATE // 2)) / RATE
        samples = 16_000 * np.sin(2 * np.pi * 200 * (1 + number % 4) * seconds)
        with wave.open(str(folder / f"{number:04}.wav"), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(samples.astype("<i2").tobytes())


def decoded(example: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Returns a sound with added noise, float32, (samples,), and its length."""
    with wave.open(io.BytesIO(example["data"])) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32)
    noise = rng.normal(0, 0.01, len(samples)).astype(np.float32)
    return {"samples": samples / 32_768 + noise, "length": len(samples)}


def pitches(batch: dict[str, Any]) -> Any:
    """Returns the strongest frequency of each sound in hertz: float64, (batch,)."""
    spectrum = np.abs(np.fft.rfft(batch["samples"], RATE))
    return spectrum.argmax(axis=1).astype(np.float64)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), 200)
        sounds = hr.files(f"{folder}/*.wav").shuffle(seed=1).map(decoded, seed=2, num_threads=2)
        results, filled, size = [], 0, 0
        for batch in sounds.bucket_by_length("samples", [1_500, 2_500], size=20):
            results += pitches(batch).round(-1).astype(int).tolist()
            filled += batch["length"].sum()
            size += batch["samples"].size
        print({pitch: results.count(pitch) for pitch in sorted(set(results))})
        print(f"{len(results)} sounds, {1 - filled / size:.0%} of the batches is padding")
