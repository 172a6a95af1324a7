"""Decodes frames of a video with PyAV."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import InvalidArgumentError
from headrace.core.optional_dependencies import missing_video
from headrace.pipeline.video.video_file import VideoFile, damaged_frame

__all__ = ["Picture", "check_installed", "decode", "decoder_bytes"]

# A picture: uint8, (height, width, 3), RGB.
Picture = npt.NDArray[np.uint8]

# FFmpeg's names of decoders, by codec, if they differ. FFmpeg's own decoder of AV1 needs hardware.
_DECODERS: Final = {"av1": ("libdav1d", "libaom-av1")}
# Codecs with encoded pictures that are never shown.
_WITH_HIDDEN_PICTURES: Final = ("vp8",)
# Decoders that can be used again. Others may return pictures of the next run too early, before all
# parts are refreshed.
_REUSABLE: Final = ("libdav1d",)
# The number of samples to read from the file at a time.
_AT_ONCE: Final = 64
# The maximum number of pictures that a decoder keeps for reference, by codec.
_REFERENCES: Final = {
    **{"h264": 16, "hevc": 16, "av1": 8, "vp9": 8, "vp8": 3},
    **{"mpeg4": 2, "mpeg1video": 2, "mpeg2video": 2, "mjpeg": 0, "png": 0},
}
# For each H.264 level, the maximum number of macroblocks in the reference pictures.
_MACROBLOCKS: Final = {
    **{9: 396, 10: 396, 11: 900, 12: 2376, 13: 2376, 20: 2376, 21: 4752, 22: 8100, 30: 8100},
    **{31: 18_000, 32: 20_480, 40: 32_768, 41: 32_768, 42: 34_816, 50: 110_400, 51: 184_320},
    **{52: 184_320, 60: 696_320, 61: 696_320, 62: 696_320},
}
# The number of other pictures in memory, which are being decoded, returned or converted.
_OTHER_PICTURES: Final = 4
# The maximum number of bytes per pixel: two bytes per value in YUV 4:2:0, or one in YUV 4:4:4.
_PIXEL_BYTES: Final = 3


def check_installed(where: str) -> None:
    """Raises ModuleNotFoundError if PyAV is not installed.

    Args:
        where: The function or stage that decodes.
    """
    if missing := missing_video():
        raise ModuleNotFoundError(f"{where}: {missing}.")


def decoder_bytes(video: VideoFile) -> int:
    """Returns the maximum size of the pictures that a decoder of a video keeps.

    Source: ITU-T H.264, table A-1 (`MaxDpbMbs`) and section A.3.1.
    """
    width, height = video.native.size
    num_references = _REFERENCES.get(video.native.codec, max(_REFERENCES.values()))
    config = video.native.config
    if video.native.codec == "h264" and len(config) > 3:
        macroblocks = -(-width // 16) * -(-height // 16)
        most = _MACROBLOCKS.get(config[3], max(_MACROBLOCKS.values()))
        num_references = min(most // max(macroblocks, 1), num_references)
    return (num_references + _OTHER_PICTURES) * width * height * _PIXEL_BYTES


def decode(
    video: VideoFile,
    numbers: Collection[int],
    size: tuple[int, int] | None,
    store: Callable[[int, Picture], None],
) -> None:
    """Decodes frames, each once, and passes each to `store` with its number.

    Frames that depend on the same keyframe are decoded together. The frames arrive in any order,
    and a frame may arrive twice.

    Args:
        video: The video.
        numbers: The numbers of the frames.
        size: The height and width to scale frames to, or None to keep their size.
        store: Receives a frame's number and its picture.

    Raises:
        DataLossError: If a frame cannot be decoded, or the decoder doesn't return it.
    """
    frames: dict[int, list[int]] = {}
    for number in set(numbers):
        frames.setdefault(int(video.samples[number]), []).append(number)

    def store_sample(sample: int, picture: Picture) -> None:
        for number in frames[sample]:
            store(number, picture)

    decoder, converter = None, _Converter(video, size)
    for run in _runs(video, list(frames)):
        decoder = _ready_decoder(video, decoder)
        try:
            _decode(video, run, decoder, converter, store_sample, is_strict=False)
        except _UndecodableError:
            decoder = None
            # If a video refreshes pictures in parts, one keyframe isn't enough. A decoder may also
            # have to wait for more pictures than the file declares.
            earlier = _Run(video.keyframe_before(run.start), run.end, run.wanted)
            try:
                strict = _new_decoder(video.native.codec, video.native.config, is_strict=True)
                _decode(video, earlier, strict, converter, store_sample, is_strict=True)
            except _UndecodableError as error:
                raise damaged_frame(video, error.sample, error.reason) from error.__cause__


class _UndecodableError(Exception):
    """A sample cannot be decoded."""

    def __init__(self, sample: int, reason: object) -> None:
        super().__init__(sample, reason)
        self.sample = sample
        self.reason = reason


@dataclass
class _Run:
    """Samples that are decoded together, in decoding order.

    Attributes:
        start: The first sample, which is a keyframe.
        end: The last sample.
        wanted: The samples whose pictures are needed.
    """

    start: int
    end: int
    wanted: set[int]


def _runs(video: VideoFile, samples: Sequence[int]) -> list[_Run]:
    runs: list[_Run] = []
    clean = {start: _clean_start(video, start) for start in set(video.starts[samples].tolist())}
    for start, sample in sorted((clean[int(video.starts[sample])], sample) for sample in samples):
        if runs and start <= runs[-1].end + 1:
            run = runs[-1]
            run.end = max(run.end, sample)
            run.wanted.add(sample)
        else:
            runs.append(_Run(start, sample, {sample}))
    return runs


def _decode(
    video: VideoFile,
    run: _Run,
    decoder: Any,
    converter: "_Converter",
    store: Callable[[int, Picture], None],
    is_strict: bool,
) -> None:
    """Decodes a run. Raises `_UndecodableError` if not all of its pictures are undamaged."""
    shown_from = video.sample_times[run.start]
    # Pictures that are shown before the keyframe may refer to pictures before it. No other picture
    # depends on them.
    times = video.sample_times[run.start : run.end + 1]
    needed = {run.start + int(index) for index in np.flatnonzero(times >= shown_from)} | run.wanted
    missing = set(needed)
    for frame in _frames(decoder, video, run, needed, missing):
        sample = frame.pts
        if sample not in needed:
            continue
        if frame.is_corrupt:
            raise _UndecodableError(sample, "the picture is damaged, or depends on a damaged one")
        missing.discard(sample)
        if sample in run.wanted:
            store(sample, converter.picture(frame))
    if video.native.codec in _WITH_HIDDEN_PICTURES:
        missing &= run.wanted
    if is_strict:
        # Until all parts of a picture have been refreshed, the decoder returns none.
        first = min(needed - missing, default=run.end + 1)
        missing = {sample for sample in missing if sample > first or sample in run.wanted}
    if missing:
        raise _UndecodableError(min(missing), "the decoder returned no picture for it")


def _frames(
    decoder: Any, video: VideoFile, run: _Run, needed: set[int], missing: set[int]
) -> Iterator[Any]:
    """Yields the decoder's frames. The `pts` of each is the number of its sample.

    Samples that are neither wanted nor needed for others are left out, and removed from `missing`.
    """
    import av  # noqa: PLC0415 (an optional dependency)

    sample = run.start
    try:
        for first in range(run.start, run.end + 1, _AT_ONCE):
            end = min(first + _AT_ONCE, run.end + 1)
            with engine.op_errors():
                contents = video.native.read_samples(first, end)
            for sample, content in enumerate(contents, first):
                if not content:
                    raise _UndecodableError(sample, "the picture has no data")
                if sample not in run.wanted and _is_disposable(video.native, content):
                    missing.discard(sample)
                    continue
                # The decoder may read a few bytes past the end. Only a packet that is created with
                # a size has room for that.
                packet = av.Packet(len(content))
                packet.update(content)
                packet.pts = packet.dts = sample
                try:
                    yield from decoder.decode(packet)
                except av.FFmpegError:
                    if sample in needed:
                        raise
        yield from decoder.decode(None)
    except av.FFmpegError as error:
        raise _UndecodableError(sample, error.strerror or error) from error


def _is_disposable(native: engine.Video, content: bytes) -> bool:
    """Returns whether an H.264 picture is disposable: no other picture refers to it.

    Source: ITU-T H.264, sections 7.3.1 and 7.4.1 (`nal_ref_idc`).
    """
    slices = [unit for unit in _units(native, content) if 1 <= unit[0] & 31 <= 5]
    return slices != [] and not any(unit[0] >> 5 & 3 for unit in slices)


def _clean_start(video: VideoFile, start: int) -> int:
    """Returns the last keyframe, up to this one, from which pictures are complete at once.

    H.264 can refresh a picture in parts. Its keyframes are then only the first part.
    """
    while start > 0 and video.native.codec == "h264":
        with engine.op_errors():
            (content,) = video.native.read_samples(start, start + 1)
        if not any(map(_refreshes_in_parts, _units(video.native, content))):
            break
        start = video.keyframe_before(start)
    return start


def _refreshes_in_parts(unit: bytes) -> bool:
    """Returns whether an H.264 unit marks a keyframe that later pictures complete.

    Source: ITU-T H.264, sections 7.3.2.3.1, D.1.8 and D.2.8 (`recovery_frame_cnt`).
    """
    if unit[0] & 31 != 6:
        return False
    messages = unit[1:].replace(b"\0\0\3", b"\0\0")
    at = 0
    while at + 2 < len(messages):
        numbers = []
        for _ in range(2):  # The kind and the size of a message.
            number = 0
            while at < len(messages) - 1 and messages[at] == 255:
                number, at = number + 255, at + 1
            numbers.append(number + messages[at])
            at += 1
            if at >= len(messages):
                return False
        kind, size = numbers
        if kind == 6:
            return messages[at] < 128  # The first bit is 1 if the count is 0.
        at += size
    return False


def _units(native: engine.Video, content: bytes) -> list[bytes]:
    """Returns the units of an H.264 sample, or an empty list for other codecs.

    Source: ISO/IEC 14496-15, section 5.3.3.
    """
    config = native.config
    if native.codec != "h264" or len(config) < 5 or config[0] != 1:
        return []
    length_bytes = (config[4] & 3) + 1
    units, start = [], 0
    while start + length_bytes < len(content):
        first = start + length_bytes
        start = first + int.from_bytes(content[start:first], "big")
        if start > first:
            units.append(content[first:start])
    return units


class _Converter:
    """Scales the frames of a video and converts them to RGB."""

    def __init__(self, video: VideoFile, size: tuple[int, int] | None) -> None:
        from av.video.reformatter import VideoReformatter  # noqa: PLC0415 (optional)

        self._reformatter = VideoReformatter()
        self._num_turns = video.native.rotation // 90
        # The size before the rotation.
        self._size = size if size is None or self._num_turns % 2 == 0 else size[::-1]

    def picture(self, frame: Any) -> Picture:
        height, width = self._size or (frame.height, frame.width)
        rgb = self._reformatter.reformat(frame, width, height, "rgb24", threads=1)
        picture: Picture = np.asarray(rgb.to_ndarray(), np.uint8)
        return np.rot90(picture, -self._num_turns) if self._num_turns else picture


def _ready_decoder(video: VideoFile, used: Any | None) -> Any:
    """Returns a decoder without pictures of earlier runs."""
    if used is None or used.name not in _REUSABLE:
        return _new_decoder(video.native.codec, video.native.config, is_strict=False)
    used.flush_buffers()
    return used


def _new_decoder(codec: str, config: bytes, is_strict: bool) -> Any:
    import av  # noqa: PLC0415 (an optional dependency)

    names = _DECODERS.get(codec, (codec,))
    name = next((name for name in names if name in av.codecs_available), None)
    if name is None:
        raise InvalidArgumentError(
            None,
            None,
            f"videos with the codec {codec!r} cannot be decoded, because this build of PyAV has no "
            f"decoder for it ({' or '.join(names)}). Install PyAV's wheel from PyPI.",
        )
    decoder: Any = av.CodecContext.create(name, "r")
    if config:
        decoder.extradata = config
    # Other threads decode other videos.
    decoder.thread_count = 1
    if is_strict:
        # The decoder then returns pictures as late as the codec allows.
        decoder.options = {"strict": "strict"}
    return decoder
