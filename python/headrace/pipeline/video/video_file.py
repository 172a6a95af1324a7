"""Video files: their frames and the times at which they are shown."""

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import DataLossError, InvalidArgumentError, OutOfRangeError
from headrace.io import storage

__all__ = ["VideoFile", "damaged_frame", "open_video"]

# The maximum number of samples in the tables of all files that are kept open.
_MOST_SAMPLES: Final = 1 << 20
# The maximum number of files that are kept open.
_MOST_OPEN: Final = 64
# Times of this many time units or less before a frame count as the frame's time, because floats
# cannot represent most times.
_ROUNDING: Final = 1e-6
# A frame rate is constant if all frames are within this time of it, in seconds, because Matroska
# rounds times to milliseconds.
_JITTER: Final = 1e-3


@dataclass(frozen=True, eq=False)
class VideoFile:
    """The frames of a video file.

    Attributes:
        name: The file's name in messages.
        native: The file's sample tables.
        times: When each frame is shown, in time units. int64, (frames,), ascending.
        samples: The encoded picture that each frame shows. int64, (frames,).
        source: The path of the file, or its contents.
    """

    name: str
    native: engine.Video
    times: npt.NDArray[np.int64]
    samples: npt.NDArray[np.int64]
    source: str | bytes

    def __len__(self) -> int:
        """Returns the number of frames."""
        return len(self.times)

    @cached_property
    def sample_times(self) -> npt.NDArray[np.int64]:
        """When each sample is shown, before edits, in time units. int64, (samples,)."""
        return self.native.sample_times()

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """The sample from which to decode each sample. int64, (samples,)."""
        return self.native.starts()

    @cached_property
    def times_s(self) -> npt.NDArray[np.float64]:
        """When each frame is shown, in seconds. float64, (frames,)."""
        return self.times / self.native.timescale

    @cached_property
    def end(self) -> int:
        """The end of the last frame, in time units."""
        return int(self.times[-1] + self.native.sample_durations()[self.samples[-1]])

    @cached_property
    def frame_rate(self) -> Fraction | None:
        """The number of frames per second, or None if it varies.

        Videos at the same standard rate, such as 30 or 30000/1001, have equal frame rates, even if
        their files round times differently.
        """
        timescale, count = self.native.timescale, len(self)
        seconds = (self.times - self.times[0]) / timescale

        def distance(rate: Fraction) -> float:
            return float(np.abs(seconds - np.arange(count) / float(rate)).max())

        rates: list[Fraction] = []
        durations = self.native.sample_durations()[self.samples]
        if durations[0] > 0 and (durations[:-1] == durations[0]).all():
            stored = Fraction(timescale, int(durations[0]))
            rates += [*sorted(_standard_rates(stored), key=lambda rate: abs(rate - stored)), stored]
        if count > 1 and self.times[-1] > self.times[0]:
            mean = Fraction((count - 1) * timescale, int(self.times[-1] - self.times[0]))
            rates += [*sorted(_standard_rates(mean), key=distance), mean]
        return next((rate for rate in rates if distance(rate) <= _JITTER), None)

    def start_of(self, number: int) -> Fraction:
        """Returns when a frame starts, in seconds. Frames past the end have the mean duration.

        Raises:
            InvalidArgumentError: If the frame is past the end, and no duration is known.
        """
        timescale, past = self.native.timescale, number - len(self)
        if past < 0:
            return Fraction(int(self.times[number]), timescale)
        mean = Fraction(self.end - int(self.times[0]), len(self))
        if not mean:
            raise InvalidArgumentError(
                None,
                None,
                f"{self.name}: the video has one frame without a duration, so it is unknown which "
                "sound belongs to a clip. Skip it.",
            )
        return (self.end + past * mean) / timescale

    @property
    def frame_size(self) -> tuple[int, int]:
        """The height and width of a frame in pixels, after its rotation."""
        width, height = self.native.size
        return (width, height) if self.native.rotation % 180 else (height, width)

    def seconds(self, number: int) -> float:
        """Returns when a frame is shown, in seconds."""
        return float(self.times_s[number])

    def checked(self, numbers: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Returns frame numbers as an array.

        Raises:
            OutOfRangeError: If there is no such frame.
        """
        checked = np.asarray(numbers, np.int64).reshape(-1)
        wrong = checked[(checked < 0) | (checked >= len(self))]
        if wrong.size:
            raise OutOfRangeError(
                None,
                None,
                f"{self.name}: frame {wrong[0]} was requested, but the video has {len(self)} "
                "frames, numbered from 0.",
            )
        return checked

    def shown_at(self, seconds: float) -> int:
        """Returns the number of the frame that is shown at a time.

        Raises:
            OutOfRangeError: If the time is outside the video.
        """
        units = seconds * self.native.timescale
        if not 0 <= units < self.end:
            raise OutOfRangeError(
                None,
                None,
                f"{self.name}: the frame at {seconds:g} s was requested, but the video ends at "
                f"{self.end / self.native.timescale:g} s.",
            )
        return max(int(np.searchsorted(self.times, units + _ROUNDING, side="right")) - 1, 0)

    def nearest(self, seconds: npt.ArrayLike, tolerance: float) -> npt.NDArray[np.int64]:
        """Returns the numbers of the frames that are nearest to the given times.

        Args:
            seconds: The times in seconds.
            tolerance: The maximum distance between a time and its frame, in seconds.

        Raises:
            InvalidArgumentError: If no frame is that close to one of the times.
        """
        wanted = np.asarray(seconds, np.float64).reshape(-1)
        times = self.times_s
        after = np.searchsorted(times, wanted).clip(1, max(len(times) - 1, 1))
        before, after = after - 1, after.clip(max=len(times) - 1)
        is_after = np.abs(times[after] - wanted) < np.abs(times[before] - wanted)
        numbers = np.where(is_after, after, before)
        distances = np.abs(times[numbers] - wanted)
        if not (distances <= tolerance).all():
            worst = int(np.argmax(np.nan_to_num(distances, nan=np.inf)))
            raise InvalidArgumentError(
                None,
                None,
                f"{self.name}: the frame at {wanted[worst]:.6f} s was requested, but the nearest "
                f"frame is at {times[numbers[worst]]:.6f} s, which is further away than the "
                f"tolerance of {tolerance:g} s.",
            )
        return numbers

    def keyframe_before(self, sample: int) -> int:
        """Returns the last keyframe before a sample, or 0 if there is none."""
        keyframes = np.flatnonzero(self.native.keyframes()[:sample])
        return int(keyframes[-1]) if len(keyframes) else 0


def _standard_rates(mean: Fraction) -> list[Fraction]:
    """Returns the standard frame rates that are nearest to a rate."""
    whole, times_1001 = max(round(mean), 1), max(round(mean * 1001 / 1000), 1)
    return [Fraction(whole), Fraction(times_1001 * 1000, 1001)]


def damaged_frame(video: VideoFile, sample: int, reason: object) -> DataLossError:
    """Returns the error for a frame that cannot be decoded."""
    numbers = np.flatnonzero(video.samples == sample)
    which = (
        f"frame {numbers[0]} (at {video.seconds(int(numbers[0])):g} s)"
        if len(numbers)
        else f"the encoded picture {sample}, which no frame shows,"
    )
    return DataLossError(
        None,
        None,
        f"{video.name}: {which} cannot be decoded: {reason}. Copy the file again, or skip it.",
    )


class _OpenVideos:
    """A cache of the most recent videos. Several threads can use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._videos: OrderedDict[Hashable, VideoFile] = OrderedDict()

    def get(self, path: str, indexes: engine.IndexFiles | None) -> VideoFile:
        key = _identity(path)
        with self._lock:
            video = self._videos.get(key)
            if video is not None:
                self._videos.move_to_end(key)
                return video
        # Two threads may open the same file. Waiting here would hold up other files.
        with engine.op_errors():
            video = _video(path, engine.Video(os.fsencode(path), indexes), path)
        with self._lock:
            self._videos[key] = video
            self._drop_oldest()
        return video

    def _drop_oldest(self) -> None:
        num_samples = sum(len(video) for video in self._videos.values())
        while len(self._videos) > 1 and (
            num_samples > _MOST_SAMPLES or len(self._videos) > _MOST_OPEN
        ):
            num_samples -= len(self._videos.popitem(last=False)[1])


def _identity(path: str) -> Hashable:
    """Returns a value that changes when a local file changes."""
    if storage.is_remote(path):
        return path
    try:
        status = os.stat(storage.local_path(path))
    except OSError:
        return path  # Opening the file raises a better error.
    return path, status.st_size, status.st_mtime_ns, status.st_ino


def _video(name: str, native: engine.Video, source: str | bytes) -> VideoFile:
    return VideoFile(name, native, native.frame_times(), native.frame_samples(), source)


_OPEN: Final = _OpenVideos()


def open_video(
    video: str | bytes, name: str = "the video", indexes: engine.IndexFiles | None = None
) -> VideoFile:
    """Opens a video, or returns it if it is already open.

    Args:
        video: The path of a file, or the contents of one.
        name: The name of `contents` in messages.
        indexes: The index files to read and write. None to read a file's tables from the file.

    Raises:
        OpError: If the file cannot be read, is damaged, or has an unsupported format.
    """
    if isinstance(video, str):
        return _OPEN.get(video, indexes)
    with engine.op_errors():
        return _video(name, engine.Video.of_contents(video, name), video)
