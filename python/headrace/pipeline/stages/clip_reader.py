"""Reads the clips of examples."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import OpError, ResourceExhaustedError
from headrace.pipeline.values.column_conversion import values_of
from headrace.pipeline.values.types import Specs
from headrace.pipeline.video import torchcodec_decoder
from headrace.pipeline.video.audio_span import audio_span
from headrace.pipeline.video.audio_track import read_audio
from headrace.pipeline.video.frames import read_into
from headrace.pipeline.video.video_block import CurrentBlock, Groups, VideoBlock
from headrace.pipeline.video.video_file import VideoFile

if TYPE_CHECKING:
    from numpy.random import Generator

    from headrace.pipeline.functions.random_generators import Draws

__all__ = ["AUDIO", "PAD", "ClipReader"]

PAD: Final = "is_pad"
"""The component that marks repeated frames."""
AUDIO: Final = "audio"
"""The component that contains the sound of a clip."""

# The components of a clip, except for the marks of repeated frames.
_Clip: TypeAlias = dict[str, npt.NDArray[Any]]


class ClipReader:
    """Reads clips from a video.

    Attributes:
        component: The component that contains the video.
        num_frames: The number of frames in a clip.
        every: The distance between neighbouring frames of a clip.
        count: The number of clips.
        at: Where clips start.
        size: The height and width of frames, or None.
        decoder: The library that decodes: "pyav" or "torchcodec".
        audio: The sample rate of the sound, or None for no sound.
        audio_channels: The number of channels of the sound, or None for the video's.
    """

    def __init__(
        self,
        component: str,
        num_frames: int,
        every: int,
        count: int,
        at: "str | float",
        size: tuple[int, int] | None,
        decoder: str,
        audio: int | None,
        audio_channels: int | None,
    ) -> None:
        self.component = component
        self.num_frames = num_frames
        self.every = every
        self.count = count
        self.at = at
        self.size = size
        self.decoder = decoder
        self.audio = audio
        self.audio_channels = audio_channels
        self.__qualname__ = repr(component)
        self._current: Final = CurrentBlock()

    def begin(
        self,
        job: engine.Job,
        specs: Specs,
        draws: "Draws | None",
        indexes: engine.IndexFiles | None,
    ) -> None:
        """Begins a block of examples, which this thread then reads one by one.

        Args:
            job: The block.
            specs: The components of the examples.
            draws: The random numbers for starts, or None.
            indexes: The index files to read and write.
        """
        self._current.block = block = VideoBlock(self.read, job, indexes)
        if job.num_rows > 1 and specs[self.component].dtype is str:
            try:
                self._expect(block, job, specs, draws)
            except Exception:
                # The calls for the examples raise this error again.
                return

    def _expect(
        self, block: VideoBlock[_Clip], job: engine.Job, specs: Specs, draws: "Draws | None"
    ) -> None:
        column = job.column(list(specs).index(self.component))
        paths = list(values_of(column, specs[self.component]))
        counts = Counter(paths)
        if len(counts) == len(paths):
            return
        generators: Iterable[Generator | None] = repeat(None)
        if draws is not None:
            generators = draws.of(job.row_ids())
        for path, rng in zip(paths, generators, strict=False):
            if counts[path] > 1:
                # The call for this example raises the error.
                with suppress(OpError):
                    video = block.opened(path)
                    block.expect(video, self._shown(video, rng)[0])

    def end(self) -> None:
        """Ends a block of examples."""
        self._current.block = None

    def read(self, video: VideoFile, clips: list[npt.NDArray[np.int64]]) -> list[_Clip]:
        """Reads clips from a video.

        Args:
            video: The video.
            clips: The numbers of the frames of each clip.

        Returns:
            The components of each clip.
        """
        pictures = self._pictures(video, clips)
        if self.audio is None:
            return [{self.component: picture} for picture in pictures]
        length, block = self.num_frames * self.every, self._current.block
        spans = [audio_span(video, int(frames[0]), length, self.audio) for frames in clips]
        reserve = block.reserve if block else lambda num_bytes: None
        sounds = read_audio(video, spans, self.audio, self.audio_channels, reserve)
        return [
            {self.component: picture, AUDIO: sound}
            for picture, sound in zip(pictures, sounds, strict=True)
        ]

    def _pictures(
        self, video: VideoFile, clips: list[npt.NDArray[np.int64]]
    ) -> list[npt.NDArray[np.uint8]]:
        if self.decoder == "torchcodec":
            return read_into(video, clips, self.size, torchcodec_decoder.decode)
        return read_into(video, clips, self.size)

    def __call__(self, example: Mapping[str, Any], rng: "Generator | None" = None) -> Any:
        """Returns the example with its clip, or yields one copy of the example per clip."""
        clips = self._clips(example, rng)
        return next(clips) if self.count == 1 else clips

    def _clips(
        self, example: Mapping[str, Any], rng: "Generator | None"
    ) -> Iterator[dict[str, Any]]:
        block = self._current.block or VideoBlock(self.read)
        video = block.opened(example[self.component])
        frames, is_pad = self._shown(video, rng)
        self._check_memory(video, block.limit_bytes)
        clips = block.read(video, frames)
        for clip, is_pad_of_clip in zip(clips, is_pad, strict=True):
            yield {**example, **clip, PAD: is_pad_of_clip}

    def _check_memory(self, video: VideoFile, limit_bytes: int | None) -> None:
        """Checks that a clip fits into the memory that the pipeline may use.

        Raises:
            ResourceExhaustedError: If it doesn't.
        """
        height, width = self.size or video.frame_size
        num_bytes = self.num_frames * height * width * 3
        if limit_bytes is not None and num_bytes > limit_bytes:
            raise ResourceExhaustedError(
                None,
                None,
                f"{video.name}: a clip of {self.num_frames} frames of {height} x {width} pixels "
                f"needs {num_bytes} bytes, expected at most the {limit_bytes} of memory_bytes. "
                "Pass size=(height, width) or fewer frames to clips, or raise "
                "options(memory_bytes=...).",
            )

    def _shown(
        self, video: VideoFile, rng: "Generator | None"
    ) -> tuple[Groups, npt.NDArray[np.bool_]]:
        """Returns the frames of the clips, and which of them repeat the video's last frame."""
        frames = self._starts(video, rng)[:, None] + np.arange(self.num_frames) * self.every
        last = len(video) - 1
        return np.minimum(frames, last), frames > last

    def _starts(self, video: VideoFile, rng: "Generator | None") -> npt.NDArray[np.int64]:
        last = max(len(video) - ((self.num_frames - 1) * self.every + 1), 0)
        if rng is not None:
            return rng.integers(0, last, self.count, endpoint=True)
        if isinstance(self.at, str):
            return np.arange(self.count) * last // max(self.count - 1, 1)
        return np.array([video.shown_at(self.at)])
