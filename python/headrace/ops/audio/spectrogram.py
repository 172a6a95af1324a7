"""Log-mel spectrograms.

Source: `librosa.feature.melspectrogram` and `torchaudio.transforms.MelSpectrogram`.
"""

from __future__ import annotations

import math
from typing import Final

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.audio.rates import check_rate
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import check_rank

__all__ = ["log_mel_spectrogram"]

_CHOICES: Final = {
    "mel_scale": ("slaney", "htk"),
    "norm": ("slaney", None),
    "pad_mode": ("reflect", "constant"),
    "log": ("natural", "log10", "db"),
    "power": (1, 2),
}
_MAX_SIZE: Final = 1 << 16


def log_mel_spectrogram(
    samples: TensorLike,
    sample_rate: int,
    n_fft: int = 400,
    hop_length: int = 160,
    n_mels: int = 80,
    win_length: int | None = None,
    f_min: float = 0.0,
    f_max: float | None = None,
    power: int = 2,
    mel_scale: str = "slaney",
    norm: str | None = "slaney",
    center: bool = True,
    pad_mode: str = "reflect",
    log: str = "natural",
    floor: float = 1e-10,
    name: str | None = None,
) -> Tensor:
    """Computes the logarithm of the energy in mel bands over time.

    The bands are the same as in librosa and torchaudio with the same arguments, to within 1e-5 of
    the largest value. The defaults are the same as in Whisper. The result is `log(max(energy,
    floor))`. Windows are periodic Hann windows.

    Args:
        samples: One channel, float32, (samples,).
        sample_rate: The sample rate, in samples per second.
        n_fft: The length of a frame of the Fourier transform, up to 65,536.
        hop_length: The number of samples between the starts of two frames.
        n_mels: The number of bands, up to 65,536.
        win_length: The length of the window, centred in the frame. Defaults to `n_fft`.
        f_min: The lowest frequency, in Hz.
        f_max: The highest frequency, in Hz. Defaults to half of `sample_rate`.
        power: 2 for energy, 1 for magnitude.
        mel_scale: "slaney", as in librosa and Whisper, or "htk", as in torchaudio.
        norm: "slaney" divides each band by its width, as in librosa and Whisper. If None, bands are
            not divided, as in torchaudio.
        center: If True, frames are centred at multiples of `hop_length`, and `n_fft // 2` samples
            are added at each end. If False, the first frame starts at the first sample.
        pad_mode: How the added samples are filled: "reflect", as in torchaudio and Whisper, or
            "constant" for zeros, as in librosa.
        log: "natural", "log10", or "db" for decibels: 10 times the base-10 logarithm of an energy,
            or 20 times the base-10 logarithm of a magnitude.
        floor: The minimum energy. The default corresponds to -10 for "log10".
        name: Name of the operation.

    Returns:
        float32, (n_mels, frames). There are `1 + samples // hop_length` frames, or `1 + (samples -
        n_fft) // hop_length` if `center` is False.

    Raises:
        InvalidArgumentError: When run, if `samples` is too short for a frame or for the reflection.
        TypeError: If a size is not an integer.
        ValueError: If an argument is out of range, or a band is too narrow to contain any
            frequency.

    Examples:
        >>> @hr.native
        ... def bands(example):
        ...     return {"y": hr.ops.log_mel_spectrogram(example["x"], sample_rate=16000)}
        >>> bands({"x": np.zeros(16000, np.float32)})["y"].shape
        (80, 101)
    """
    rate = check_rate("log_mel_spectrogram: sample_rate", sample_rate)
    options = {
        "mel_scale": mel_scale,
        "norm": norm,
        "pad_mode": pad_mode,
        "log": log,
        "power": power,
    }
    for key, value in options.items():
        if value not in _CHOICES[key]:
            expected = ", ".join(map(repr, _CHOICES[key]))
            raise ValueError(f"log_mel_spectrogram: {key} is {value!r}, expected {expected}.")
    window = n_fft if win_length is None else win_length
    sizes = {"n_fft": n_fft, "hop_length": hop_length, "n_mels": n_mels, "win_length": window}
    for key, size in sizes.items():
        most = n_fft if key == "win_length" else _MAX_SIZE
        if not isinstance(size, int) or isinstance(size, bool):
            raise TypeError(f"log_mel_spectrogram: {key} is {size!r}, expected an integer.")
        if not 1 <= size <= most:
            raise ValueError(f"log_mel_spectrogram: {key} is {size}, expected 1 to {most}.")
    highest = rate / 2 if f_max is None else float(f_max)
    if not 0 <= f_min < highest <= rate / 2:
        raise ValueError(
            f"log_mel_spectrogram: f_min is {f_min} and f_max is {highest}, expected 0 <= "
            f"f_min < f_max <= {rate / 2} (half of sample_rate)."
        )
    if not (floor > 0 and math.isfinite(floor)):
        raise ValueError(f"log_mel_spectrogram: floor is {floor}, expected a positive number.")
    _check_bands(rate, n_fft, n_mels, float(f_min), highest, mel_scale == "htk")

    def infer(samples: Tensor) -> Outputs:
        check_rank(samples.shape, 1)
        return [(dtypes.float32, TensorShape([n_mels, None]))]

    attrs = {
        **{"sample_rate": rate, **sizes, "f_min": float(f_min), "f_max": highest, "power": power},
        **{"mel_scale": mel_scale, "norm": norm or "", "center": bool(center)},
        **{"pad_mode": pad_mode, "log": log, "floor": float(floor)},
    }
    inputs = [Input("samples", samples, dtypes.float32)]
    return apply_op("LogMelSpectrogram", inputs, infer, name=name, attrs=attrs).outputs[0]


def _check_bands(
    rate: int, n_fft: int, n_mels: int, f_min: float, f_max: float, is_htk: bool
) -> None:
    """Rejects bands that contain none of the Fourier transform's frequencies."""
    low, high = _to_mel(f_min, is_htk), _to_mel(f_max, is_htk)
    edges = [_from_mel(low + (high - low) * i / (n_mels + 1), is_htk) for i in range(n_mels + 2)]
    bins = [edge * n_fft / rate for edge in edges]
    for band in range(n_mels):
        if math.floor(bins[band]) + 1 >= bins[band + 2]:
            raise ValueError(
                f"log_mel_spectrogram: band {band} of {n_mels} would always be empty: with "
                f"n_fft={n_fft}, there is no frequency between {edges[band]:.1f} and "
                f"{edges[band + 2]:.1f} Hz. Use a larger n_fft or fewer bands."
            )


def _to_mel(frequency: float, is_htk: bool) -> float:
    if is_htk:
        return 2595.0 * math.log10(1.0 + frequency / 700.0)
    if frequency < 1000.0:
        return frequency * 3 / 200
    return 15.0 + math.log(frequency / 1000.0) / math.log(6.4) * 27.0


def _from_mel(mel: float, is_htk: bool) -> float:
    if is_htk:
        return 700.0 * (math.pow(10.0, mel / 2595.0) - 1.0)
    return mel * 200 / 3 if mel < 15.0 else 1000.0 * math.exp((mel - 15.0) / 27.0 * math.log(6.4))


define("LogMelSpectrogram", is_own=True)
