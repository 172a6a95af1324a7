"""soundfile and librosa in one thread."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import librosa
import numpy as np
import soundfile

from benchmarks import taking
from benchmarks.pipelines.libraries.shuffling import epochs_of
from benchmarks.sounds import work


def bands_of(name: str) -> np.ndarray:
    """Returns the bands of a sound."""
    samples, rate = soundfile.read(name, dtype="float32")
    energies = librosa.feature.melspectrogram(
        y=samples,
        sr=rate,
        n_fft=work.NUM_FFT,
        hop_length=work.HOP,
        n_mels=work.NUM_BANDS,
        pad_mode="reflect",
    )
    return np.log(np.maximum(energies, work.FLOOR))


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Yields batches."""
    names = epochs_of(work.files_of(home), num_epochs)
    for begin in range(0, len(names), work.BATCH_SIZE):
        part = names[begin : begin + work.BATCH_SIZE]
        yield np.stack([bands_of(name) for name in part]), list(map(work.label_of, part))


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
