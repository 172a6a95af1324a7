"""Decodes parts of a video's audio track with PyAV."""

import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from fractions import Fraction
from itertools import groupby
from types import TracebackType
from typing import IO, Any, Final, Self
from weakref import WeakSet

import numpy as np

from headrace.core.errors import DataLossError, InvalidArgumentError
from headrace.io import storage
from headrace.pipeline.video.audio_span import AudioSpan
from headrace.pipeline.video.file_end import is_cut_short
from headrace.pipeline.video.resampler import LAYOUTS, Resampler, Sound
from headrace.pipeline.video.video_file import VideoFile

__all__ = ["read_audio"]

# Codecs whose packets can be decoded alone, besides PCM.
_LOSSLESS: Final = ("alac", "flac")
# AAC needs the previous packet, which has 1024 samples.
_PREROLL_SECONDS: Final = Fraction(1, 4)
# Up to here, AAC is decoded from the start of the track. The noise in it is then the same as in the
# whole track: AAC only stores how loud noise is, and decoders draw it.
_FROM_START_SECONDS: Final = 60
# Matroska rounds times to milliseconds, so a smaller difference is no gap.
_ROUNDING_SECONDS: Final = Fraction(2, 1000)
_FLOAT_BYTES: Final = 4
# The open videos whose audio track has been checked.
_ALIGNED: "Final[WeakSet[VideoFile]]" = WeakSet()


def read_audio(
    video: VideoFile,
    spans: Sequence[AudioSpan],
    sample_rate: int,
    num_channels: int | None,
    reserve: Callable[[int], None] = lambda num_bytes: None,
) -> list[Sound]:
    """Decodes parts of a video's audio track. There is silence before and after the track.

    The samples are those of the whole track, decoded and resampled from its start, except for noise
    in AAC after the first minute. FFmpeg decodes, resamples and mixes.

    Args:
        video: The video.
        spans: The parts.
        sample_rate: The sample rate of the result.
        num_channels: 1 or 2, or None to keep the file's channels.
        reserve: Receives the number of bytes that the samples need, before they are decoded.

    Returns:
        The sound of each part: float32, (samples, channels).

    Raises:
        DataLossError: If the sound is damaged, or the file is cut short.
        InvalidArgumentError: If the video has no audio track, or one that cannot be aligned with
            its frames.
    """
    with _Track(video) as track:
        resampler = Resampler(track.sample_rate, sample_rate, track.layout, num_channels)
        parts = [resampler.needed(span) for span in spans]
        # The samples, and at most one part's copy in the resampler and its result.
        most = max(map(len, parts), default=0)
        num_samples = sum(map(len, parts)) + most + sum(span.length for span in spans)
        reserve(num_samples * max(track.num_channels, num_channels or 0) * _FLOAT_BYTES)
        together = parts[:1] if track.can_seek else parts
        sounds = track.read(together)
    sounds += [_read_part(video, part) for part in parts[len(together) :]]
    return [resampler.resampled(sound, span) for sound, span in zip(sounds, spans, strict=True)]


def _read_part(video: VideoFile, part: range) -> Sound:
    # A used decoder would draw other noise.
    with _Track(video) as track:
        (sound,) = track.read([part])
    return sound


class _Track:
    """The audio track of a video, opened for a single `read`.

    Attributes:
        sample_rate: Samples per second.
        layout: FFmpeg's name for the channels.
        num_channels: The number of channels.
        can_seek: Whether decoding may start in the middle of the track.
    """

    def __init__(self, video: VideoFile) -> None:
        self._video = video
        with ExitStack() as closing:
            self._file = closing.enter_context(_opened_file(video))
            self._container = closing.enter_context(self._opened())
            self._stream = self._audio_stream()
            if video not in _ALIGNED:
                self._check_alignment()
                self._check_edits()
                _ALIGNED.add(video)
            self._closing = closing.pop_all()
        context = self._stream.codec_context
        # Other threads decode other videos.
        context.thread_count = 1
        context.options = {"err_detect": "crccheck+explode"}
        self.sample_rate: int = context.sample_rate
        self.num_channels: int = context.layout.nb_channels
        # PCM in Matroska has a number of channels, but no names for them.
        self.layout: str = LAYOUTS.get(self.num_channels, context.layout.name)
        self._has_exact_times = self._stream.time_base * self.sample_rate == 1
        is_lossless = context.name in _LOSSLESS or context.name.startswith("pcm_")
        is_aac = context.name == "aac" and self._stream.profile == "LC"
        self.can_seek = self._has_exact_times and (is_lossless or is_aac)
        self._has_sought = False
        self._from_start_seconds = 0 if is_lossless else _FROM_START_SECONDS

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.close()

    def _opened(self) -> Any:
        import av  # noqa: PLC0415 (an optional dependency)

        try:
            return av.open(self._file, "r", metadata_errors="replace")
        except av.FFmpegError as error:
            raise self._damaged(f"FFmpeg cannot open the file: {error.strerror}") from error

    def _audio_stream(self) -> Any:
        import av  # noqa: PLC0415 (an optional dependency)

        stream = self._container.streams.best("audio")
        if stream is None:
            raise self._unsupported(
                "the video has no audio track, which clips(audio=...) needs. Skip it, or add "
                "silence, for example with `ffmpeg -i FILE -f lavfi -i anullsrc -c:v copy -shortest"
                " NEW.mp4`."
            )
        if stream.codec_context is None or not stream.codec_context.sample_rate:
            raise self._unsupported("FFmpeg cannot decode the audio track. Convert it.")
        for other in self._container.streams:
            if other is not stream:
                with suppress(AttributeError):  # PyAV 17 reads the packets of all tracks.
                    other.discard = av.stream.Discard.all
        return stream

    def _check_alignment(self) -> None:
        """Raises an error if FFmpeg shows the first frame at another time than the file's tables.

        The times of the sound are FFmpeg's.
        """
        starts = [
            stream.start_time * stream.time_base
            for stream in self._container.streams.video
            if stream.start_time is not None
        ]
        expected = self._video.start_of(0)
        if not any(abs(start - expected) <= _ROUNDING_SECONDS for start in starts):
            found = ", ".join(f"{float(start):g} s" for start in starts)
            raise self._unsupported(
                f"FFmpeg shows the first frame at {found or 'an unknown time'}, expected it at "
                f"{float(expected):g} s, so sound cannot be aligned with frames. Convert the file, "
                "for example with `ffmpeg -i FILE NEW.mp4`."
            )

    def _check_edits(self) -> None:
        """Raises an error if an edit list joins parts of the track. FFmpeg joins whole packets."""
        entries = self._stream.index_entries
        parts = [is_left_out for is_left_out, _ in groupby(entry.is_discard for entry in entries)]
        if parts.count(False) > 1:
            raise self._unsupported(
                "the edit list of the audio track joins several parts, expected one. Convert the "
                "file, for example with `ffmpeg -i FILE NEW.mp4`."
            )

    def read(self, parts: Sequence[range]) -> list[Sound]:
        """Decodes parts of the track, at its own sample rate.

        Args:
            parts: The numbers of the samples, counted from time 0 of the file.

        Returns:
            The samples of each part: float32, (samples, channels).
        """
        sounds = [np.zeros((len(part), self.num_channels), np.float32) for part in parts]
        start, end = min(part.start for part in parts), max(part.stop for part in parts)
        for first, samples in self._samples(start, end):
            for part, sound in zip(parts, sounds, strict=True):
                begin, stop = max(first, part.start), min(first + len(samples), part.stop)
                if begin < stop:
                    sound[begin - part.start : stop - part.start] = samples[
                        begin - first : stop - first
                    ]
        return sounds

    def _samples(self, start: int, end: int) -> Iterator[tuple[int, Sound]]:
        """Yields the track's samples up to `end` with the number of the first of them."""
        import av  # noqa: PLC0415 (an optional dependency)

        rounding = 0 if self._has_exact_times else _ROUNDING_SECONDS * self.sample_rate
        expected = self.sample_rate, self.num_channels
        convert, after = av.AudioResampler("flt"), None
        for frame in self._frames(start):
            if frame.pts is None or (frame.sample_rate, frame.layout.nb_channels) != expected:
                raise self._changing()
            first = round(frame.pts * frame.time_base * self.sample_rate)
            if after is not None and abs(first - after) <= rounding:
                first = after
            if after is None and self._has_sought and first > start:
                raise self._unsupported(
                    f"FFmpeg sought the sound at {start / self.sample_rate:g} s, but found it only "
                    f"from {first / self.sample_rate:g} s on. Convert the file."
                )
            after = first + frame.samples
            if after <= start:
                continue
            try:
                (floats,) = convert.resample(frame)
            except ValueError as error:
                raise self._changing() from error
            samples: Any = floats.to_ndarray()
            yield first, samples.reshape(-1, self.num_channels)
            if after >= end:
                return
        if is_cut_short(self._file):
            at = 0 if after is None else after / self.sample_rate
            raise self._damaged(f"the file is cut short, and the sound after {at:g} s is missing")

    def _frames(self, start: int) -> Iterator[Any]:
        """Yields decoded frames, the first of them before or at a sample."""
        import av  # noqa: PLC0415 (an optional dependency)

        at = 0.0
        try:
            for packet in self._packets(start):
                at = at if packet.pts is None else float(packet.pts * self._stream.time_base)
                if packet.is_corrupt:
                    raise self._damaged(f"the sound at {at:g} s is cut short")
                for frame in packet.decode():
                    if frame.is_corrupt:
                        raise self._damaged(f"the sound at {at:g} s is damaged")
                    yield frame
        except av.FFmpegError as error:
            text = f"the sound at {at:g} s cannot be decoded: {error.strerror}"
            raise self._damaged(text) from error

    def _packets(self, start: int) -> Iterator[Any]:
        stream, container = self._stream, self._container
        seconds = Fraction(start, self.sample_rate) - _PREROLL_SECONDS
        target = math.floor(seconds / stream.time_base)
        is_late = seconds > self._from_start_seconds and target > (stream.start_time or 0)
        if self.can_seek and is_late:
            container.seek(target, stream=stream)
            self._has_sought = True
        yield from container.demux(stream)

    def _damaged(self, text: str) -> DataLossError:
        text = f"{self._video.name}: {text}. Copy the file again, or skip it."
        return DataLossError(None, None, text)

    def _unsupported(self, text: str) -> InvalidArgumentError:
        return InvalidArgumentError(None, None, f"{self._video.name}: {text}")

    def _changing(self) -> InvalidArgumentError:
        return self._unsupported(
            "the sound has no timestamps, or changes its sample rate or channels. Convert the file,"
            " for example with `ffmpeg -i FILE -c:v copy NEW.mp4`."
        )


def _opened_file(video: VideoFile) -> IO[bytes]:
    if isinstance(video.source, str):
        return storage.open_file(video.source)
    return io.BytesIO(video.source)
