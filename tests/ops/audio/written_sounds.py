"""Writes sound files with random options, and reads their samples with soundfile."""

import io
from typing import Any, Final, NamedTuple

import numpy as np

import headrace as hr

try:
    import soundfile
except ModuleNotFoundError:
    soundfile = None

RATES: Final = (8000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
# The channel of libsndfile for each of FFmpeg's, of Ogg files with so many channels.
OGG_ORDER: Final = {
    3: [0, 2, 1],
    5: [0, 2, 1, 3, 4],
    6: [0, 2, 1, 5, 3, 4],
    7: [0, 2, 1, 6, 5, 3, 4],
    8: [0, 2, 1, 7, 5, 6, 3, 4],
}


class Format(NamedTuple):
    """A format of soundfile: its encodings, channels and rates, and how much samples may differ."""

    subtypes: tuple[str, ...]
    most_channels: int = 8
    bound: float = 0
    rates: tuple[int, ...] = RATES
    container: str | None = None


FORMATS: Final = {
    "WAV": Format(("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE")),
    "WAVEX": Format(("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE")),
    "RF64": Format(("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE")),
    "FLAC": Format(("PCM_S8", "PCM_16", "PCM_24")),
    "OGG": Format(("VORBIS",), bound=2e-6),
    # Ours is always the rate that soundfile returns for this one.
    "OPUS": Format(("OPUS",), bound=2e-6, rates=(48_000,), container="OGG"),
    "MP3": Format(("MPEG_LAYER_III",), most_channels=2, bound=1e-4),
}


def _decoder(**options: Any) -> Any:
    return hr.native(lambda example: {"y": hr.ops.decode_audio(example["x"], **options)})


_CHANNELS, _MEAN = _decoder(mono=False), _decoder()
_RATE = hr.native(lambda example: {"y": hr.ops.audio_sample_rate(example["x"])})


def failures(format: str, numbers: range) -> list[str]:
    """Describes files whose samples differ from soundfile's. Each number is a different file."""
    results = []
    for number in numbers:
        random = np.random.default_rng([number, list(FORMATS).index(format)])
        subtype = str(random.choice(FORMATS[format].subtypes))
        try:
            _compare(format, subtype, random)
        except (AssertionError, hr.errors.OpError) as error:
            results.append(f"{format} {number}, {subtype}: {str(error).strip()[:300]}")
    return results


def _compare(format: str, subtype: str, random: np.random.Generator) -> None:
    of_format = FORMATS[format]
    sound, rate = _sound(random, of_format.most_channels), int(random.choice(of_format.rates))
    file, container = io.BytesIO(), of_format.container or format
    soundfile.write(file, sound, rate, subtype, format=container, **_options(random, format))
    data, bound = file.getvalue(), of_format.bound
    expected, _ = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    if container == "OGG":
        expected = expected[:, OGG_ORDER.get(sound.shape[1], range(sound.shape[1]))]
    decoded = _CHANNELS({"x": data})["y"]
    assert decoded.shape == expected.shape, f"{decoded.shape}, not {expected.shape}"
    np.testing.assert_allclose(decoded, expected, atol=bound)
    mean = _MEAN({"x": data})["y"]
    np.testing.assert_allclose(mean, expected.mean(1), atol=max(bound, 1e-6))
    assert _RATE({"x": data})["y"] == rate


def _sound(random: np.random.Generator, most_channels: int) -> np.ndarray:
    """Draws noise, with silent channels and stretches, which are coded differently."""
    channels = int(random.integers(1, most_channels + 1))
    # Blocks of the formats have 576 to 8,192 samples.
    size = int(random.choice([1, 500, 3000, 20_000]) * random.uniform(0.1, 1)) + 1
    sound = random.uniform(-0.5, 0.5, (size, channels)).astype(np.float32)
    for channel in range(channels):
        begin = random.integers(size)
        sound[begin : begin + random.integers(size + 1), channel] *= random.choice([0, 0.01, 1])
    return sound


def _options(random: np.random.Generator, format: str) -> dict[str, float]:
    has_levels = format in ("FLAC", "OGG", "OPUS", "MP3")
    return {"compression_level": float(random.integers(10) / 10)} if has_levels else {}
