"""The videos of a block of examples. Frames of one file are decoded together."""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.pipeline.video.decoder import decoder_bytes
from headrace.pipeline.video.video_file import VideoFile, open_video

__all__ = ["CurrentBlock", "Groups", "VideoBlock"]

# The frame numbers in some groups, such as clips. int64, (groups, frames).
Groups: TypeAlias = "npt.NDArray[np.int64]"
# What a block reads for each group, such as its frames.
T = TypeVar("T")


class VideoBlock(Generic[T]):
    """The block of examples that a thread processes. Frames of one file are decoded together.

    Args:
        read: Reads groups of frames.
        job: The engine's job for the block; None outside of an iteration.
        indexes: The index files to read and write.
    """

    def __init__(
        self,
        read: Callable[[VideoFile, list[npt.NDArray[np.int64]]], list[T]],
        job: engine.Job | None = None,
        indexes: engine.IndexFiles | None = None,
    ) -> None:
        self._read = read
        self._job = job
        self._indexes = indexes
        # The groups of each video that several examples use, until they are decoded.
        self._expected: dict[VideoFile, list[Groups]] = {}
        self._decoded: dict[tuple[VideoFile, bytes], list[list[T]]] = {}

    @property
    def limit_bytes(self) -> int | None:
        """The memory limit of the pipeline; None outside of an iteration."""
        return None if self._job is None else self._job.limit_bytes

    def reserve(self, num_bytes: int) -> None:
        """Counts memory that reading needs, at most, towards the limit of the pipeline."""
        if self._job is not None:
            self._job.needs(num_bytes)

    def opened(self, video: str | bytes) -> VideoFile:
        """Opens the video of an example."""
        return open_video(video, indexes=self._indexes)

    def expect(self, video: VideoFile, groups: Groups) -> None:
        """Announces the frames of an example."""
        self._expected.setdefault(video, []).append(groups)

    def read(self, video: VideoFile, groups: Groups) -> list[T]:
        """Returns the groups of an example."""
        self.reserve(decoder_bytes(video))
        key = video, groups.tobytes()
        if key not in self._decoded:
            self._decode(video, self._expected.pop(video, []))
        if pictures := self._decoded.get(key):
            return pictures.pop()
        return self._read(video, list(groups))

    def _decode(self, video: VideoFile, expected: Sequence[Groups]) -> None:
        if len(expected) < 2:
            return
        try:
            pictures = iter(self._read(video, [one for groups in expected for one in groups]))
        except Exception:
            # Each example is then decoded alone, and raises its own error.
            return
        for groups in expected:
            of_example = [next(pictures) for _ in groups]
            self._decoded.setdefault((video, groups.tobytes()), []).append(of_example)


class CurrentBlock(threading.local):
    """The block that a thread processes. There is none in another process."""

    def __init__(self) -> None:
        self.block: VideoBlock[Any] | None = None

    def __reduce__(self) -> "tuple[type[CurrentBlock], tuple[()]]":
        return CurrentBlock, ()
