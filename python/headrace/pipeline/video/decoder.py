"""Decodes frames of a video with PyAV."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import InvalidArgumentError
from headrace.core.optional_dependencies import missing_video
from headrace.pipeline.video.video_file import VideoFile, damaged_frame

__all__ = ["Picture", "check_installed", "decode"]

# A picture: uint8, (height, width, 3), RGB.
Picture = npt.NDArray[np.uint8]

# FFmpeg's names of decoders, by codec, if they differ. FFmpeg's own decoder of AV1 needs hardware.
_DECODERS: Final = {"av1": ("libdav1d", "libaom-av1")}
# Codecs with encoded pictures that are never shown.
_WITH_HIDDEN_PICTURES: Final = ("vp8",)
# The number of samples to read from the file at a time.
_AT_ONCE: Final = 64
# The number of decoders that each thread keeps for the next video with the same codec.
_MOST_IDLE: Final = 4


def check_installed(where: str) -> None:
    """Raises ModuleNotFoundError unless PyAV is installed.

    Args:
        where: The function or stage that decodes.
    """
    if missing := missing_video():
        raise ModuleNotFoundError(f"{where}: {missing}.")


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
        size: The height and width to scale frames to; None to keep their size.
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

    for run in _runs(video, list(frames)):
        try:
            _decode(video, run, size, store_sample, is_strict=False)
        except _UndecodableError:
            # A keyframe does not suffice if a video refreshes pictures in parts. And a decoder may
            # have to wait for more pictures than the file promises.
            earlier = _Run(video.keyframe_before(run.start), run.end, run.wanted)
            try:
                _decode(video, earlier, size, store_sample, is_strict=True)
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
    for start, sample in sorted((int(video.starts[sample]), sample) for sample in samples):
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
    size: tuple[int, int] | None,
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
    converter = _Converter(video, size)
    with _IDLE.decoder(video.native, is_strict) as decoder:
        for frame in _frames(decoder, video, run, needed, missing):
            sample = frame.pts
            if sample not in needed:
                continue
            if frame.is_corrupt:
                raise _UndecodableError(sample, "it is damaged, or depends on a damaged picture")
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
                    raise _UndecodableError(sample, "it has no data")
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
    """Returns whether no other picture refers to a picture of H.264.

    Source: ITU-T H.264, sections 7.3.1 and 7.4.1 (`nal_ref_idc`); ISO/IEC 14496-15, section 5.3.3.
    """
    config = native.config
    if native.codec != "h264" or len(config) < 5 or config[0] != 1:
        return False
    length_bytes = (config[4] & 3) + 1
    reference_numbers = []
    start = 0
    while start + length_bytes < len(content):
        header = content[start + length_bytes]
        if 1 <= header & 31 <= 5:  # A part of a picture.
            reference_numbers.append(header >> 5 & 3)
        start += length_bytes + int.from_bytes(content[start : start + length_bytes], "big")
    return reference_numbers != [] and not any(reference_numbers)


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
        picture: Picture = rgb.to_ndarray()
        return np.rot90(picture, -self._num_turns) if self._num_turns else picture


class _IdleDecoders(threading.local):
    """The decoders that a thread keeps for the next video."""

    def __init__(self) -> None:
        self._idle: OrderedDict[tuple[str, bytes, bool], Any] = OrderedDict()

    def decoder(self, native: engine.Video, is_strict: bool) -> "_BorrowedDecoder":
        key = native.codec, native.config, is_strict
        idle = self._idle.pop(key, None)
        return _BorrowedDecoder(self, key, _new_decoder(*key) if idle is None else idle)

    def put_back(self, key: tuple[str, bytes, bool], decoder: Any) -> None:
        decoder.flush_buffers()
        self._idle[key] = decoder
        while len(self._idle) > _MOST_IDLE:
            self._idle.popitem(last=False)


_IDLE: Final = _IdleDecoders()


class _BorrowedDecoder:
    """A decoder that is kept after use, unless an error occurs."""

    def __init__(self, owner: _IdleDecoders, key: tuple[str, bytes, bool], decoder: Any) -> None:
        self._owner = owner
        self._key = key
        self._decoder = decoder

    def __enter__(self) -> Any:
        return self._decoder

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self._owner.put_back(self._key, self._decoder)


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
