"""PyTorch's DataLoader with two workers, which compute bands with torchaudio."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import soundfile
import torch
from torch.utils.data import DataLoader, Dataset
from torchaudio.transforms import MelSpectrogram

from benchmarks import taking
from benchmarks.sounds import work


class Sounds(Dataset[Any]):
    """The sounds, by number."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        self._energies = MelSpectrogram(
            work.SAMPLE_RATE,
            n_fft=work.NUM_FFT,
            hop_length=work.HOP,
            n_mels=work.NUM_BANDS,
            mel_scale="slaney",
            norm="slaney",
        )

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> Any:
        name = self._files[index]
        samples, _ = soundfile.read(name, dtype="float32")
        energies = self._energies(torch.from_numpy(samples))
        return energies.clamp(min=work.FLOOR).log(), work.label_of(name)


def batches(home: Path, num_epochs: int) -> Iterator[Any]:
    """Returns batches."""
    torch.set_num_threads(1)
    sounds = Sounds(work.files_of(home) * num_epochs)
    return iter(DataLoader(sounds, work.BATCH_SIZE, shuffle=True, num_workers=2, prefetch_factor=4))


if __name__ == "__main__":
    taking.run(batches, work.sums_of)
