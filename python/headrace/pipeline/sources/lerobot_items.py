"""Completes the items of a LeRobot data set: video frames, tasks and types."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from headrace.core import engine
from headrace.core.errors import DataLossError, InvalidArgumentError, NotFoundError, OpError
from headrace.pipeline.functions.python_functions import MapFunction
from headrace.pipeline.sources.lerobot_metadata import DataSet, LeRobotFeature
from headrace.pipeline.values.column_conversion import values_of
from headrace.pipeline.values.types import Spec, Specs
from headrace.pipeline.video.decoder import Picture
from headrace.pipeline.video.frames import read_into
from headrace.pipeline.video.video_block import CurrentBlock, Groups, VideoBlock
from headrace.pipeline.video.video_file import VideoFile

__all__ = ["EPISODE", "INDEX", "OWN", "ItemReader", "ItemWorker", "spec_of_item"]

# Further components of a frame, whose values windows don't change.
INDEX: Final = ".index"
EPISODE: Final = ".episode_index"
_TASKS: Final = {"task_index": ".task_index", "subtask_index": ".subtask_index"}
# The column of each of these components.
OWN: Final = {
    INDEX: "index",
    EPISODE: "episode_index",
    **{component: column for column, component in _TASKS.items()},
}


def spec_of_item(feature: LeRobotFeature, length: int | None, is_raw: bool) -> Spec:
    """Returns the type and shape of a feature in an item.

    Args:
        feature: The feature.
        length: The number of frames in the feature's window, or None if it has no window.
        is_raw: Whether images have their channels last.
    """
    if not feature.is_video and not feature.is_image:
        spec = feature.spec
        if not isinstance(spec.dtype, type) and spec.dtype.kind == "f":
            spec = Spec(np.dtype(np.float32), spec.shape)
        return spec if length is None else spec.batched(length)
    height, width, channels = feature.shape
    dtype = np.dtype(np.uint8 if is_raw else np.float32)
    spec = Spec(dtype, (height, width, channels) if is_raw else (channels, height, width))
    # LeRobot removes the axis of a single frame of a video, but not of an image.
    is_single = length is None or (length == 1 and feature.is_video)
    return spec if is_single else spec.batched(length)


class DescribedSource(Protocol):
    """A source with metadata."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The directory of the data set."""

    @property
    def data_set(self) -> DataSet:
        """The metadata of the data set."""


class ItemReader:
    """Replaces frame times with the frames themselves, and adds the text of each task.

    Frames are uint8 with their channels last.

    Attributes:
        source: The source of the tables. Its metadata is read when it is needed.
        tolerance_s: The maximum distance between a time and its frame, in seconds.
    """

    def __init__(self, source: DescribedSource, tolerance_s: float) -> None:
        self.source = source
        self.tolerance_s = tolerance_s
        self._current: Final = CurrentBlock()
        self.__qualname__ = repr(source.paths[0])

    @property
    def data_set(self) -> DataSet:
        """The metadata of the data set."""
        return self.source.data_set

    @cached_property
    def _row_of(self) -> dict[int, int]:
        """The row of each episode in the metadata."""
        numbers = self.data_set.episodes.numbers.tolist()
        return {number: row for row, number in enumerate(numbers)}

    def begin(self, job: engine.Job, specs: Specs, indexes: engine.IndexFiles | None) -> None:
        """Begins a block of examples, which this thread then completes one by one.

        Args:
            job: The block.
            specs: The components of the examples.
            indexes: The index files to read and write.
        """
        self._current.block = block = VideoBlock(_read, job, indexes)
        if job.num_rows > 1:
            try:
                self._expect(block, job, specs)
            except Exception:
                # The calls for the examples raise this error again.
                return

    def _expect(
        self, block: VideoBlock[npt.NDArray[np.uint8]], job: engine.Job, specs: Specs
    ) -> None:
        features = self.data_set.features
        needed = [name for name in specs if name in features and features[name].is_video]
        if not needed:
            return
        columns = [
            values_of(job.column(index), spec)
            for index, (name, spec) in enumerate(specs.items())
            if name in (*needed, EPISODE, INDEX)
        ]
        names = [name for name in specs if name in (*needed, EPISODE, INDEX)]
        for values in zip(*columns, strict=True):
            example = dict(zip(names, values, strict=True))
            # The call for this example raises the error.
            with suppress(OpError):
                row = self._row(example)
                for name in needed:
                    block.expect(*self._wanted(block, features[name], row, example[name]))

    def end(self) -> None:
        """Ends a block of examples."""
        self._current.block = None

    def __call__(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """Returns an item, given the values of its tables."""
        row = self._row(example)
        item: dict[str, Any] = {}
        for name, value in example.items():
            if name in OWN:
                continue
            feature = self.data_set.features.get(name)
            if feature is None:
                item[name] = value  # A mark of padding.
            elif feature.is_video:
                item[name] = self._frames(feature, row, value, example)
            elif feature.is_image:
                item[name] = self._image(feature, value, example)
            elif feature.spec.dtype in (np.dtype(np.float64), np.dtype(np.float16)):
                item[name] = np.asarray(value).astype(np.float32)[()]
            else:
                item[name] = value
        for column, (name, texts) in self.data_set.texts.items():
            number = int(example[_TASKS[column]])
            if number not in texts:
                raise DataLossError(
                    None,
                    None,
                    f"{self._place(example)}: {column} is {number}, but meta/{name}s.parquet has "
                    "no such row. Copy the data set again.",
                )
            item[name] = texts[number]
        return item

    def _row(self, example: Mapping[str, Any]) -> int:
        """Returns the row of the example's episode, after checking that tables fit together."""
        row = self._row_of.get(int(example[EPISODE]))
        episodes = self.data_set.episodes
        if row is None:
            fault = "meta/episodes has no such episode"
        elif not episodes.firsts[row] <= example[INDEX] < episodes.ends[row]:
            fault = (
                f"meta/episodes lists frames {episodes.firsts[row]} to {episodes.ends[row] - 1} "
                "for this episode"
            )
        else:
            return row
        raise DataLossError(
            None, None, f"{self._place(example)}, but {fault}. Copy the data set again."
        )

    def _wanted(
        self,
        block: VideoBlock[npt.NDArray[np.uint8]],
        feature: LeRobotFeature,
        row: int,
        times: npt.ArrayLike,
    ) -> tuple[VideoFile, Groups]:
        """Returns the video of an example, and the numbers of its frames as one group."""
        episodes = self.data_set.episodes
        video = block.opened(episodes.videos[feature.name][row])
        seconds = episodes.starts[feature.name][row] + np.asarray(times, np.float64).reshape(-1)
        return video, video.nearest(seconds, self.tolerance_s)[None]

    def _frames(
        self,
        feature: LeRobotFeature,
        row: int,
        times: npt.ArrayLike,
        example: Mapping[str, Any],
    ) -> npt.NDArray[Any]:
        block: VideoBlock[npt.NDArray[np.uint8]] = self._current.block or VideoBlock(_read)
        try:
            video, numbers = self._wanted(block, feature, row, times)
            (read,) = block.read(video, numbers)
        except (DataLossError, InvalidArgumentError, NotFoundError) as error:
            raise self._of_frame(error, feature, example) from error
        if read.shape[1:] != feature.shape:
            raise InvalidArgumentError(
                None,
                None,
                f"{video.name}: the frames have the shape {read.shape[1:]}, expected "
                f"{feature.shape} according to meta/info.json ({feature.name!r}, "
                f"{self._place(example)}). Correct the file.",
            )
        return read[0] if len(read) == 1 else read

    def _of_frame(
        self, error: OpError, feature: LeRobotFeature, example: Mapping[str, Any]
    ) -> OpError:
        """Returns an error about a video with the names of the episode and the frame."""
        text = f"{error.message} This is {feature.name!r} of {self._place(example)}."
        if isinstance(error, InvalidArgumentError) and "tolerance" in text:
            text += " If the times are only rounded, pass a larger tolerance_s."
        return type(error)(None, None, text)

    def _image(
        self, feature: LeRobotFeature, image: npt.NDArray[np.uint8], example: Mapping[str, Any]
    ) -> npt.NDArray[Any]:
        if image.shape[-3:] != feature.shape:
            raise InvalidArgumentError(
                None,
                None,
                f"{self._place(example)}: the image {feature.name!r} has the shape "
                f"{image.shape[-3:]}, expected {feature.shape} according to meta/info.json. "
                "Correct the file.",
            )
        return image

    def _place(self, example: Mapping[str, Any]) -> str:
        number, index = int(example[EPISODE]), int(example[INDEX])
        row = self._row_of.get(number)
        frame = "" if row is None else f"frame {index - self.data_set.episodes.firsts[row]} "
        return f"{self.data_set.root}: {frame}of episode {number} (index {index})"


class ItemWorker(MapFunction):
    """Completes the items of a block. Frames of one video are decoded together.

    Attributes:
        indexes: The index files to read and write.
    """

    function: ItemReader
    indexes: engine.IndexFiles | None = None

    def process(self, job: engine.Job) -> None:
        """Completes the items of a block."""
        self.function.begin(job, self._input_specs, self.indexes)
        try:
            super().process(job)
        finally:
            self.function.end()


def _read(video: VideoFile, groups: list[npt.NDArray[np.int64]]) -> list[Picture]:
    return read_into(video, groups, None)
