"""Audio spectrograms, and MFCCs for speech recognition.

Source: `audio_spectrogram` and `mfcc` in `tf.contrib.framework.python.ops.audio_ops` of TensorFlow
1.15, which follow the HTK book.
"""

from __future__ import annotations

import numpy as np

from headrace.core.dtypes import float32, int32
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import check_rank
from headrace.ops.framework.kernel import Array, fail

__all__ = ["audio_spectrogram", "mfcc"]

# Smaller numbers are replaced with this number before taking the logarithm.
_FLOOR = 1e-12


def audio_spectrogram(
    input: TensorLike,
    window_size: int,
    stride: int,
    magnitude_squared: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the magnitude of each frequency in windows of a sound.

    Args:
        input: The samples, float32 (samples, channels).
        window_size: The number of samples in a window, at least 2. A window is weighted with a Hann
            window and padded to a power of two.
        stride: The number of samples from one window to the next.
        magnitude_squared: Whether to return squared magnitudes.
        name: Name of the operation.

    Returns:
        float32 (channels, windows, frequencies). Frequencies range from 0 to half of the sample
        rate.

    Raises:
        InvalidArgumentError: At run time, if `window_size` or `stride` is too small.
        ValueError: If `input` has the wrong rank.
    """
    length = 1 << (window_size - 1).bit_length() if window_size > 0 else 0

    def infer(samples: Tensor) -> Outputs:
        check_rank(samples.shape, 2)
        static_shape = [None, None] if samples.shape.rank is None else samples.shape.as_list()
        num_windows = (
            None if static_shape[0] is None else _num_windows(static_shape[0], window_size, stride)
        )
        return [(float32, TensorShape([static_shape[1], num_windows, 1 + length // 2]))]

    def kernel(samples: Array) -> Array:
        if window_size < 2 or stride < 1:
            fail(
                f"window_size is {window_size} and stride is {stride}, but they must be at "
                "least 2 and 1"
            )
        num_windows = _num_windows(len(samples), window_size, stride)
        if num_windows == 0:
            return np.zeros([samples.shape[1], 0, 1 + length // 2], np.float32)
        every = np.lib.stride_tricks.sliding_window_view(samples.T, window_size, axis=1)
        hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window_size) / window_size)
        spectra = np.fft.rfft(every[:, ::stride] * hann, length)
        squares = (spectra.real**2 + spectra.imag**2).astype(np.float32)
        return squares if magnitude_squared else np.sqrt(squares)

    attrs = {"window_size": window_size, "stride": stride, "magnitude_squared": magnitude_squared}
    inputs = [Input("input", input, dtype=float32)]
    op = apply_op("AudioSpectrogram", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return op.outputs[0]


def mfcc(
    spectrogram: TensorLike,
    sample_rate: TensorLike,
    upper_frequency_limit: float = 4000,
    lower_frequency_limit: float = 20,
    filterbank_channel_count: int = 40,
    dct_coefficient_count: int = 13,
    name: str | None = None,
) -> Tensor:
    """Returns mel-frequency cepstral coefficients, the usual input of speech recognition.

    Args:
        spectrogram: The result of `audio_spectrogram` with `magnitude_squared`: float32 (channels,
            windows, frequencies).
        sample_rate: The sample rate in samples per second, a scalar int32.
        upper_frequency_limit: The highest frequency, in Hz.
        lower_frequency_limit: The lowest frequency, in Hz.
        filterbank_channel_count: The number of bands between the lowest and the highest frequency.
        dct_coefficient_count: The number of coefficients to return.
        name: Name of the operation.

    Returns:
        float32 (channels, windows, coefficients).

    Raises:
        InvalidArgumentError: At run time, if a number is out of range.
        ValueError: If `spectrogram` has the wrong rank.
    """

    def infer(spectra: Tensor, _: Tensor) -> Outputs:
        check_rank(spectra.shape, 3)
        leading = TensorShape([None, None]) if spectra.shape.rank is None else spectra.shape[:2]
        return [(float32, leading.concatenate([dct_coefficient_count]))]

    def kernel(spectra: Array, rate: Array) -> Array:
        if not 0 <= lower_frequency_limit < upper_frequency_limit:
            fail(
                f"the frequency range from {lower_frequency_limit} to {upper_frequency_limit} "
                "Hz is empty"
            )
        if dct_coefficient_count < 1 or filterbank_channel_count < dct_coefficient_count:
            fail(
                f"dct_coefficient_count is {dct_coefficient_count}, expected 1 to "
                f"filterbank_channel_count ({filterbank_channel_count})"
            )
        limits = lower_frequency_limit, upper_frequency_limit
        bands = _bands(spectra.shape[2], int(rate), filterbank_channel_count, limits)
        strengths = np.sqrt(spectra.astype(np.float64)) @ bands
        logarithms = np.log(np.maximum(strengths, _FLOOR))
        angles = np.pi / filterbank_channel_count * (np.arange(filterbank_channel_count) + 0.5)
        cosines = np.cos(np.outer(angles, np.arange(dct_coefficient_count)))
        scale = np.sqrt(2.0 / filterbank_channel_count)
        return np.asarray(logarithms @ (scale * cosines), np.float32)

    attrs = {
        "upper_frequency_limit": float(upper_frequency_limit),
        "lower_frequency_limit": float(lower_frequency_limit),
        "filterbank_channel_count": filterbank_channel_count,
        "dct_coefficient_count": dct_coefficient_count,
    }
    inputs = [
        Input("spectrogram", spectrogram, dtype=float32),
        Input("sample_rate", sample_rate, dtype=int32),
    ]
    return apply_op("Mfcc", inputs, infer, name=name, attrs=attrs, kernel=kernel).outputs[0]


def _num_windows(num_samples: int, window_size: int, stride: int) -> int:
    if num_samples < window_size or stride < 1:
        return 0
    return 1 + (num_samples - window_size) // stride


def _bands(num_frequencies: int, rate: int, num_bands: int, limits: tuple[float, float]) -> Array:
    """Returns the weight of each frequency in each band, as an array (frequencies, bands).

    The bands are triangles of equal width in mels, and overlap by half.
    """
    step_hz = 0.5 * rate / max(num_frequencies - 1, 1)
    low, high = _mels(np.array(limits))
    edges = low + (high - low) / (num_bands + 1) * np.arange(num_bands + 2)
    first, last = int(1.5 + limits[0] / step_hz), int(limits[1] / step_hz)
    if last >= num_frequencies:
        half = 0.5 * rate
        fail(
            f"upper_frequency_limit is {limits[1]} Hz, expected at most {half}, which is half "
            "of sample_rate"
        )
    weights = np.zeros([num_frequencies, num_bands])
    for frequency in range(first, last + 1):
        mels = _mels(np.array(frequency * step_hz))
        band = int(np.searchsorted(edges[1:-1], mels)) - 1
        falling = (edges[band + 2] - mels) / (edges[band + 2] - edges[band + 1])
        if band >= 0:
            weights[frequency, band] += falling
        if band + 1 < num_bands:
            weights[frequency, band + 1] += 1 - falling
    return weights


def _mels(hertz: Array) -> Array:
    return 1127.0 * np.log1p(hertz / 700.0)


define("AudioSpectrogram")
define("Mfcc")
