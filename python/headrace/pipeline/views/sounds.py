"""Sounds as players inside HTML."""

import wave
from io import BytesIO
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace import ops
from headrace.core.errors import OpError
from headrace.core.html import Html, tag
from headrace.pipeline.native_functions import native
from headrace.pipeline.views.pictures import data_url

__all__ = ["Sound", "player", "sound_in", "sound_of"]

# A player contains at most this many seconds, in mono, with at most this many samples per second.
_MOST_SECONDS: Final = 5
_MOST_RATE: Final = 16_000
# Larger sound files are decoded and shortened in the same way.
_MOST_FILE_BYTES: Final = 2 * _MOST_SECONDS * _MOST_RATE


class Sound(NamedTuple):
    """A sound file that a browser can play.

    Attributes:
        data: The bytes of the file.
        kind: The media type of the file.
        note: The duration, and whether the sound was cut.
    """

    data: bytes
    kind: str
    note: str


@native
def _decode(example: dict[str, Any]) -> dict[str, Any]:
    return {"samples": ops.decode_audio(example["data"], sample_rate=_MOST_RATE)}


@native
def _resample(example: dict[str, Any]) -> dict[str, Any]:
    return {"samples": ops.resample(example["samples"], example["rate"], _MOST_RATE)}


def sound_in(data: bytes) -> Sound | str | None:
    """Returns the sound in a WAV, FLAC, MP3 or Ogg file.

    Returns:
        The sound, the reason why it cannot be decoded, or None if the bytes are not a sound file.
    """
    kind = _media_type(data)
    if kind is None:
        return None
    if len(data) <= _MOST_FILE_BYTES:
        return Sound(data, kind, kind.removeprefix("audio/"))
    try:
        samples = np.asarray(_decode({"data": data})["samples"])
    except OpError as error:
        return error.message
    return sound_of(samples, _MOST_RATE)


def _media_type(data: bytes) -> str | None:
    if data.startswith(b"RIFF") and data[8:12] == b"WAVE":
        return "audio/wav"
    if data.startswith((b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")):
        return "audio/mpeg"
    kinds = {b"fLaC": "audio/flac", b"OggS": "audio/ogg"}
    return kinds.get(data[:4])


def sound_of(samples: npt.NDArray[Any], rate: int) -> Sound:
    """Returns samples as a small WAV file with 16 bits.

    Args:
        samples: int16, or floats from -1 to 1; (samples,) or (samples, channels). Other integers
            are not supported.
        rate: The number of samples per second.
    """
    seconds, num_channels = len(samples) / rate, 1 if samples.ndim == 1 else samples.shape[1]
    kept = samples[: _MOST_SECONDS * rate]
    is_reduced = num_channels > 1 or rate > _MOST_RATE
    if kept.dtype != np.int16 or is_reduced:
        floats = kept / np.float32(1 << 15) if kept.dtype == np.int16 else np.nan_to_num(kept)
        floats = np.clip(floats, -1, 1).astype(np.float32).reshape(-1, num_channels).mean(1)
        kept = np.rint(_slowed(floats, rate) * 32767).astype(np.int16)
    file = BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((1, 2, min(rate, _MOST_RATE), 0, "NONE", ""))
        writer.writeframes(kept.astype("<i2").tobytes())
    notes = [f"{seconds:.2f} s", f"{rate:,} Hz"]
    if seconds > _MOST_SECONDS:
        notes.append(f"the first {_MOST_SECONDS} s")
    if is_reduced:
        notes.append(f"played in mono at {min(rate, _MOST_RATE):,} Hz")
    return Sound(file.getvalue(), "audio/wav", ", ".join(notes))


def _slowed(samples: npt.NDArray[np.float32], rate: int) -> npt.NDArray[np.float32]:
    """Reduces the rate of samples to at most 16,000 Hz."""
    if rate <= _MOST_RATE:
        return samples
    # `resample` supports up to 1 MHz.
    step = -(-rate // 1_000_000)
    example = {"samples": samples[::step], "rate": np.int32(rate // step)}
    slowed: npt.NDArray[np.float32] = np.clip(np.asarray(_resample(example)["samples"]), -1, 1)
    return slowed


def player(sound: Sound) -> Html:
    """Returns a player for a sound."""
    return tag("audio", src=data_url(sound.kind, sound.data), controls="", preload="metadata")
