"""Audio in WAV files.

Source: `tf.audio` in TensorFlow 1.15: 16 bits per sample, without compression.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from headrace.core.dtypes import float32, int32, string
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import check_rank
from headrace.ops.framework.kernel import Array, fail

__all__ = ["decode_wav", "encode_wav"]

_SCALE = 1 << 15
_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_FORMAT = struct.Struct("<HHIIHH")
_CHUNK = struct.Struct("<4sI")
_PCM, _BITS = 1, 16


class DecodedWav(NamedTuple):
    """The result of `decode_wav`.

    Attributes:
        audio: The samples, float32 (samples, channels), from -1 to 1.
        sample_rate: The sample rate in samples per second, a scalar int32.
    """

    audio: Tensor
    sample_rate: Tensor


def decode_wav(
    contents: TensorLike,
    desired_channels: int = -1,
    desired_samples: int = -1,
    name: str | None = None,
) -> DecodedWav:
    """Decodes a WAV file.

    Args:
        contents: The file, a scalar string.
        desired_channels: The number of channels to return. -1 means all channels in the file.
            Additional channels are copies of the last one.
        desired_samples: The number of samples to return. -1 means all samples in the file.
            Additional samples are 0.
        name: Name of the operation.

    Returns:
        The samples and the sample rate.

    Raises:
        InvalidArgumentError: At run time, if the contents are not a WAV file, are damaged, or do
            not have 16 bits per sample.
        ValueError: If `contents` is not a scalar.
    """

    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        sizes = [None if size < 0 else size for size in (desired_samples, desired_channels)]
        return [(float32, TensorShape(sizes)), (int32, TensorShape([]))]

    def kernel(contents: Array) -> tuple[Array, Array]:
        samples, rate = _decoded(bytes(contents[()]))
        num_samples = len(samples) if desired_samples < 0 else desired_samples
        num_channels = samples.shape[1] if desired_channels < 0 else desired_channels
        audio = np.zeros([num_samples, num_channels], np.float32)
        sources = np.minimum(np.arange(num_channels), samples.shape[1] - 1)
        audio[: len(samples)] = samples[:num_samples, sources]
        return audio, np.array(rate, np.int32)

    attrs = {"desired_channels": desired_channels, "desired_samples": desired_samples}
    inputs = [Input("contents", contents, dtype=string)]
    op = apply_op("DecodeWav", inputs, infer, name=name, attrs=attrs, kernel=kernel)
    return DecodedWav(*op.outputs)


def encode_wav(audio: TensorLike, sample_rate: TensorLike, name: str | None = None) -> Tensor:
    """Encodes sound as a WAV file.

    Args:
        audio: The samples, float32 (samples, channels), from -1 to 1. Samples outside this range
            are clipped.
        sample_rate: The sample rate in samples per second, a scalar int32.
        name: Name of the operation.

    Returns:
        The file, a scalar string.

    Raises:
        InvalidArgumentError: At run time, if the number of channels is 0 or more than 65,535.
        ValueError: If the shapes do not match.
    """

    def infer(audio: Tensor, rate: Tensor) -> Outputs:
        check_rank(audio.shape, 2)
        check_rank(rate.shape, 0)
        return [(string, TensorShape([]))]

    def kernel(audio: Array, rate: Array) -> Array:
        return np.array(_encoded(audio, int(rate)), dtype=object)

    inputs = [Input("audio", audio, dtype=float32), Input("sample_rate", sample_rate, dtype=int32)]
    return apply_op("EncodeWav", inputs, infer, name=name, kernel=kernel).outputs[0]


def _decoded(contents: bytes) -> tuple[Array, int]:
    """Returns the samples, float32 (samples, channels), and the sample rate."""
    if contents[:4] != b"RIFF" or contents[8:12] != b"WAVE":
        fail(f"Header mismatch: Expected RIFF ... WAVE but found {contents[:12]!r}")
    layout = None
    position = 12
    while position + _CHUNK.size <= len(contents):
        kind, size = _CHUNK.unpack_from(contents, position)
        position += _CHUNK.size
        body = contents[position : position + size]
        if len(body) < size:
            fail(
                f"Data too short when trying to read string: {kind!r} claims {size} bytes, "
                f"but only {len(body)} are left"
            )
        if kind == b"fmt ":
            layout = _layout(body)
        elif kind == b"data":
            if layout is None:
                fail("Header mismatch: Expected fmt  but found data")
            channels, rate = layout
            num_samples = size // (2 * channels)
            samples = np.frombuffer(body, "<i2", num_samples * channels)
            return samples.reshape(num_samples, channels).astype(np.float32) / _SCALE, rate
        position += size + size % 2
    fail("No data chunk found in WAV file")


def _layout(body: bytes) -> tuple[int, int]:
    """Returns the number of channels and the number of samples per second."""
    if len(body) < _FORMAT.size:
        fail(f"Bad file size for WAV: Expected 16 or 18, but got {len(body)}")
    kind, channels, rate, _, _, bits = _FORMAT.unpack_from(body)
    if kind != _PCM:
        fail(f"Bad audio format for WAV: Expected 1 (PCM), but got {kind}")
    if bits != _BITS:
        fail(f"Can only read 16-bit WAV files, but received {bits}")
    if channels < 1:
        fail(f"Bad number of channels for WAV: Expected at least 1, but got {channels}")
    return channels, rate


def _encoded(audio: Array, rate: int) -> bytes:
    num_samples, channels = audio.shape
    if not 0 < channels < 1 << 16:
        fail(f"channels must be between 1 and 65,535, got {channels}")
    if rate <= 0:
        fail(f"sample_rate must be positive, got {rate}")
    scaled = audio * np.float32(_SCALE)
    rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
    values = np.clip(rounded, -_SCALE, _SCALE - 1).astype("<i2")
    num_bytes, frame = 2 * num_samples * channels, 2 * channels
    head = _HEADER.pack(
        *(b"RIFF", 36 + num_bytes, b"WAVE", b"fmt ", _FORMAT.size, _PCM, channels),
        *(rate, rate * frame, frame, _BITS, b"data", num_bytes),
    )
    return head + values.tobytes()


define("DecodeWav")
define("EncodeWav")
