"""W16: log-mel spectrograms of WAV files."""

import math
import wave
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.libraries import MappedDataset, torch_loader
from benchmarks.manual_loaders import cut, epochs_of
from benchmarks.workload import BY_HAND, Part, Workload

BATCH_SIZE = 32
SAMPLE_RATE = 16_000
NUM_SAMPLES = 2 * SAMPLE_RATE
NUM_FFT, HOP, NUM_BANDS = 400, 160, 80
NUM_FRAMES = 1 + NUM_SAMPLES // HOP
FLOOR = 1e-10
NUM_CLASSES = 10


def make(home: Path, count: int) -> list[Part]:
    """Writes mono 16-bit files of tones and noise into a directory for each class."""
    rng = np.random.default_rng(16)
    seconds = np.arange(NUM_SAMPLES) / SAMPLE_RATE
    filters = mel_filters()
    totals = np.zeros(3, np.int64)
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
        totals += sums_of((bands[None], np.array([label])))[1:]
    return [Part([], count, totals.tolist())]


def bands_of(samples: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Returns the bands' log energies, float32, (80, frames), using only NumPy."""
    padded = np.pad(samples, NUM_FFT // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, NUM_FFT)[::HOP]
    window = np.hanning(NUM_FFT + 1)[:-1]
    energies = np.abs(np.fft.rfft(frames * window)) ** 2
    return np.log(np.maximum(filters @ energies.T, FLOOR)).astype(np.float32)


def mel_filters() -> np.ndarray:
    """Returns the weight of each frequency in each band, as in Slaney's Auditory Toolbox."""
    step = math.log(6.4) / 27
    most = 15 + math.log(SAMPLE_RATE / 2 / 1000) / step
    mels = np.linspace(0, most, NUM_BANDS + 2)
    edges = np.where(mels < 15, mels * 200 / 3, 1000 * np.exp((mels - 15) * step))
    frequencies = np.fft.rfftfreq(NUM_FFT, 1 / SAMPLE_RATE)
    low, middle, high = (edges[begin : begin + NUM_BANDS, None] for begin in range(3))
    rising = (frequencies - low) / (middle - low)
    falling = (high - frequencies) / (high - middle)
    return np.maximum(0, np.minimum(rising, falling)) * 2 / (high - low)


def files_of(home: Path) -> list[str]:
    """Returns the sounds in a data directory, sorted by name."""
    return sorted(map(str, home.glob("*/*.wav")))


def label_of(name: str) -> int:
    """Returns a sound's class, which is the name of its directory."""
    return int(Path(name).parent.name)


def sums_of(batch: Any) -> list[int]:
    """Sums log energies, float32, (n, 80, 201), and labels, (n,).

    The last sum differs slightly between programs.

    Raises:
        ValueError: If they are not such bands.
    """
    bands, labels = (np.asarray(component) for component in batch)
    if bands.shape[1:] != (NUM_BANDS, NUM_FRAMES) or bands.dtype != np.float32:
        raise ValueError(f"{bands.dtype} bands of shape {bands.shape}")
    wide = labels.astype(np.int64)
    energies = np.exp(bands[:, ::4, ::8], dtype=np.float64)
    return [len(wide), int(wide.sum()), int(wide @ wide), round(energies.sum() * 1e6)]


W16 = Workload(
    __name__,
    "W16",
    "sounds",
    "WAV files of two seconds: log-mel spectrograms of 80 bands, batches of 32",
    "sounds",
    sums_of,
    count=2_000,
    make=make,
    num_epochs=3,
    tolerances=[0, 0, 0.001],
)


@W16.program(
    "headrace", "headrace", "`hr.audio_folder`, a native function; one thread for each core"
)
def with_headrace(home: Path, num_epochs: int) -> Iterator[Any]:
    import headrace as hr

    @hr.native
    def bands(example: Any) -> Any:
        samples = hr.ops.decode_audio(example["data"])
        return {
            "bands": hr.ops.log_mel_spectrogram(samples, SAMPLE_RATE),
            "label": example["label"],
        }

    sounds = hr.audio_folder(home)
    classes = [int(name) for name in sounds.classes]
    for batch in sounds.shuffle(seed=1).epochs(num_epochs).map(bands).batch(BATCH_SIZE):
        yield batch["bands"], [classes[label] for label in batch["label"].tolist()]


@W16.program(
    BY_HAND,
    "soundfile and librosa by hand",
    "one thread, no more",
    "sound",
    ["librosa", "soundfile"],
)
def with_librosa(home: Path, num_epochs: int) -> Iterator[Any]:
    import librosa
    import soundfile

    def bands(name: str) -> np.ndarray:
        samples, rate = soundfile.read(name, dtype="float32")
        energies = librosa.feature.melspectrogram(
            y=samples,
            sr=rate,
            n_fft=NUM_FFT,
            hop_length=HOP,
            n_mels=NUM_BANDS,
            pad_mode="reflect",
        )
        return np.log(np.maximum(energies, FLOOR))

    for names in cut(epochs_of(files_of(home), num_epochs), BATCH_SIZE):
        yield np.stack([bands(name) for name in names]), list(map(label_of, names))


@W16.program(
    "torch",
    "PyTorch, two workers",
    "`DataLoader(num_workers=2, prefetch_factor=4)`; soundfile and torchaudio",
    "sound",
)
def with_torchaudio(home: Path, num_epochs: int) -> Iterable[Any]:
    import soundfile
    import torch
    from torchaudio.transforms import MelSpectrogram

    energies_of = MelSpectrogram(
        SAMPLE_RATE,
        n_fft=NUM_FFT,
        hop_length=HOP,
        n_mels=NUM_BANDS,
        mel_scale="slaney",
        norm="slaney",
    )

    def bands(name: str) -> tuple[torch.Tensor, int]:
        samples, _ = soundfile.read(name, dtype="float32")
        return energies_of(torch.from_numpy(samples)).clamp(min=FLOOR).log(), label_of(name)

    sounds = MappedDataset(bands, files_of(home) * num_epochs)
    return iter(torch_loader(sounds, BATCH_SIZE, 2, shuffle=True))
