"""Audio decoders: from the bytes of a file to samples.

All decoders run in the native engine and detect the format from the content: WAV (8- to 32-bit PCM
or floats), FLAC, MP3, Ogg Vorbis or Ogg Opus. For any other format, such as AAC, the error message
names the format.

A damaged or truncated file is an error. FLAC and Ogg files have checksums, and a FLAC file also
contains an MD5 hash of all samples. MP3 files have no checksum of the samples. A truncated MP3 file
and missing frames or bytes are still errors, but a flipped bit inside a frame may only cause noise.
"""

from __future__ import annotations

from headrace.core import dtypes
from headrace.core.shapes import TensorShape
from headrace.graph import Tensor, TensorLike, define
from headrace.ops.audio.rates import check_rate
from headrace.ops.framework.arguments import Input, Outputs, apply_op
from headrace.ops.framework.inference import check_rank

__all__ = ["audio_num_samples", "audio_sample_rate", "audio_slice", "decode_audio"]


def decode_audio(
    contents: TensorLike,
    sample_rate: int | None = None,
    mono: bool = True,
    name: str | None = None,
) -> Tensor:
    """Decodes a WAV, FLAC, MP3, Ogg Vorbis or Ogg Opus file.

    The padding that an MP3 encoder adds at both ends is removed if the file records its length, as
    in FFmpeg and mpg123. For Opus, the padding is always removed, the gain in the header is
    applied, and the sample rate is always 48,000, as in FFmpeg.

    Args:
        contents: The bytes of the file, a scalar string.
        sample_rate: The sample rate of the result, from 1 to 1,000,000; see `resample`. Defaults to
            the sample rate of the file.
        mono: If True, returns the mean of the channels.
        name: Name of the operation.

    Returns:
        float32, (samples,), or (samples, channels) if `mono` is False. Full scale is -1 to 1:
        integers are divided by a power of two, and floats in a WAV file are returned as they are
        stored. MP3, Vorbis and Opus may exceed full scale.

    Raises:
        DataLossError: At run time, if the file is damaged.
        InvalidArgumentError: At run time, if the format is not supported, or the result would have
            more than 2**30 values.
        TypeError: If `sample_rate` is not an integer.
        ValueError: If `sample_rate` is out of range.
    """
    rate = 0 if sample_rate is None else check_rate("decode_audio: sample_rate", sample_rate)

    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        return [(dtypes.float32, _samples(mono))]

    attrs = {"sample_rate": rate, "mono": bool(mono)}
    inputs = [Input("contents", contents, dtypes.string)]
    return apply_op("DecodeAudio", inputs, infer, name=name, attrs=attrs).outputs[0]


def audio_slice(
    contents: TensorLike,
    start: TensorLike,
    length: TensorLike,
    sample_rate: int | None = None,
    mono: bool = True,
    name: str | None = None,
) -> Tensor:
    """Decodes a part of a sound file, without decoding the rest.

    The samples are exactly the same as from `decode_audio`. In a WAV file, only this part is read.
    In FLAC and Ogg Vorbis files, a binary search finds the part. In MP3 files, the headers of all
    frames are read. Opus files are decoded from the beginning, because each sample depends on all
    earlier ones. Damage elsewhere in the file is not always detected.

    Args:
        contents: The bytes of the file, a scalar string.
        start: The first sample, at the file's sample rate, a scalar int64.
        length: The number of samples, at the file's sample rate, a scalar int64.
        sample_rate: The sample rate of the result. Only the decoded part is resampled. Defaults to
            the sample rate of the file.
        mono: If True, returns the mean of the channels.
        name: Name of the operation.

    Returns:
        float32, (samples,), or (samples, channels) if `mono` is False.

    Raises:
        OutOfRangeError: At run time, if the part is not inside the file; see `audio_num_samples`.
        DataLossError: At run time, if the file is damaged.
        InvalidArgumentError: At run time, if the format is not supported.
        TypeError: If `sample_rate` is not an integer.
        ValueError: If `sample_rate` is out of range.
    """
    rate = 0 if sample_rate is None else check_rate("audio_slice: sample_rate", sample_rate)

    def infer(contents: Tensor, start: Tensor, length: Tensor) -> Outputs:
        for scalar in (contents, start, length):
            check_rank(scalar.shape, 0)
        return [(dtypes.float32, _samples(mono))]

    attrs = {"sample_rate": rate, "mono": bool(mono)}
    inputs = [
        Input("contents", contents, dtypes.string),
        Input("start", start, dtypes.int64),
        Input("length", length, dtypes.int64),
    ]
    return apply_op("AudioSlice", inputs, infer, name=name, attrs=attrs).outputs[0]


def audio_sample_rate(contents: TensorLike, name: str | None = None) -> Tensor:
    """Returns the sample rate of a sound file in samples per second. For Opus, it is 48,000.

    Args:
        contents: The bytes of the file, a scalar string.
        name: Name of the operation.

    Returns:
        An int32 scalar.

    Raises:
        DataLossError: At run time, if the headers are damaged; see `decode_audio`.
        InvalidArgumentError: At run time, if the format is not supported.
    """
    return _of_header("AudioSampleRate", contents, dtypes.int32, name)


def audio_num_samples(contents: TensorLike, name: str | None = None) -> Tensor:
    """Returns the number of samples per channel in a sound file, without decoding them.

    Args:
        contents: The bytes of the file, a scalar string.
        name: Name of the operation.

    Returns:
        An int64 scalar: the length of the result of `decode_audio` at the file's sample rate.

    Raises:
        DataLossError: At run time, if the headers are damaged; see `decode_audio`.
        InvalidArgumentError: At run time, if the format is not supported.
    """
    return _of_header("AudioNumSamples", contents, dtypes.int64, name)


def _of_header(kind: str, contents: TensorLike, dtype: dtypes.DType, name: str | None) -> Tensor:
    def infer(contents: Tensor) -> Outputs:
        check_rank(contents.shape, 0)
        return [(dtype, TensorShape([]))]

    inputs = [Input("contents", contents, dtypes.string)]
    return apply_op(kind, inputs, infer, name=name).outputs[0]


def _samples(is_mono: bool) -> TensorShape:
    return TensorShape([None] if is_mono else [None, None])


define("AudioNumSamples", is_own=True)
define("AudioSampleRate", is_own=True)
define("AudioSlice", is_own=True)
define("DecodeAudio", is_own=True)
