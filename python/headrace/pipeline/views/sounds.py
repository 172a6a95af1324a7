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

# A player embeds at most this many seconds of audio, in a file of at most this many bytes.
_MOST_SECONDS: Final = 10
_MOST_FILE_BYTES: Final = 256 << 10
_DECODED_RATE: Final = 16_000


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
    return {"samples": ops.decode_audio(example["data"], sample_rate=_DECODED_RATE)}


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
    return sound_of(samples, _DECODED_RATE)


def _media_type(data: bytes) -> str | None:
    if data.startswith(b"RIFF") and data[8:12] == b"WAVE":
        return "audio/wav"
    if data.startswith((b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")):
        return "audio/mpeg"
    kinds = {b"fLaC": "audio/flac", b"OggS": "audio/ogg"}
    return kinds.get(data[:4])


def sound_of(samples: npt.NDArray[Any], rate: int) -> Sound:
    """Returns samples as a 16-bit WAV file.

    Args:
        samples: int16, or floats from -1 to 1; (samples,) or (samples, channels). Other integers
            are not supported.
        rate: The number of samples per second.
    """
    seconds = len(samples) / rate
    kept = samples[: _MOST_SECONDS * rate]
    if kept.dtype != np.int16:
        scaled = np.clip(np.nan_to_num(kept.astype(np.float64)), -1, 1) * 32767
        kept = np.rint(scaled).astype(np.int16)
    file = BytesIO()
    with wave.open(file, "wb") as writer:
        num_channels = 1 if kept.ndim == 1 else kept.shape[1]
        writer.setparams((num_channels, 2, rate, 0, "NONE", ""))
        writer.writeframes(kept.astype("<i2").tobytes())
    cut = f", the first {_MOST_SECONDS} s" if seconds > _MOST_SECONDS else ""
    return Sound(file.getvalue(), "audio/wav", f"{seconds:.2f} s, {rate:,} Hz{cut}")


def player(sound: Sound) -> Html:
    """Returns a player for a sound."""
    return tag("audio", src=data_url(sound.kind, sound.data), controls="", preload="metadata")
